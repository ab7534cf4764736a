//! Says what is wrong with arguments: one line for each place, short enough for a model's context.

use std::fmt::Write as _;
use std::io;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use super::suggest::closest;
use super::unescaped;

/// Lines shown for one call; more would only repeat the first ones.
const LINES_MAX: usize = 8;
/// Characters of one line's message.
const LINE_CHARS_MAX: usize = 400;
/// Characters of a value inside a message.
const VALUE_CHARS_MAX: usize = 80;
/// Characters of a path.
const PATH_CHARS_MAX: usize = 200;
/// Known names or allowed values listed.
const NAMES_SHOWN_MAX: usize = 16;
/// Lines shown of the branch of a union that fits best.
const BRANCH_LINES_MAX: usize = 3;
/// How deep unions inside unions are explained.
const UNION_DEPTH_MAX: usize = 4;
/// Characters of the received arguments shown.
const RECEIVED_CHARS_MAX: usize = 4_000;

/// One thing that is wrong with the arguments.
struct Line {
    /// A JSON pointer into the arguments.
    pointer: String,
    message: String,
}

/// The whole text for arguments that do not fit. It ends with the arguments as they were received.
pub(super) fn failure<'a>(
    tool_name: &str,
    errors: impl Iterator<Item = ValidationError<'a>>,
    schema: &Value,
    received: &Value,
) -> String {
    let mut text = format!("Validation failed for tool \"{tool_name}\":\n");
    for line in lines(errors, schema) {
        let _infallible = writeln!(text, "  - {line}");
    }
    let _infallible = write!(
        text,
        "\nReceived arguments:\n{}",
        rendered(received, Layout::Indented, RECEIVED_CHARS_MAX)
    );
    text
}

/// One line for each of the first places, and a last one where there are more.
pub(super) fn lines<'a>(
    errors: impl Iterator<Item = ValidationError<'a>>,
    schema: &Value,
) -> Vec<String> {
    let mut lines = Vec::new();
    for error in errors {
        explain(&error, schema, UNION_DEPTH_MAX, &mut lines);
        if lines.len() > LINES_MAX {
            break;
        }
    }
    let mut texts: Vec<String> = lines
        .iter()
        .take(LINES_MAX)
        .map(|line| {
            let path = cut(&dotted(&line.pointer), PATH_CHARS_MAX);
            format!("{path}: {}", cut(&line.message, LINE_CHARS_MAX))
        })
        .collect();
    if lines.len() > LINES_MAX {
        texts.push("(and more)".to_owned());
    }
    texts
}

fn explain(error: &ValidationError<'_>, schema: &Value, union_depth: usize, lines: &mut Vec<Line>) {
    let here = error.instance_path().as_str();
    let mut add = |message: String| {
        lines.push(Line {
            pointer: here.to_owned(),
            message,
        });
    };
    match error.kind() {
        ValidationErrorKind::Type { kind } => add(format!(
            "expected {}, got {}",
            type_names(kind),
            shown(error.instance())
        )),
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            lines.push(Line {
                pointer: child(here, name),
                message: missing(name, error.instance(), schema, error),
            });
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let known = known_names(schema, error);
            for name in unexpected.iter().take(LINES_MAX) {
                lines.push(Line {
                    pointer: child(here, name),
                    message: unknown(name, &known, error.instance()),
                });
            }
        }
        ValidationErrorKind::Enum { options } => add(not_listed(options, error.instance())),
        ValidationErrorKind::Constant { expected_value } => {
            let expected = rendered(expected_value, Layout::Compact, VALUE_CHARS_MAX);
            add(format!(
                "must be {expected}, got {}",
                shown(error.instance())
            ));
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            explain_union(error, context, schema, union_depth, lines);
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            add("fits more than one of the alternatives, of which exactly one must fit".to_owned());
        }
        // The path is that of the object, the value that of its member.
        ValidationErrorKind::FalseSchema
            if error
                .schema_path()
                .as_str()
                .ends_with("/additionalProperties") =>
        {
            add(format!(
                "takes no properties, but has one with {}",
                shown(error.instance())
            ));
        }
        ValidationErrorKind::FalseSchema | ValidationErrorKind::Not { .. } => {
            add(format!("{} is not allowed here", shown(error.instance())));
        }
        ValidationErrorKind::PropertyNames { error: inner } => {
            add(format!(
                "the name {} is not allowed: {}",
                shown(inner.instance()),
                inner.masked_with("it")
            ));
        }
        ValidationErrorKind::Maximum { .. }
        | ValidationErrorKind::ExclusiveMaximum { .. }
        | ValidationErrorKind::Minimum { .. }
        | ValidationErrorKind::ExclusiveMinimum { .. } => {
            let message = error.masked_with(shown(error.instance()));
            // The description has the unit.
            match description(schema, error) {
                Some(description) => add(format!("{message} ({description})")),
                None => add(message.to_string()),
            }
        }
        _ => add(error.masked_with(shown(error.instance())).to_string()),
    }
}

/// What the schema says of the value that an error is about.
fn description<'a>(schema: &'a Value, error: &ValidationError<'_>) -> Option<&'a str> {
    let place = error.schema_path().as_str();
    let (owner, _keyword) = place.rsplit_once('/')?;
    schema.pointer(owner)?.get("description")?.as_str()
}

/// Explains the branch of a union that fits best, or names the types of all of them when none comes near.
fn explain_union(
    error: &ValidationError<'_>,
    branches: &[Vec<ValidationError<'static>>],
    schema: &Value,
    union_depth: usize,
    lines: &mut Vec<Line>,
) {
    let here = error.instance_path().as_str();
    let mut add = |message: String| {
        lines.push(Line {
            pointer: here.to_owned(),
            message,
        });
    };
    let misfits_here = |branch: &Vec<ValidationError<'static>>| {
        branch.iter().any(|error| {
            let is_verdict = matches!(
                error.kind(),
                ValidationErrorKind::Type { .. }
                    | ValidationErrorKind::Constant { .. }
                    | ValidationErrorKind::Enum { .. }
            );
            is_verdict && error.instance_path().as_str() == here
        })
    };
    let near: Vec<_> = branches
        .iter()
        .filter(|branch| !misfits_here(branch))
        .collect();
    let best = near.into_iter().min_by_key(|branch| misfit(branch));
    match best {
        Some(branch) if union_depth > 0 => {
            for error in branch.iter().take(BRANCH_LINES_MAX) {
                explain(error, schema, union_depth - 1, lines);
            }
        }
        _ => {
            let mut wanted: Vec<String> = Vec::new();
            for error in branches
                .iter()
                .flatten()
                .filter(|error| error.instance_path().as_str() == here)
            {
                let one = match error.kind() {
                    ValidationErrorKind::Type { kind } => type_names(kind),
                    ValidationErrorKind::Constant { expected_value } => {
                        rendered(expected_value, Layout::Compact, VALUE_CHARS_MAX)
                    }
                    ValidationErrorKind::Enum { options } => listed(options),
                    _ => continue,
                };
                if !wanted.contains(&one) {
                    wanted.push(one);
                }
            }
            if wanted.is_empty() {
                add(format!(
                    "{} fits none of the {} alternatives",
                    shown(error.instance()),
                    branches.len()
                ));
            } else {
                add(format!(
                    "expected {}, got {}",
                    wanted.join(" or "),
                    shown(error.instance())
                ));
            }
        }
    }
}

/// How far a branch is from fitting. A wrong constant in a member tells variants apart, so it weighs most.
fn misfit(branch: &[ValidationError<'static>]) -> (usize, usize) {
    let is_tag = |error: &&ValidationError<'static>| {
        matches!(
            error.kind(),
            ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. }
        )
    };
    (branch.iter().filter(is_tag).count(), branch.len())
}

fn type_names(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => kind.as_str().to_owned(),
        TypeKind::Multiple(kinds) => kinds
            .iter()
            .map(JsonType::as_str)
            .collect::<Vec<_>>()
            .join(" or "),
    }
}

fn missing(name: &str, instance: &Value, schema: &Value, error: &ValidationError<'_>) -> String {
    let known = known_names(schema, error);
    let strangers = instance
        .as_object()
        .into_iter()
        .flat_map(|members| members.keys())
        .map(String::as_str)
        .filter(|key| !known.contains(key));
    match closest(name, strangers) {
        Some(stranger) => format!(
            "is required, but missing; did you mean it by {}?",
            quoted(stranger)
        ),
        None => "is required, but missing".to_owned(),
    }
}

fn unknown(name: &str, known: &[&str], instance: &Value) -> String {
    let free = known
        .iter()
        .copied()
        .filter(|known| instance.get(known).is_none());
    if let Some(close) = closest(name, free) {
        return format!("is not a known property; did you mean {}?", quoted(close));
    }
    if known.is_empty() {
        return "is not a known property; there are none".to_owned();
    }
    let names: Vec<_> = known
        .iter()
        .take(NAMES_SHOWN_MAX)
        .map(|name| quoted(name))
        .collect();
    let rest = if known.len() > NAMES_SHOWN_MAX {
        ", …"
    } else {
        ""
    };
    format!(
        "is not a known property; known are {}{rest}",
        names.join(", ")
    )
}

fn not_listed(options: &Value, instance: &Value) -> String {
    let names = options
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    if let Some(close) = instance.as_str().and_then(|text| closest(text, names)) {
        return format!(
            "must be {}, got {}; did you mean {}?",
            listed(options),
            shown(instance),
            quoted(close)
        );
    }
    format!("must be {}, got {}", listed(options), shown(instance))
}

/// `one of "a", "b"`.
fn listed(options: &Value) -> String {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    let shown: Vec<_> = options
        .iter()
        .take(NAMES_SHOWN_MAX)
        .map(|option| rendered(option, Layout::Compact, VALUE_CHARS_MAX))
        .collect();
    let rest = if options.len() > NAMES_SHOWN_MAX {
        ", …"
    } else {
        ""
    };
    format!("one of {}{rest}", shown.join(", "))
}

/// The property names of the schema that the error is about.
fn known_names<'a>(schema: &'a Value, error: &ValidationError<'_>) -> Vec<&'a str> {
    let path = error.schema_path().as_str();
    let owner = [
        "/additionalProperties",
        "/unevaluatedProperties",
        "/required",
    ]
    .into_iter()
    .find_map(|keyword| path.rfind(keyword))
    .and_then(|end| path.get(..end));
    owner
        .and_then(|owner| schema.pointer(owner)?.get("properties")?.as_object())
        .map(|properties| properties.keys().map(String::as_str).collect())
        .unwrap_or_default()
}

/// A value with its type, cut.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => format!("number {number}"),
        Value::String(text) => format!("string {}", quoted(text)),
        Value::Array(_) => format!(
            "array {}",
            rendered(value, Layout::Compact, VALUE_CHARS_MAX)
        ),
        Value::Object(_) => format!(
            "object {}",
            rendered(value, Layout::Compact, VALUE_CHARS_MAX)
        ),
    }
}

fn quoted(text: &str) -> String {
    let head: String = text.chars().take(VALUE_CHARS_MAX + 1).collect();
    rendered(&Value::String(head), Layout::Compact, VALUE_CHARS_MAX)
}

fn child(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", super::escaped(name))
}

/// `/items/0/name` as `items.0.name`; the whole as `root`.
fn dotted(pointer: &str) -> String {
    match pointer.strip_prefix('/') {
        Some(segments) => segments
            .split('/')
            .map(unescaped)
            .collect::<Vec<_>>()
            .join("."),
        None => "root".to_owned(),
    }
}

fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[derive(Clone, Copy)]
enum Layout {
    Compact,
    Indented,
}

/// A value as JSON of at most `chars_max` characters, without writing the rest of a large one.
fn rendered(value: &Value, layout: Layout, chars_max: usize) -> String {
    let mut head = Head {
        bytes: Vec::new(),
        bytes_max: chars_max.saturating_mul(char::MAX.len_utf8()),
    };
    // The only error is that the head is full.
    let complete = match layout {
        Layout::Compact => serde_json::to_writer(&mut head, value).is_ok(),
        Layout::Indented => serde_json::to_writer_pretty(&mut head, value).is_ok(),
    };
    let text = String::from_utf8_lossy(&head.bytes);
    let text = if complete {
        text.as_ref()
    } else {
        text.trim_end_matches(char::REPLACEMENT_CHARACTER)
    };
    if complete {
        cut(text, chars_max)
    } else {
        cut(&format!("{text}…"), chars_max)
    }
}

/// Keeps the first bytes and refuses the rest.
struct Head {
    bytes: Vec<u8>,
    bytes_max: usize,
}

impl io::Write for Head {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.bytes_max - self.bytes.len();
        if room == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let taken = bytes.len().min(room);
        self.bytes
            .extend_from_slice(bytes.get(..taken).unwrap_or_default());
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
