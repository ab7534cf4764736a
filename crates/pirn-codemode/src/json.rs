//! A script's result as one JSON object, for programs.

use pirn_vm::{JsonText, Output};
use serde_json::{Map, Value, json};

use crate::layout::status_name;
use crate::result::ScriptResult;

impl ScriptResult {
    /// The library result: `ok`, `value` or `error`, `output`, `calls`, `storeWrites`, `notifications`, `notes`, `wallMs`, `cpuMs`.
    pub fn to_json(&self) -> Value {
        let milliseconds =
            |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let mut object = Map::new();
        object.insert("ok".into(), json!(self.is_ok()));
        match &self.outcome {
            Ok(None) => {}
            Ok(Some(value)) => {
                object.insert("value".into(), value_of(value));
            }
            Err(error) => {
                let mut shown = Map::new();
                shown.insert("kind".into(), json!(error.kind.as_str()));
                if let Some(name) = &error.name {
                    shown.insert("name".into(), json!(name));
                }
                shown.insert("message".into(), json!(error.message.to_string()));
                for (key, text) in [("stack", &error.stack), ("hint", &error.hint)] {
                    if let Some(text) = text {
                        shown.insert(key.into(), json!(text));
                    }
                }
                object.insert("error".into(), Value::Object(shown));
                if let Some(value) = self.value() {
                    object.insert("value".into(), value_of(value));
                }
            }
        }
        object.insert("output".into(), self.output.iter().map(output_of).collect());
        let calls = self.calls.iter().map(|call| {
            let mut row = json!({"name": call.name, "status": status_name(call.status)});
            if call.was_stopped() {
                row["arguments"] = json!(call.arguments_text());
            }
            if let Some(duration_ms) = call.duration_ms {
                row["durationMs"] = json!(duration_ms);
            }
            if let Some(error) = &call.error {
                row["error"] = json!(error);
            }
            row
        });
        object.insert("calls".into(), calls.collect());
        let mut set = Map::new();
        let mut deleted = Vec::new();
        for write in &self.store_writes {
            let key = write
                .key
                .parse()
                .ok()
                .and_then(|key| key.as_str().map(str::to_owned))
                .unwrap_or_default();
            match &write.value {
                Some(value) => {
                    set.insert(key, value_of(value));
                }
                None => deleted.push(key),
            }
        }
        object.insert("storeWrites".into(), json!({"set": set, "delete": deleted}));
        let notifications: Vec<String> =
            self.notifications.iter().map(ToString::to_string).collect();
        object.insert("notifications".into(), json!(notifications));
        if !self.notes.is_empty() {
            object.insert("notes".into(), json!(self.notes));
        }
        object.insert("wallMs".into(), json!(milliseconds(self.wall)));
        object.insert("cpuMs".into(), json!(milliseconds(self.cpu)));
        Value::Object(object)
    }
}

/// A value; one that is nested too deep to be parsed is given as its text.
fn value_of(value: &JsonText) -> Value {
    value
        .parse()
        .unwrap_or_else(|_| Value::String(value.as_str().to_owned()))
}

fn output_of(output: &Output) -> Value {
    match output {
        Output::Text(text) => json!({"type": "text", "text": text.to_string()}),
        Output::Console(text) => json!({"type": "text", "text": text.to_string(), "console": true}),
        Output::Image {
            data,
            mime_type,
            detail: None,
        } => {
            json!({"type": "image", "mimeType": mime_type, "data": data})
        }
        Output::Image {
            data,
            mime_type,
            detail: Some(detail),
        } => {
            json!({"type": "image", "mimeType": mime_type, "data": data, "detail": detail})
        }
        Output::Audio { data, mime_type } => {
            json!({"type": "audio", "mimeType": mime_type, "data": data})
        }
    }
}
