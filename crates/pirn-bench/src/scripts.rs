//! What many tools cost a script that uses none of them, and what a question costs a call.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, bail};
use pirn_codemode::ExecTool;
use pirn_tool::{
    Answer, ApprovalQueue, CallRequest, Decision, Effects, EventKind, EventSubscription, FrontEnd,
    Pipeline, Policy, PolicyInput, Registry, Tool, ToolResult, ToolSpec,
};
use pirn_vm::{EngineOptions, VmEngine};
use serde_json::{Value, json};

use crate::Options;
use crate::engine::microseconds;
use crate::report::Report;
use crate::stats::sample;

const TOOLS_FEW: usize = 10;
const TOOLS_MANY: usize = 3_000;
/// Calls in one sample: enough that the clock's own cost does not show.
const CALLS: u32 = 2_000;

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    if options.wants("scripts.tools_3000_ms") {
        let (few, many) = (with_tools(TOOLS_FEW)?, with_tools(TOOLS_MANY)?);
        let added = sample(200, || {
            let few_us = runtime.block_on(exec(&few))?;
            anyhow::Ok((runtime.block_on(exec(&many))? - few_us) / 1e3)
        })?;
        report.add("scripts.tools_3000_ms", "ms", 1.0, &added);
    }
    if options.wants("approval.added_us") {
        let queue = ApprovalQueue::new();
        let _person = AnswersAtOnce::at(&queue);
        let asked = Pipeline::builder(registry_of_writer())
            .policy(Arc::new(AskAlways))
            .approvals(queue)
            .build();
        let allowed = Pipeline::builder(registry_of_writer()).build();
        let added = sample(50, || {
            let allowed_us = runtime.block_on(calls(&allowed))?;
            anyhow::Ok(runtime.block_on(calls(&asked))? - allowed_us)
        })?;
        report.add("approval.added_us", "µs", 20.0, &added);
    }
    Ok(())
}

/// A pipeline with `exec` and so many other tools.
fn with_tools(count: usize) -> Result<Pipeline> {
    let registry = Registry::new();
    for number in 0..count {
        let spec = ToolSpec::new(
            format!("tool_{number}"),
            format!("Does the work of tool number {number}, with a description of usual length."),
        )
        .input_schema(json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "The name of what is worked on."},
                "limit": {"type": "integer", "minimum": 1},
            },
            "required": ["name"],
        }));
        registry.register(Tool::from_fn(spec, |_, _| async { ToolResult::default() }));
    }
    let engine = VmEngine::new(EngineOptions::default())?;
    registry.register(ExecTool::new(engine).into_tool());
    Ok(Pipeline::builder(registry).build())
}

/// Time of one script that does nothing, in microseconds.
async fn exec(pipeline: &Pipeline) -> Result<f64> {
    let request = CallRequest::new("call", "exec", json!({"code": "return 1"}));
    let at = Instant::now();
    let outcome = pipeline.call(request).await;
    let time = microseconds(at.elapsed());
    if outcome.result.is_error {
        bail!("{}", outcome.result.joined_text());
    }
    Ok(time)
}

/// A front end that answers every question as soon as it is open: what remains is the cost of asking.
struct AnswersAtOnce {
    _front_end: FrontEnd,
    _subscription: EventSubscription,
}

impl AnswersAtOnce {
    fn at(queue: &ApprovalQueue) -> Self {
        let answering = queue.clone();
        let subscription = queue.events().subscribe(Arc::new(move |event| {
            if let EventKind::Asked(request) = event.kind {
                let revision = answering.open_questions().revision;
                // A question that nobody answers fails the call, which the measurement reports.
                drop(answering.answer(revision, &request.id, Answer::allow_once()));
            }
        }));
        Self {
            _front_end: queue.front_end(),
            _subscription: subscription,
        }
    }
}

struct AskAlways;

impl Policy for AskAlways {
    fn decide(&self, _input: PolicyInput<'_>) -> Decision {
        Decision::Ask {
            reason: "it writes".to_owned(),
        }
    }
}

fn registry_of_writer() -> Registry {
    let registry = Registry::new();
    let spec = ToolSpec::new("put", "Writes a value")
        .input_schema(json!({"type": "object", "properties": {"i": {"type": "integer"}}}))
        .effects(Effects::WRITE);
    registry.register(Tool::from_fn(spec, |arguments: Value, _| async move {
        ToolResult::default().with_structured(arguments)
    }));
    registry
}

/// Time of one call, in microseconds.
async fn calls(pipeline: &Pipeline) -> Result<f64> {
    let at = Instant::now();
    for number in 0..CALLS {
        let request = CallRequest::new(format!("call-{number}"), "put", json!({"i": number}));
        let outcome = pipeline.call(request).await;
        if outcome.result.is_error {
            bail!("{}", outcome.result.joined_text());
        }
    }
    Ok(microseconds(at.elapsed()) / f64::from(CALLS))
}
