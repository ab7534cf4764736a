//! `list_directory`: the direct children of a folder.

use std::path::Path;
use std::sync::Arc;

use pirn_tool::{CallContext, Effects, Tool, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::frame::{VALUE_JSON_BYTES_MAX, json_bytes};
use super::{AdapterOptions, Outcome, adapter, blocking, check, paths};

/// Entries that a call gives; of larger folders the rest is counted.
pub const LIST_ENTRIES_MAX: usize = 10_000;

/// Entries that are looked at: more would take seconds.
const SCAN_ENTRIES_MAX: usize = 200_000;

/// Bytes of JSON that the entries may take; the one that counts the rest comes on top.
const ENTRIES_JSON_BYTES_MAX: usize = VALUE_JSON_BYTES_MAX - 1_000;

/// Entries read between two looks at whether the call was stopped.
const CHECK_ENTRIES: usize = 1_000;

#[derive(Debug, Deserialize)]
struct Arguments {
    path: Option<String>,
}

/// The tool `list_directory`, which lists one folder below the root.
pub(super) fn list_directory(options: Arc<AdapterOptions>) -> Tool {
    let spec = ToolSpec::new(
        "list_directory",
        format!(
            "Lists the direct children of a folder in the working folder, sorted by name, as {{name, kind}} with kind `directory`, \
             `file` or `other` (links are `other`). After {LIST_ENTRIES_MAX} entries comes one of kind `truncated` that says how \
             many are missing."
        ),
    )
    .input_schema(json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The folder, relative to the working folder (default: that itself)"}
        }
    }))
    .output_schema(json!({
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "kind": {"enum": ["directory", "file", "other", "truncated"]},
                "omitted": {"type": "integer", "description": "With `truncated`: how many entries are missing, at least"}
            },
            "required": ["name", "kind"]
        }
    }))
    .effects(Effects::READ);
    adapter(
        spec,
        options,
        |arguments: Arguments, options: Arc<AdapterOptions>, context: CallContext| async move {
            blocking(&context, move |cancel| {
                let path = arguments.path.as_deref().unwrap_or(".");
                let folder = paths::open_readable_folder(&options, path)?;
                list(&folder.listing_path(), path, LIST_ENTRIES_MAX, cancel)
            })
            .await
        },
    )
}

/// The first `entries_max` entries, and one that counts the others.
pub(super) fn list(
    folder: &Path,
    path: &str,
    entries_max: usize,
    cancel: &CancellationToken,
) -> Outcome {
    let failed = |error: std::io::Error| paths::describe(path, &error);
    let mut entries = Vec::new();
    let mut omitted = 0_usize;
    for (index, entry) in std::fs::read_dir(folder).map_err(failed)?.enumerate() {
        if index % CHECK_ENTRIES == 0 {
            check(cancel)?;
        }
        if index >= SCAN_ENTRIES_MAX {
            omitted += 1;
            break;
        }
        let entry = entry.map_err(failed)?;
        // Does not follow links. What vanished meanwhile is still an entry.
        let kind = entry.file_type().map_or("other", |kind| {
            if kind.is_dir() {
                "directory"
            } else if kind.is_file() {
                "file"
            } else {
                "other"
            }
        });
        entries.push((entry.file_name(), kind));
    }
    entries.sort_unstable();
    let mut listed = Vec::new();
    let mut bytes_left = ENTRIES_JSON_BYTES_MAX;
    let mut rest = entries.into_iter();
    for (name, kind) in rest.by_ref().take(entries_max) {
        let entry = json!({"name": name.to_string_lossy(), "kind": kind});
        let Some(left) = bytes_left.checked_sub(json_bytes(&entry) + 1) else {
            omitted += 1;
            break;
        };
        bytes_left = left;
        listed.push(entry);
    }
    omitted += rest.count();
    if omitted > 0 {
        listed.push(json!({"name": "…", "kind": "truncated", "omitted": omitted}));
    }
    Ok(Value::Array(listed))
}
