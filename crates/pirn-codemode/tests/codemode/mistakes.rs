//! Scripts as models write them: each is right, or says what is wrong so that it can be repaired in one go. None is wrong and
//! says that it succeeded.

use std::fmt::Write as _;

use pirn_codemode::{
    MissingTools, PipelineHost, RunOptions, Script, ScriptResult, parse_source, run_script,
};
use pirn_tool::{CallContext, Effects, Namespace, Pipeline, Registry, Tool, ToolResult, ToolSpec};
use serde_json::{Value, json};

use crate::support::{engine, texts};

const SCRIPTS: &str = include_str!("../mistakes/scripts.txt");

/// One script of the table.
struct Mistake<'a> {
    name: &'a str,
    is_seen: bool,
    /// The answer of a script that is right; `None` for one that must fail or say so in a note.
    expected: Option<&'a str>,
    code: &'a str,
}

fn table() -> Vec<Mistake<'static>> {
    SCRIPTS
        .split("\n## ")
        .skip(1)
        .map(|entry| {
            let (head, code) = entry.split_once('\n').unwrap();
            let mut parts = head.splitn(3, " | ");
            let name = parts.next().unwrap();
            let is_seen = parts.next().unwrap() == "seen";
            let verdict = parts.next().unwrap();
            let expected = verdict.strip_prefix("right => ");
            assert!(expected.is_some() || verdict == "repairable", "{head}");
            Mistake {
                name,
                is_seen,
                expected,
                code: code.trim_end(),
            }
        })
        .collect()
}

fn schema(properties: &Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn text(kind: &str) -> Value {
    json!({"type": kind})
}

fn object(members: &[&str]) -> Value {
    let properties: serde_json::Map<String, Value> = members
        .iter()
        .map(|member| ((*member).to_owned(), json!({})))
        .collect();
    json!({"type": "object", "properties": properties})
}

fn list(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

fn add(
    registry: &Registry,
    name: &str,
    input: Value,
    output: Value,
    answer: fn(&Value) -> ToolResult,
) {
    let mut spec = ToolSpec::new(name, format!("The {name} tool"))
        .input_schema(input)
        .output_schema(output)
        .effects(Effects::READ);
    if name.starts_with("mcp__") {
        spec = spec.namespace(std::sync::Arc::new(Namespace {
            name: "mcp__tracker".to_owned(),
            aliases: Vec::new(),
            description: None,
            instructions: None,
        }));
    }
    let tool = Tool::from_fn(spec, move |arguments, _: CallContext| async move {
        answer(&arguments)
    });
    registry.register(tool);
}

/// The built-in tools as far as scripts see them, over two files; and a server's.
fn pipeline() -> Pipeline {
    let registry = Registry::new();
    add_file_tools(&registry);
    add_other_tools(&registry);
    Pipeline::builder(registry).build()
}

fn add_file_tools(registry: &Registry) {
    let path = json!({"path": text("string"), "limit": text("integer")});
    let picture = object(&["type", "data", "mimeType"]);
    add(
        registry,
        "read",
        schema(&path, &["path"]),
        json!({"anyOf": [{"type": "string"}, picture]}),
        |arguments| match arguments["path"].as_str() {
            Some("a.txt") => structured(json!("one\ntwo\nthree\n")),
            Some("b.json") => structured(json!("{\"n\": 1}\n")),
            other => ToolResult::error(format!("{} does not exist", other.unwrap_or_default())),
        },
    );
    let content = json!({"path": text("string"), "content": text("string")});
    add(
        registry,
        "write",
        schema(&content, &["path", "content"]),
        object(&["path", "added", "removed"]),
        |arguments| structured(json!({"path": arguments["path"], "added": 1, "removed": 0})),
    );
    let command =
        json!({"command": text("string"), "timeout": text("number"), "cwd": text("string")});
    add(
        registry,
        "bash",
        schema(&command, &["command"]),
        object(&["output", "exit_code", "truncated", "denied"]),
        |arguments| {
            let fails = arguments["command"] == "false";
            let output = if fails { "" } else { "a.txt\nb.json\n" };
            structured(json!({"output": output, "exit_code": i32::from(fails), "truncated": false}))
        },
    );
}

fn add_other_tools(registry: &Registry) {
    let pattern = schema(
        &json!({"pattern": text("string"), "path": text("string")}),
        &["pattern"],
    );
    let hit = object(&["path", "line", "text", "before", "after"]);
    add(registry, "grep", pattern.clone(), list(&hit), |_| {
        structured(
            json!([{"path": "a.txt", "line": 1, "text": "one"}, {"path": "a.txt", "line": 2, "text": "two"}]),
        )
    });
    add(registry, "find", pattern, list(&text("string")), |_| {
        structured(json!(["a.txt", "b.json"]))
    });
    let entry = object(&["name", "type", "size", "modified"]);
    add(
        registry,
        "ls",
        schema(&json!({"path": text("string")}), &[]),
        list(&entry),
        |_| structured(json!([{"name": "a.txt", "type": "file", "size": 14, "modified": 0}])),
    );
    let whole = object(&["content", "structuredContent", "isError"]);
    let nothing = schema(&json!({}), &[]);
    add(
        registry,
        "mcp__tracker__list_issues",
        nothing.clone(),
        whole.clone(),
        |_| {
            let text = "[{\"id\":1},{\"id\":2}]";
            let issues = json!([{"id": 1}, {"id": 2}]);
            structured(
                json!({"content": [{"type": "text", "text": text}], "structuredContent": {"issues": issues}}),
            )
        },
    );
    add(
        registry,
        "mcp__tracker__get_id",
        nothing,
        whole.clone(),
        |_| {
            structured(
                json!({"content": [], "structuredContent": {"id": 9_007_199_254_740_993_i64}}),
            )
        },
    );
    let open = json!({"type": "object", "properties": {"query": text("string")}});
    add(
        registry,
        "mcp__tracker__search",
        open,
        whole.clone(),
        |_| structured(json!({"content": [], "structuredContent": {"found": 0}})),
    );
    let id = schema(&json!({"id": text("integer")}), &["id"]);
    add(registry, "mcp__tracker__echo", id, whole, |arguments| {
        structured(json!({"content": [], "structuredContent": arguments}))
    });
}

fn structured(value: Value) -> ToolResult {
    ToolResult::text(value.to_string()).with_structured(value)
}

async fn run(code: &str) -> ScriptResult {
    let pipeline = pipeline();
    let environment = PipelineHost::environment(&pipeline, &CallContext::detached("top"), &[])
        .with_missing_tools(vec![MissingTools {
            prefix: "mcp__gone__".to_owned(),
            why: "the server \"gone\" is down: it exited with status 1".to_owned(),
        }]);
    let source = parse_source(code).map_or_else(|_| code.to_owned(), |source| source.code);
    run_script(
        engine(),
        &Script::new(source),
        &environment,
        RunOptions::default(),
    )
    .await
}

/// What a script gave: its texts and value, or its error with the place.
fn answer(result: &ScriptResult) -> String {
    let mut lines = texts(&result.output)
        .into_iter()
        .map(|line| {
            line.strip_prefix("console: ")
                .map_or(line.clone(), str::to_owned)
        })
        .collect::<Vec<_>>();
    if let Some(value) = result.value() {
        let parsed: Value = value.parse().unwrap_or_default();
        lines.push(
            parsed
                .as_str()
                .map_or_else(|| value.as_str().to_owned(), str::to_owned),
        );
    }
    lines.join("\n")
}

#[tokio::test(start_paused = true)]
async fn every_script_is_right_or_can_be_repaired() {
    let table = table();
    assert!(table.len() >= 80, "{} scripts", table.len());
    assert!(table.iter().filter(|mistake| mistake.is_seen).count() >= 30);
    let mut report = String::new();
    let mut wrong = Vec::new();
    for mistake in &table {
        let result = run(mistake.code).await;
        let shown = answer(&result);
        let remarks = result.remarks();
        match mistake.expected {
            Some(expected) if !result.is_ok() || shown.lines().last() != Some(expected) => {
                wrong.push(format!("{}: {shown:?} {:?}", mistake.name, result.outcome));
            }
            None if result.is_ok() && remarks.is_empty() => {
                wrong.push(format!(
                    "{} succeeded without a word: {shown:?}",
                    mistake.name
                ));
            }
            Some(_) | None => {}
        }
        let _ = writeln!(report, "## {}", mistake.name);
        if !shown.is_empty() {
            let _ = writeln!(report, "{shown}");
        }
        if let Err(error) = &result.outcome {
            let stack = error
                .stack
                .clone()
                .unwrap_or_else(|| error.message.to_string());
            let _ = writeln!(report, "{stack}");
            if let Some(hint) = &error.hint {
                let _ = writeln!(report, "({hint})");
            }
        }
        for remark in remarks {
            let _ = writeln!(report, "Note: {remark}");
        }
        report.push('\n');
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    insta::assert_snapshot!(report);
}
