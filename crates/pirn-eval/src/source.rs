//! The source of a program, as the model wrote it and as it runs.

use std::borrow::Cow;

use pirn_codemode::fenced_code;

use crate::limits::CODE_BYTES_MAX;
use crate::request::Language;

/// Prepares a source: from Python, indentation that all lines have is taken away, so that an indented block runs. JavaScript
/// stays as it is, since there indentation means nothing except inside template strings. Fails with the size when it is
/// longer than [`CODE_BYTES_MAX`].
pub(crate) fn prepare_source(language: Language, code: &str) -> Result<Cow<'_, str>, usize> {
    let source = match language {
        Language::Python => dedent(code),
        Language::JavaScript => Cow::Borrowed(code),
    };
    if source.len() > CODE_BYTES_MAX {
        return Err(source.len());
    }
    Ok(source)
}

/// A program without the Markdown code fence around it, where there is one. Empty lines stand for what was cut off above, so that
/// errors name the lines of the text as it was written.
pub(crate) fn without_fence(code: &str) -> Option<String> {
    let (inside, lines_before) = fenced_code(code)?;
    Some(format!("{}{inside}", "\n".repeat(lines_before)))
}

fn dedent(code: &str) -> Cow<'_, str> {
    let mut common: Option<&str> = None;
    for line in code.lines().filter(|line| !line.trim().is_empty()) {
        let indentation = line
            .get(..line.len() - line.trim_start_matches([' ', '\t']).len())
            .unwrap_or_default();
        common = Some(match common {
            None => indentation,
            Some(common) => common_start(common, indentation),
        });
    }
    let Some(common) = common.filter(|common| !common.is_empty()) else {
        return Cow::Borrowed(code);
    };
    code.split_inclusive('\n')
        .map(|line| {
            line.strip_prefix(common)
                // A blank line that is shorter than the indentation.
                .unwrap_or_else(|| line.trim_start_matches([' ', '\t']))
        })
        .collect::<String>()
        .into()
}

fn common_start<'a>(a: &'a str, b: &str) -> &'a str {
    let length = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    a.get(..length).unwrap_or_default()
}

#[cfg(test)]
mod tests;
