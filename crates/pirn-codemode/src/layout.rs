//! What a model reads of a script's result.

mod failure;
mod files;
mod items;
mod joined;
mod media;
mod truncate;

use std::path::PathBuf;
use std::time::Duration;

use pirn_tool::{CallStatus, ContentBlock};
use pirn_vm::Output;

use crate::cell::{CellStatus, CellUpdate};
use crate::result::ScriptResult;

pub use files::OutputFolder;

/// Tokens of text a result may have, unless the script says otherwise.
pub const OUTPUT_TOKENS_DEFAULT: u64 = 10_000;

/// How items become content blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LayoutKind {
    /// One block per item.
    Items,
    /// Neighbouring texts in one block, each of several under a heading; console lines at the end.
    #[default]
    Joined,
}

/// How a result is laid out.
#[derive(Debug, Clone)]
pub struct LayoutOptions {
    /// Whether neighbouring texts are put together.
    pub kind: LayoutKind,
    /// Tokens of text that are shown.
    pub output_tokens_max: u64,
    /// Where whole outputs and images are kept; without one, cut text is lost and the result says so.
    pub folder: Option<OutputFolder>,
    /// What the source needed, for the model.
    pub notes: Vec<String>,
}

impl Default for LayoutOptions {
    fn default() -> Self {
        Self {
            kind: LayoutKind::Joined,
            output_tokens_max: OUTPUT_TOKENS_DEFAULT,
            folder: None,
            notes: Vec::new(),
        }
    }
}

impl LayoutOptions {
    /// The budget of text in UTF-16 code units.
    fn characters_max(&self) -> usize {
        let characters = self
            .output_tokens_max
            .saturating_mul(truncate::CHARACTERS_PER_TOKEN as u64);
        usize::try_from(characters).unwrap_or(usize::MAX)
    }
}

/// A result as a model reads it.
#[derive(Debug, Clone)]
pub struct LaidOut {
    /// The header, the items, and an error at the end.
    pub content: Vec<ContentBlock>,
    /// The file with the whole text, where it was cut.
    pub full_output_path: Option<PathBuf>,
}

/// What the header says of the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptState<'a> {
    /// The script ended, and gave what it returned.
    Completed,
    /// The script ended with an error.
    Failed,
    /// The script was stopped before its end.
    Terminated,
    /// It goes on as this cell.
    Running(&'a str),
}

/// The header of a result: three lines, each ended.
pub fn header(state: ScriptState<'_>, wall: Duration) -> String {
    let first = match state {
        ScriptState::Completed => "Script completed".to_owned(),
        ScriptState::Failed => "Script failed".to_owned(),
        ScriptState::Terminated => "Script terminated".to_owned(),
        ScriptState::Running(cell) => format!("Script running with cell ID {cell}"),
    };
    format!(
        "{first}\nWall time {:.1} seconds\nOutput:\n",
        wall.as_secs_f64()
    )
}

/// A part of a result before it is laid out.
enum Part {
    Text(String),
    Console(String),
    Image { data: String, mime_type: String },
    Audio { data: String, mime_type: String },
}

/// Lays a finished script out.
pub fn lay_out(result: &ScriptResult, options: &LayoutOptions) -> LaidOut {
    let state = if result.is_ok() {
        ScriptState::Completed
    } else {
        ScriptState::Failed
    };
    let mut parts: Vec<Part> = result.output.iter().map(Part::from).collect();
    parts.extend(returned(result));
    let error = result
        .outcome
        .as_ref()
        .err()
        .map(|error| failure::error_text(error, &result.calls));
    let notes = result.remarks();
    arranged(header(state, result.wall), &notes, parts, error, options)
}

/// Lays out what is new of a cell; `wall` is the time the header names.
pub fn lay_out_update(
    update: &CellUpdate,
    cell_id: &str,
    wall: Duration,
    options: &LayoutOptions,
) -> LaidOut {
    let mut parts: Vec<Part> = update.output.iter().map(Part::from).collect();
    let notes = match &update.status {
        CellStatus::Running => Vec::new(),
        CellStatus::Terminated(result) | CellStatus::Ended(result) => result.remarks(),
    };
    let (state, error) = match &update.status {
        CellStatus::Running => (ScriptState::Running(cell_id), None),
        CellStatus::Terminated(result) => {
            let calls = (!result.calls.is_empty()).then(|| failure::calls_text(&result.calls));
            (ScriptState::Terminated, calls)
        }
        CellStatus::Ended(result) => {
            parts.extend(returned(result));
            match &result.outcome {
                Ok(_) => (ScriptState::Completed, None),
                Err(error) => (
                    ScriptState::Failed,
                    Some(failure::error_text(error, &result.calls)),
                ),
            }
        }
    };
    arranged(header(state, wall), &notes, parts, error, options)
}

fn returned(result: &ScriptResult) -> Option<Part> {
    Some(Part::Text(value_text(result.value()?.as_str())))
}

fn arranged(
    head: String,
    notes: &[String],
    parts: Vec<Part>,
    error: Option<String>,
    options: &LayoutOptions,
) -> LaidOut {
    let notes = options
        .notes
        .iter()
        .chain(notes)
        .map(|note| Part::Console(format!("Note: {note}")));
    let parts = notes.chain(parts).collect();
    match options.kind {
        LayoutKind::Joined => joined::lay_out(head, parts, error.as_deref(), options),
        LayoutKind::Items => items::lay_out(head, parts, error, options),
    }
}

/// A returned value as text: strings as they are, other values as JSON.
fn value_text(json: &str) -> String {
    if json.starts_with('"') {
        let text = pirn_vm::JsonText::new(json)
            .parse()
            .ok()
            .and_then(|value| value.as_str().map(str::to_owned));
        if let Some(text) = text {
            return text;
        }
    }
    json.to_owned()
}

/// A status as rows show it.
pub fn status_name(status: CallStatus) -> &'static str {
    match status {
        CallStatus::Ok => "ok",
        CallStatus::Error => "error",
        CallStatus::Cancelled => "cancelled",
        CallStatus::Unknown => "unknown",
        CallStatus::Unfinished => "running",
    }
}

impl From<&Output> for Part {
    fn from(output: &Output) -> Self {
        match output {
            Output::Text(text) => Self::Text(text.to_string()),
            Output::Console(text) => Self::Console(text.to_string()),
            Output::Image {
                data,
                mime_type,
                detail: _,
            } => Self::Image {
                data: data.clone(),
                mime_type: mime_type.clone(),
            },
            Output::Audio { data, mime_type } => Self::Audio {
                data: data.clone(),
                mime_type: mime_type.clone(),
            },
        }
    }
}
