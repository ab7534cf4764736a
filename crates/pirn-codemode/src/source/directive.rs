//! The options line: `// @options: {…}`, or `// @exec: {…}`.

use serde_json::{Map, Value};

use super::{OPTION_INTEGER_MAX, OPTION_TIMEOUT_MS_MAX, SourceError, SourceOptions};
use crate::javascript::{is_white_space, trim};
use crate::typescript::comment_starts;

/// What an options line begins with: pi's word, and Codex's.
const PREFIXES: [&str; 2] = ["// @options:", "// @exec:"];

/// What a first line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Directive<'a> {
    /// Not an options line.
    None,
    /// An options line with this text behind its word.
    Options(&'a str),
}

/// Looks for the directive at the start of a line.
pub(super) fn parse_line(line: &str) -> Directive<'_> {
    let line = line.trim_start_matches(is_white_space);
    let rest = PREFIXES.iter().find_map(|prefix| line.strip_prefix(prefix));
    rest.map_or(Directive::None, Directive::Options)
}

/// Reads the JSON of an options line.
pub(super) fn parse_options(json: &str) -> Result<SourceOptions, SourceError> {
    let json = trim(json);
    if json.is_empty() {
        return Err(SourceError::NotAnObject);
    }
    let value: Value = serde_json::from_str(json).map_err(|error| SourceError::BadJson {
        problem: error.to_string(),
    })?;
    let Value::Object(fields) = value else {
        return Err(SourceError::NotAnObject);
    };
    let known = ["max_output_tokens", "timeout_ms", "yield_time_ms"];
    if let Some(field) = fields.keys().find(|field| !known.contains(&field.as_str())) {
        return Err(SourceError::UnknownField {
            field: field.clone(),
        });
    }
    Ok(SourceOptions {
        max_output_tokens: integer(&fields, "max_output_tokens", 0..=OPTION_INTEGER_MAX)?,
        timeout_ms: integer(&fields, "timeout_ms", 1..=OPTION_TIMEOUT_MS_MAX)?,
        yield_time_ms: integer(&fields, "yield_time_ms", 0..=OPTION_INTEGER_MAX)?,
    })
}

/// The first line after line 1 that is a real options comment; the first line is 1. The same text inside a string, a template
/// or a block comment is only text.
pub(super) fn later_line(code: &str) -> Option<usize> {
    let is_candidate = |line: &str| parse_line(line) != Directive::None;
    if !code.split('\n').skip(1).any(is_candidate) {
        return None;
    }
    let comments = comment_starts(code);
    let mut offset = 0;
    for (index, line) in code.split('\n').enumerate() {
        let start = offset + line.len() - line.trim_start_matches(is_white_space).len();
        if index > 0 && is_candidate(line) && comments.contains(&start) {
            return Some(index + 1);
        }
        offset += line.len() + 1;
    }
    None
}

/// An integer as JavaScript sees it: `1.0` and `1e3` are integers.
fn integer(
    fields: &Map<String, Value>,
    field: &'static str,
    range: std::ops::RangeInclusive<u64>,
) -> Result<Option<u64>, SourceError> {
    let Some(value) = fields.get(field) else {
        return Ok(None);
    };
    let number = value.as_u64().or_else(|| whole_number(value.as_f64()?));
    match number.filter(|number| range.contains(number)) {
        Some(number) => Ok(Some(number)),
        None => Err(SourceError::BadValue {
            field,
            kind: if *range.start() == 0 {
                "non-negative"
            } else {
                "positive"
            },
            max: *range.end(),
        }),
    }
}

/// A float without a fraction that is exact.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is a whole number between 0 and 2^53"
)]
fn whole_number(number: f64) -> Option<u64> {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    ((0.0..=EXACT_MAX).contains(&number) && number.fract() == 0.0).then_some(number as u64)
}
