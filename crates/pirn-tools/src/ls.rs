//! `ls`: the entries of a folder.

use std::path::Path;
use std::sync::Arc;

use pirn_tool::{Annotations, CallContext, Effects, Tool, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use crate::arguments::{Outcome, typed_tool};
use crate::blocking::{self, Stop};
use crate::limits::keep_head_lines;
use crate::options::ToolsOptions;
use crate::paths;

/// Entries shown when the call names no limit.
const LIMIT_DEFAULT: usize = 500;

/// Entries read between two looks at whether the call was stopped.
const STOP_CHECK_ENTRIES: usize = 1_000;

#[derive(Debug, Deserialize)]
struct Arguments {
    path: Option<String>,
    limit: Option<i64>,
}

/// `ls {path?, limit?}`: lists a folder, hidden entries included.
pub fn ls(options: Arc<ToolsOptions>) -> Tool {
    let spec = ToolSpec::new(
        "ls",
        format!(
            "List the entries of a folder, sorted by name, hidden ones included; folders end in '/'. Shows at most \
             {LIMIT_DEFAULT} entries unless a limit is given, and at most 50KB."
        ),
    )
    .input_schema(json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The folder (default: the working directory)"},
            "limit": {"type": "integer", "description": "Most entries to show (default: 500)"}
        }
    }))
    .effects(Effects::READ)
    .annotations(read_only());
    typed_tool(
        spec,
        options,
        |arguments: Arguments, options, context| async move {
            let path = paths::resolve_readable(arguments.path.as_deref().unwrap_or("."), &options)?;
            let limit = limit_or(arguments.limit, LIMIT_DEFAULT);
            run(&context, path, limit).await
        },
    )
}

/// The annotations of tools that only look at local files.
pub(crate) fn read_only() -> Annotations {
    Annotations {
        read_only_hint: Some(true),
        destructive_hint: Some(false),
        idempotent_hint: Some(true),
        open_world_hint: Some(false),
    }
}

/// A limit as given, at least 1.
pub(crate) fn limit_or(given: Option<i64>, default: usize) -> usize {
    given.map_or(default, |limit| {
        usize::try_from(limit.max(1)).unwrap_or(usize::MAX)
    })
}

async fn run(context: &CallContext, path: std::path::PathBuf, limit: usize) -> Outcome {
    blocking::run(context, move |stop| list(&path, limit, stop)).await
}

fn list(path: &Path, limit: usize, stop: &Stop) -> Outcome {
    let shown = path.display();
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("Path not found: {shown}"),
        _ => format!(
            "Cannot read directory: {shown}: {}",
            paths::describe(&error)
        ),
    })?;
    if !metadata.is_dir() {
        return Err(format!("Not a directory: {shown}"));
    }
    let entries = std::fs::read_dir(path).map_err(|error| {
        format!(
            "Cannot read directory: {shown}: {}",
            paths::describe(&error)
        )
    })?;
    let mut names = Vec::new();
    for (index, entry) in entries.enumerate() {
        if index % STOP_CHECK_ENTRIES == 0 {
            stop.check()?;
        }
        let entry = entry.map_err(|error| {
            format!(
                "Cannot read directory: {shown}: {}",
                paths::describe(&error)
            )
        })?;
        names.push(entry.file_name());
    }
    names.sort_by_cached_key(|name| (name.to_string_lossy().to_lowercase(), name.clone()));
    let mut lines = Vec::new();
    let mut limit_reached = false;
    for name in names {
        // Follows links, so that a link to a folder counts as one; a broken link cannot be examined.
        let Ok(metadata) = std::fs::metadata(path.join(&name)) else {
            continue;
        };
        if lines.len() == limit {
            limit_reached = true;
            break;
        }
        let suffix = if metadata.is_dir() { "/" } else { "" };
        lines.push(format!("{}{suffix}", name.to_string_lossy()));
    }
    if lines.is_empty() {
        return Ok(ToolResult::text("(empty directory)"));
    }
    let (mut text, cut) = keep_head_lines(&lines);
    let mut notices = Vec::new();
    if limit_reached {
        notices.push(format!(
            "{limit} entries limit reached. Use limit={} for more",
            limit.saturating_mul(2)
        ));
    }
    if cut {
        notices.push("50.0KB limit reached".to_owned());
    }
    append_notices(&mut text, &notices);
    Ok(ToolResult::text(text))
}

/// Adds notices after a blank line, in one pair of brackets.
pub(crate) fn append_notices(text: &mut String, notices: &[String]) {
    if !notices.is_empty() {
        text.push_str("\n\n[");
        text.push_str(&notices.join(". "));
        text.push(']');
    }
}
