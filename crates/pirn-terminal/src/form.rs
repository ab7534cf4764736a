//! A server's form: fields from a JSON Schema, and what people type into them as values.

mod format;

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::foreign::{cut, on_one_line};
use crate::question::Question;
use format::Format;

/// Fields of one form. Nobody answers more on a terminal; the protocol's forms are meant to be small.
const FIELDS_MAX: usize = 50;
/// Choices of one field: what still fits on a few screens.
const CHOICES_MAX: usize = 200;
/// Columns of a value as it would be typed.
const VALUE_COLUMNS: usize = 300;

/// What a server wants to know, as fields to be filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// Its fields, in the order of the schema.
    pub fields: Vec<Field>,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name in the answer.
    pub name: String,
    title: String,
    description: Option<String>,
    need: Need,
    default: Option<Value>,
    kind: Kind,
}

/// Whether a field may stay empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Required,
    Optional,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Text {
        lengths: Range,
        format: Option<Format>,
    },
    Integer {
        minimum: Option<f64>,
        maximum: Option<f64>,
    },
    Number {
        minimum: Option<f64>,
        maximum: Option<f64>,
    },
    Boolean,
    One(Vec<Choice>),
    Several {
        choices: Vec<Choice>,
        counts: Range,
    },
}

#[derive(Debug, Clone, PartialEq)]
struct Choice {
    value: String,
    title: String,
}

/// A range of counts, both ends in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    least: u64,
    most: Option<u64>,
}

impl Range {
    fn of(schema: &Value, least: &str, most: &str) -> Self {
        Self {
            least: schema[least].as_u64().unwrap_or_default(),
            most: schema[most].as_u64(),
        }
    }

    fn check(self, count: usize, what: &str) -> Result<(), String> {
        let count = count as u64;
        if count < self.least || self.most.is_some_and(|most| count > most) {
            return Err(format!(
                "{} {what} are needed",
                self.words().unwrap_or_default()
            ));
        }
        Ok(())
    }

    fn words(self) -> Option<String> {
        match (self.least, self.most) {
            (0, None) => None,
            (least, None) => Some(format!("at least {least}")),
            (0, Some(most)) => Some(format!("at most {most}")),
            (least, Some(most)) if least == most => Some(format!("exactly {least}")),
            (least, Some(most)) => Some(format!("{least} to {most}")),
        }
    }
}

impl Form {
    /// The form that a schema describes. Fails on what cannot be asked for on a terminal.
    pub fn parse(schema: &Value) -> Result<Self, String> {
        let empty = Map::new();
        let properties = match &schema["properties"] {
            Value::Null => &empty,
            Value::Object(properties) => properties,
            _ => return Err("its form has no fields that can be understood".to_owned()),
        };
        if properties.len() > FIELDS_MAX {
            return Err(format!(
                "its form has {} fields, more than {FIELDS_MAX}",
                properties.len()
            ));
        }
        let required = |name: &str| {
            let names = schema["required"].as_array();
            names.is_some_and(|names| names.iter().any(|required| required == name))
        };
        let fields = properties
            .iter()
            .map(|(name, schema)| {
                let need = if required(name) {
                    Need::Required
                } else {
                    Need::Optional
                };
                Field::parse(name, schema, need)
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { fields })
    }
}

impl Field {
    fn parse(name: &str, schema: &Value, need: Need) -> Result<Self, String> {
        let text = |key: &str| schema[key].as_str().filter(|text| !text.is_empty());
        let kind = Kind::parse(schema)
            .ok_or_else(|| format!("its field `{}` cannot be shown here", on_one_line(name)))?;
        let mut field = Self {
            name: name.to_owned(),
            title: text("title").unwrap_or(name).to_owned(),
            description: text("description").map(str::to_owned),
            need,
            default: None,
            kind,
        };
        // A default that does not fit is none.
        let default = schema.get("default").filter(|default| !default.is_null());
        field.default = default.filter(|default| field.fits(default)).cloned();
        Ok(field)
    }

    fn fits(&self, value: &Value) -> bool {
        let typed = match (&self.kind, value) {
            (Kind::Several { .. }, Value::Array(values)) => {
                let texts = values.iter().filter_map(Value::as_str);
                texts.collect::<Vec<_>>().join(",")
            }
            (Kind::Text { .. } | Kind::One(_), Value::String(text)) => text.clone(),
            (Kind::Integer { .. } | Kind::Number { .. }, Value::Number(number)) => {
                number.to_string()
            }
            (Kind::Boolean, Value::Bool(_)) => value.to_string(),
            _ => return false,
        };
        self.read_filled(&typed).as_ref() == Ok(value)
    }

    /// What the server says about the field, for a screen of its own: a long title, a description, the choices.
    pub fn details(&self) -> Option<String> {
        let mut lines = Vec::new();
        if Question::name(&self.title) != self.title {
            lines.push(on_one_line(&self.title));
        }
        lines.extend(self.description.as_deref().map(on_one_line));
        if let Kind::One(choices) | Kind::Several { choices, .. } = &self.kind {
            let numbered = choices.iter().enumerate();
            lines.extend(numbered.map(|(index, choice)| {
                format!("{:>2}  {}", index + 1, on_one_line(&choice.title))
            }));
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// What is shown before the cursor.
    pub fn prompt(&self) -> String {
        let mut text = format!("  {}", Question::name(&self.title));
        let remarks = self.remarks();
        if !remarks.is_empty() {
            write_to(&mut text, &format!(" ({})", remarks.join("; ")));
        }
        if let Kind::One(_) | Kind::Several { .. } = &self.kind {
            text.push_str(". Number or name");
        }
        if let Some(default) = &self.default {
            write_to(&mut text, &format!(" [{}]", typed_value(default)));
        }
        text.push_str(": ");
        text
    }

    fn remarks(&self) -> Vec<String> {
        let kind = match &self.kind {
            Kind::Text { lengths, format } => {
                let lengths = lengths.words().map(|words| format!("{words} characters"));
                return format
                    .map(|format| format.words().to_owned())
                    .into_iter()
                    .chain(lengths)
                    .chain(self.optional())
                    .collect();
            }
            Kind::Integer { minimum, maximum } => Some(bounds("whole number", *minimum, *maximum)),
            Kind::Number { minimum, maximum } => Some(bounds("number", *minimum, *maximum)),
            Kind::Boolean => Some("yes or no".to_owned()),
            Kind::One(_) => None,
            Kind::Several { counts, .. } => Some(match counts.words() {
                Some(words) => format!("{words}, separated by commas"),
                None => "any, separated by commas".to_owned(),
            }),
        };
        kind.into_iter().chain(self.optional()).collect()
    }

    fn optional(&self) -> Option<String> {
        let may_stay_empty = self.need == Need::Optional && self.default.is_none();
        may_stay_empty.then(|| "may stay empty".to_owned())
    }

    /// What was typed, as a value; `None` where the field stays out of the answer. The error says what is wrong.
    pub fn read(&self, typed: &str) -> Result<Option<Value>, String> {
        let typed = typed.trim();
        if !typed.is_empty() {
            return self.read_filled(typed).map(Some);
        }
        match (&self.default, self.need) {
            (Some(default), _) => Ok(Some(default.clone())),
            (None, Need::Optional) => Ok(None),
            (None, Need::Required) => Err("an answer is needed".to_owned()),
        }
    }

    fn read_filled(&self, typed: &str) -> Result<Value, String> {
        match &self.kind {
            Kind::Text { lengths, format } => {
                lengths.check(typed.chars().count(), "characters")?;
                match format {
                    Some(format) if !format.fits(typed) => {
                        Err(format!("that is not {}", format.words()))
                    }
                    Some(_) | None => Ok(json!(typed)),
                }
            }
            Kind::Integer { minimum, maximum } => {
                let number: i64 = typed
                    .parse()
                    .map_err(|_| "that is not a whole number".to_owned())?;
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "limits come as floating-point numbers; beyond 2^53 they are not exact anyway"
                )]
                check_bounds(number as f64, *minimum, *maximum)?;
                Ok(json!(number))
            }
            Kind::Number { minimum, maximum } => {
                let number: f64 = typed
                    .parse()
                    .ok()
                    .filter(|number: &f64| number.is_finite())
                    .ok_or_else(|| "that is not a number".to_owned())?;
                check_bounds(number, *minimum, *maximum)?;
                // A whole number stays one.
                Ok(typed
                    .parse::<i64>()
                    .map_or_else(|_| json!(number), |whole| json!(whole)))
            }
            Kind::Boolean => match typed.to_lowercase().as_str() {
                "y" | "yes" | "true" => Ok(json!(true)),
                "n" | "no" | "false" => Ok(json!(false)),
                _ => Err("answer yes or no".to_owned()),
            },
            Kind::One(choices) => Ok(json!(choose(choices, typed)?)),
            Kind::Several { choices, counts } => {
                let mut chosen: Vec<&str> = Vec::new();
                for word in typed
                    .split(',')
                    .map(str::trim)
                    .filter(|word| !word.is_empty())
                {
                    let value = choose(choices, word)?;
                    if !chosen.contains(&value) {
                        chosen.push(value);
                    }
                }
                counts.check(chosen.len(), "choices")?;
                Ok(json!(chosen))
            }
        }
    }
}

impl Kind {
    fn parse(schema: &Value) -> Option<Self> {
        match Choices::of(schema) {
            Choices::Some(choices) => return Some(Self::One(choices)),
            Choices::Unusable => return None,
            Choices::None => {}
        }
        let (minimum, maximum) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
        match schema["type"].as_str()? {
            "string" => Some(Self::Text {
                lengths: Range::of(schema, "minLength", "maxLength"),
                format: schema["format"].as_str().and_then(Format::of),
            }),
            "integer" => Some(Self::Integer { minimum, maximum }),
            "number" => Some(Self::Number { minimum, maximum }),
            "boolean" => Some(Self::Boolean),
            "array" => match Choices::of(&schema["items"]) {
                Choices::Some(choices) => Some(Self::Several {
                    choices,
                    counts: Range::of(schema, "minItems", "maxItems"),
                }),
                Choices::None | Choices::Unusable => None,
            },
            _ => None,
        }
    }
}

/// The choices of a schema.
enum Choices {
    Some(Vec<Choice>),
    None,
    /// It offers some that cannot be shown.
    Unusable,
}

impl Choices {
    fn of(schema: &Value) -> Self {
        let titled = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
        let plain = schema["enum"].as_array();
        let choices: Option<Vec<Choice>> = match (titled, plain) {
            (Some(rows), _) => rows.iter().map(Choice::titled).collect(),
            (None, Some(values)) => values
                .iter()
                .enumerate()
                .map(|(index, value)| Choice::plain(value, &schema["enumNames"][index]))
                .collect(),
            (None, None) => return Self::None,
        };
        match choices {
            Some(choices) if (1..=CHOICES_MAX).contains(&choices.len()) => Self::Some(choices),
            Some(_) | None => Self::Unusable,
        }
    }
}

impl Choice {
    fn titled(row: &Value) -> Option<Self> {
        Self::plain(&row["const"], &row["title"])
    }

    fn plain(value: &Value, title: &Value) -> Option<Self> {
        let value = value.as_str()?;
        Some(Self {
            value: value.to_owned(),
            title: title.as_str().unwrap_or(value).to_owned(),
        })
    }
}

/// The choice that is meant: its value, its title, or its number.
fn choose<'a>(choices: &'a [Choice], typed: &str) -> Result<&'a str, String> {
    let same = |name: &str| name.to_lowercase() == typed.to_lowercase();
    choices
        .iter()
        .find(|choice| choice.value == typed)
        .or_else(|| {
            choices
                .iter()
                .find(|choice| same(&choice.title) || same(&choice.value))
        })
        .or_else(|| {
            let number: usize = typed.parse().ok()?;
            choices.get(number.checked_sub(1)?)
        })
        .map(|choice| choice.value.as_str())
        .ok_or_else(|| format!("`{}` is none of the choices", on_one_line(typed)))
}

fn bounds(what: &str, minimum: Option<f64>, maximum: Option<f64>) -> String {
    match (minimum, maximum) {
        (None, None) => what.to_owned(),
        (Some(minimum), None) => format!("{what} of at least {minimum}"),
        (None, Some(maximum)) => format!("{what} of at most {maximum}"),
        (Some(minimum), Some(maximum)) => format!("{what} from {minimum} to {maximum}"),
    }
}

fn check_bounds(number: f64, minimum: Option<f64>, maximum: Option<f64>) -> Result<(), String> {
    let is_in = minimum.is_none_or(|minimum| number >= minimum)
        && maximum.is_none_or(|maximum| number <= maximum);
    if is_in {
        Ok(())
    } else {
        Err(format!(
            "a {} is needed",
            bounds("number", minimum, maximum)
        ))
    }
}

/// A value as it would be typed.
pub fn typed_value(value: &Value) -> String {
    match value {
        Value::String(text) => cut(&on_one_line(text), VALUE_COLUMNS),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Array(values) => values
            .iter()
            .map(typed_value)
            .collect::<Vec<_>>()
            .join(", "),
        Value::Null | Value::Number(_) | Value::Object(_) => on_one_line(&value.to_string()),
    }
}

fn write_to(text: &mut String, part: &str) {
    // Writing to a string cannot fail.
    let _infallible = text.write_str(part);
}

#[cfg(test)]
mod tests;
