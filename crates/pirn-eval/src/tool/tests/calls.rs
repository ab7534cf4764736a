//! What programs call: through the pipeline, what they get, and what is admitted.

use super::*;

#[tokio::test]
async fn calls_take_the_road_of_all_calls() {
    struct Counting(Arc<Mutex<Vec<String>>>);
    impl Hook for Counting {
        fn before<'a>(
            &'a self,
            call: HookCall<'a>,
            _arguments: &'a mut Value,
        ) -> BoxFuture<'a, Result<pirn_tool::BeforeVerdict, String>> {
            let seen = format!("{} {:?}", call.tool_name, call.parent_call_id);
            self.0.lock().unwrap().push(seen);
            Box::pin(std::future::ready(Ok(pirn_tool::BeforeVerdict::Continue)))
        }
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut bench = Bench::new([echo("look", Effects::READ), echo("secret", Effects::READ)]);
    let policy = RulePolicy {
        rules: vec![Rule::for_name(Verdict::Deny, "secret")],
        default: Verdict::Allow,
    };
    bench.pipeline = bench
        .pipeline
        .hook(Arc::new(Counting(seen.clone())))
        .policy(Arc::new(policy));
    let code = json!([["look", {"a": 1}], ["secret", {}], ["nothing", {}]]).to_string();
    let (result, nested) = bench
        .call(json!({"language": "python", "code": code}))
        .await;
    let text = result.joined_text();
    assert!(
        text.contains("CapabilityFailed: Tool secret was denied"),
        "{text}"
    );
    assert!(
        text.contains("CapabilityUnknown: there is no tool `nothing`"),
        "{text}"
    );
    let receipts = nested.unwrap().calls;
    let receipts: Vec<_> = receipts
        .iter()
        .map(|receipt| (receipt.id.as_str(), receipt.name.as_str(), receipt.status))
        .collect();
    assert_eq!(
        receipts,
        [
            ("7/1", "look", CallStatus::Ok),
            ("7/2", "secret", CallStatus::Error)
        ]
    );
    assert_eq!(
        *seen.lock().unwrap(),
        ["eval None", "look Some(\"7\")", "secret Some(\"7\")"]
    );
}

#[tokio::test]
async fn programs_get_values_texts_and_errors() {
    let structured = ToolSpec::new("structured", "S")
        .output_schema(json!({"type": "object"}))
        .effects(Effects::READ);
    let failing_with_value = ToolSpec::new("partly", "P").output_schema(json!({"type": "object"}));
    let bench = Bench::new([
        Tool::from_fn(structured, |_, _| async {
            ToolResult::text("text").with_structured(json!({"n": 9_007_199_254_740_993_u64}))
        }),
        Tool::from_fn(failing_with_value, |_, _| async {
            ToolResult::error("exit 3").with_structured(json!({"exit_code": 3}))
        }),
        Tool::from_fn(ToolSpec::new("failing", "F"), |_, _| async {
            ToolResult::error("it broke")
        }),
        Tool::from_fn(ToolSpec::new("huge", "H"), |_, _| async {
            ToolResult::text("x".repeat(3_000_000))
        }),
        echo("text", Effects::NONE),
    ]);
    let calls = json!([["structured", {}], ["partly", {}], ["failing", {}], ["huge", {}], ["text", {"a": 1}]]);
    let values = bench.values(calls).await;
    assert_eq!(values[0], json!({"n": 9_007_199_254_740_993_u64}));
    assert_eq!(values[1], json!({"exit_code": 3}));
    assert_eq!(values[2], json!("CapabilityFailed: it broke"));
    assert!(
        values[3]
            .as_str()
            .unwrap()
            .contains("huge was called and answered with 3000002 bytes")
    );
    assert_eq!(values[4], json!("{\"a\":1}"));
}

#[tokio::test]
async fn only_admitted_tools_are_listed_and_called() {
    let tools = || {
        [
            echo("look", Effects::READ),
            echo("start", Effects::PROCESS),
            echo("change", Effects::WRITE | Effects::READ),
            echo("none", Effects::NONE),
            echo("exec", Effects::NONE).hidden_from_scripts(),
        ]
    };
    let bench = Bench::new(tools());
    let runner = bench.runner.clone();
    let values = bench
        .values(json!([
            ["change", {}],
            ["chang", {}],
            ["looks", {}],
            ["eval", {}],
            ["exec", {}]
        ]))
        .await;
    let texts: Vec<&str> = values.iter().map(|value| value.as_str().unwrap()).collect();
    assert!(texts[0].starts_with("CapabilityNotAdmitted: `change` is not admitted in evals"));
    assert!(texts[0].contains("read, write"));
    assert_eq!(
        texts[2],
        "CapabilityUnknown: there is no tool `looks`; did you mean `look`? The tools are look, none, start."
    );
    assert!(texts[3].starts_with("CapabilityUnknown") && texts[4].starts_with("CapabilityUnknown"));
    let names: Vec<String> = runner
        .last()
        .capabilities
        .iter()
        .map(|capability| capability.name.clone())
        .collect();
    assert_eq!(names, ["look", "none", "start"]);

    let mut bench = Bench::new(tools());
    bench.eval.admitted = ADMITTED_DEFAULT | Effects::WRITE;
    assert_eq!(bench.values(json!([["change", {}]])).await, [json!("{}")]);
}

trait HiddenFromScripts {
    fn hidden_from_scripts(self) -> Self;
}

impl HiddenFromScripts for Tool {
    fn hidden_from_scripts(self) -> Self {
        let spec = self.spec().clone().exposure(Exposure::ModelOnly);
        Tool::from_fn(spec, |_, _| async { ToolResult::text("") })
    }
}

#[tokio::test]
async fn adapters_are_seen_by_programs_only_and_registered_tools_win() {
    let mut bench = Bench::new([echo("run_process", Effects::READ)]);
    bench.eval.adapters = vec![
        echo("read_text", Effects::READ),
        Tool::from_fn(
            ToolSpec::new("run_process", "").effects(Effects::PROCESS),
            |_, _| async { ToolResult::text("the adapter") },
        ),
    ];
    let registry = bench.pipeline.build();
    bench.pipeline = Pipeline::builder(registry.registry().clone());
    let values = bench
        .values(json!([["read_text", {}], ["run_process", {}]]))
        .await;
    assert_eq!(values, [json!("{}"), json!("{}")]);
    assert!(registry.registry().get("read_text").is_none());
}
