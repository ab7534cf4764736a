//! `edit`: exact replacements in one file.

mod diff;
mod matching;
mod nearest;
mod normalize;
mod original;

use std::path::Path;
use std::sync::Arc;

use pirn_tool::{Annotations, CallContext, Effects, Tool, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::arguments::{ABORTED, Outcome, typed_tool_with};
use crate::blocking::{self, Stop};
use crate::limits::format_size;
use crate::options::ToolsOptions;
use crate::write::locate;
use crate::{atomic, file_queue, paths};

use original::Original;

/// The largest file that is edited: it is held in memory several times over.
pub const EDIT_FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    edits: Vec<Edit>,
}

/// One replacement.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Edit {
    old_text: String,
    new_text: String,
}

/// `edit {path, edits: [{oldText, newText}]}`: replaces texts that occur exactly once.
pub fn edit(options: Arc<ToolsOptions>) -> Tool {
    let spec = ToolSpec::new(
        "edit",
        "Edit one file by replacing exact texts. Every oldText must occur exactly once in the file as it is before the call, \
         and they must not overlap. Give all changes of a file in one call.",
    )
    .input_schema(json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Path of the file (relative or absolute)"},
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "oldText": {"type": "string", "description": "Text to replace; long enough to be unique"},
                        "newText": {"type": "string", "description": "What replaces it"}
                    },
                    "required": ["oldText", "newText"]
                }
            }
        },
        "required": ["path", "edits"]
    }))
    .effects(Effects::READ | Effects::WRITE)
    .annotations(Annotations {
        read_only_hint: Some(false),
        destructive_hint: Some(true),
        idempotent_hint: Some(false),
        open_world_hint: Some(false),
    })
    .guideline("Keep oldText as short as it can be while being unique; join changes that touch.");
    typed_tool_with(spec, options, prepare, run)
}

/// Accepts `edits` as JSON text or as a single object, and one edit given at the top level.
fn prepare(arguments: Value) -> Value {
    let Value::Object(mut object) = arguments else {
        return arguments;
    };
    let edits = match object.remove("edits") {
        Some(Value::String(text)) => match serde_json::from_str(&text) {
            Ok(parsed @ (Value::Array(_) | Value::Object(_))) => Some(parsed),
            _ => Some(Value::String(text)),
        },
        other => other,
    };
    let edits = match edits {
        Some(single @ Value::Object(_)) => Some(Value::Array(vec![single])),
        other => other,
    };
    let edits = match (edits, take_top_level(&mut object)) {
        (Some(Value::Array(mut edits)), Some(edit)) => {
            edits.push(edit);
            Some(Value::Array(edits))
        }
        (None, Some(edit)) => Some(Value::Array(vec![edit])),
        (edits, _) => edits,
    };
    if let Some(edits) = edits {
        object.insert("edits".to_owned(), edits);
    }
    Value::Object(object)
}

fn take_top_level(object: &mut Map<String, Value>) -> Option<Value> {
    if !(object.get("oldText")?.is_string() && object.get("newText")?.is_string()) {
        return None;
    }
    Some(json!({"oldText": object.remove("oldText"), "newText": object.remove("newText")}))
}

async fn run(arguments: Arguments, options: Arc<ToolsOptions>, context: CallContext) -> Outcome {
    let Arguments { path, edits } = arguments;
    if edits.is_empty() {
        return Err(
            "Edit tool input is invalid. edits must contain at least one replacement.".to_owned(),
        );
    }
    let absolute = paths::resolve_readable(&path, &options)?;
    let target = locate(&context, absolute)
        .await?
        .map_err(|error| unreadable(&path, &error))?;
    paths::check_write(&target, &options)?;
    let turn = tokio::select! {
        turn = file_queue::turn(&target) => turn,
        () = context.cancel.cancelled() => return Err(ABORTED.to_owned()),
    };
    blocking::run(&context, move |stop| {
        let _turn = turn;
        edit_file(&target, &path, &edits, stop)
    })
    .await
}

fn edit_file(target: &Path, shown: &str, edits: &[Edit], stop: &Stop) -> Outcome {
    let before = read_text(target, shown)?;
    stop.check()?;
    let original = Original::parse(&before);
    let replacements = matching::plan(&original.text, edits).map_err(|failure| {
        let nearest = failure
            .missing_text()
            .and_then(|text| nearest::describe(&original.text, text));
        failure.describe(shown, edits.len(), nearest)
    })?;
    let after = original.render(&replacements);
    if after == before {
        return Err(matching::Failure::NoChange.describe(shown, edits.len(), None));
    }
    let details = diff::details(&before, &after, shown);
    stop.check()?;
    atomic::replace(target, after.as_bytes())
        .map_err(|error| format!("Could not write {shown}: {}", paths::describe(&error)))?;
    let text = format!("Successfully replaced {} block(s) in {shown}.", edits.len());
    Ok(ToolResult::text(text).with_details(details))
}

fn read_text(target: &Path, shown: &str) -> Result<String, String> {
    let metadata = std::fs::metadata(target).map_err(|error| unreadable(shown, &error))?;
    if metadata.is_dir() {
        return Err(unreadable(shown, &std::io::ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() {
        return Err(format!(
            "Could not edit file: {shown}. It is no regular file."
        ));
    }
    if metadata.len() > EDIT_FILE_BYTES_MAX {
        let (size, limit) = (
            format_size(metadata.len()),
            format_size(EDIT_FILE_BYTES_MAX),
        );
        return Err(format!(
            "Could not edit file: {shown}. It has {size}, more than {limit}. Use bash with sed or a script instead."
        ));
    }
    let bytes = std::fs::read(target).map_err(|error| unreadable(shown, &error))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("Could not edit file: {shown}. It is no UTF-8 text (byte {at}). Use bash with a script instead.")
    })
}

fn unreadable(shown: &str, error: &std::io::Error) -> String {
    format!(
        "Could not edit file: {shown}. Error code: {}.",
        paths::error_code(error)
    )
}

#[cfg(test)]
mod tests;
