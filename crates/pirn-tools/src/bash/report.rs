//! The result of a command, for models and for scripts.

use std::time::Duration;

use pirn_sandbox::{ChildOutput, ExitStatus};
use pirn_tool::ToolResult;
use serde_json::{Map, Value, json};

use crate::limits::{CutBy, format_size};
use crate::paths::quoted;

use super::capture::Capture;
use super::confinement::Findings;
use super::holders;

/// How long a command may run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Limit {
    /// The call says so.
    Given(Duration),
    /// The call says nothing.
    Default(Duration),
}

impl Limit {
    pub(super) fn after(self) -> Duration {
        match self {
            Self::Given(after) | Self::Default(after) => after,
        }
    }

    /// What to do about a command that needs longer.
    fn advice(self) -> &'static str {
        match self {
            Self::Given(_) => "",
            Self::Default(_) => ", the default. Give timeout (in seconds) for more",
        }
    }
}

/// What there may be beyond the output that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rest {
    /// Nothing: the output was read to its end, or everything was killed.
    Complete,
    /// Processes in the background still hold the output open; their command lines, as far as they are known.
    HeldOpen(Vec<String>),
}

impl Rest {
    /// Finds out which processes hold the output open. Gives the output back.
    pub(super) async fn named(self, output: ChildOutput) -> (Self, Option<ChildOutput>) {
        match self {
            Self::Complete => (self, Some(output)),
            Self::HeldOpen(_) => {
                // Looks at every process, which takes a while on a busy machine.
                let looked =
                    tokio::task::spawn_blocking(move || (holders::command_lines(&output), output));
                match looked.await {
                    Ok((names, output)) => (Self::HeldOpen(names), Some(output)),
                    Err(_stopped) => (self, None),
                }
            }
        }
    }

    /// Said when the shell has ended and others have not.
    fn notice(&self) -> Option<String> {
        match self {
            Self::Complete => None,
            Self::HeldOpen(commands) => {
                let names: Vec<_> = commands.iter().map(|command| quoted(command)).collect();
                let by = if names.is_empty() {
                    String::new()
                } else {
                    format!(": {}", names.join(", "))
                };
                Some(format!(
                    "[The shell has ended, but background processes hold its output open{by}. What they write from now on is \
                     lost: redirect it to a file.]"
                ))
            }
        }
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum End {
    /// By itself.
    Exited(ExitStatus),
    /// Stopped after this time.
    TimedOut(Limit),
    /// Stopped after this time, when the shell had ended and background processes kept writing.
    TimedOutInBackground(Limit),
    /// Stopped by the caller.
    Aborted,
}

pub(super) fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "output": {"type": "string", "description": "stdout and stderr in order"},
            "truncated": {"type": "boolean", "description": "Whether the middle of the output was left out"},
            "full_output_path": {"type": "string", "description": "File with the whole output, when it is long"},
            "exit_code": {
                "type": ["integer", "null"],
                "description": "128 + n for signal n; null when the command was stopped"
            },
            "wall_time_seconds": {"type": "number"},
            "output_held_open": {
                "type": "boolean",
                "description": "True when background processes may still write: what they write from now on is lost"
            },
            "held_open_by": {
                "type": "array",
                "items": {"type": "string"},
                "description": "The command lines of these processes"
            },
            "denied": {
                "type": "array",
                "items": {"type": "string"},
                "description": "What the sandbox refused to a command that failed, and the setting that would allow it"
            },
            "sandbox": {
                "type": "object",
                "description": "The confinement it ran in; absent when there is none",
                "properties": {
                    "profile": {"type": "string"},
                    "network": {"type": "string"},
                    "level": {"type": "string"},
                    "layers": {"type": "array", "items": {"type": "string"}},
                    "missing": {"type": "array", "items": {"type": "string"}}
                },
                "required": ["profile", "network", "layers"]
            }
        },
        "required": ["output", "truncated", "exit_code", "wall_time_seconds"]
    })
}

/// Puts the result together.
pub(super) async fn result(
    mut capture: Capture,
    end: &End,
    rest: Rest,
    wall_time: Duration,
    findings: Findings,
) -> ToolResult {
    let full_output = capture.full_output().await;
    let (output, truncated) = capture.structured();
    let path = full_output
        .as_ref()
        .ok()
        .and_then(Option::as_ref)
        .map(|path| path.to_string_lossy().into_owned());

    let mut text = String::from_utf8_lossy(capture.tail().text).into_owned();
    if text.is_empty() {
        text.push_str("(no output)");
    }
    if let Some(notice) = cut_notice(&capture, path.as_deref(), full_output.err()) {
        append(&mut text, &notice);
    }
    if let Some(notice) = rest.notice() {
        append(&mut text, &notice);
    }
    let status = status_line(end);
    if let Some(status) = &status {
        append(&mut text, status);
        if !findings.explanations.is_empty() {
            append(&mut text, &findings.explanations.join("\n"));
        }
    }

    let mut structured = Map::new();
    structured.insert("output".into(), output.into());
    structured.insert("truncated".into(), truncated.into());
    if let Some(path) = path {
        structured.insert("full_output_path".into(), path.into());
    }
    structured.insert(
        "exit_code".into(),
        end.status().and_then(ExitStatus::shell_code).into(),
    );
    let tenths = (wall_time.as_secs_f64() * 10.0).round() / 10.0;
    structured.insert("wall_time_seconds".into(), tenths.into());

    if let Rest::HeldOpen(commands) = &rest {
        structured.insert("output_held_open".into(), true.into());
        if !commands.is_empty() {
            structured.insert("held_open_by".into(), commands.clone().into());
        }
    }
    if !findings.explanations.is_empty() {
        structured.insert("denied".into(), findings.explanations.into());
    }
    if let Some(sandbox) = &findings.sandbox {
        structured.insert("sandbox".into(), sandbox.clone());
    }

    let result = if status.is_some() {
        ToolResult::error(text)
    } else {
        ToolResult::text(text)
    };
    let result = result.with_structured(structured.into());
    match findings.sandbox {
        Some(sandbox) => result.with_details(json!({ "sandbox": sandbox })),
        None => result,
    }
}

/// Says what was cut and where all of it is.
fn cut_notice(capture: &Capture, path: Option<&str>, failure: Option<String>) -> Option<String> {
    let tail = capture.tail();
    let cut_by = tail.cut_by?;
    let total = capture.total_lines();
    let place = match (path, failure) {
        (Some(path), _) => format!("Full output: {path}"),
        (None, Some(reason)) => format!("The full output could not be kept: {reason}"),
        (None, None) => "The full output was not kept".to_owned(),
    };
    if tail.partial_line {
        let (kept, line) = (
            format_size(tail.text.len() as u64),
            format_size(capture.last_line_bytes()),
        );
        return Some(format!(
            "[Showing last {kept} of line {total} (line is {line}). {place}]"
        ));
    }
    let from = total - tail.lines as u64 + 1;
    let limit = if cut_by == CutBy::Bytes {
        " (50.0KB limit)"
    } else {
        ""
    };
    Some(format!(
        "[Showing lines {from}-{total} of {total}{limit}. {place}]"
    ))
}

/// What went wrong; `None` for a command that succeeded.
fn status_line(end: &End) -> Option<String> {
    match end {
        End::Exited(ExitStatus::Code(0)) => None,
        End::Exited(status) => Some(match status.shell_code() {
            Some(code) => format!("Command exited with code {code}"),
            None => "Command terminated without an exit code".to_owned(),
        }),
        End::TimedOut(limit) => Some(format!(
            "Command timed out after {} seconds{}",
            limit.after().as_secs_f64(),
            limit.advice()
        )),
        End::TimedOutInBackground(limit) => Some(format!(
            "Command timed out after {} seconds{}. The shell itself had ended; background processes kept writing. Redirect \
             their output to a file to leave them running.",
            limit.after().as_secs_f64(),
            limit.advice()
        )),
        End::Aborted => Some("Command aborted".to_owned()),
    }
}

/// Adds a paragraph after exactly one blank line.
fn append(text: &mut String, paragraph: &str) {
    let end = text.trim_end_matches('\n').len();
    text.truncate(end);
    text.push_str("\n\n");
    text.push_str(paragraph);
}
