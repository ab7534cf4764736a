//! The contents of one resource.

use pirn_file::SpillFolder;
use pirn_tool::{CallContext, ContentBlock, Origin, ToolResult};
use serde_json::{Map, Value, json};

use super::{ResourceSource, known_server};
use crate::tools::cut::fit;
use crate::tools::handler::error_result;
use crate::tools::media::Media;
use crate::tools::result::add_resource;
use crate::tools::text::{one_line, quoted};

/// What the contents of a resource consist of; the rest is for interfaces.
const CONTENT_MEMBERS: [&str; 4] = ["uri", "mimeType", "text", "blob"];

pub(super) async fn read(
    source: &dyn ResourceSource,
    arguments: &Value,
    context: &CallContext,
    spill: &SpillFolder,
) -> ToolResult {
    let argument = |name: &str| {
        arguments
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (server, uri) = (argument("server").to_owned(), argument("uri").to_owned());
    if let Err(error) = known_server(source, &server, context).await {
        return error;
    }
    let answer = match source.read(&server, &uri, context).await {
        Ok(answer) => answer,
        Err(error) => return error_result(&error),
    };
    if context.origin == Origin::Nested {
        return ToolResult::default().with_structured(contents_of(&server, &uri, answer));
    }
    let spill = spill.clone();
    let failure = format!(
        "MCP server {}: {} could not be read",
        quoted(&server),
        quoted(&uri)
    );
    // Files are written.
    tokio::task::spawn_blocking(move || read_result(&server, &uri, answer, &spill))
        .await
        .unwrap_or_else(|error| ToolResult::error(format!("{failure}: {error}")))
}

/// What a script gets: `{server, uri, contents}`.
fn contents_of(server: &str, uri: &str, mut answer: Value) -> Value {
    let contents: Vec<Value> = match answer.get_mut("contents").map(Value::take) {
        Some(Value::Array(contents)) => contents
            .into_iter()
            .filter_map(|content| plain_content(uri, content))
            .collect(),
        Some(_) | None => Vec::new(),
    };
    json!({"server": server, "uri": uri, "contents": contents})
}

fn read_result(server: &str, uri: &str, answer: Value, spill: &SpillFolder) -> ToolResult {
    let structured = contents_of(server, uri, answer);
    let contents = structured
        .get("contents")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut media = Media::default();
    for content in contents {
        if contents.len() > 1 {
            let label = content.get("uri").and_then(Value::as_str).unwrap_or(uri);
            media.text(format!("{}:", one_line(label)));
        }
        add_resource(&mut media, content, spill);
    }
    if contents.is_empty() {
        media.text(format!("[Resource {} is empty]", one_line(uri)));
    }
    let Media { content, saved } = media;
    let fitted = fit(content, spill);
    let mut details = Map::new();
    if let Some(path) = fitted.full_text {
        details.insert("full_output_path".into(), path.to_string_lossy().into());
    }
    if !saved.is_empty() {
        let paths = saved.iter().map(|path| path.to_string_lossy().into());
        details.insert("saved_files".into(), Value::Array(paths.collect()));
    }
    let content: Vec<ContentBlock> = fitted.content;
    ToolResult {
        content,
        structured: Some(structured),
        is_error: false,
        details: (!details.is_empty()).then_some(Value::Object(details)),
        ..ToolResult::default()
    }
}

/// One of the contents with the members of [`CONTENT_MEMBERS`]; the asked URI where the server names none.
fn plain_content(uri: &str, content: Value) -> Option<Value> {
    let Value::Object(mut members) = content else {
        return None;
    };
    let mut plain = Map::new();
    plain.insert("uri".into(), uri.into());
    for member in CONTENT_MEMBERS {
        if let Some(value @ Value::String(_)) = members.shift_remove(member) {
            plain.insert(member.into(), value);
        }
    }
    Some(Value::Object(plain))
}
