use std::path::Path;

use pirn_tool::{CallRequest, Decision, Policy, PolicyInput};

use super::*;
use crate::{BuiltinTools, ClientOptions, HostEnv, Runtime};

struct Anything;

impl Policy for Anything {
    fn decide(&self, _input: PolicyInput<'_>) -> Decision {
        Decision::Allow
    }
}

fn tool(name: &str, description: &str, exposure: Exposure) -> Tool {
    let spec = ToolSpec::new(name, description).exposure(exposure);
    Tool::from_fn(spec, |_, _| async { ToolResult::text("ran") })
}

fn runtime() -> Runtime {
    Runtime::builder(HostEnv::default(), Path::new("/"))
        .builtin_tools(BuiltinTools::None)
        .tool(tool(
            "mcp__mail__send",
            "Sends a letter.\nTo anybody.",
            Exposure::Deferred,
        ))
        .tool(tool(
            "mcp__mail__drop",
            "Deletes a letter",
            Exposure::Codemode,
        ))
        .tool(tool("mcp__old__letter", "Gone", Exposure::Hidden))
        .build()
        .unwrap()
}

fn names(client: &Client) -> Vec<String> {
    let loadout = client.registry().loadout();
    let declared = loadout.declarations.iter();
    declared
        .map(|declaration| declaration.tool.spec().name.clone())
        .collect()
}

async fn call(client: &Client, name: &str, arguments: Value) -> ToolResult {
    client
        .call(CallRequest::new("1", name, arguments))
        .await
        .result
}

#[tokio::test]
async fn what_is_found_is_declared_to_this_client_and_can_be_called() {
    let runtime = runtime();
    let client = runtime.client(ClientOptions::new(Anything));
    let other = runtime.client(ClientOptions::new(Anything));
    client.offer_tool_search();
    assert_eq!(names(&client), [TOOL_SEARCH_NAME]);
    let early = call(&client, "mcp__mail__send", json!({})).await;
    assert!(early.is_error, "{early:?}");

    let found = call(&client, TOOL_SEARCH_NAME, json!({"query": "send letters"})).await;
    assert_eq!(
        found.joined_text(),
        "2 tools are declared from now on:\n- mcp__mail__send: Sends a letter.\n- mcp__mail__drop: Deletes a letter"
    );
    assert_eq!(
        found.details,
        Some(json!({"loaded": ["mcp__mail__send", "mcp__mail__drop"]}))
    );
    assert_eq!(
        names(&client),
        [TOOL_SEARCH_NAME, "mcp__mail__send", "mcp__mail__drop"]
    );
    assert_eq!(names(&other), [""; 0]);
    let late = call(&client, "mcp__mail__send", json!({})).await;
    assert_eq!(late.joined_text(), "ran");

    // What is declared already is not found again, and what becomes active by itself still does.
    let again = call(&client, TOOL_SEARCH_NAME, json!({"query": "letter"})).await;
    assert_eq!(again.details, Some(json!({"loaded": []})));
    runtime
        .registry()
        .register(tool("direct", "Late", Exposure::Direct));
    assert!(names(&client).contains(&"direct".to_owned()));
}

#[tokio::test]
async fn a_search_needs_words_and_a_limit_above_zero() {
    let runtime = runtime();
    let client = runtime.client(ClientOptions::new(Anything));
    client.offer_tool_search();
    for arguments in [
        json!({"query": " "}),
        json!({}),
        json!({"query": "x", "limit": 0}),
    ] {
        assert!(
            call(&client, TOOL_SEARCH_NAME, arguments.clone())
                .await
                .is_error,
            "{arguments}"
        );
    }
    let one = call(
        &client,
        TOOL_SEARCH_NAME,
        json!({"query": "letter", "limit": 1}),
    )
    .await;
    assert_eq!(one.details, Some(json!({"loaded": ["mcp__mail__drop"]})));
}

/// What a conversation had loaded is declared again when it is taken up, as soon as its server is there.
#[tokio::test]
async fn tools_of_servers_that_are_not_there_yet_wait() {
    let runtime = runtime();
    let client = runtime.client(ClientOptions::new(Anything));
    client
        .registry()
        .set_loaded(&["mcp__late__x", "mcp__mail__send"]);
    assert_eq!(names(&client), ["mcp__mail__send"]);
    runtime
        .registry()
        .register(tool("mcp__late__x", "Late", Exposure::Deferred));
    assert_eq!(names(&client), ["mcp__late__x", "mcp__mail__send"]);
    client.registry().set_loaded(&[]);
    assert_eq!(names(&client), [""; 0]);
}
