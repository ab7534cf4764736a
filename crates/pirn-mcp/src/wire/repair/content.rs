//! Blocks of content that do not fit the protocol.

use rmcp::model::ContentBlock;
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::contents::repair_contents;
use super::lists::{annotations, repair_resource};
use super::{Kind, Repairs, drop_unless, force_string, set};

/// How base64 of the usual image formats begins.
const IMAGE_STARTS: &[(&str, &str)] = &[
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
];

/// Whether a block needs no repair: it is as the protocol has it, or of a kind that the protocol may have one day.
pub(super) fn is_block(block: &Value) -> bool {
    let kind = block.get("type").and_then(Value::as_str);
    match kind {
        Some("text" | "image" | "audio" | "resource" | "resource_link") => {
            ContentBlock::deserialize(block).is_ok()
        }
        Some(_) => true,
        None => false,
    }
}

/// A block for those who know the protocol's blocks only.
pub(in crate::wire) fn typed(block: &Value) -> ContentBlock {
    ContentBlock::deserialize(block).unwrap_or_else(|_| ContentBlock::text(text_of(block)))
}

/// Makes the member `name` a list of blocks.
pub(super) fn repair_list(map: &mut Map<String, Value>, name: &str, repairs: &mut Repairs) {
    let mut blocks = match map.get_mut(name) {
        Some(Value::Array(blocks)) => {
            repair_blocks(blocks, repairs);
            return;
        }
        Some(Value::Null) | None => Vec::new(),
        Some(other) => vec![other.take()],
    };
    repair_blocks(&mut blocks, repairs);
    set(map, name, blocks, repairs);
}

fn repair_blocks(blocks: &mut Vec<Value>, repairs: &mut Repairs) {
    blocks.retain_mut(|block| {
        if block.is_null() {
            repairs.change();
            return false;
        }
        if !is_block(block) {
            repair_block(block, repairs);
        }
        true
    });
}

fn repair_block(block: &mut Value, repairs: &mut Repairs) {
    repairs.change();
    if let Value::Object(map) = block {
        let original = map.clone();
        repair_members(map, repairs);
        if ContentBlock::deserialize(&*block).is_ok() {
            return;
        }
        *block = Value::Object(original);
    }
    *block = json!({"type": "text", "text": text_of(block)});
}

/// Puts the members of a known block right where that says nothing that the server did not say.
fn repair_members(map: &mut Map<String, Value>, repairs: &mut Repairs) {
    if !map.contains_key("type") && map.get("text").is_some_and(Value::is_string) {
        set(map, "type", "text", repairs);
    }
    drop_unless(map, "_meta", Kind::Object, repairs);
    annotations(map, repairs);
    match map.get("type").and_then(Value::as_str) {
        Some("text") => force_string(map, "text", "", repairs),
        Some("image" | "audio") if !map.get("mimeType").is_some_and(Value::is_string) => {
            let media_type = media_type(map.get("data").and_then(Value::as_str));
            set(map, "mimeType", media_type, repairs);
        }
        Some("resource_link") => repair_resource(map, "uri", repairs),
        Some("resource") => {
            if let Some(resource @ Value::Object(_)) = map.get_mut("resource") {
                repair_contents(resource, "", repairs);
            }
        }
        Some(_) | None => {}
    }
}

fn media_type(data: Option<&str>) -> &'static str {
    let data = data.unwrap_or_default();
    IMAGE_STARTS
        .iter()
        .find(|(start, _)| data.starts_with(start))
        .map_or("application/octet-stream", |(_, media_type)| media_type)
}

/// A value as text: text itself, all else as JSON.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}
