//! `layout`: the result of the script tool over agent tools.

use std::sync::{Arc, Mutex};

use pirn_codemode::{
    EXEC_TOOL_NAME, ExecTool, OutputFolder, ScriptService, ScriptServiceOptions, ScriptStore,
    parse_source,
};
use pirn_tool::{CallRequest, ContentBlock, Pipeline, Registry, Tool, ToolResult, ToolSpec};
use pirn_vm::JsonText;
use serde_json::{Map, Value, json};

use super::script::script_text;
use super::{engine, runtime};
use crate::cases::CaseFolder;
use crate::encode::encode;

const PNG_1X1: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

pub(super) fn run(case: &Value, _folder: &CaseFolder) -> Result<Value, String> {
    let code = script_text(case)?;
    if let Err(error) = parse_source(&code) {
        return Ok(
            json!({"throws": {"name": pirn_codemode::SourceError::NAME, "message": error.to_string()}}),
        );
    }
    let files = tempfile::tempdir().map_err(|error| error.to_string())?;
    let registry = Registry::new();
    let tools = case
        .get("tools")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    for name in tools.iter().filter_map(Value::as_str) {
        registry.register(agent_tool(name));
    }
    let service = ScriptService::new(ScriptServiceOptions {
        store: Arc::new(ScriptStore::new(branch_store(case))),
        ..ScriptServiceOptions::new(engine().clone())
    });
    let exec = ExecTool {
        folder: Some(OutputFolder::new(files.path())),
        ..ExecTool::over(service)
    };
    registry.register(exec.into_tool());
    let updates = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&updates);
    let mut request = CallRequest::new("call", EXEC_TOOL_NAME, json!({"code": code}));
    request.updates = Some(Arc::new(move |update| {
        let rows = update
            .details
            .as_ref()
            .and_then(|details| details.get("calls"))
            .and_then(Value::as_array);
        let statuses = rows
            .into_iter()
            .flatten()
            .map(|row| row["status"].clone())
            .collect();
        sink.lock()
            .expect("an unpoisoned list")
            .push(Value::Array(statuses));
    }));
    let outcome = runtime().block_on(Pipeline::builder(registry).build().call(request));
    let mut canonical = canonical(&outcome.result);
    if case.get("updates").and_then(Value::as_bool) == Some(true) {
        let updates = updates.lock().expect("an unpoisoned list").clone();
        canonical.insert("updates".into(), Value::Array(updates));
    }
    Ok(encode(Value::Object(canonical)))
}

fn canonical(result: &ToolResult) -> Map<String, Value> {
    let details = result.details.clone().unwrap_or_default();
    let content: Vec<Value> = result
        .content
        .iter()
        .map(|block| match block {
            ContentBlock::Text { text } => json!({"type": "text", "text": stable(text)}),
            ContentBlock::Image { data, mime_type } => {
                json!({"type": "image", "mimeType": mime_type, "data": data})
            }
            ContentBlock::Audio { data, mime_type } => {
                json!({"type": "audio", "mimeType": mime_type, "data": data})
            }
        })
        .collect();
    let mut calls = details["calls"].as_array().cloned().unwrap_or_default();
    for call in calls.iter_mut().filter_map(Value::as_object_mut) {
        call.remove("durationMs");
    }
    let mut canonical = Map::new();
    canonical.insert("isError".into(), json!(result.is_error));
    canonical.insert("content".into(), json!(content));
    canonical.insert("calls".into(), json!(calls));
    if let Some(path) = details["fullOutputPath"].as_str() {
        canonical.insert(
            "spilled".into(),
            json!(std::fs::read_to_string(path).expect("the whole output")),
        );
    }
    if let Some(writes) = details.get("store") {
        canonical.insert(
            "appended".into(),
            json!([{"type": "codemode-store", "data": writes}]),
        );
    }
    canonical
}

/// Wall times and file names differ per run.
fn stable(text: &str) -> String {
    let wall = regex::Regex::new(r"Wall time \d+\.\d seconds").expect("a pattern");
    let file = regex::Regex::new(r"[^\s(]*pirn-exec-[0-9a-f]{16}(\.[a-z]+)").expect("a pattern");
    file.replace_all(&wall.replace_all(text, "Wall time <t> seconds"), "<file>$1")
        .into_owned()
}

/// The store that the branch's entries add up to.
fn branch_store(case: &Value) -> Vec<(String, JsonText)> {
    let mut values = Map::new();
    for entry in case
        .get("branch")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        if entry["customType"] != "codemode-store" {
            continue;
        }
        let data = &entry["data"];
        let (Some(set), Some(deleted)) = (data["set"].as_object(), data["delete"].as_array())
        else {
            continue;
        };
        for key in deleted.iter().filter_map(Value::as_str) {
            values.remove(key);
        }
        values.extend(set.clone());
    }
    values
        .into_iter()
        .map(|(key, value)| (key, JsonText::from_value(&value)))
        .collect()
}

fn agent_tool(name: &str) -> Tool {
    let mut spec = ToolSpec::new(name, format!("agent:{name}"));
    if name.starts_with("data") {
        spec = spec.output_schema(json!({"type": "object"}));
    }
    let own_name = name.to_owned();
    Tool::from_fn(spec, move |arguments, context| {
        let name = own_name.clone();
        async move {
            let value = arguments.get("value").cloned().unwrap_or_default();
            match name.as_str() {
                "say" => ToolResult::text(arguments["text"].as_str().unwrap_or_default()),
                "two_blocks" => ToolResult {
                    content: vec![
                        ContentBlock::text("first"),
                        ContentBlock::Image {
                            data: PNG_1X1.to_owned(),
                            mime_type: "image/png".to_owned(),
                        },
                        ContentBlock::text("second"),
                    ],
                    ..ToolResult::default()
                },
                "data" => ToolResult::text("for the model").with_structured(value),
                "data_error" => ToolResult::error("it failed").with_structured(value),
                "data_missing" => ToolResult::text("only text"),
                "deny" => ToolResult::error("not allowed"),
                "deny_silently" => ToolResult {
                    is_error: true,
                    ..ToolResult::default()
                },
                "long_error" => ToolResult::error("e".repeat(600)),
                "hang" => {
                    context.cancel.cancelled().await;
                    ToolResult::error("stopped")
                }
                other => ToolResult::error(format!("no agent tool {other}")),
            }
        }
    })
}
