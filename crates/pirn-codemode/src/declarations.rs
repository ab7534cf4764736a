//! Tools and globals as TypeScript declarations, the form in which models read them.

mod literal;
mod reference;
mod schema_type;
mod summary;
mod tags;

use serde_json::Value;

use crate::javascript::{trim, utf16_len};
use schema_type::{Renderer, TagMode};

pub(crate) use summary::summarise;

/// Largest rendered input type of a tool, in UTF-16 units. A longer one costs a model more than it helps.
pub const INPUT_TYPE_CHARS_MAX: usize = 16_000;

/// What a declaration says about one tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolDeclaration<'a> {
    /// The tool's own name; it is declared under its identifier.
    pub name: &'a str,
    /// The identifier, where it is not what [`pirn_tool::to_identifier`] makes of the name.
    pub identifier: Option<&'a str>,
    /// What the namespace is for, as models read it.
    pub description: Option<&'a str>,
    /// JSON Schema of the argument; `None` declares `unknown`.
    pub input_schema: Option<&'a Value>,
    /// JSON Schema of what the promise resolves to; `None` declares `unknown`.
    pub output_schema: Option<&'a Value>,
}

/// What a declaration says about one global function.
#[derive(Debug, Clone, Copy, Default)]
pub struct GlobalDeclaration<'a> {
    /// The name in scripts: `name`, or `namespace.name`.
    pub name: &'a str,
    /// What the tool does, as models read it.
    pub description: Option<&'a str>,
    /// JSON Schema of the argument.
    pub input_schema: Option<&'a Value>,
    /// JSON Schema of what the promise resolves to.
    pub output_schema: Option<&'a Value>,
    /// Everything after the name, as written; replaces both schemas.
    pub signature: Option<&'a str>,
}

/// Renders a JSON Schema as a TypeScript type.
///
/// A result of more than `chars_max` UTF-16 units is rendered again without constraint tags, and then given up as
/// `unknown`. Never fails: what cannot be expressed is `unknown`.
///
/// ```
/// use serde_json::json;
/// let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
/// assert_eq!(pirn_codemode::schema_to_type(&schema, None), "{ path: string; }");
/// ```
pub fn schema_to_type(schema: &Value, chars_max: Option<usize>) -> String {
    let fits = |text: &String| chars_max.is_none_or(|chars_max| utf16_len(text) <= chars_max);
    [TagMode::Shown, TagMode::Hidden]
        .into_iter()
        .map(|tags| Renderer::new(schema, tags).render(schema))
        .find(fits)
        .unwrap_or_else(|| schema_type::UNKNOWN.to_owned())
}

/// Renders `identifier(args: T): Promise<R>;`. The input type is limited to `input_chars_max` UTF-16 units.
pub fn tool_signature(tool: &ToolDeclaration<'_>, input_chars_max: usize) -> String {
    let types = signature(tool.input_schema, tool.output_schema, Some(input_chars_max));
    let identifier = tool
        .identifier
        .map_or_else(|| pirn_tool::to_identifier(tool.name), ToOwned::to_owned);
    format!("{identifier}{types};")
}

/// Renders a tool for a listing: its description, then its declaration in a fenced block.
pub fn tool_sample(tool: &ToolDeclaration<'_>) -> String {
    let description = trim(tool.description.unwrap_or_default());
    let signature = tool_signature(tool, INPUT_TYPE_CHARS_MAX);
    format!(
        "{description}\n\ncodemode tool declaration:\n```ts\ndeclare const tools: {{ {signature} }};\n```"
    )
}

/// Renders everything a script can call: `tools`, then the global functions, then the namespaces of global functions.
pub fn render_declarations(
    tools: &[ToolDeclaration<'_>],
    globals: &[GlobalDeclaration<'_>],
) -> String {
    let mut blocks = Vec::new();
    if !tools.is_empty() {
        let members = tools.iter().map(|tool| {
            let signature = tool_signature(tool, INPUT_TYPE_CHARS_MAX);
            format!("{}  {signature}\n", doc_comment(tool.description, "  "))
        });
        blocks.push(format!(
            "declare const tools: {{\n{}}};",
            members.collect::<String>()
        ));
    }
    let mut namespaces: Vec<(&str, String)> = Vec::new();
    for global in globals {
        let Some((namespace, member)) = global.name.split_once('.') else {
            let comment = doc_comment(global.description, "");
            blocks.push(format!(
                "{comment}declare function {}{};",
                global.name,
                global_signature(global)
            ));
            continue;
        };
        let comment = doc_comment(global.description, "  ");
        let line = format!("{comment}  {member}{};\n", global_signature(global));
        match namespaces.iter_mut().find(|(name, _)| *name == namespace) {
            Some((_, members)) => members.push_str(&line),
            None => namespaces.push((namespace, line)),
        }
    }
    blocks.extend(
        namespaces
            .iter()
            .map(|(name, members)| format!("declare const {name}: {{\n{members}}};")),
    );
    blocks.join("\n\n")
}

/// The host chooses its globals, so that their types are not limited.
fn global_signature(global: &GlobalDeclaration<'_>) -> String {
    global.signature.map_or_else(
        || signature(global.input_schema, global.output_schema, None),
        ToOwned::to_owned,
    )
}

fn signature(
    input: Option<&Value>,
    output: Option<&Value>,
    input_chars_max: Option<usize>,
) -> String {
    let render = |schema: Option<&Value>, chars_max| {
        schema.map_or_else(
            || schema_type::UNKNOWN.to_owned(),
            |schema| schema_to_type(schema, chars_max),
        )
    };
    format!(
        "(args: {}): Promise<{}>",
        render(input, input_chars_max),
        render(output, None)
    )
}

/// A documentation comment with its line end, or nothing for a blank description.
fn doc_comment(description: Option<&str>, indent: &str) -> String {
    let description = trim(description.unwrap_or_default()).replace("*/", "*\\/");
    if description.is_empty() {
        return String::new();
    }
    let lines: Vec<&str> = description
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .collect();
    if let [line] = lines.as_slice() {
        return format!("{indent}/** {line} */\n");
    }
    let mut comment = format!("{indent}/**\n");
    for line in lines {
        comment.push_str(indent);
        comment.push_str(if line.is_empty() { " *" } else { " * " });
        comment.push_str(line);
        comment.push('\n');
    }
    comment.push_str(indent);
    comment.push_str(" */\n");
    comment
}

#[cfg(test)]
mod tests;
