//! Compares a recorded result with an actual one.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use regex::RegexBuilder;
use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

/// Scores are recorded with four decimals.
const SCORE_TOLERANCE: f64 = 0.0005;
/// Longer values are cut when shown.
const SHOWN_CHARS_MAX: usize = 300;

/// One place where the results differ.
#[derive(Debug)]
pub(crate) struct Difference {
    /// Member names and indexes from the top, joined with `/`.
    pub(crate) path: String,
    problem: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path, self.problem)
    }
}

/// Leaves out the actual error's name and line where the recording does not fix them.
pub(crate) fn drop_unfixed(expected: &Value, actual: &Value) -> Value {
    let mut actual = actual.clone();
    if let (Some(Value::Object(expected)), Some(Value::Object(error))) =
        (expected.get("error"), actual.get_mut("error"))
    {
        for field in ["line", "name"] {
            if !expected.contains_key(field) && !expected.contains_key(&format!("{field}_re")) {
                error.remove(field);
            }
        }
    }
    actual
}

/// Every place where the results differ.
pub(crate) fn differences(expected: &Value, actual: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare("", expected, actual, &mut found);
    found
}

fn compare(path: &str, expected: &Value, actual: &Value, found: &mut Vec<Difference>) {
    match (expected, actual) {
        (Value::Object(wanted), Value::Object(given)) if !is_shorthand(wanted) => {
            compare_members(path, wanted, given, found);
        }
        (Value::Array(wanted), Value::Array(given)) if wanted.len() == given.len() => {
            for (index, (wanted, given)) in wanted.iter().zip(given).enumerate() {
                compare(&join(path, &index.to_string()), wanted, given, found);
            }
        }
        _ if same(path, expected, actual) => {}
        _ => found.push(Difference {
            path: path.to_owned(),
            problem: describe(expected, actual),
        }),
    }
}

fn compare_members(
    path: &str,
    expected: &Map<String, Value>,
    actual: &Map<String, Value>,
    found: &mut Vec<Difference>,
) {
    let mut push = |field: &str, problem: String| {
        found.push(Difference {
            path: join(path, field),
            problem,
        });
    };
    let mut checked = BTreeSet::new();
    let mut nested = Vec::new();
    for (key, wanted) in expected {
        let field = key.strip_suffix("_re").unwrap_or(key);
        checked.insert(field);
        let given = actual.get(field);
        if field.len() < key.len() {
            let shown = given.map_or_else(|| "undefined".to_owned(), plain_text);
            if !matches_pattern(wanted, &shown) {
                push(
                    field,
                    format!(
                        "{} does not match {wanted}",
                        cut(&Value::from(shown).to_string())
                    ),
                );
            }
        } else if let ("status", Value::Array(accepted)) = (field, wanted) {
            if !given.is_some_and(|given| accepted.contains(given)) {
                push(field, format!("{given:?} is none of {wanted}"));
            }
        } else if let Some(given) = given {
            nested.push((field, wanted, given));
        } else {
            push(
                field,
                format!("missing, expected {}", cut(&wanted.to_string())),
            );
        }
    }
    for (key, given) in actual {
        if !checked.contains(key.as_str()) {
            push(key, format!("unexpected {}", cut(&given.to_string())));
        }
    }
    for (field, wanted, given) in nested {
        compare(&join(path, field), wanted, given, found);
    }
}

/// Whether the object stands for a long string, a string that is not Unicode, or a long list.
fn is_shorthand(members: &Map<String, Value>) -> bool {
    ["$long", "$utf16"]
        .iter()
        .any(|key| members.contains_key(*key))
}

fn same(path: &str, expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Number(wanted), Value::Number(given)) => {
            let (Some(wanted), Some(given)) = (wanted.as_f64(), given.as_f64()) else {
                return false;
            };
            let tolerance = if path.starts_with("scores/") {
                SCORE_TOLERANCE
            } else {
                0.0
            };
            (wanted - given).abs() <= tolerance
        }
        (Value::Array(wanted), Value::Array(given)) => {
            wanted.len() == given.len()
                && wanted
                    .iter()
                    .zip(given)
                    .all(|(wanted, given)| same(path, wanted, given))
        }
        (Value::Object(wanted), Value::Object(given)) => {
            wanted.len() == given.len()
                && wanted.iter().all(|(key, wanted)| {
                    given
                        .get(key)
                        .is_some_and(|given| same(path, wanted, given))
                })
        }
        _ => expected == actual,
    }
}

fn matches_pattern(pattern: &Value, text: &str) -> bool {
    let pattern = pattern.as_str().unwrap_or_default();
    let regex = RegexBuilder::new(pattern)
        .dot_matches_new_line(true)
        .build();
    regex
        .unwrap_or_else(|error| panic!("bad pattern in a case: {error}"))
        .is_match(text)
}

fn plain_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), ToOwned::to_owned)
}

fn join(path: &str, field: &str) -> String {
    if path.is_empty() {
        field.to_owned()
    } else {
        format!("{path}/{field}")
    }
}

fn cut(text: &str) -> String {
    text.chars().take(SHOWN_CHARS_MAX).collect()
}

/// Both values; texts of several lines as a diff.
fn describe(expected: &Value, actual: &Value) -> String {
    match (expected, actual) {
        (Value::String(wanted), Value::String(given))
            if wanted.contains('\n') || given.contains('\n') =>
        {
            let mut text = "the text differs (- expected, + actual)".to_owned();
            for change in TextDiff::from_lines(wanted, given).iter_all_changes() {
                let sign = match change.tag() {
                    ChangeTag::Equal => ' ',
                    ChangeTag::Delete => '-',
                    ChangeTag::Insert => '+',
                };
                let line = change.value().trim_end_matches('\n');
                let _infallible = write!(text, "\n{sign}{line}");
            }
            text
        }
        _ => format!(
            "expected {}\n  got      {}",
            cut(&expected.to_string()),
            cut(&actual.to_string())
        ),
    }
}
