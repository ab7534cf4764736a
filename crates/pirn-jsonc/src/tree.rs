//! JSON with comments as a tree that knows its lines.

use std::fmt;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

/// One value and where it begins.
#[derive(Clone, PartialEq)]
pub struct Node {
    /// The line on which it begins, counted from 1.
    pub line: u32,
    /// The value, with the places of what is in it.
    pub value: Tree,
}

/// What a value is.
#[derive(Clone, PartialEq)]
pub enum Tree {
    /// The word `null`, for no value.
    Null,
    /// One of the words `true` and `false`.
    Bool(bool),
    /// A number, as JavaScript would read it.
    Number(f64),
    /// A string, without quotes and escapes.
    Text(String),
    /// An array, with its entries in order.
    List(Vec<Node>),
    /// An object, its members in the order written, double names included.
    Object(Vec<Member>),
}

/// A member of an object.
#[derive(Clone, PartialEq)]
pub struct Member {
    /// The name, without quotes and escapes.
    pub name: String,
    /// The line of its name, from 1.
    pub line: u32,
    /// The value under this name.
    pub node: Node,
}

/// Why a text is no JSON.
#[derive(Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The line at which reading stopped, counted from 1.
    pub line: u32,
    /// What is wrong, in lower case.
    pub message: String,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for SyntaxError {}

// Values may be secrets, so nothing of them is shown.
impl fmt::Debug for Node {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Node")
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Tree {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tree").finish_non_exhaustive()
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Member")
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}

/// Comments and trailing commas, as editors and other clients have them, and nothing else beyond JSON: a file that only Pirn
/// could read would be a trap.
pub(crate) const PARSE_OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads JSON with comments; `None` is a text without a value. A byte order mark is skipped.
pub fn parse(text: &str) -> Result<Option<Node>, SyntaxError> {
    let text = without_mark(text);
    let parsed = parse_to_ast(text, &CollectOptions::default(), &PARSE_OPTIONS)
        .map_err(|error| syntax_error(&error))?;
    let lines = Lines::of(text);
    Ok(parsed.value.map(|value| node(&value, &lines)))
}

/// The text after its byte order mark.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// What the parser found, in our words.
pub(crate) fn syntax_error(error: &jsonc_parser::errors::ParseError) -> SyntaxError {
    let message = error.kind().to_string();
    let mut characters = message.chars();
    let lowered = characters
        .next()
        .map(|first| first.to_lowercase().chain(characters).collect());
    SyntaxError {
        line: u32::try_from(error.line_display()).unwrap_or(u32::MAX),
        message: lowered.unwrap_or_default(),
    }
}

impl Node {
    /// The first member of this name, where this is an object; `null` counts as missing.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.members()
            .iter()
            .find(|member| member.name == name)
            .map(|member| &member.node)
            .filter(|node| node.value != Tree::Null)
    }

    /// The members, none where this is no object.
    pub fn members(&self) -> &[Member] {
        match &self.value {
            Tree::Object(members) => members,
            Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::Text(_) | Tree::List(_) => &[],
        }
    }

    /// Whether this is an object.
    pub fn is_object(&self) -> bool {
        matches!(self.value, Tree::Object(_))
    }

    /// The value alone. Of equal names the last one is left; numbers are as precise as `f64`.
    pub fn to_json(&self) -> Value {
        match &self.value {
            Tree::Null => Value::Null,
            Tree::Bool(flag) => Value::Bool(*flag),
            Tree::Number(number) => Value::from(*number),
            Tree::Text(text) => Value::from(text.as_str()),
            Tree::List(elements) => elements.iter().map(Node::to_json).collect(),
            Tree::Object(members) => members
                .iter()
                .map(|member| (member.name.clone(), member.node.to_json()))
                .collect(),
        }
    }

    /// The string, where this is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Tree::Text(text) => Some(text),
            Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::List(_) | Tree::Object(_) => None,
        }
    }

    /// The elements, none where this is no array.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Tree::List(elements) => elements,
            Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::Text(_) | Tree::Object(_) => &[],
        }
    }

    /// The number, where this is one.
    pub fn number(&self) -> Option<f64> {
        match self.value {
            Tree::Number(number) => Some(number),
            Tree::Null | Tree::Bool(_) | Tree::Text(_) | Tree::List(_) | Tree::Object(_) => None,
        }
    }

    /// The truth value, where this is one.
    pub fn flag(&self) -> Option<bool> {
        match &self.value {
            Tree::Bool(flag) => Some(*flag),
            Tree::Null | Tree::Number(_) | Tree::Text(_) | Tree::List(_) | Tree::Object(_) => None,
        }
    }
}

/// Where the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(ends.map(|(offset, _)| offset + 1).collect())
    }

    /// The line that holds the byte at `offset`, from 1.
    fn line(&self, offset: usize) -> u32 {
        let before = self.0.partition_point(|start| *start <= offset);
        u32::try_from(before + 1).unwrap_or(u32::MAX)
    }
}

/// The parser limits the depth, so the recursion is bounded.
fn node(value: &ast::Value<'_>, lines: &Lines) -> Node {
    let tree = match value {
        ast::Value::NullKeyword(_) => Tree::Null,
        ast::Value::BooleanLit(literal) => Tree::Bool(literal.value),
        // What is no number for Rust is none for any setting.
        ast::Value::NumberLit(literal) => Tree::Number(literal.value.parse().unwrap_or(f64::NAN)),
        ast::Value::StringLit(literal) => Tree::Text(literal.value.to_string()),
        ast::Value::Array(array) => {
            Tree::List(array.elements.iter().map(|e| node(e, lines)).collect())
        }
        ast::Value::Object(object) => Tree::Object(
            object
                .properties
                .iter()
                .map(|property| Member {
                    name: match &property.name {
                        ast::ObjectPropName::String(literal) => literal.value.to_string(),
                        ast::ObjectPropName::Word(literal) => literal.value.to_owned(),
                    },
                    line: lines.line(property.range.start),
                    node: node(&property.value, lines),
                })
                .collect(),
        ),
    };
    Node {
        line: lines.line(value.start()),
        value: tree,
    }
}
