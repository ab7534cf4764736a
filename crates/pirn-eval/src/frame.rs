//! The frames between host, broker and worker: one JSON object per line, in UTF-8.
//!
//! A worker's frames and the host's answers keep their text on the way through the broker, which only looks at their shape.
//! What host and broker say to each other begins with [`ORIGIN_MARK`], which no frame of a worker can.

mod broker_protocol;
mod line;
mod shape;

pub(crate) use broker_protocol::{
    Cause, Ended, EngineName, Order, Report, Setup, StopHow, Stream, encode_order, encode_report,
};
pub(crate) use line::LineReader;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use line::LineTooLong;
pub(crate) use shape::{WorkerError, WorkerFrame, parse_worker_frame};

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::limits::FRAME_BYTES_MAX;
use crate::request::{Capability, CapabilityFailure};

/// The first byte of every line that host and broker say to each other in their own name. JSON cannot begin with it.
pub(crate) const ORIGIN_MARK: u8 = b'!';

/// A frame that would be longer than [`FRAME_BYTES_MAX`].
#[derive(Debug)]
pub(crate) struct TooLarge {
    /// How long it would be, in bytes.
    pub(crate) bytes: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EvalFrame<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: &'a str,
    code: &'a str,
    cwd: &'a str,
    engine: EngineName,
    capabilities: Vec<CatalogEntry<'a>>,
    output_limit_bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct CatalogEntry<'a> {
    name: &'a str,
    description: &'a str,
    effect: String,
    parameters: &'a Value,
}

/// What an `eval` frame says.
pub(crate) struct EvalContent<'a> {
    pub(crate) id: &'a str,
    pub(crate) code: &'a str,
    pub(crate) cwd: &'a str,
    pub(crate) engine: EngineName,
    pub(crate) capabilities: &'a [Capability],
    pub(crate) output_limit_bytes: usize,
    pub(crate) state: Option<&'a RawValue>,
}

/// Appends an `eval` frame as a line.
pub(crate) fn push_eval(out: &mut Vec<u8>, content: &EvalContent<'_>) -> Result<(), TooLarge> {
    let capabilities = content
        .capabilities
        .iter()
        .map(|capability| CatalogEntry {
            name: &capability.name,
            description: &capability.description,
            effect: effect_text(capability),
            parameters: &capability.input_schema,
        })
        .collect();
    push_line(
        out,
        &EvalFrame {
            kind: "eval",
            id: content.id,
            code: content.code,
            cwd: content.cwd,
            engine: content.engine,
            capabilities,
            output_limit_bytes: content.output_limit_bytes,
            state: content.state,
        },
    )
}

fn effect_text(capability: &Capability) -> String {
    let names: Vec<&str> = capability.effects.names().collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(",")
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultFrame<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    call_id: &'a str,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FailureFields<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_stopping: bool,
}

#[derive(Serialize)]
struct FailureFields<'a> {
    name: &'a str,
    message: &'a str,
}

/// Appends a `capability_result` frame as a line. `is_stopping` says that the worker was told to stop before: a program that has
/// not been interrupted yet must not go on with the answer.
pub(crate) fn push_call_result(
    out: &mut Vec<u8>,
    call_id: &str,
    result: Result<&Value, &CapabilityFailure>,
    is_stopping: bool,
) -> Result<(), TooLarge> {
    push_line(
        out,
        &ResultFrame {
            kind: "capability_result",
            call_id,
            ok: result.is_ok(),
            value: result.ok(),
            error: result.err().map(|failure| FailureFields {
                name: &failure.name,
                message: &failure.message,
            }),
            is_stopping,
        },
    )
}

#[derive(Serialize)]
struct FinalizeFrame<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: &'a str,
    token: &'a str,
}

/// Appends a `finalize` frame as a line.
pub(crate) fn push_finalize(out: &mut Vec<u8>, id: &str, token: &str) -> Result<(), TooLarge> {
    push_line(
        out,
        &FinalizeFrame {
            kind: "finalize",
            id,
            token,
        },
    )
}

/// Appends a value as a line, or leaves `out` as it was.
fn push_line(out: &mut Vec<u8>, frame: &impl Serialize) -> Result<(), TooLarge> {
    let start = out.len();
    // Neither our frames nor a vector can fail: keys are strings, and memory is there or the process is not.
    let _infallible = serde_json::to_writer(&mut *out, frame);
    let bytes = out.len() - start;
    if bytes > FRAME_BYTES_MAX {
        out.truncate(start);
        return Err(TooLarge { bytes });
    }
    out.push(b'\n');
    Ok(())
}

#[cfg(test)]
mod tests;
