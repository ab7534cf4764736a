//! Answers to the commands of another program.

use serde_json::{Map, Value, json};

/// Says that the command was carried out.
pub(super) fn succeeded(command: &Value, data: Option<Value>) -> Map<String, Value> {
    let mut answer = begun(command.get("id"), &command["type"]);
    answer.insert("success".to_owned(), json!(true));
    if let Some(data) = data {
        answer.insert("data".to_owned(), data);
    }
    answer
}

/// Says that the command was not carried out, and why.
pub(super) fn failed(id: Option<&Value>, command: &str, why: &str) -> Map<String, Value> {
    let mut answer = begun(id, &json!(command));
    answer.insert("success".to_owned(), json!(false));
    answer.insert("error".to_owned(), json!(why));
    answer
}

/// Tells what became of a command.
pub(super) fn told(command: &Value, outcome: Result<Option<Value>, String>) -> Map<String, Value> {
    match outcome {
        Ok(data) => succeeded(command, data),
        Err(why) => {
            let name = command["type"].as_str().unwrap_or_default();
            failed(command.get("id"), name, &why)
        }
    }
}

fn begun(id: Option<&Value>, command: &Value) -> Map<String, Value> {
    let mut answer = Map::new();
    if let Some(id) = id {
        answer.insert("id".to_owned(), id.clone());
    }
    answer.insert("type".to_owned(), json!("response"));
    answer.insert("command".to_owned(), command.clone());
    answer
}
