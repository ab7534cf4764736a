//! The text given to the script tool: what is code, and what says how to run it.

mod directive;
mod wrapping;

use std::borrow::Cow;

use directive::Directive;

pub use wrapping::fenced_code;

/// A Lark grammar for models whose tool input is constrained by one: an optional options line, then anything that is not
/// blank.
pub const SOURCE_GRAMMAR: &str = r"start: options_line? program
options_line: OPTIONS LINE_END
program: PROGRAM

OPTIONS: /[ \t]*\/\/ @(options|exec):[^\r\n]*/
LINE_END: /\r?\n/
PROGRAM: /(.|\n)*[^ \t\r\n](.|\n)*/
";

/// Largest `max_output_tokens` and `yield_time_ms`: the largest integer that is exact in JavaScript.
pub const OPTION_INTEGER_MAX: u64 = (1 << 53) - 1;
/// Largest `timeout_ms`: the longest timer of JavaScript hosts, 24.8 days.
pub const OPTION_TIMEOUT_MS_MAX: u64 = i32::MAX as u64;

/// A script, ready to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The program. Lines and columns are those of the text it came from, or of the string inside it where that was JSON.
    pub code: String,
    /// What the first line asked for.
    pub options: SourceOptions,
    /// What was unusual about the text and has been put right; sentences for the model.
    pub notes: Vec<String>,
}

/// The fields of an options line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceOptions {
    /// Limit of the text that goes back to the model, in tokens.
    pub max_output_tokens: Option<u64>,
    /// Wall time after which the script is ended.
    pub timeout_ms: Option<u64>,
    /// Wall time after which the script goes on in the background.
    pub yield_time_ms: Option<u64>,
}

/// Why a text cannot be run. Nothing has been run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// There is no text.
    #[error(
        "The script is empty. Send non-empty JavaScript or TypeScript; its first line may be an options line such as \
         `// @options: {{\"timeout_ms\": 60000}}`."
    )]
    Blank,
    /// There is only an options line.
    #[error("The options line must be followed by code on the next lines; there is none.")]
    NoCode,
    /// The options line does not hold JSON.
    #[error(
        "The options line must hold valid JSON, such as `// @options: {{\"timeout_ms\": 60000}}`: {problem}."
    )]
    BadJson {
        /// What the JSON parser found.
        problem: String,
    },
    /// The options line holds nothing, or another kind of JSON value.
    #[error(
        "The options line must hold a JSON object with the fields `max_output_tokens`, `timeout_ms` or `yield_time_ms`, \
         such as `// @options: {{\"timeout_ms\": 60000}}`."
    )]
    NotAnObject,
    /// There is no such option.
    #[error(
        "The options line only supports the fields `max_output_tokens`, `timeout_ms` and `yield_time_ms`; `{field}` is none \
         of them."
    )]
    UnknownField {
        /// The name of the field as written.
        field: String,
    },
    /// An option has a value it cannot have.
    #[error("The option `{field}` must be a {kind} integer up to {max}.")]
    BadValue {
        /// The name of the field that is wrong.
        field: &'static str,
        /// The words `positive` or `non-negative`, for the message.
        kind: &'static str,
        /// The largest value that is taken.
        max: u64,
    },
    /// An options comment stands where it has no effect.
    #[error(
        "An options line counts only as the first line of the script; there is one on line {line}. Move it to the top, or \
         remove it."
    )]
    LaterLine {
        /// Where it stands; the first line is 1.
        line: usize,
    },
}

impl SourceError {
    /// The name of this error for scripts and recordings.
    pub const NAME: &'static str = "CodemodeSourceError";
}

/// Reads the text given to the script tool.
///
/// ```
/// let source = pirn_codemode::parse_source("// @options: {\"timeout_ms\": 500}\nreturn 1;").unwrap();
/// assert_eq!(source.code, "\nreturn 1;");
/// assert_eq!(source.options.timeout_ms, Some(500));
/// ```
pub fn parse_source(input: &str) -> Result<Source, SourceError> {
    let unwrapped = wrapping::unwrap(input);
    let text = unwrapped.text.as_ref();
    if is_blank(text) {
        return Err(SourceError::Blank);
    }
    let (first_line, rest) = split_first_line(text);
    let (code, options) = match directive::parse_line(first_line) {
        Directive::None => (Cow::Borrowed(text), SourceOptions::default()),
        Directive::Options(json) => {
            let options = directive::parse_options(json)?;
            match rest {
                Some(rest) if !is_blank(rest) => (Cow::Owned(format!("\n{rest}")), options),
                Some(_) | None => return Err(SourceError::NoCode),
            }
        }
    };
    let code = hide_shebang(code);
    let lines_before = unwrapped.lines_before;
    if let Some(line) = directive::later_line(&code) {
        return Err(SourceError::LaterLine {
            line: line + lines_before,
        });
    }
    // Empty lines stand for what was cut off above, so that errors name the lines of the text as it was written.
    let code = format!("{}{code}", "\n".repeat(lines_before));
    Ok(Source {
        code,
        options,
        notes: unwrapped.notes,
    })
}

fn is_blank(text: &str) -> bool {
    crate::javascript::trim(text).is_empty()
}

/// The first line without its end, and what follows, if there is a line end.
fn split_first_line(text: &str) -> (&str, Option<&str>) {
    match text.split_once('\n') {
        Some((line, rest)) => (line.strip_suffix('\r').unwrap_or(line), Some(rest)),
        None => (text, None),
    }
}

/// Makes a shebang line an ordinary comment: the script becomes the body of a function, where a shebang is an error.
fn hide_shebang(code: Cow<'_, str>) -> Cow<'_, str> {
    match code
        .strip_prefix('\u{FEFF}')
        .unwrap_or(&code)
        .strip_prefix("#!")
    {
        Some(rest) => Cow::Owned(format!("//{rest}")),
        None => code,
    }
}

#[cfg(test)]
mod tests;
