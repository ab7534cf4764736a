//! What `docs/rpc.md` and the published schemas say of the lines of `--mode json` and `--mode rpc`.

use std::path::PathBuf;
use std::sync::LazyLock;

use jsonschema::Validator;
use pirn_testkit::says;
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::rpc::Driver;

static JSON_LINES: LazyLock<Validator> = LazyLock::new(|| validator("json.schema.json"));
static RPC_LINES: LazyLock<Validator> = LazyLock::new(|| validator("rpc.schema.json"));

fn documentation(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

fn validator(name: &str) -> Validator {
    let schema: Value = serde_json::from_str(&documentation(name)).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

/// Checks a line of `--mode json`.
pub(crate) fn check_json_line(line: &Value) {
    assert!(JSON_LINES.is_valid(line), "no line of JSON mode: {line}");
}

/// Checks a line that `--mode rpc` wrote.
pub(crate) fn check_rpc_line(line: &Value) {
    assert!(RPC_LINES.is_valid(line), "no line of RPC: {line}");
}

/// Whether a value has all that the example has, each of the same kind.
fn is_like(value: &Value, example: &Value) -> bool {
    match (value, example) {
        (Value::Object(value), Value::Object(example)) => example
            .iter()
            .all(|(key, example)| value.get(key).is_some_and(|value| is_like(value, example))),
        (Value::Array(value), Value::Array(example)) => match (value.first(), example.first()) {
            (Some(value), Some(example)) => is_like(value, example),
            (_, None) => true,
            (None, Some(_)) => false,
        },
        (value, example) => std::mem::discriminant(value) == std::mem::discriminant(example),
    }
}

/// The examples of the page: a command and its answer.
fn examples() -> Vec<(String, Value)> {
    let page = documentation("rpc.md");
    let commands = page.split_once("\n## Commands\n").unwrap().1;
    let commands = commands.split_once("\n## Events\n").unwrap().0;
    let blocks = commands.split("\n```json\n").skip(1);
    blocks
        .map(|block| {
            let mut lines = block.lines();
            let command = lines.next().unwrap().to_owned();
            (
                command,
                serde_json::from_str(lines.next().unwrap()).unwrap(),
            )
        })
        .collect()
}

#[test]
fn every_command_of_the_page_is_answered_as_it_says() {
    let desk = Desk::new((1..=9).map(|_| says("Nothing is here.")).collect());
    let mut driver = Driver::start(&desk, &[]);
    let examples = examples();
    assert!(examples.len() > 30, "{}", examples.len());
    let (mut entry, mut session) = (String::new(), String::new());
    for (command, wanted) in examples {
        let command = command
            .replace("ENTRY", &entry)
            .replace("SESSION", &session);
        let command: Value = serde_json::from_str(&command).unwrap();
        if command["type"] == "compact" {
            for word in ["count ", "more "] {
                driver.data(&json!({"type": "prompt", "message": word.repeat(20_000)}));
                driver.until_kind("agent_settled");
            }
        }
        let answer = driver.ask(&command);
        assert!(is_like(&answer, &wanted), "{command}: {answer}");
        assert_eq!(answer["id"], command["id"], "{answer}");
        assert_eq!(answer["success"], wanted["success"], "{answer}");
        if answer["data"]["disposition"] == "started" {
            driver.until_kind("agent_settled");
        }
        if let Some(id) = answer["data"]["messages"][0]["entryId"].as_str() {
            id.clone_into(&mut entry);
        }
        if let Some(file) = answer["data"]["sessionFile"].as_str() {
            file.clone_into(&mut session);
        }
    }
    let (code, seen) = driver.end();
    assert_eq!(code, Some(0), "{seen:#?}");
}
