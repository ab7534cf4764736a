//! The result of a command, for models and for scripts.

use std::time::Duration;

use pirn_file::SPILL_BYTES_MAX;
use pirn_sandbox::{ChildOutput, ExitStatus};
use pirn_tool::ToolResult;
use serde_json::{Map, Value, json};

use crate::limits::{CutBy, format_size};
use crate::paths::quoted;
use crate::reader::{Reader, SCRIPT_RESULT_BYTES_MAX};

use super::capture::{Capture, KeptOutput};
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
    /// By itself, with this status.
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
            "output": {"type": "string", "description": "stdout and stderr in order, all of it"},
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
                "description": "The confinement it ran in, where something was refused",
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
        "required": ["output", "exit_code", "wall_time_seconds"]
    })
}

/// Everything there is to say about a command.
pub(super) struct Report {
    pub(super) capture: Capture,
    pub(super) end: End,
    pub(super) rest: Rest,
    pub(super) wall_time: Duration,
    pub(super) findings: Findings,
}

impl Report {
    /// The result for its reader.
    pub(super) async fn into_result(mut self, reader: Reader) -> ToolResult {
        let full_output = self.capture.full_output().await;
        let details = self
            .findings
            .sandbox
            .as_ref()
            .map(|sandbox| json!({ "sandbox": sandbox }));
        let result = match reader {
            Reader::Eyes => self.shown(full_output),
            Reader::Program => self.into_data(full_output),
        };
        match details {
            Some(details) => result.with_details(details),
            None => result,
        }
    }

    /// The end of the output with notices.
    fn shown(&self, full_output: Result<Option<KeptOutput>, String>) -> ToolResult {
        let mut text = String::from_utf8_lossy(self.capture.tail().text).into_owned();
        if text.is_empty() {
            text.push_str("(no output)");
        }
        if let Some(notice) = cut_notice(&self.capture, full_output) {
            append(&mut text, &notice);
        }
        if let Some(notice) = self.rest.notice() {
            append(&mut text, &notice);
        }
        let Some(status) = self.failure() else {
            return ToolResult::text(text);
        };
        append(&mut text, &status);
        ToolResult::error(text)
    }

    /// What went wrong and why, for people.
    fn failure(&self) -> Option<String> {
        let mut text = status_line(&self.end)?;
        if !self.findings.explanations.is_empty() {
            append(&mut text, &self.findings.explanations.join("\n"));
        }
        Some(text)
    }

    /// The whole output and nothing added to it.
    fn into_data(self, full_output: Result<Option<KeptOutput>, String>) -> ToolResult {
        let Some(output) = self.capture.whole() else {
            return self.too_long(full_output);
        };
        let failure = self.failure();
        let refused = self.findings.explanations.clone();
        let mut structured = Map::new();
        structured.insert("output".into(), output.into());
        structured.insert(
            "exit_code".into(),
            self.end.status().and_then(ExitStatus::shell_code).into(),
        );
        let tenths = (self.wall_time.as_secs_f64() * 10.0).round() / 10.0;
        structured.insert("wall_time_seconds".into(), tenths.into());
        if let Rest::HeldOpen(commands) = self.rest {
            structured.insert("output_held_open".into(), true.into());
            if !commands.is_empty() {
                structured.insert("held_open_by".into(), commands.into());
            }
        }
        if !self.findings.explanations.is_empty() {
            structured.insert("denied".into(), self.findings.explanations.into());
            if let Some(sandbox) = self.findings.sandbox {
                structured.insert("sandbox".into(), sandbox);
            }
        }
        let result = match failure {
            // Records of the call show it.
            Some(failure) => ToolResult::error(failure),
            None => ToolResult::text(format!(
                "[The script has the whole output, {}]",
                format_size(self.capture.total_bytes())
            )),
        };
        result
            .with_structured(structured.into())
            .with_notes(refused)
    }

    /// An output that no script gets as a whole: the command has run, so how it ended is told.
    fn too_long(&self, full_output: Result<Option<KeptOutput>, String>) -> ToolResult {
        let ended = status_line(&self.end).unwrap_or_else(|| "Command succeeded".to_owned());
        let place = match full_output {
            Ok(Some(kept)) => format!(
                "{} is in {}: read that with offset and limit",
                if kept.is_whole {
                    "all of it"
                } else {
                    "its beginning"
                },
                kept.path.display()
            ),
            Ok(None) => "it was not kept".to_owned(),
            Err(reason) => format!("it could not be kept: {reason}"),
        };
        ToolResult::over_limit(format!(
            "The output has {}, more than {}, the most that one call gives to a script; {place}. {ended}",
            format_size(self.capture.total_bytes()),
            format_size(SCRIPT_RESULT_BYTES_MAX as u64)
        ))
    }
}

/// Says what was cut and where all of it is.
fn cut_notice(
    capture: &Capture,
    full_output: Result<Option<KeptOutput>, String>,
) -> Option<String> {
    let tail = capture.tail();
    let cut_by = tail.cut_by?;
    let total = capture.total_lines();
    let place = match full_output {
        Ok(Some(kept)) if kept.is_whole => format!("Full output: {}", kept.path.display()),
        Ok(Some(kept)) => format!(
            "The first {} of the output: {}",
            format_size(SPILL_BYTES_MAX),
            kept.path.display()
        ),
        Ok(None) => "The full output was not kept".to_owned(),
        Err(reason) => format!("The full output could not be kept: {reason}"),
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
