//! JSON Schemas of lines.

use serde_json::{Map, Value, json};

use super::commands::{COMMANDS, Command, Data};
use super::events::{BLOCK_KINDS, EVENTS, NAMED, REPLY_EVENTS, ROLES};
use super::shape::{Member, Shape, always, object, sometimes};

/// The schema of a line of `--mode json`: the session's header first, then events.
pub(super) fn json_lines() -> Value {
    let mut kinds = references(["session".to_owned()]);
    kinds.extend(references(EVENTS.iter().map(event_name)));
    document(
        "A line of pirn --mode json",
        json!({"anyOf": kinds}),
        definitions(),
    )
}

/// The schema of a line that `--mode rpc` writes. Those that it reads are `#/$defs/command`.
pub(super) fn rpc_lines() -> Value {
    let mut defined = definitions();
    let answers: Vec<String> = COMMANDS.iter().map(answer_name).collect();
    for command in COMMANDS {
        defined.insert(command_name(command), command_schema(command));
        defined.insert(answer_name(command), answer_schema(command));
    }
    defined.insert("failure".to_owned(), failure());
    defined.insert("uiRequest".to_owned(), ui_request());
    defined.insert("uiResponse".to_owned(), ui_response());
    let mut commands = references(COMMANDS.iter().map(command_name));
    commands.extend(references(["uiResponse".to_owned()]));
    defined.insert("command".to_owned(), json!({"anyOf": commands}));
    let mut kinds = references(["failure".to_owned(), "uiRequest".to_owned()]);
    kinds.extend(references(answers));
    kinds.extend(references(EVENTS.iter().map(event_name)));
    document(
        "A line that pirn --mode rpc writes",
        json!({"anyOf": kinds}),
        defined,
    )
}

/// The schema of one definition of a document.
pub(super) fn with_definitions(document: &Value, reference: &str) -> Value {
    json!({"$ref": reference, "$defs": document["$defs"]})
}

/// The name of the schema of a command's answer.
pub(super) fn answer_name(command: &Command) -> String {
    format!("answer.{}", command.name)
}

fn command_name(command: &Command) -> String {
    format!("command.{}", command.name)
}

fn event_name(event: &super::events::Event) -> String {
    format!("event.{}", event.name)
}

fn references(names: impl IntoIterator<Item = String>) -> Vec<Value> {
    names
        .into_iter()
        .map(|name| json!({"$ref": format!("#/$defs/{name}")}))
        .collect()
}

fn document(title: &str, lines: Value, defined: Map<String, Value>) -> Value {
    let mut schema = Map::new();
    schema.insert(
        "$schema".to_owned(),
        json!("https://json-schema.org/draft/2020-12/schema"),
    );
    schema.insert("title".to_owned(), json!(title));
    if let Value::Object(lines) = lines {
        schema.extend(lines);
    }
    schema.insert("$defs".to_owned(), Value::Object(defined));
    Value::Object(schema)
}

/// What events are made of, and the events.
fn definitions() -> Map<String, Value> {
    let mut defined = Map::new();
    for (name, shape) in NAMED {
        defined.insert((*name).to_owned(), shape.schema());
    }
    let call = BLOCK_KINDS
        .iter()
        .find(|(kind, _)| *kind == "toolCall")
        .map_or(&[][..], |(_, members)| members);
    defined.insert("toolCall".to_owned(), Value::Object(object(call)));
    defined.insert("block".to_owned(), kinds("type", BLOCK_KINDS));
    defined.insert("message".to_owned(), kinds("role", ROLES));
    defined.insert("replyEvent".to_owned(), kinds("type", REPLY_EVENTS));
    defined.insert(
        "treeNode".to_owned(),
        Value::Object(object(&[
            always("entry", Shape::Named("entry"), ""),
            always("children", Shape::List(&Shape::Named("treeNode")), ""),
            sometimes("label", Shape::Text, ""),
        ])),
    );
    for event in EVENTS {
        let mut schema = tagged("type", event.name, event.members);
        schema["description"] = json!(event.help);
        defined.insert(event_name(event), schema);
    }
    defined
}

/// Objects that are told apart by the word in one member.
fn kinds(tag: &str, kinds: &[(&str, &[Member])]) -> Value {
    let kinds: Vec<Value> = kinds
        .iter()
        .map(|(name, members)| tagged(tag, name, members))
        .collect();
    json!({"anyOf": kinds})
}

/// An object with these members and a word that tells what it is.
fn tagged(tag: &str, word: &str, members: &[Member]) -> Value {
    let mut schema = Value::Object(object(members));
    schema["properties"][tag] = json!({"const": word});
    let mut required = vec![json!(tag)];
    required.extend(schema["required"].as_array().cloned().unwrap_or_default());
    schema["required"] = json!(required);
    schema
}

fn command_schema(command: &Command) -> Value {
    let mut schema = tagged("type", command.name, command.members);
    schema["properties"]["id"] = json!({"description": "comes back in the answer"});
    schema["description"] = json!(command.help);
    schema
}

fn answer_schema(command: &Command) -> Value {
    let mut schema = tagged("type", "response", &[]);
    let properties = &mut schema["properties"];
    properties["id"] = json!({"description": "that of the command"});
    properties["command"] = json!({"const": command.name});
    properties["success"] = json!({"const": true});
    let mut required = vec!["type", "command", "success"];
    match command.data {
        Data::Nothing => {}
        Data::Value(shape) => {
            properties["data"] = shape.schema();
            required.push("data");
        }
    }
    schema["required"] = json!(required);
    schema
}

/// The answer to a command that was not carried out.
fn failure() -> Value {
    let mut schema = tagged(
        "type",
        "response",
        &[
            always(
                "command",
                Shape::Text,
                "`parse` where the line is no command",
            ),
            always("error", Shape::Text, "why"),
        ],
    );
    schema["properties"]["success"] = json!({"const": false});
    schema["required"] = json!(["type", "command", "success", "error"]);
    schema
}

/// A question to the person in front of the client.
fn ui_request() -> Value {
    tagged(
        "type",
        "extension_ui_request",
        &[
            always("id", Shape::Text, "goes back with the response"),
            always(
                "method",
                Shape::Choice(&["select", "confirm", "editor"]),
                "",
            ),
            always("title", Shape::Text, "what is asked"),
            sometimes("message", Shape::Text, "more about it"),
            sometimes("options", Shape::List(&Shape::Text), "of `select`"),
            sometimes("prefill", Shape::Text, "of `editor`"),
            always(
                "timeout",
                Shape::Count,
                "milliseconds; then the answer is no",
            ),
            always(
                "approval",
                Shape::Named("question"),
                "the same for programs",
            ),
        ],
    )
}

fn ui_response() -> Value {
    tagged(
        "type",
        "extension_ui_response",
        &[
            always("id", Shape::Text, "that of the request"),
            sometimes("value", Shape::Text, "the option, or the text"),
            sometimes("confirmed", Shape::Flag, "of `confirm`"),
            sometimes("cancelled", Shape::Flag, "counts as no"),
        ],
    )
}
