//! The tool over a runner that is told which calls to make.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_tool::{
    Answer, ApprovalQueue, ApprovalRequest, CallRequest, CallStatus, Effects, Exposure, Hook,
    HookCall, Pipeline, PipelineBuilder, Registry, Rule, RulePolicy, Subject, Tool, ToolResult,
    ToolSpec, Verdict,
};
use serde_json::{Value, json};

use super::names::capability_names;
use super::*;
use crate::confirmation::{NonInteractive, ProgramQuestions};
use crate::outcome::{Display, KernelState};
use crate::request::{CapabilityFailure, EvalUpdate};

/// Takes the code as JSON: a list of `[name, input]` to call, one after the other. The value is what they gave.
#[derive(Default)]
struct FakeRunner {
    seen: Mutex<Vec<EvalRequest>>,
    resets: Mutex<Vec<String>>,
}

impl FakeRunner {
    fn last(&self) -> EvalRequest {
        self.seen.lock().unwrap().last().unwrap().clone()
    }
}

impl EvalRunner for FakeRunner {
    fn run(&self, request: EvalRequest) -> BoxFuture<'static, EvalOutcome> {
        self.seen.lock().unwrap().push(request.clone());
        Box::pin(async move {
            let calls: Vec<(String, Value)> =
                serde_json::from_str(&request.code).unwrap_or_default();
            let mut values = Vec::new();
            for (name, input) in calls {
                let result = request
                    .caller
                    .call(name, input, request.cancel.child_token())
                    .await;
                values.push(match result {
                    Ok(value) => value,
                    Err(CapabilityFailure { name, message }) => json!(format!("{name}: {message}")),
                });
            }
            if let Some(updates) = &request.updates {
                updates(EvalUpdate::Stdout("printed".to_owned()));
            }
            EvalOutcome {
                language: request.language,
                stdout: "printed".to_owned(),
                stderr: String::new(),
                is_cut: false,
                value: Some(values.into()),
                value_text: None,
                displays: vec![Display {
                    mime_type: "image/png".to_owned(),
                    data: "AA==".to_owned(),
                }],
                lossy: Vec::new(),
                failure: None,
                calls: Vec::new(),
                decisions: Vec::new(),
                state: KernelState::Committed,
                is_kernel_reused: false,
                elapsed: Duration::from_millis(1),
                interpreter: "fake 1".to_owned(),
                sandbox: None,
                notes: Vec::new(),
            }
        })
    }

    fn reset(&self, branch: String) -> BoxFuture<'static, Result<(), Error>> {
        self.resets.lock().unwrap().push(branch);
        Box::pin(std::future::ready(Ok(())))
    }
}

fn echo(name: &str, effects: Effects) -> Tool {
    let spec = ToolSpec::new(name, format!("Echoes {name}.\nMore about it.")).effects(effects);
    Tool::from_fn(spec, |arguments, _| async move {
        ToolResult::text(arguments.to_string())
    })
}

struct Bench {
    runner: Arc<FakeRunner>,
    eval: EvalTool,
    pipeline: PipelineBuilder,
}

impl Bench {
    fn new(tools: impl IntoIterator<Item = Tool>) -> Self {
        let registry = Registry::new();
        for tool in tools {
            registry.register(tool);
        }
        let runner = Arc::new(FakeRunner::default());
        let gates = Gates {
            non_interactive: NonInteractive::Allowed,
            ..Gates::new(ApprovalQueue::new())
        };
        Self {
            eval: EvalTool::new(runner.clone(), gates),
            runner,
            pipeline: Pipeline::builder(registry),
        }
    }

    async fn call(self, arguments: Value) -> (ToolResult, Option<pirn_tool::NestedCalls>) {
        let pipeline = self.pipeline.build();
        pipeline.registry().register(eval_tool(self.eval));
        let outcome = pipeline
            .call(CallRequest::new("7", EVAL_TOOL_NAME, arguments))
            .await;
        (outcome.result, outcome.nested_calls)
    }

    /// The values of these calls inside a program.
    async fn values(self, calls: Value) -> Vec<Value> {
        let code = calls.to_string();
        let (result, _) = self.call(json!({"language": "python", "code": code})).await;
        let text = result.joined_text();
        let (_, value) = text.split_once("result:\n").unwrap();
        serde_json::from_str(value).unwrap()
    }
}

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
async fn a_code_fence_is_taken_off_and_told() {
    let bench = Bench::new([]);
    let runner = Arc::clone(&bench.runner);
    let (result, _) = bench
        .call(json!({"language": "python", "code": "```py\n[]\n```"}))
        .await;
    assert_eq!(runner.last().code, "\n[]");
    assert!(result.joined_text().contains(FENCE_NOTE), "{result:?}");
}

#[tokio::test]
async fn approvals_inside_are_asked_of_the_same_person() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let queue = ApprovalQueue::builder().answered_by({
        let asked = Arc::clone(&asked);
        move |request: &ApprovalRequest| {
            let call_id = request.call_id.as_deref().unwrap_or_default();
            asked
                .lock()
                .unwrap()
                .push(format!("{call_id} {}", request.subject.name()));
            Answer::allow_once()
        }
    });
    let mut bench = Bench::new([echo("look", Effects::READ)]);
    let policy = RulePolicy {
        rules: vec![Rule::for_name(Verdict::Ask, "look")],
        default: Verdict::Allow,
    };
    bench.pipeline = bench.pipeline.policy(Arc::new(policy)).approvals(queue);
    assert_eq!(bench.values(json!([["look", {}]])).await, [json!("{}")]);
    assert_eq!(*asked.lock().unwrap(), ["7/1 look"]);
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

#[tokio::test]
async fn time_and_size_are_bounded_whatever_is_said() {
    for (asked, embedder, given) in [
        (None, Duration::MAX, 30),
        (Some(90.5), Duration::MAX, 90),
        (Some(120.0), Duration::MAX, 120),
        (Some(120.0), Duration::from_secs(50), 50),
        (None, Duration::from_secs(10), 10),
    ] {
        let mut bench = Bench::new([]);
        bench.eval.timeout_max = embedder;
        let runner = bench.runner.clone();
        let mut arguments = json!({"language": "javascript", "code": "1"});
        if let Some(asked) = asked {
            arguments["timeoutSeconds"] = json!(asked);
        }
        let (result, _) = bench.call(arguments).await;
        assert!(!result.is_error);
        assert_eq!(runner.last().timeout.as_secs(), given);
        assert_eq!(runner.last().language, Language::JavaScript);
    }
    for (arguments, problem) in [
        (
            json!({"language": "python", "code": "1", "timeoutSeconds": 500}),
            "Validation failed",
        ),
        (
            json!({"language": "ruby", "code": "1"}),
            "Validation failed",
        ),
        (
            json!({"language": "python", "code": ""}),
            "Validation failed",
        ),
        (
            json!({"language": "python", "code": "x".repeat(100_001)}),
            "code_too_large: the code has 100001 bytes",
        ),
        // 50,001 characters, 100,002 bytes.
        (
            json!({"language": "python", "code": "ä".repeat(50_001)}),
            "code_too_large",
        ),
    ] {
        let bench = Bench::new([]);
        let runner = bench.runner.clone();
        let (result, _) = bench.call(arguments).await;
        assert!(result.is_error && result.joined_text().contains(problem));
        assert!(runner.seen.lock().unwrap().is_empty());
    }
    // A caller without a pipeline's validation.
    let mut bench = Bench::new([]);
    bench.eval.timeout_max = Duration::MAX;
    let arguments = EvalArguments {
        language: Language::Python,
        code: "1".to_owned(),
        timeout: Some(Duration::from_secs(500)),
        state: StateBefore::Kept,
    };
    let pipeline = bench.pipeline.build();
    let context = CallContext::detached("1");
    let report = bench
        .eval
        .evaluate(&pipeline, &context, arguments, None)
        .await;
    assert_eq!(report.failure(), None);
    assert_eq!(bench.runner.last().timeout, Duration::from_mins(2));
}

#[tokio::test]
async fn the_code_reaches_the_kernel_as_it_is_and_reset_comes_first() {
    let code = "  if True:\n      1\r\n\u{202e}";
    let mut bench = Bench::new([]);
    bench.eval.branch = Arc::new(|| "branch-2".to_owned());
    let runner = bench.runner.clone();
    let (result, _) = bench
        .call(json!({"language": "python", "code": code, "reset": true}))
        .await;
    assert_eq!(result.content.len(), 2, "the picture");
    assert_eq!(runner.last().code, code);
    assert_eq!(runner.last().branch, "branch-2");
    assert_eq!(*runner.resets.lock().unwrap(), ["branch-2"]);
}

#[tokio::test]
async fn nothing_runs_without_approval_and_the_question_shows_all() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let mut bench = Bench::new([echo("look", Effects::READ)]);
    bench.eval.gates = Gates::new(ApprovalQueue::builder().answered_by(move |request| {
        seen.lock().unwrap().push(request.clone());
        Answer::deny()
    }));
    let runner = bench.runner.clone();
    let code = format!("{}\n\u{1b}[2J# last", "x = 1\n".repeat(10_000));
    let (result, _) = bench
        .call(json!({"language": "python", "code": code, "reset": true}))
        .await;
    assert!(result.is_error);
    assert!(
        result
            .joined_text()
            .starts_with("not_approved: approval denied")
    );
    assert_eq!(result.details.unwrap()["denied"], true);
    assert!(runner.seen.lock().unwrap().is_empty() && runner.resets.lock().unwrap().is_empty());
    let questions: Vec<ApprovalRequest> = std::mem::take(&mut asked.lock().unwrap());
    assert!(
        questions[0]
            .effects
            .contains(Effects::WRITE | Effects::NETWORK)
    );
    assert_eq!(questions[0].arguments["code"], code);
    let Subject::Program(question) = &questions[0].subject else {
        panic!("{questions:?}");
    };
    assert_eq!(question.source, code);
    assert_eq!(question.callable, ["look"]);
    assert!(question.confinement.contains("not confined"));
    assert_eq!(question.code_bytes, code.len());
}

#[tokio::test]
async fn a_call_that_the_policy_asks_about_shows_the_program_and_is_asked_about_once() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let queue = ApprovalQueue::builder().answered_by(move |request| {
        seen.lock().unwrap().push(request.clone());
        Answer::allow_once()
    });
    let mut bench = Bench::new([echo("look", Effects::READ)]);
    bench.eval.gates = Gates::new(queue.clone());
    let policy = RulePolicy {
        rules: vec![Rule::for_name(Verdict::Ask, EVAL_TOOL_NAME)],
        default: Verdict::Allow,
    };
    bench.pipeline = bench.pipeline.policy(Arc::new(policy)).approvals(queue);
    let runner = bench.runner.clone();
    let (result, _) = bench
        .call(json!({"language": "python", "code": "[]"}))
        .await;
    assert!(!result.is_error, "{}", result.joined_text());
    assert_eq!(result.details.unwrap()["approval"], "with-call");
    assert_eq!(runner.seen.lock().unwrap().len(), 1);
    let asked = asked.lock().unwrap();
    let [request] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    let Subject::Program(program) = &request.subject else {
        panic!("{request:?}");
    };
    assert_eq!((program.source.as_str(), program.code_bytes), ("[]", 2));
    assert_eq!(
        program.callable,
        ["tools that do no more than read, process"]
    );
    // Nothing outlasts the session, and no rule covers programs that nobody has seen.
    assert!(request.choices.iter().all(|choice| {
        choice.scope <= pirn_tool::Scope::Session && choice.covers == pirn_tool::Covers::Arguments
    }));
}

#[tokio::test]
async fn nobody_to_ask_means_no_unless_allowed() {
    for (questions, non_interactive, runs) in [
        (ProgramQuestions::Always, NonInteractive::Refused, false),
        (ProgramQuestions::Never, NonInteractive::Refused, false),
        (ProgramQuestions::Never, NonInteractive::Allowed, true),
    ] {
        let mut bench = Bench::new([]);
        bench.eval.gates = Gates {
            questions,
            non_interactive,
            ..Gates::new(ApprovalQueue::new())
        };
        let runner = bench.runner.clone();
        let (result, _) = bench.call(json!({"language": "python", "code": "1"})).await;
        assert_eq!(result.is_error, !runs);
        assert_eq!(runner.seen.lock().unwrap().len(), usize::from(runs));
        if !runs {
            assert!(result.joined_text().contains("eval.allowNonInteractive"));
        }
    }
}

#[tokio::test]
async fn an_abort_while_the_question_is_open_runs_nothing() {
    let mut bench = Bench::new([]);
    let queue = ApprovalQueue::new();
    // Somebody is there and says nothing.
    let _front_end = queue.front_end();
    bench.eval.gates = Gates::new(queue);
    let pipeline = bench.pipeline.build();
    let context = CallContext::detached("1");
    context.cancel.cancel();
    let arguments = EvalArguments {
        language: Language::Python,
        code: "1".to_owned(),
        timeout: None,
        state: StateBefore::Kept,
    };
    let report = bench
        .eval
        .evaluate(&pipeline, &context, arguments, None)
        .await;
    assert_eq!(report.failure().unwrap().kind, EvalFailureKind::Aborted);
    assert!(bench.runner.seen.lock().unwrap().is_empty());
}

#[test]
fn the_description_says_what_can_be_called_and_what_holds() {
    let bench = Bench::new([echo("look", Effects::READ), echo("change", Effects::WRITE)]);
    let registry = bench.pipeline.build().registry().clone();
    let changes = bench.eval.prepare_loadout(&Loadout::of(&registry));
    let description = &changes.descriptions[EVAL_TOOL_NAME];
    assert!(
        description.ends_with("\n- look (read): Echoes look."),
        "{description}"
    );
    assert!(description.contains("Programs are not confined: they have all rights of the user."));
    let spec = eval_tool(bench.eval).spec().clone();
    assert_eq!(spec.exposure, Exposure::ModelOnly);
    assert_eq!(
        spec.effects.names().collect::<Vec<_>>(),
        ["read", "write", "process", "network", "orchestration"]
    );
    assert_eq!(spec.guidelines.len(), 2);
}

#[test]
fn confinement_is_told_as_it_is() {
    use pirn_sandbox::{Layer, Level, MissingLayer, NetworkMode, Profile, SandboxReport};
    let report = SandboxReport {
        profile: Profile::WorkspaceWrite,
        network: NetworkMode::Off,
        level: Some(Level::Strict),
        layers: Vec::new(),
        missing: vec![MissingLayer {
            layer: Layer::CgroupMemory,
            reason: String::new(),
            remedy: None,
        }],
    };
    let all = Effects::READ | Effects::WRITE | Effects::PROCESS | Effects::NETWORK;
    let cases = [
        (
            report.clone(),
            Effects::READ | Effects::WRITE | Effects::PROCESS,
            "have no network; not in force on this machine: cgroup-memory.",
        ),
        (
            SandboxReport {
                profile: Profile::ReadOnly,
                missing: Vec::new(),
                ..report.clone()
            },
            Effects::READ | Effects::PROCESS,
            "write only to a private temporary folder, cannot read common places of credentials, and have no network.",
        ),
        (
            SandboxReport {
                network: NetworkMode::On,
                ..report.clone()
            },
            all,
            "can use the network",
        ),
        (
            SandboxReport {
                network: NetworkMode::AllowList,
                ..report.clone()
            },
            all,
            "reach only allowed hosts",
        ),
        (
            SandboxReport {
                level: None,
                ..report.clone()
            },
            all,
            "not confined",
        ),
        (
            SandboxReport {
                profile: Profile::Off,
                ..report
            },
            all,
            "not confined",
        ),
    ];
    for (report, effects, sentence) in cases {
        assert_eq!(confinement_effects(Some(&report)), effects, "{report:?}");
        let said = confinement_sentence(Some(&report));
        assert!(said.contains(sentence), "{said}");
    }
}

#[test]
fn names_are_members_that_can_be_written() {
    let names = [
        "read",
        "mcp__Docs__getPage",
        "a-b",
        "a.b",
        "list",
        "then",
        "call",
        "parallel",
        "constructor",
        "import",
        "9lives",
        "_x",
        "日本",
        "",
    ];
    let given = capability_names(&names);
    assert_eq!(given[..2], ["read", "mcp__docs__getpage"]);
    assert_eq!(
        given[4..12],
        [
            "tool_list",
            "tool_then",
            "tool_call",
            "tool_parallel",
            "tool_constructor",
            "tool_import",
            "tool_9lives",
            "tool_x"
        ]
    );
    assert!(given[2].starts_with("a_b_") && given[3].starts_with("a_b_") && given[2] != given[3]);
    let long = "x".repeat(100);
    let long = capability_names(&[&long]);
    assert_eq!(long[0].len(), 64);
    let mut unique = given.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), given.len());
    for name in &given {
        let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(
            name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(fine),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_tool_is_found_by_its_own_name_too() {
    let bench = Bench::new([
        echo("mcp__Docs__getPage", Effects::READ),
        echo("list", Effects::READ),
    ]);
    let values = bench
        .values(json!([
            ["mcp__Docs__getPage", {}],
            ["mcp__docs__getpage", {}],
            ["list", {}],
            ["tool_list", {}]
        ]))
        .await;
    assert_eq!(values, vec![json!("{}"); 4]);
}

#[tokio::test]
async fn progress_is_told() {
    let bench = Bench::new([echo("look", Effects::READ)]);
    let pipeline = bench.pipeline.build();
    pipeline.registry().register(eval_tool(bench.eval));
    let updates = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&updates);
    let request = CallRequest {
        updates: Some(Arc::new(move |update| sink.lock().unwrap().push(update))),
        ..CallRequest::new(
            "1",
            EVAL_TOOL_NAME,
            json!({"language": "python", "code": "1"}),
        )
    };
    pipeline.call(request).await;
    let updates = updates.lock().unwrap();
    assert_eq!(updates[0].text, "printed");
    assert_eq!(
        updates[0].details,
        Some(json!({"callsStarted": 0, "callsEnded": 0, "running": []}))
    );
}
