//! Clients of one runtime: each has its own tools and its own policy.

use pirn_runtime::{BuiltinTools, ClientOptions, EffectPolicy, Otherwise, ToolFilter};
use pirn_tool::{CallRequest, Effects, Exposure, Origin, RulePolicy, Tool, ToolResult, ToolSpec};
use serde_json::json;

use crate::place::{Place, anything, run};

const NAMES: &str = "return ALL_TOOLS.map((tool) => tool.name).join(' ')";

#[tokio::test]
async fn each_client_has_its_own_tools_and_policy() {
    let place = Place::new();
    let runtime = place.builder().build().unwrap();
    let readers = runtime.client(ClientOptions {
        tools: ToolFilter {
            include: vec!["read".to_owned(), "*s*".to_owned(), "write".to_owned()],
            exclude: vec!["bash".to_owned()],
            ..ToolFilter::default()
        },
        ..ClientOptions::new(EffectPolicy::new(
            Effects::NONE,
            Otherwise::deny("only readers are here"),
        ))
    });
    let others = anything(&runtime);
    assert_eq!(run(&readers, NAMES).await, "\"read write ls\"");
    assert_eq!(
        run(&others, NAMES).await,
        "\"read bash edit write grep find ls\""
    );
    let write =
        "await tools.write({path: 'a', content: 'A'}); return await tools.read({path: 'a'})";
    let refused = run(&readers, write).await;
    assert!(
        refused.contains("effect: write; only readers are here"),
        "{refused}"
    );
    assert!(!place.project().join("a").exists());
    assert_eq!(run(&others, write).await, "\"A\"");
    runtime.shutdown().await;
}

#[tokio::test]
async fn listed_tools_cannot_be_called() {
    let place = Place::new();
    let runtime = place
        .builder()
        .builtin_tools(BuiltinTools::Listed)
        .build()
        .unwrap();
    let client = anything(&runtime);
    let outcome = client
        .call(CallRequest::new("1", "bash", json!({"command": "touch a"})))
        .await;
    assert!(outcome.result.is_error, "{outcome:?}");
    assert!(!place.project().join("a").exists());
    assert!(runtime.confinement().is_none());
}

#[tokio::test]
async fn a_hidden_tool_is_there_for_whom_it_is_revealed() {
    let spec = ToolSpec::new("secret", "Hidden").exposure(Exposure::Hidden);
    let secret = Tool::from_fn(spec, |_, _| async { ToolResult::text("found") });
    let place = Place::new();
    let runtime = place.builder().tool(secret).build().unwrap();
    let request = || CallRequest::new("1", "secret", json!({})).origin(Origin::User);
    let outcome = anything(&runtime).call(request()).await;
    assert!(outcome.failure.is_some(), "{outcome:?}");
    let client = runtime.client(ClientOptions {
        tools: ToolFilter {
            reveal: vec!["secret".to_owned()],
            ..ToolFilter::default()
        },
        ..ClientOptions::new(RulePolicy::allow_all())
    });
    let outcome = client.call(request()).await;
    assert_eq!(outcome.result.joined_text(), "found");
}
