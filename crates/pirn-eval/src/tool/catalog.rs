//! The tools that a program can call, and the seam through which it calls them.

use std::fmt::Write as _;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pirn_tool::{
    CallContext, CallOutcome, CallStatus, Effects, FailureKind, Pipeline, Registry, Tool, closest,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::names::capability_names;
use crate::adapters::frame::{VALUE_JSON_BYTES_MAX, json_bytes};
use crate::request::{Capability, CapabilityCaller, CapabilityFailure};

/// Names listed when a program calls one that does not exist.
const LISTED_MAX: usize = 40;
/// Characters of an asked-for name that are shown; a program may ask for anything.
const ASKED_NAME_CHARS_MAX: usize = 128;

/// The tools of a registry as programs see them.
#[derive(Debug)]
pub(super) struct Catalog {
    /// Admitted ones, sorted by name.
    entries: Vec<Entry>,
    /// Those with other effects than the admitted ones; programs are told why they cannot call them.
    refused: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    /// The name in programs.
    name: String,
    tool: Tool,
}

impl Catalog {
    /// Every callable tool of `registry`, of which those that do no more than `admitted` can be called.
    pub(super) fn new(registry: &Registry, admitted: Effects) -> Self {
        let tools = registry.callable();
        let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
        let names = capability_names(&names);
        let mut entries: Vec<Entry> = names
            .into_iter()
            .zip(tools)
            .map(|(name, tool)| Entry { name, tool })
            .collect();
        entries.sort_by(|left, right| left.name.cmp(&right.name));
        let (entries, refused) = entries
            .into_iter()
            .partition(|entry| admitted.contains(entry.tool.spec().effects));
        Self { entries, refused }
    }

    /// What programs are told.
    pub(super) fn capabilities(&self) -> Vec<Capability> {
        self.entries
            .iter()
            .map(|entry| {
                let spec = entry.tool.spec();
                Capability {
                    name: entry.name.clone(),
                    description: description(entry),
                    effects: spec.effects,
                    input_schema: spec.input_schema.clone(),
                }
            })
            .collect()
    }

    /// The names in programs.
    pub(super) fn names(&self) -> Vec<String> {
        self.entries
            .iter()
            .map(|entry| entry.name.clone())
            .collect()
    }

    /// What all of them together can do.
    pub(super) fn effects(&self) -> Effects {
        self.entries
            .iter()
            .fold(Effects::NONE, |sum, entry| sum | entry.tool.spec().effects)
    }

    /// One line for each: name, effects, and the first line of the description.
    pub(super) fn lines(&self) -> String {
        let mut lines = String::new();
        for entry in &self.entries {
            let description = description(entry);
            let summary = description.lines().next().unwrap_or_default();
            let effects = effect_names(entry.tool.spec().effects);
            // Writing to a string cannot fail.
            let _infallible = writeln!(lines, "- {} ({effects}): {summary}", entry.name);
        }
        lines
    }

    fn find(&self, asked: &str) -> Result<&Entry, CapabilityFailure> {
        let is_meant = |entry: &&Entry| entry.name == asked || entry.tool.spec().name == asked;
        if let Some(entry) = self.entries.iter().find(is_meant) {
            return Ok(entry);
        }
        if let Some(entry) = self.refused.iter().find(is_meant) {
            return Err(not_admitted(entry));
        }
        Err(self.unknown(asked))
    }

    fn unknown(&self, asked: &str) -> CapabilityFailure {
        let names = || self.entries.iter().map(|entry| entry.name.as_str());
        let shown: String = asked.chars().take(ASKED_NAME_CHARS_MAX).collect();
        let mut message = format!("there is no tool `{shown}`");
        if let Some(close) = closest(asked, names()) {
            let _infallible = write!(message, "; did you mean `{close}`?");
        }
        let listed: Vec<&str> = names().take(LISTED_MAX).collect();
        let more = self.entries.len().saturating_sub(LISTED_MAX);
        let _infallible = match (listed.is_empty(), more) {
            (true, _) => write!(message, " No tools can be called here."),
            (false, 0) => write!(message, " The tools are {}.", listed.join(", ")),
            (false, more) => write!(
                message,
                " The tools are {} and {more} more; tools.list() names all.",
                listed.join(", ")
            ),
        };
        CapabilityFailure {
            name: "CapabilityUnknown".to_owned(),
            message,
        }
    }
}

fn not_admitted(entry: &Entry) -> CapabilityFailure {
    let effects = effect_names(entry.tool.spec().effects);
    CapabilityFailure {
        name: "CapabilityNotAdmitted".to_owned(),
        message: format!(
            "`{}` is not admitted in evals, because of its effects ({effects}). Call it outside the program; the user can admit \
             effects with --allow of `pirn eval`, or with the setting eval.effects.",
            entry.name
        ),
    }
}

fn description(entry: &Entry) -> String {
    let spec = entry.tool.spec();
    if spec.description.trim().is_empty() {
        format!("The tool {}", spec.name)
    } else {
        spec.description.trim().to_owned()
    }
}

/// The names of effects, weakest first.
pub(super) fn effect_names(effects: Effects) -> String {
    if effects == Effects::NONE {
        return "none".to_owned();
    }
    effects.listed()
}

/// Sends the calls of one program through the pipeline, as calls made inside the program's own.
pub(super) struct PipelineCaller {
    /// Over the registry that the catalog is of.
    pub(super) pipeline: Pipeline,
    pub(super) context: CallContext,
    pub(super) catalog: Arc<Catalog>,
}

impl CapabilityCaller for PipelineCaller {
    fn call(
        &self,
        name: String,
        input: Value,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Value, CapabilityFailure>> {
        let tool = match self.catalog.find(&name) {
            Ok(entry) => entry.tool.clone(),
            Err(failure) => return Box::pin(std::future::ready(Err(failure))),
        };
        let (pipeline, context) = (self.pipeline.clone(), self.context.clone());
        Box::pin(async move {
            let outcome = pipeline
                .call_nested_with(&context, &tool.spec().name, input, cancel)
                .await;
            value_of(outcome, &tool)
        })
    }
}

/// What a program gets of a call: the structured value of a tool that declares one, else the text. As in scripts, a tool that
/// fails and still gives its value has not failed to the program: the value says more than an error would.
fn value_of(outcome: CallOutcome, tool: &Tool) -> Result<Value, CapabilityFailure> {
    let failed = |message: String| CapabilityFailure {
        name: "CapabilityFailed".to_owned(),
        message,
    };
    let came_from_tool = outcome
        .failure
        .is_none_or(|failure| failure == FailureKind::Failed);
    let has_value = tool.spec().output_schema.is_some()
        && came_from_tool
        && outcome.status != CallStatus::Unknown;
    let text = outcome.result.joined_text();
    let value = match outcome.result.structured {
        Some(value) if has_value => value,
        Some(_) | None if outcome.failure.is_none() => Value::String(text),
        Some(_) | None if text.is_empty() => {
            return Err(failed(format!("the tool {} failed", outcome.tool_name)));
        }
        Some(_) | None => return Err(failed(text)),
    };
    let size = json_bytes(&value);
    if size > VALUE_JSON_BYTES_MAX {
        return Err(failed(format!(
            "{} was called and answered with {size} bytes, more than the {VALUE_JSON_BYTES_MAX} that can be given to a program; \
             ask it for less",
            outcome.tool_name
        )));
    }
    Ok(value)
}
