//! `write`: a whole file at once.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pirn_tool::{Annotations, CallContext, Effects, Tool, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use crate::arguments::{Outcome, typed_tool};
use crate::options::ToolsOptions;
use crate::{atomic, blocking, file_queue, paths};

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    content: String,
}

/// `write {path, content}`: creates a file with its folders, or replaces its content at once.
pub fn write(options: Arc<ToolsOptions>) -> Tool {
    let spec = ToolSpec::new(
        "write",
        "Write content to a file. Creates the file and its parent folders when they do not exist, and replaces the whole \
         content when they do.",
    )
    .input_schema(json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Path of the file (relative or absolute)"},
            "content": {"type": "string", "description": "The whole new content"}
        },
        "required": ["path", "content"]
    }))
    .effects(Effects::READ | Effects::WRITE)
    .annotations(Annotations {
        read_only_hint: Some(false),
        destructive_hint: Some(true),
        idempotent_hint: Some(true),
        open_world_hint: Some(false),
    })
    .guideline("Use write only for new files and complete rewrites; use edit for changes.");
    typed_tool(spec, options, run)
}

async fn run(arguments: Arguments, options: Arc<ToolsOptions>, context: CallContext) -> Outcome {
    let Arguments { path, content } = arguments;
    let outside = paths::resolve(&path, &options);
    let (absolute, private_root) = match paths::private_place(&outside, &options) {
        Some(place) => (place.path, Some(place.root)),
        None => (outside, None),
    };
    let place = match private_root {
        Some(_) => {
            " (in the private temporary folder of commands, which goes at the end of the session)"
        }
        None => "",
    };
    let failed = {
        let path = path.clone();
        move |error: &io::Error| format!("Could not write {path}: {}", paths::describe(error))
    };
    let target = locate(&context, absolute)
        .await?
        .map_err(|error| failed(&error))?;
    if private_root.is_some_and(|root| !paths::stays_below(&target, &root)) {
        return Err(format!(
            "Could not write {path}: a link there leads out of the private temporary folder of commands"
        ));
    }
    paths::check_write(&target, &options)?;
    let turn = tokio::select! {
        turn = file_queue::turn(&target) => turn,
        () = context.cancel.cancelled() => return Err(crate::arguments::ABORTED.to_owned()),
    };
    blocking::run(&context, move |stop| {
        let _turn = turn;
        let parent = target.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(parent).map_err(|error| failed(&error))?;
        stop.check()?;
        atomic::replace(&target, content.as_bytes()).map_err(|error| failed(&error))?;
        Ok(ToolResult::text(format!(
            "Successfully wrote to {path}{place}"
        )))
    })
    .await
}

/// Finds the real file behind a path, off the async threads. The outer error is the text of a stopped call.
pub(crate) async fn locate(
    context: &CallContext,
    path: PathBuf,
) -> Result<io::Result<PathBuf>, String> {
    if context.cancel.is_cancelled() {
        return Err(crate::arguments::ABORTED.to_owned());
    }
    tokio::task::spawn_blocking(move || pirn_file::real_target(&path))
        .await
        .map_err(|error| format!("The tool stopped early, which is a bug in it: {error}"))
}
