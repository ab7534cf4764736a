//! The lines of `--mode json` and `--mode rpc` as tables, and what is made of them: the page `docs/rpc.md` and the schemas
//! `docs/json.schema.json` and `docs/rpc.schema.json`.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "tests prepare and inspect what they test"
)]

mod commands;
mod events;
mod page;
mod samples;
mod schema;
mod shape;

use std::path::Path;

use serde_json::Value;

/// Compares a file of the documentation with what it should hold, or writes it where that is asked for.
fn keep(name: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, wanted).expect("the documentation can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == wanted,
        "docs/{name} is stale; `UPDATE=1 cargo nextest run -p pirn-agent --test protocol` writes it"
    );
}

fn validator(schema: &Value) -> jsonschema::Validator {
    jsonschema::validator_for(schema).expect("the schema is sound")
}

#[test]
fn the_page_and_the_schemas_are_fresh() {
    keep("rpc.md", &page::page());
    for (name, schema) in [
        ("json.schema.json", schema::json_lines()),
        ("rpc.schema.json", schema::rpc_lines()),
    ] {
        let text = serde_json::to_string_pretty(&schema).expect("a value can be written");
        keep(name, &format!("{text}\n"));
    }
}

#[test]
fn every_event_is_described_as_it_is_written() {
    let lines: Vec<Value> = samples::events()
        .iter()
        .map(|event| serde_json::to_value(event).expect("an event can be written"))
        .collect();
    let mut kinds: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["type"].as_str())
        .collect();
    kinds.dedup();
    let described: Vec<&str> = events::EVENTS.iter().map(|event| event.name).collect();
    assert_eq!(kinds, described);
    let validator = validator(&schema::json_lines());
    for line in &lines {
        let errors: Vec<String> = validator
            .iter_errors(line)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{line}: {errors:?}");
        let event = events::EVENTS
            .iter()
            .find(|event| line["type"] == event.name)
            .expect("it is described");
        for key in line.as_object().expect("a line is an object").keys() {
            let is_described = event.members.iter().any(|member| member.name == key);
            assert!(is_described || key == "type", "`{key}` of {}", event.name);
        }
    }
}

#[test]
fn every_command_is_described_with_an_example_that_fits() {
    let described: Vec<&str> = commands::COMMANDS
        .iter()
        .map(|command| command.name)
        .collect();
    assert_eq!(described, pirn_agent::RPC_COMMANDS);
    let schema = schema::rpc_lines();
    let commands = validator(&schema::with_definitions(&schema, "#/$defs/command"));
    for command in commands::COMMANDS {
        let example: Value = serde_json::from_str(command.example).expect("an example is JSON");
        assert!(commands.is_valid(&example), "{example}");
        assert_eq!(example["type"], command.name);
        let answer = format!("#/$defs/{}", schema::answer_name(command));
        let answers = validator(&schema::with_definitions(&schema, &answer));
        let answer: Value = serde_json::from_str(command.answer).expect("an example is JSON");
        assert!(answers.is_valid(&answer), "{answer}");
    }
}
