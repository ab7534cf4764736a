//! The order of frames in one eval, as a state machine: a result is provisional until the live worker echoes a fresh token.

use serde_json::Value;

use crate::frame::{WorkerError, WorkerFrame};
use crate::limits::{DISPLAYS_BYTES_MAX, DISPLAYS_MAX, LOSSY_MAX, NAME_BYTES_MAX};
use crate::outcome::Display;
use crate::text::cut_marked;

/// Picture formats that a worker may send.
const MIME_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// How far one eval is.
#[derive(Debug)]
pub(super) struct EvalProtocol {
    id: String,
    phase: Phase,
    /// Pictures that the program showed, in order.
    pub(super) displays: Vec<Display>,
    displays_bytes: usize,
    /// Pictures above the limits.
    pub(super) displays_left_out: usize,
}

#[derive(Debug)]
enum Phase {
    /// The worker does not have the program yet.
    Starting,
    Running,
    /// There is a result; calls may be open.
    Settling(Provisional),
    /// The token is out.
    Finalizing(Provisional, String),
    /// The token came back.
    Complete(Provisional),
}

/// The result of a worker, on trust.
#[derive(Debug, Clone, Default)]
pub(super) struct Provisional {
    pub(super) is_ok: bool,
    pub(super) value: Option<Value>,
    pub(super) value_text: Option<String>,
    pub(super) error: Option<WorkerError>,
    /// The state that the program left, as JSON text; not checked yet.
    pub(super) state: Option<String>,
    pub(super) lossy: Vec<String>,
    pub(super) is_interrupt_handled: bool,
}

/// What a frame asks for.
#[derive(Debug)]
pub(super) enum Step<'a> {
    /// There is nothing to do for the host.
    None,
    /// The program calls something, which the host is to perform.
    Call {
        call_id: std::borrow::Cow<'a, str>,
        name: std::borrow::Cow<'a, str>,
        input: &'a str,
    },
    /// The result is there; finalize as soon as no call is open.
    Settle,
    /// The eval is complete.
    Complete,
}

impl EvalProtocol {
    pub(super) fn new(id: String) -> Self {
        Self {
            id,
            phase: Phase::Starting,
            displays: Vec::new(),
            displays_bytes: 0,
            displays_left_out: 0,
        }
    }

    /// The worker has the program.
    pub(super) fn start(&mut self) {
        if matches!(self.phase, Phase::Starting) {
            self.phase = Phase::Running;
        }
    }

    /// Whether the token can go out.
    pub(super) fn is_settling(&self) -> bool {
        matches!(self.phase, Phase::Settling(_))
    }

    /// The result, which counts only if it is complete.
    pub(super) fn into_result(self) -> Option<(Provisional, Completion)> {
        match self.phase {
            Phase::Starting | Phase::Running => None,
            Phase::Settling(result) | Phase::Finalizing(result, _) => {
                Some((result, Completion::Open))
            }
            Phase::Complete(result) => Some((result, Completion::Complete)),
        }
    }

    /// The result so far.
    pub(super) fn result(&self) -> Option<&Provisional> {
        match &self.phase {
            Phase::Starting | Phase::Running => None,
            Phase::Settling(result) | Phase::Finalizing(result, _) | Phase::Complete(result) => {
                Some(result)
            }
        }
    }

    /// The token goes out.
    pub(super) fn finalize(&mut self, token: String) {
        if let Phase::Settling(result) = &mut self.phase {
            self.phase = Phase::Finalizing(std::mem::take(result), token);
        }
    }

    /// Takes a frame. The error says how it breaks the protocol.
    pub(super) fn on_frame<'a>(&mut self, frame: WorkerFrame<'a>) -> Result<Step<'a>, String> {
        match frame {
            WorkerFrame::Ready { .. } => Err("it was ready twice".to_owned()),
            WorkerFrame::CapabilityCall {
                eval_id,
                call_id,
                name,
                input,
            } => {
                self.check(&eval_id, "a call")?;
                Ok(Step::Call {
                    call_id,
                    name,
                    input: input.get(),
                })
            }
            WorkerFrame::Display {
                eval_id,
                mime_type,
                data,
            } => {
                self.check(&eval_id, "a picture")?;
                self.show(&mime_type, &data)?;
                Ok(Step::None)
            }
            WorkerFrame::EvalResult(fields) => {
                self.check(&fields.id, "a result")?;
                self.phase = Phase::Settling(Provisional {
                    is_ok: fields.is_ok,
                    value: read_value(fields.value.map(serde_json::value::RawValue::get))?,
                    value_text: fields.value_text.map(std::borrow::Cow::into_owned),
                    error: fields.error,
                    state: fields.state.map(|state| state.get().to_owned()),
                    lossy: fields
                        .lossy
                        .into_iter()
                        .take(LOSSY_MAX)
                        .map(|place| cut_marked(place, NAME_BYTES_MAX))
                        .collect(),
                    is_interrupt_handled: fields.is_interrupt_handled,
                });
                Ok(Step::Settle)
            }
            WorkerFrame::EvalComplete { id, token } => match &mut self.phase {
                Phase::Finalizing(result, wanted) if id == self.id && token == *wanted => {
                    self.phase = Phase::Complete(std::mem::take(result));
                    Ok(Step::Complete)
                }
                _ => Err("it completed an eval that was not being finalized".to_owned()),
            },
        }
    }

    /// A frame of a running program must be of this eval, and come before its result.
    fn check(&self, eval_id: &str, what: &str) -> Result<(), String> {
        if eval_id != self.id {
            return Err(format!("it sent {what} of another eval"));
        }
        match self.phase {
            Phase::Running => Ok(()),
            Phase::Starting => Err(format!("it sent {what} before the start")),
            Phase::Settling(_) | Phase::Finalizing(..) | Phase::Complete(_) => {
                Err(format!("it sent {what} after the result"))
            }
        }
    }

    fn show(&mut self, mime_type: &str, data: &str) -> Result<(), String> {
        if !MIME_TYPES.contains(&mime_type) {
            return Err("it sent a picture of an unknown format".to_owned());
        }
        let is_base64 =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
        if !data.bytes().all(is_base64) {
            return Err("it sent a picture that is not base64".to_owned());
        }
        if self.displays.len() >= DISPLAYS_MAX
            || self.displays_bytes + data.len() > DISPLAYS_BYTES_MAX
        {
            self.displays_left_out += 1;
            return Ok(());
        }
        self.displays_bytes += data.len();
        self.displays.push(Display {
            mime_type: mime_type.to_owned(),
            data: data.to_owned(),
        });
        Ok(())
    }
}

/// Whether the token came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completion {
    Open,
    Complete,
}

/// Reads a value. Workers cut depth, so one that is too deep is not theirs.
fn read_value(json: Option<&str>) -> Result<Option<Value>, String> {
    json.map(serde_json::from_str)
        .transpose()
        .map_err(|error| format!("its value cannot be read: {error}"))
}

#[cfg(test)]
mod tests;
