//! Scripts over a pipeline: every call a script makes passes the same checks as all calls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use pirn_tool::{
    CallContext, CallOutcome, CallStage, CallStatus, FailureKind, NestedOptions, Pipeline, Tool,
    WaitClock, tool_identifiers,
};
use pirn_vm::{CallTarget, JsonText, Settlement, ToolBinding, ToolDescription};
use serde_json::Value;

use crate::catalog::describe_tool;
use crate::discovery::{self, Discovery};
use crate::host::{CallEnd, Environment, HostCall, KnownTools, ScriptHost, spread_global};
use crate::shape::ResultShape;

/// Levels of an argument that no pipeline takes.
const ARGUMENT_DEPTH_REFUSED: usize = 512;

/// Gives scripts the callable tools of a pipeline, and the discovery functions over them.
pub struct PipelineHost {
    pipeline: Pipeline,
    context: CallContext,
    offer: Arc<Offer>,
}

/// What is made of a registry's tools for scripts, until the tools change.
struct Offers {
    tools: Vec<Tool>,
    /// By the names that are left out: none, or the tool that runs scripts.
    made: Mutex<BTreeMap<Vec<String>, Arc<Offer>>>,
}

/// The tools that a script is offered.
struct Offer {
    known: Arc<KnownTools>,
    discovery: Discovery,
}

impl std::fmt::Debug for PipelineHost {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("PipelineHost")
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}

impl PipelineHost {
    /// The surroundings of a script that runs on behalf of the call `context` belongs to. Tools named in `without` are left out;
    /// the tool that runs the script is one of them, so that scripts cannot start scripts.
    pub fn environment(
        pipeline: &Pipeline,
        context: &CallContext,
        without: &[&str],
    ) -> Environment {
        let offers = pipeline.registry().derived(|tools| Offers {
            tools,
            made: Mutex::default(),
        });
        let host = Self {
            pipeline: pipeline.clone(),
            context: context.clone(),
            offer: offers.without(without),
        };
        let known = Arc::clone(&host.offer.known);
        let globals = discovery::GLOBALS
            .iter()
            .map(|name| spread_global(*name))
            .collect();
        Environment::with_known(known, globals, Arc::new(host))
    }
}

impl Offers {
    /// What there is without these tools.
    fn without(&self, left_out: &[&str]) -> Arc<Offer> {
        let key: Vec<String> = left_out.iter().map(|name| (*name).to_owned()).collect();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let offer = made.entry(key).or_insert_with(|| {
            let is_left_out = |tool: &&Tool| left_out.contains(&tool.spec().name.as_str());
            let tools = self.tools.iter().filter(|tool| !is_left_out(tool));
            Arc::new(Offer::of(tools.cloned().collect()))
        });
        Arc::clone(offer)
    }
}

impl Offer {
    fn of(tools: Vec<Tool>) -> Self {
        let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
        let identifiers: BTreeMap<String, String> = names
            .iter()
            .map(|name| (*name).to_owned())
            .zip(tool_identifiers(names.iter().copied()))
            .collect();
        let known = KnownTools::new(tools.iter().map(|tool| known_tool(tool, &identifiers)));
        Self {
            known: Arc::new(known),
            discovery: Discovery::new(tools, identifiers),
        }
    }
}

/// What scripts see of a tool, and what they can be told of it before they run.
fn known_tool(tool: &Tool, identifiers: &BTreeMap<String, String>) -> (ToolBinding, ResultShape) {
    let spec = tool.spec();
    let result = ResultShape::of(spec);
    let name = spec.name.clone();
    let describe = {
        let tool = tool.clone();
        let identifier = identifiers.get(&name).unwrap_or(&name).clone();
        move || describe_tool(tool.spec(), &identifier)
    };
    let binding = ToolBinding {
        identifier: identifiers.get(&name).cloned(),
        description: ToolDescription::Made(Arc::new(describe)),
        shape: Some(result.for_vm()),
        name,
    };
    (binding, result)
}

impl ScriptHost for PipelineHost {
    fn call(&self, call: HostCall) -> BoxFuture<'static, CallEnd> {
        if call.target == CallTarget::Global {
            let end = self
                .offer
                .discovery
                .answer(&call.name, call.arguments.as_ref());
            return Box::pin(std::future::ready(end));
        }
        let arguments = match call.arguments.as_ref().map(JsonText::parse) {
            None => Value::Null,
            Some(Ok(value)) => value,
            // The only JSON of a script that cannot be parsed is too deep; the pipeline says so and keeps the receipt.
            Some(Err(_)) => {
                (0..ARGUMENT_DEPTH_REFUSED).fold(Value::Null, |inner, _| Value::Array(vec![inner]))
            }
        };
        let (pipeline, context) = (self.pipeline.clone(), self.context.clone());
        let tool = self.offer.discovery.tool(&call.name);
        Box::pin(async move {
            // From here on the pipeline says when it begins.
            call.stage.send_replace(CallStage::Waiting);
            let options = NestedOptions {
                number: Some(u64::from(call.number)),
                cancel: Some(call.cancel),
                stage: Some(call.stage),
                question_id: call.question_id,
            };
            let outcome = pipeline
                .call_nested_with_options(&context, &call.name, arguments, options)
                .await;
            script_end(outcome, tool.as_ref())
        })
    }

    fn arguments_complaint(&self, tool: &str, argument: &Value) -> Option<String> {
        let complaint = self
            .pipeline
            .registry()
            .arguments_complaint(tool, argument)?;
        let (tool, identifier) = self.offer.discovery.tool(tool)?;
        let declaration = describe_tool(tool.spec(), &identifier);
        Some(format!("{complaint}\n\n{declaration}"))
    }

    fn clock(&self) -> WaitClock {
        self.context.clock().clone()
    }

    fn call_id(&self, number: u32) -> Option<String> {
        Some(format!("{}/{number}", self.context.call_id))
    }
}

/// What a script gets of a call's outcome.
fn script_end(outcome: CallOutcome, tool: Option<&(Tool, String)>) -> CallEnd {
    let status = outcome.status;
    let tool_name = &outcome.tool_name;
    let notes = outcome.result.notes.iter();
    let notes: Vec<String> = notes
        .map(|note| {
            let end = if note.ends_with(['.', '?']) { "" } else { "." };
            format!("{tool_name}: {note}{end}")
        })
        .collect();
    let has_schema = tool.is_some_and(|(tool, _)| tool.spec().output_schema.is_some());
    let confirmed = status != CallStatus::Unknown;
    let came_from_tool = outcome
        .failure
        .is_none_or(|failure| failure == FailureKind::Failed);
    // Also of a failed call: its data says more than an error would.
    if has_schema
        && came_from_tool
        && confirmed
        && let Some(structured) = &outcome.result.structured
    {
        return CallEnd {
            settlement: Settlement::Resolved(Some(JsonText::from_value(structured))),
            status,
            error: outcome.failure.map(|_| {
                let said = outcome.result.joined_text();
                if said.is_empty() {
                    structured.to_string()
                } else {
                    said
                }
            }),
            notes,
        };
    }
    // What a server's error holds besides its message.
    let data = outcome.result.details.as_ref();
    let data = data
        .and_then(|details| details.get("data"))
        .map(JsonText::from_value);
    let text = outcome.result.joined_text();
    let Some(failure) = outcome.failure else {
        let value = JsonText::from_value(&Value::String(text));
        return CallEnd {
            settlement: Settlement::Resolved(Some(value)),
            status,
            error: None,
            notes,
        };
    };
    let mut message = if text.is_empty() {
        format!("Tool \"{}\" failed", outcome.tool_name)
    } else {
        text
    };
    if failure == FailureKind::InvalidArguments
        && let Some((tool, identifier)) = tool
    {
        message.push_str("\n\n");
        message.push_str(&describe_tool(tool.spec(), identifier));
    }
    CallEnd {
        settlement: Settlement::Rejected {
            message,
            tool: Some(outcome.tool_name),
            call_id: Some(outcome.call_id),
            kind: Some(failure.as_str().to_owned()),
            data,
        },
        status,
        error: None,
        notes,
    }
}
