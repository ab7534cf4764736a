//! `script`: one run of a script over the host functions that the recordings describe.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pirn_codemode::{
    Abort, CallEnd, DEFAULT_FILE_NAME, Environment, RunOptions, Script, ScriptLimits, ScriptResult,
    global, run_script, spread_global, status_name,
};
use pirn_vm::{JsString, JsonText, Output};
use serde_json::{Map, Value, json};

use super::host::Host;
use super::{engine, runtime};
use crate::cases::CaseFolder;
use crate::encode::{encode, encode_units_or_text};

/// The oracle's deadline where a case names none.
const TIMEOUT_MS_DEFAULT: u64 = 20_000;
/// Longer lists are recorded as length, first and last.
const LISTED_MAX: usize = 40;

pub(super) fn run(case: &Value, _folder: &CaseFolder) -> Result<Value, String> {
    let options = case.get("options").cloned().unwrap_or_default();
    let abort = Abort::new();
    let host = Arc::new(Host::new(abort.clone(), &options));
    let names = |key: &str| -> Vec<String> {
        let list = case
            .get(key)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        list.iter()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect()
    };
    let tools = names("tools")
        .into_iter()
        .map(|name| (name.clone(), format!("host:{name}")));
    let globals = names("globals")
        .into_iter()
        .map(|name| {
            if Host::is_spread(&name) {
                spread_global(name)
            } else {
                global(name)
            }
        })
        .collect();
    let environment = match Environment::new(tools, globals, Arc::clone(&host) as _) {
        Ok(environment) => environment,
        Err(error) => {
            return Ok(
                json!({"ok": false, "error": {"kind": "setup", "name": "Error", "message": error.to_string()}}),
            );
        }
    };
    let mut limits = ScriptLimits::default();
    let timeout_ms = options
        .get("timeout_ms")
        .and_then(Value::as_u64)
        .unwrap_or(TIMEOUT_MS_DEFAULT);
    limits.wall = Duration::from_millis(timeout_ms);
    if let Some(bytes) = options.get("memory_bytes").and_then(Value::as_u64) {
        limits.vm.memory_bytes = u32::try_from(bytes).map_err(|error| error.to_string())?;
    }
    if options.pointer("/abort/before") == Some(&Value::Bool(true)) {
        abort.abort(
            options
                .pointer("/abort/reason")
                .and_then(Value::as_str)
                .unwrap_or_default(),
        );
    }
    let script = Script {
        store: initial_store(&options),
        ..Script::new(script_text(case)?)
    };
    let run_options = RunOptions {
        limits,
        abort,
        progress: None,
        ..RunOptions::default()
    };
    let result = runtime().block_on(run_script(engine(), &script, &environment, run_options));
    Ok(canonical(&result, &host))
}

/// A script, which may be a list of lines.
pub(super) fn script_text(case: &Value) -> Result<String, String> {
    match case.get("script") {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(lines)) => Ok(lines
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join("\n")),
        _ => Err("\"script\" must be a text or a list of lines".to_owned()),
    }
}

fn initial_store(options: &Value) -> Vec<(String, JsonText)> {
    let values = options
        .get("store")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    values
        .into_iter()
        .map(|(key, value)| (key, JsonText::from_value(&expand(value))))
        .collect()
}

/// `{"$repeat": [text, n]}` spelled out.
fn expand(value: Value) -> Value {
    if let Some([Value::String(text), count]) = value
        .get("$repeat")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
    {
        let count = count
            .as_u64()
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or(0);
        return Value::String(text.repeat(count));
    }
    match value {
        Value::Object(members) => members
            .into_iter()
            .map(|(key, member)| (key, expand(member)))
            .collect(),
        other => other,
    }
}

fn canonical(result: &ScriptResult, host: &Host) -> Value {
    let mut object = Map::new();
    object.insert("ok".into(), json!(result.is_ok()));
    if let Ok(Some(value)) = &result.outcome {
        object.insert("value".into(), encode(value.parse().unwrap_or_default()));
    }
    object.insert(
        "output".into(),
        shorten(result.output.iter().map(output_item).collect()),
    );
    let calls = result
        .calls
        .iter()
        .map(|call| json!({"name": call.name, "status": status_name(call.status)}));
    object.insert("calls".into(), shorten(calls.collect()));
    let received = host.received();
    if !received.is_empty() {
        object.insert(
            "received".into(),
            shorten(received.into_iter().map(encode).collect()),
        );
    }
    let log = host.log();
    if !log.is_empty() {
        object.insert("host".into(), json!(log));
    }
    match &result.outcome {
        Ok(_) if !result.store_writes.is_empty() => {
            object.insert("store".into(), store(result));
        }
        Ok(_) => {}
        Err(error) => {
            let mut shown = Map::new();
            shown.insert("kind".into(), json!(error.kind.as_str()));
            if let Some(name) = &error.name {
                shown.insert("name".into(), json!(name));
            }
            shown.insert("message".into(), text(&error.message));
            if let Some((line, _)) = error.location(DEFAULT_FILE_NAME) {
                shown.insert("line".into(), json!(line));
            }
            object.insert("error".into(), Value::Object(shown));
        }
    }
    Value::Object(object)
}

fn store(result: &ScriptResult) -> Value {
    let mut set = Map::new();
    let mut deleted = Vec::new();
    for write in &result.store_writes {
        match &write.value {
            Some(value) => {
                let key = write
                    .key
                    .parse()
                    .ok()
                    .and_then(|key| key.as_str().map(str::to_owned))
                    .unwrap_or_default();
                set.insert(key, encode(value.parse().unwrap_or_default()));
            }
            None => deleted.push(key_of(&write.key)),
        }
    }
    json!({"set": set, "delete": deleted})
}

/// A key; one with lone surrogates as its code units.
fn key_of(key: &JsonText) -> Value {
    if let Ok(text) = serde_json::from_str::<String>(key.as_str()) {
        return encode(Value::String(text));
    }
    let mut units = Vec::new();
    let literal = key.as_str().trim_matches('"');
    let mut rest = literal;
    while let Some(first) = rest.chars().next() {
        if let Some(unit) = rest
            .strip_prefix("\\u")
            .and_then(|hex| u16::from_str_radix(hex.get(..4)?, 16).ok())
        {
            units.push(unit);
            rest = &rest[6..];
        } else {
            units.extend(first.encode_utf16(&mut [0; 2]).iter().copied());
            rest = &rest[first.len_utf8()..];
        }
    }
    encode_units_or_text(&units)
}

fn text(text: &JsString) -> Value {
    match text.as_str() {
        Some(valid) => encode(Value::String(valid.to_owned())),
        None => encode_units_or_text(&text.utf16().collect::<Vec<_>>()),
    }
}

pub(super) fn output_item(output: &Output) -> Value {
    match output {
        Output::Text(shown) => json!({"type": "text", "text": text(shown)}),
        Output::Console(shown) => json!({"type": "text", "text": text(shown), "console": true}),
        Output::Image {
            data,
            mime_type,
            detail: _,
        } => {
            json!({"type": "image", "mimeType": mime_type, "data": encode(json!(data))})
        }
        Output::Audio { data, mime_type } => {
            json!({"type": "audio", "mimeType": mime_type, "data": encode(json!(data))})
        }
    }
}

fn shorten(list: Vec<Value>) -> Value {
    if list.len() <= LISTED_MAX {
        return Value::Array(list);
    }
    json!({"$items": list.len(), "first": list.first(), "last": list.last()})
}

/// What tests of scripts share: a log that several calls write to.
pub(super) type Log = Mutex<Vec<String>>;

/// The end of a call that was stopped, as the recordings have it.
pub(super) fn stopped(label: &str, log: &Log) -> CallEnd {
    log.lock()
        .expect("no test panics while it logs")
        .push(format!("{label} cancelled"));
    CallEnd::error(format!("{label} cancelled"))
}
