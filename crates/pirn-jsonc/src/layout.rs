//! How a file is laid out: its indentation and line ends, and writing values in them.

use jsonc_parser::ast::Value as Ast;
use jsonc_parser::common::Ranged as _;
use serde_json::Value;

/// What files that show no indentation get.
const DEFAULT_UNIT: &str = "  ";

/// How a file is laid out.
pub(crate) struct Layout<'t> {
    text: &'t str,
    unit: &'t str,
    /// The end of a line.
    pub(crate) line_end: &'static str,
}

impl<'t> Layout<'t> {
    /// The layout of a text: one level is what the first member of the root object is indented by.
    pub(crate) fn of(text: &'t str, root: Option<&Ast<'_>>) -> Self {
        let first = root
            .and_then(Ast::as_object)
            .and_then(|object| object.properties.first());
        let unit = first
            .map(|first| indent_before(text, first.start()))
            .and_then(|(indent, begins_line)| begins_line.then_some(indent))
            .filter(|indent| !indent.is_empty());
        Self {
            text,
            unit: unit.unwrap_or(DEFAULT_UNIT),
            line_end: if text.contains("\r\n") { "\r\n" } else { "\n" },
        }
    }

    /// The indentation of the line that holds `position`.
    pub(crate) fn indent_at(&self, position: usize) -> &'t str {
        indent_before(self.text, position).0
    }

    /// The indentation of members, of which one begins at `position`, in an object whose line is indented by `base`.
    pub(crate) fn indent_of_member(&self, position: usize, base: &str) -> String {
        let (indent, begins_line) = indent_before(self.text, position);
        if begins_line {
            indent.to_owned()
        } else {
            self.deeper(base)
        }
    }

    /// One level deeper than `base`.
    pub(crate) fn deeper(&self, base: &str) -> String {
        format!("{base}{}", self.unit)
    }

    /// A value whose first line is indented by `indent` already. Arrays of plain values stay on one line.
    pub(crate) fn render(&self, value: &Value, indent: &str) -> String {
        let inner = self.deeper(indent);
        let (open, members, close): (_, Vec<String>, _) = match value {
            Value::Object(members) if !members.is_empty() => {
                let member = |(name, value): (&String, &Value)| {
                    let name = Value::from(name.as_str());
                    format!("{name}: {}", self.render(value, &inner))
                };
                ('{', members.iter().map(member).collect(), '}')
            }
            Value::Array(elements) if elements.iter().any(|e| e.is_object() || e.is_array()) => {
                let elements = elements.iter().map(|element| self.render(element, &inner));
                ('[', elements.collect(), ']')
            }
            Value::Object(_)
            | Value::Array(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_) => return render_line(value),
        };
        let line_end = self.line_end;
        let members = members.join(&format!(",{line_end}{inner}"));
        format!("{open}{line_end}{inner}{members}{line_end}{indent}{close}")
    }
}

/// A value on one line.
pub(crate) fn render_line(value: &Value) -> String {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let member = |(name, value): (&String, &Value)| {
                format!("{}: {}", Value::from(name.as_str()), render_line(value))
            };
            let members: Vec<String> = members.iter().map(member).collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(render_line).collect();
            format!("[{}]", elements.join(", "))
        }
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            value.to_string()
        }
    }
}

/// The space at the beginning of the line that holds `position`, and whether there is nothing else before it.
fn indent_before(text: &str, position: usize) -> (&str, bool) {
    let before = text.get(..position).unwrap_or_default();
    let line = before.rsplit_once('\n').map_or(before, |(_, line)| line);
    let rest = line.trim_start_matches([' ', '\t']);
    let indent = line.get(..line.len() - rest.len()).unwrap_or_default();
    (indent, rest.is_empty())
}

/// A file that holds only `value`, behind the comments that stand in it.
pub fn whole(comments: &str, value: &Value) -> String {
    let layout = Layout::of(comments, None);
    let line_end = layout.line_end;
    let comments = comments.trim_end();
    let gap = if comments.is_empty() { "" } else { line_end };
    format!("{comments}{gap}{}{line_end}", layout.render(value, ""))
}
