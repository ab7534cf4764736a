//! What of a cell is saved beside its VM.

use std::time::Duration;

use pirn_tool::{CallStage, CallStatus, Receipt};
use pirn_vm::{JsString, JsonText, Output, Settlement};
use serde::{Deserialize, Serialize};

use crate::host::CallEnd;
use crate::runner::{self, Run, SavedCall, SavedRun};

/// What is saved beside the VM, version 1. Unknown fields are ignored.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Saved {
    wall_ms: u64,
    /// What of the time limit is used up; absent in what earlier builds saved.
    time_used_ms: Option<u64>,
    output: Vec<SavedOutput>,
    notifications: Vec<String>,
    notes: Vec<String>,
    pub(super) undelivered: Undelivered,
    calls: Vec<Receipt>,
    open_calls: Vec<SavedOpenCall>,
}

/// How many of the last items nobody has seen.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Undelivered {
    pub(super) output: usize,
    pub(super) notifications: usize,
    pub(super) has_yielded: bool,
}

impl Saved {
    pub(super) fn last_output(&self, count: usize) -> Vec<Output> {
        let from = self.output.len().saturating_sub(count);
        self.output
            .iter()
            .skip(from)
            .cloned()
            .map(Output::from)
            .collect()
    }

    pub(super) fn last_notifications(&self, count: usize) -> Vec<JsString> {
        let from = self.notifications.len().saturating_sub(count);
        self.notifications
            .iter()
            .skip(from)
            .map(|text| text.as_str().into())
            .collect()
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum SavedOutput {
    Text {
        text: String,
    },
    Console {
        text: String,
    },
    Image {
        data: String,
        mime_type: String,
        detail: Option<String>,
    },
    Audio {
        data: String,
        mime_type: String,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct SavedOpenCall {
    id: u32,
    record: Option<usize>,
    arguments: Option<String>,
    stage: SavedStage,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
enum SavedStage {
    Queued,
    Asking {
        question_id: String,
    },
    Started,
    Resolved {
        value: Option<String>,
        status: CallStatus,
    },
    Rejected {
        message: String,
        tool: Option<String>,
        call_id: Option<String>,
        kind: Option<String>,
        #[serde(default)]
        data: Option<String>,
        status: CallStatus,
    },
}

/// The bytes kept beside the VM.
pub(super) fn bytes(run: &Run, open_calls: Vec<SavedCall>, undelivered: Undelivered) -> Vec<u8> {
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let saved = Saved {
        wall_ms: milliseconds(run.wall()),
        time_used_ms: Some(milliseconds(run.time_used())),
        output: run.collected.output.iter().map(SavedOutput::from).collect(),
        notifications: run
            .collected
            .notifications
            .iter()
            .map(ToString::to_string)
            .collect(),
        notes: run.collected.notes.clone(),
        undelivered,
        calls: run.calls.records.clone(),
        open_calls: open_calls
            .into_iter()
            .map(|call| SavedOpenCall {
                id: call.id,
                record: call.record,
                arguments: call.arguments.map(JsonText::into_string),
                stage: call.stage.into(),
            })
            .collect(),
    };
    // Plain data always serialises.
    serde_json::to_vec(&saved).unwrap_or_default()
}

impl From<Saved> for SavedRun {
    fn from(saved: Saved) -> Self {
        Self {
            wall: Duration::from_millis(saved.wall_ms),
            time_used: Duration::from_millis(saved.time_used_ms.unwrap_or(saved.wall_ms)),
            output: saved.output.into_iter().map(Output::from).collect(),
            notifications: saved
                .notifications
                .into_iter()
                .map(JsString::from)
                .collect(),
            notes: saved.notes,
            records: saved.calls,
            open_calls: saved
                .open_calls
                .into_iter()
                .map(|call| SavedCall {
                    id: call.id,
                    record: call.record,
                    arguments: call.arguments.map(JsonText::new),
                    stage: call.stage.into(),
                })
                .collect(),
        }
    }
}

impl From<runner::SavedStage> for SavedStage {
    fn from(stage: runner::SavedStage) -> Self {
        match stage {
            runner::SavedStage::Open(CallStage::Waiting) => Self::Queued,
            runner::SavedStage::Open(CallStage::Asking { question_id }) => {
                Self::Asking { question_id }
            }
            runner::SavedStage::Open(CallStage::Begun) => Self::Started,
            runner::SavedStage::Ended(CallEnd {
                settlement: Settlement::Resolved(value),
                status,
                // It is in the record, and they are among the script's notes.
                error: _,
                notes: _,
            }) => Self::Resolved {
                value: value.map(JsonText::into_string),
                status,
            },
            runner::SavedStage::Ended(CallEnd {
                settlement:
                    Settlement::Rejected {
                        message,
                        tool,
                        call_id,
                        kind,
                        data,
                    },
                status,
                error: _,
                notes: _,
            }) => Self::Rejected {
                message,
                tool,
                call_id,
                kind,
                data: data.map(JsonText::into_string),
                status,
            },
        }
    }
}

impl From<SavedStage> for runner::SavedStage {
    fn from(stage: SavedStage) -> Self {
        let (settlement, status) = match stage {
            SavedStage::Queued => return Self::Open(CallStage::Waiting),
            SavedStage::Asking { question_id } => {
                return Self::Open(CallStage::Asking { question_id });
            }
            SavedStage::Started => return Self::Open(CallStage::Begun),
            SavedStage::Resolved { value, status } => {
                (Settlement::Resolved(value.map(JsonText::new)), status)
            }
            SavedStage::Rejected {
                message,
                tool,
                call_id,
                kind,
                data,
                status,
            } => (
                Settlement::Rejected {
                    message,
                    tool,
                    call_id,
                    kind,
                    data: data.map(JsonText::new),
                },
                status,
            ),
        };
        Self::Ended(CallEnd {
            settlement,
            status,
            error: None,
            notes: Vec::new(),
        })
    }
}

impl From<&Output> for SavedOutput {
    fn from(output: &Output) -> Self {
        match output {
            Output::Text(text) => Self::Text {
                text: text.to_string(),
            },
            Output::Console(text) => Self::Console {
                text: text.to_string(),
            },
            Output::Image {
                data,
                mime_type,
                detail,
            } => Self::Image {
                data: data.clone(),
                mime_type: mime_type.clone(),
                detail: detail.clone(),
            },
            Output::Audio { data, mime_type } => Self::Audio {
                data: data.clone(),
                mime_type: mime_type.clone(),
            },
        }
    }
}

impl From<SavedOutput> for Output {
    fn from(output: SavedOutput) -> Self {
        match output {
            SavedOutput::Text { text } => Self::Text(text.into()),
            SavedOutput::Console { text } => Self::Console(text.into()),
            SavedOutput::Image {
                data,
                mime_type,
                detail,
            } => Self::Image {
                data,
                mime_type,
                detail,
            },
            SavedOutput::Audio { data, mime_type } => Self::Audio { data, mime_type },
        }
    }
}
