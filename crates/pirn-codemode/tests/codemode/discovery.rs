//! Finding tools from inside a script.

use std::sync::Arc;

use pirn_codemode::{EXEC_TOOL_NAME, ExecTool};
use pirn_tool::{CallRequest, Exposure, Namespace, Pipeline, Registry, Tool, ToolResult, ToolSpec};
use serde_json::{Value, json};

use crate::support::engine;

fn registry() -> Registry {
    let registry = Registry::new();
    let namespace = Arc::new(Namespace {
        name: "dev-radius".into(),
        aliases: vec!["radius".into()],
        description: Some("Circles".into()),
        instructions: Some("Mind the units.".into()),
    });
    let specs = [
        ToolSpec::new("read_file", "Reads a file from disk").guideline("Give absolute paths."),
        ToolSpec::new("mcp__radius__area", "Computes the area of a circle").namespace(Arc::clone(&namespace)),
        ToolSpec::new("mcp__radius__arc-length", "Computes the length of an arc")
            .namespace(namespace)
            .exposure(Exposure::Deferred)
            .input_schema(json!({"type": "object", "properties": {"r": {"type": "number"}}, "required": ["r"]}))
            .output_schema(json!({"type": "object", "properties": {"length": {"type": "number"}}})),
        ToolSpec::new("secret", "Never offered").exposure(Exposure::Hidden),
    ];
    for spec in specs {
        registry.register(Tool::from_fn(spec, |_, _| async {
            ToolResult::text("ran")
        }));
    }
    registry.register(ExecTool::new(engine().clone()).into_tool());
    registry
}

async fn answer(code: &str) -> Value {
    let pipeline = Pipeline::builder(registry()).build();
    let code = format!(
        "return JSON.stringify(await (async () => {{ {code} }})().catch((error) => error.message));"
    );
    let outcome = pipeline
        .call(CallRequest::new(
            "call",
            EXEC_TOOL_NAME,
            json!({"code": code}),
        ))
        .await;
    let text = outcome.result.joined_text();
    let json = text.split("Output:\n").nth(1).unwrap().trim_start();
    serde_json::from_str(json).unwrap_or_else(|_| panic!("{text}"))
}

#[tokio::test]
async fn tools_are_found_by_words() {
    let names = |found: Value| -> Vec<String> {
        found
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let found = names(answer("return searchTools('area of a circle')").await);
    assert_eq!(found.first().map(String::as_str), Some("mcp__radius__area"));
    assert_eq!(
        names(answer("return searchTools('length', {limit: 1, namespace: 'radius'})").await),
        ["mcp__radius__arc_length"]
    );
    assert_eq!(
        answer("return searchTools('file', {namespace: 'dev_radius'})").await,
        json!([])
    );
}

#[tokio::test]
async fn wrong_questions_are_explained() {
    for (code, message) in [
        (
            "return searchTools(7)",
            "searchTools(query, {limit, namespace}): the query must be a string",
        ),
        (
            "return searchTools('x', {limit: 0})",
            "searchTools(query, {limit, namespace}): the limit must be a positive integer",
        ),
        (
            "return searchTools('x', {limit: 1.5})",
            "searchTools(query, {limit, namespace}): the limit must be a positive integer",
        ),
        (
            "return searchTools('x', {namespace: 1})",
            "searchTools(query, {limit, namespace}): the namespace must be a string",
        ),
        (
            "return describeTool()",
            "describeTool(name): the name must be a string",
        ),
        (
            "return describeNamespace(null)",
            "describeNamespace(name): the name must be a string",
        ),
    ] {
        assert_eq!(answer(code).await, json!(message), "{code}");
    }
}

#[tokio::test]
async fn tools_and_namespaces_are_described() {
    for name in ["mcp__radius__arc-length", "mcp__radius__arc_length"] {
        let shown = answer(&format!("return describeTool('{name}')")).await;
        insta::assert_snapshot!("describe_tool", shown.as_str().unwrap());
    }
    let namespace = json!({
        "name": "dev-radius",
        "description": "Circles",
        "instructions": "Mind the units.",
        "tools": ["mcp__radius__area", "mcp__radius__arc_length"],
    });
    for name in ["dev-radius", "dev_radius", "radius"] {
        assert_eq!(
            answer(&format!("return describeNamespace('{name}')")).await,
            namespace,
            "{name}"
        );
    }
    let absent = "return [await describeTool('secret'), await describeTool('exec'), await describeNamespace('none')]";
    assert_eq!(answer(absent).await, json!([null, null, null]));
}

#[tokio::test]
async fn the_list_has_every_callable_tool_and_not_the_script_tool() {
    let names = answer("return ALL_TOOLS.map((tool) => tool.name)").await;
    assert_eq!(
        names,
        json!(["read_file", "mcp__radius__area", "mcp__radius__arc_length"])
    );
    let guidelines =
        answer("return ALL_TOOLS[0].description.includes('- Give absolute paths.')").await;
    assert_eq!(guidelines, json!(true));
    let detached = "const {read_file: read} = tools; return [await read(), 'secret' in tools, Object.keys(tools).length]";
    assert_eq!(answer(detached).await, json!(["ran", false, 3]));
}
