//! The tool over a runner that is told which calls to make.

mod approval;
mod arguments;
mod calls;
mod description;
mod names;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_tool::{
    Answer, ApprovalQueue, ApprovalRequest, CallRequest, CallStatus, Effects, EventKind, Exposure,
    Hook, HookCall, Pipeline, PipelineBuilder, Registry, Rule, RulePolicy, Subject, Tool,
    ToolResult, ToolSpec, Verdict,
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
