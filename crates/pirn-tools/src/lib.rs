//! Pirn's built-in tools: read, write, edit, bash, grep, find and ls.
//!
//! [`builtin_tools`] makes all of them from one [`ToolsOptions`]; each also has a constructor of its own. They are plain
//! [`pirn_tool::Tool`] values: registering, validating, asking and reporting are the pipeline's. Text for a model is cut to
//! [`LINES_MAX`] lines or [`BYTES_MAX`] bytes; scripts get
//! whole results as values instead, up to [`SCRIPT_RESULT_BYTES_MAX`].
//!
//! This crate decides nothing about permissions, and reads neither the process environment nor the home directory.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
//! use pirn_tool::{CallRequest, Pipeline, Registry};
//! use pirn_tools::{ToolsOptions, builtin_tools};
//! use serde_json::json;
//!
//! # let folder = tempfile::tempdir()?;
//! let registry = Registry::new();
//! for tool in builtin_tools(ToolsOptions::new(folder.path(), folder.path())) {
//!     registry.register(tool);
//! }
//! let pipeline = Pipeline::builder(registry).build();
//! let arguments = json!({"path": "notes.txt", "content": "one\ntwo\n"});
//! let outcome = pipeline.call(CallRequest::new("1", "write", arguments)).await;
//! assert_eq!(outcome.result.joined_text(), "Successfully wrote to notes.txt");
//! # Ok(())
//! # }
//! ```

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests prepare and inspect what they test"
    )
)]

mod arguments;
mod bash;
mod blocking;
mod edit;
mod encoding;
mod file_queue;
mod find;
mod grep;
mod judgement;
mod limits;
mod line_count;
mod ls;
mod options;
mod paths;
mod picture;
mod read;
mod reader;
mod regular;
mod replace;
mod walk;
mod write;

use std::sync::Arc;

use pirn_tool::Tool;

pub use bash::{BACKGROUND_READ_MAX, bash};
pub use edit::{EDIT_FILE_BYTES_MAX, edit};
pub use find::find;
pub use grep::grep;
pub use judgement::{WriteJudgement, judge_write};
pub use limits::{BYTES_MAX, LINES_MAX};
pub use ls::ls;
pub use options::{COMMAND_TIMEOUT_DEFAULT, ToolsOptions};
pub use picture::{IMAGE_FILE_BYTES_MAX, PICTURE_HELPER_ARGUMENT, picture_helper};
pub use read::read;
pub use reader::SCRIPT_RESULT_BYTES_MAX;
pub use write::write;

/// All built-in tools: `read`, `bash`, `edit`, `write`, `grep`, `find`, `ls`, in this order.
pub fn builtin_tools(options: ToolsOptions) -> Vec<Tool> {
    let options = Arc::new(options);
    [read, bash, edit, write, grep, find, ls]
        .map(|make| make(Arc::clone(&options)))
        .into()
}
