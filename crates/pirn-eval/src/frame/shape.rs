//! The shape of worker frames: which fields there are, and of which type.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::limits::{CALL_ID_BYTES_MAX, NAME_BYTES_MAX};
use crate::text::cut;

/// How much of an unknown type's name is repeated, in bytes.
const TYPE_ECHO_BYTES: usize = 64;

/// A frame of a worker.
#[derive(Debug)]
pub(crate) enum WorkerFrame<'a> {
    /// It can take an eval.
    Ready {
        runtime: Cow<'a, str>,
        version: Cow<'a, str>,
    },
    /// The program calls something.
    CapabilityCall {
        eval_id: Cow<'a, str>,
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: &'a RawValue,
    },
    /// The program shows a picture.
    Display {
        eval_id: Cow<'a, str>,
        mime_type: Cow<'a, str>,
        data: Cow<'a, str>,
    },
    /// How the program ended; provisional.
    EvalResult(Box<ResultFields<'a>>),
    /// The answer to `finalize`.
    EvalComplete {
        id: Cow<'a, str>,
        token: Cow<'a, str>,
    },
}

/// The fields of `eval_result`.
#[derive(Debug)]
pub(crate) struct ResultFields<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) is_ok: bool,
    pub(crate) value: Option<&'a RawValue>,
    pub(crate) value_text: Option<Cow<'a, str>>,
    pub(crate) error: Option<WorkerError>,
    pub(crate) state: Option<&'a RawValue>,
    pub(crate) lossy: Vec<String>,
    pub(crate) is_interrupt_handled: bool,
}

/// An error as a worker reports it.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct WorkerError {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) trace: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    runtime: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    version: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    eval_id: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    call_id: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(default, borrow, deserialize_with = "also_null")]
    input: Option<&'a RawValue>,
    #[serde(default, borrow)]
    mime_type: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    data: Option<Cow<'a, str>>,
    #[serde(default)]
    ok: Option<bool>,
    #[serde(default)]
    elapsed_ms: Option<f64>,
    #[serde(default, borrow)]
    value: Option<&'a RawValue>,
    #[serde(default, borrow)]
    value_text: Option<Cow<'a, str>>,
    #[serde(default)]
    error: Option<WorkerError>,
    #[serde(default, borrow)]
    state: Option<&'a RawValue>,
    #[serde(default)]
    lossy: Option<Vec<String>>,
    #[serde(default)]
    interrupt_handled: Option<bool>,
    #[serde(default, borrow)]
    token: Option<Cow<'a, str>>,
}

/// A field that is there with any value, null included.
fn also_null<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Checks the shape of a worker's line. Further fields are ignored; the depth of values costs no stack.
pub(crate) fn parse_worker_frame(line: &[u8]) -> Result<WorkerFrame<'_>, String> {
    let text = std::str::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned())?;
    let fields: Fields<'_> = serde_json::from_str(text).map_err(|error| {
        let error = error.to_string();
        cut(&error, NAME_BYTES_MAX).to_owned()
    })?;
    fields.into_frame()
}

impl<'a> Fields<'a> {
    fn into_frame(self) -> Result<WorkerFrame<'a>, String> {
        match self.kind.as_ref() {
            "ready" => Ok(WorkerFrame::Ready {
                runtime: required(self.runtime, "ready", "runtime")?,
                version: self.version.unwrap_or_default(),
            }),
            "capability_call" => {
                let call_id = required(self.call_id, "capability_call", "callId")?;
                if call_id.len() > CALL_ID_BYTES_MAX {
                    return Err(format!("a callId is longer than {CALL_ID_BYTES_MAX} bytes"));
                }
                Ok(WorkerFrame::CapabilityCall {
                    eval_id: required(self.eval_id, "capability_call", "evalId")?,
                    call_id,
                    name: required(self.name, "capability_call", "name")?,
                    input: required(self.input, "capability_call", "input")?,
                })
            }
            "display" => Ok(WorkerFrame::Display {
                eval_id: required(self.eval_id, "display", "evalId")?,
                mime_type: required(self.mime_type, "display", "mimeType")?,
                data: required(self.data, "display", "data")?,
            }),
            "eval_result" => self.into_result(),
            "eval_complete" => Ok(WorkerFrame::EvalComplete {
                id: required(self.id, "eval_complete", "id")?,
                token: required(self.token, "eval_complete", "token")?,
            }),
            other => Err(format!(
                "its type is unknown: {:?}",
                cut(other, TYPE_ECHO_BYTES)
            )),
        }
    }

    fn into_result(self) -> Result<WorkerFrame<'a>, String> {
        if self
            .elapsed_ms
            .is_some_and(|elapsed| !elapsed.is_finite() || elapsed < 0.0)
        {
            return Err("elapsedMs is not a duration".to_owned());
        }
        Ok(WorkerFrame::EvalResult(Box::new(ResultFields {
            id: required(self.id, "eval_result", "id")?,
            is_ok: required(self.ok, "eval_result", "ok")?,
            value: self.value,
            value_text: self.value_text,
            error: self.error,
            state: self.state,
            lossy: self.lossy.unwrap_or_default(),
            is_interrupt_handled: self.interrupt_handled.unwrap_or(false),
        })))
    }
}

fn required<T>(field: Option<T>, kind: &str, name: &str) -> Result<T, String> {
    field.ok_or_else(|| format!("{kind} has no {name}"))
}
