//! What a resource or a prompt comes to when it is asked for.

use serde_json::{Map, Value, json};

use super::content::{is_block, repair_list, text_of};
use super::lists::cache_members;
use super::{Kind, Repairs, drop_odd, drop_unless, force_string, set};

/// The result of `resources/read`. Contents that do not say what they are the contents of are those of `uri`.
pub(in crate::wire) fn read_resource(result: &mut Value, uri: &str, repairs: &mut Repairs) {
    let Some((map, contents)) = object_with_list(result, "contents", repairs) else {
        return;
    };
    let contents: Vec<Value> = contents
        .into_iter()
        .map(|mut contents| {
            repair_contents(&mut contents, uri, repairs);
            contents
        })
        .collect();
    map.insert("contents".to_owned(), contents.into());
    cache_members(map, repairs);
}

/// One part of a resource's contents.
pub(super) fn repair_contents(contents: &mut Value, uri: &str, repairs: &mut Repairs) {
    const OPTIONAL: &[(&str, Kind)] = &[
        ("mimeType", Kind::String),
        ("blob", Kind::String),
        ("_meta", Kind::Object),
    ];
    let Value::Object(map) = contents else {
        let text = text_of(contents);
        *contents = json!({"uri": uri, "text": text});
        repairs.change();
        return;
    };
    if !map.get("uri").is_some_and(Value::is_string) {
        set(map, "uri", uri, repairs);
    }
    drop_odd(map, OPTIONAL, repairs);
    if map.contains_key("blob") {
        drop_unless(map, "text", Kind::String, repairs);
    } else {
        force_string(map, "text", "", repairs);
    }
}

/// The result of `prompts/get`.
pub(in crate::wire) fn get_prompt(result: &mut Value, repairs: &mut Repairs) {
    let Some((map, messages)) = object_with_list(result, "messages", repairs) else {
        return;
    };
    let messages: Vec<Value> = messages
        .into_iter()
        .flat_map(|message| prompt_messages(message, repairs))
        .collect();
    map.insert("messages".to_owned(), messages.into());
    drop_unless(map, "description", Kind::String, repairs);
}

/// Makes sure that a result is an object with a list in it, and takes the list out, leaving its place.
fn object_with_list<'a>(
    result: &'a mut Value,
    name: &str,
    repairs: &mut Repairs,
) -> Option<(&'a mut Map<String, Value>, Vec<Value>)> {
    if !result.is_object() {
        let list = result.take();
        *result = Value::Object(Map::from_iter([(name.to_owned(), list)]));
        repairs.change();
    }
    let map = result.as_object_mut()?;
    let list = match map.get_mut(name).map(Value::take) {
        Some(Value::Array(list)) => list,
        Some(Value::Null) | None => {
            repairs.change();
            Vec::new()
        }
        Some(other) => {
            repairs.change();
            vec![other]
        }
    };
    drop_unless(map, "_meta", Kind::Object, repairs);
    drop_unless(map, "resultType", Kind::String, repairs);
    Some((map, list))
}

/// What a message of a prompt comes to: a list of blocks becomes a message each, text alone one of the user.
fn prompt_messages(message: Value, repairs: &mut Repairs) -> Vec<Value> {
    if is_prompt_message(&message) {
        return vec![message];
    }
    let mut message = match message {
        Value::Object(message) if message.contains_key("content") => message,
        other => Map::from_iter([("content".to_owned(), other)]),
    };
    repairs.change();
    if !is_role(message.get("role")) {
        set(&mut message, "role", "user", repairs);
    }
    repair_list(&mut message, "content", repairs);
    let Some(Value::Array(blocks)) = message.get_mut("content").map(Value::take) else {
        return Vec::new();
    };
    blocks
        .into_iter()
        .map(|block| {
            let mut message = message.clone();
            message.insert("content".to_owned(), block);
            Value::Object(message)
        })
        .collect()
}

fn is_prompt_message(message: &Value) -> bool {
    is_role(message.get("role")) && message.get("content").is_some_and(is_block)
}

fn is_role(role: Option<&Value>) -> bool {
    matches!(role.and_then(Value::as_str), Some("user" | "assistant"))
}
