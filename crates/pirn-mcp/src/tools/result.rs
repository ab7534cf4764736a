//! What a server answered, for scripts and for the model.

mod agreement;

use pirn_file::SpillFolder;
use pirn_tool::{ContentBlock, SchemaCheck, ToolResult};
use serde_json::{Map, Value, json};

use super::cut::{FittedContent, TEXT_BYTES_MAX, fit};
use super::media::Media;
use super::text::{cut_end, one_line, quoted, size};
use agreement::says_the_same;

#[cfg(test)]
mod tests;

/// Bytes of each fact inside a placeholder.
const FACT_BYTES_MAX: usize = 500;

/// What a result came from.
pub(super) struct ResultOrigin<'a> {
    pub(super) server: &'a str,
    /// The server's name of the tool.
    pub(super) tool: &'a str,
    /// The server's output schema, where it has one.
    pub(super) structured_check: Option<&'a SchemaCheck>,
}

/// Gives a `CallToolResult` to a script as it is, without `_meta`. The content holds only what an error says, for receipts and
/// for callers that are no scripts.
pub(super) fn to_nested_result(origin: &ResultOrigin<'_>, result: Value) -> ToolResult {
    let whole = whole_result(result);
    let is_error = whole.get("isError").and_then(Value::as_bool) == Some(true);
    let warnings = schema_warnings(origin, whole.get("structuredContent"), is_error);
    let mut details = origin.details();
    if !warnings.is_empty() {
        details.insert("warnings".into(), warnings.into());
    }
    let content = if is_error {
        vec![ContentBlock::text(cut_end(
            &error_text(origin, &whole),
            TEXT_BYTES_MAX,
        ))]
    } else {
        Vec::new()
    };
    ToolResult {
        content,
        structured: Some(Value::Object(whole)),
        is_error,
        details: Some(Value::Object(details)),
        ..ToolResult::default()
    }
}

/// What an error says in its text blocks.
fn error_text(origin: &ResultOrigin<'_>, whole: &Map<String, Value>) -> String {
    let blocks = whole.get("content").and_then(Value::as_array);
    let texts: Vec<&str> = blocks
        .into_iter()
        .flatten()
        .filter_map(|block| block.get("text").and_then(Value::as_str))
        .collect();
    let text = texts.join("\n");
    if text.trim().is_empty() {
        origin.failed_silently()
    } else {
        text
    }
}

impl ResultOrigin<'_> {
    fn details(&self) -> Map<String, Value> {
        let mut details = Map::new();
        details.insert("server".into(), self.server.into());
        details.insert("tool".into(), self.tool.into());
        details
    }

    fn failed_silently(&self) -> String {
        format!(
            "The tool {} of the MCP server {} failed without saying why.",
            quoted(self.tool),
            quoted(self.server)
        )
    }
}

/// Turns a `CallToolResult` into a result of Pirn. Scripts get all of it without `_meta`, also where it is an error. The model
/// gets its blocks, short enough, and the structured content where no block says the same. What does not fit the server's
/// own schema is only reported, in the details.
pub(super) fn to_tool_result(
    origin: &ResultOrigin<'_>,
    result: Value,
    spill: &SpillFolder,
) -> ToolResult {
    let whole = whole_result(result);
    let blocks = whole.get("content").and_then(Value::as_array);
    let structured = whole.get("structuredContent");
    let is_error = whole.get("isError").and_then(Value::as_bool) == Some(true);

    let mut media = Media::default();
    for block in blocks.into_iter().flatten() {
        add_block(&mut media, block, origin.server, spill);
    }
    if let Some(structured) = structured.filter(|structured| !structured.is_null())
        && !says_the_same(&media.content, structured)
    {
        media.text(indented(structured));
    }
    if is_error && has_no_text(&media.content) {
        media.text(origin.failed_silently());
    }
    let Media { content, saved } = media;
    let FittedContent { content, full_text } = fit(content, spill);

    let mut details = origin.details();
    if let Some(path) = full_text {
        details.insert("full_output_path".into(), path.to_string_lossy().into());
    }
    if !saved.is_empty() {
        let paths = saved.iter().map(|path| path.to_string_lossy().into());
        details.insert("saved_files".into(), Value::Array(paths.collect()));
    }
    let warnings = schema_warnings(origin, structured, is_error);
    if !warnings.is_empty() {
        details.insert("warnings".into(), warnings.into());
    }
    ToolResult {
        content,
        structured: Some(Value::Object(whole)),
        is_error,
        details: Some(Value::Object(details)),
        ..ToolResult::default()
    }
}

/// The result as an object with a list of blocks and without `_meta`, whatever the server sent.
fn whole_result(result: Value) -> Map<String, Value> {
    let mut whole = match result {
        Value::Object(whole) => whole,
        Value::Null => Map::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            let mut whole = Map::new();
            whole.insert("content".into(), other);
            whole
        }
    };
    whole.shift_remove("_meta");
    let blocks = match whole.get_mut("content").map(Value::take) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(blocks)) => blocks,
        Some(Value::String(text)) => vec![json!({"type": "text", "text": text})],
        Some(block @ Value::Object(_)) => vec![block],
        Some(other @ (Value::Bool(_) | Value::Number(_))) => {
            vec![json!({"type": "text", "text": other.to_string()})]
        }
    };
    whole.insert("content".into(), Value::Array(blocks));
    whole
}

fn add_block(media: &mut Media, block: &Value, server: &str, spill: &SpillFolder) {
    let member = |name: &str| block.get(name).and_then(Value::as_str);
    let mime_type = member("mimeType").unwrap_or_default();
    match (
        member("type").unwrap_or_default(),
        member("text"),
        member("data"),
    ) {
        ("text", Some(text), _) => media.text(text),
        ("image", _, Some(data)) => media.image(data, mime_type, spill),
        ("audio", _, Some(data)) => media.audio(data, mime_type),
        ("resource_link", _, _) => media.text(link_line(block, server)),
        ("resource", _, _) => match block.get("resource") {
            Some(resource @ Value::Object(_)) => add_resource(media, resource, spill),
            Some(_) | None => media.text(placeholder(block)),
        },
        (_, _, _) => media.text(placeholder(block)),
    }
}

/// The contents of a resource: `{uri, mimeType?, text | blob}`.
pub(super) fn add_resource(media: &mut Media, resource: &Value, spill: &SpillFolder) {
    let member = |name: &str| resource.get(name).and_then(Value::as_str);
    let uri = member("uri").unwrap_or_default();
    match (member("text"), member("blob")) {
        (Some(text), _) => media.text(text),
        (None, Some(blob)) => {
            media.blob(blob, member("mimeType").unwrap_or_default(), uri, spill);
        }
        (None, None) => media.text(format!(
            "[Resource {} without contents]",
            cut_end(&one_line(uri), FACT_BYTES_MAX)
        )),
    }
}

/// One line about a resource that the server only names.
fn link_line(link: &Value, server: &str) -> String {
    let member = |name: &str| {
        let text = one_line(link.get(name).and_then(Value::as_str).unwrap_or_default());
        Some(cut_end(&text, FACT_BYTES_MAX)).filter(|text| !text.is_empty())
    };
    let uri = link.get("uri").and_then(Value::as_str).unwrap_or_default();
    let mut facts = vec![cut_end(&one_line(uri), FACT_BYTES_MAX)];
    facts.extend(
        member("title")
            .or_else(|| member("name"))
            .map(|title| quoted(&title)),
    );
    facts.extend(member("mimeType"));
    facts.extend(link.get("size").and_then(Value::as_u64).map(size));
    let description = member("description")
        .map(|description| format!(" {}.", description.trim_end_matches('.')))
        .unwrap_or_default();
    let arguments = json!({"server": server, "uri": uri});
    format!(
        "[Resource link: {}.{description} Read it with read_mcp_resource({arguments})]",
        facts.join(", ")
    )
}

fn placeholder(block: &Value) -> String {
    let kind = block
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    match one_line(kind) {
        kind if kind.is_empty() => "[Content of no known type is not shown]".to_owned(),
        kind => format!(
            "[Content of type {} is not shown]",
            quoted(&cut_end(&kind, FACT_BYTES_MAX))
        ),
    }
}

pub(super) fn indented(value: &Value) -> String {
    format!("{value:#}")
}

fn has_no_text(content: &[ContentBlock]) -> bool {
    content
        .iter()
        .filter_map(ContentBlock::as_text)
        .all(|text| text.trim().is_empty())
}

/// What does not fit the server's own schema. An error need not fit it.
fn schema_warnings(
    origin: &ResultOrigin<'_>,
    structured: Option<&Value>,
    is_error: bool,
) -> Vec<String> {
    let Some(check) = origin.structured_check.filter(|_| !is_error) else {
        return Vec::new();
    };
    let Some(structured) = structured else {
        return vec![
            "The tool has an output schema, but the result has no structured content.".to_owned(),
        ];
    };
    check
        .complaints(structured)
        .into_iter()
        .map(|complaint| {
            format!("The structured content does not fit the tool's output schema: {complaint}")
        })
        .collect()
}
