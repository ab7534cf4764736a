//! Tools, hooks and a listener that the tests share.

use std::sync::{Arc, Mutex};

use pirn_tool::{
    CallContext, CallOutcome, CallRequest, EventKind, EventSink, Exposure, Pipeline,
    PipelineBuilder, Registry, RuntimeEvent, Tool, ToolResult, ToolSpec,
};
use serde_json::{Value, json};

/// A pipeline over `tools`.
pub(crate) fn pipeline(tools: impl IntoIterator<Item = Tool>) -> Pipeline {
    builder(tools).build()
}

pub(crate) fn builder(tools: impl IntoIterator<Item = Tool>) -> PipelineBuilder {
    let registry = Registry::new();
    for tool in tools {
        registry.register(tool);
    }
    Pipeline::builder(registry)
}

/// A tool of this name that answers with its arguments.
pub(crate) fn echo(name: &str) -> Tool {
    echo_of(ToolSpec::new(name, ""))
}

pub(crate) fn echo_of(spec: ToolSpec) -> Tool {
    Tool::from_fn(spec, |arguments, _| async move {
        ToolResult::text(arguments.to_string())
    })
}

pub(crate) fn exposed(name: &str, exposure: Exposure) -> Tool {
    echo_of(ToolSpec::new(name, "").exposure(exposure))
}

/// A tool that makes the calls listed in `arguments.calls` (`{name, arguments}`), one after the other, and answers with their
/// texts, one a line.
pub(crate) fn relay(name: &str) -> Tool {
    Tool::from_fn(
        ToolSpec::new(name, ""),
        |arguments, context: CallContext| async move {
            let mut texts = Vec::new();
            for call in arguments["calls"].as_array().cloned().unwrap_or_default() {
                let outcome = context
                    .call_tool(call["name"].as_str().unwrap(), call["arguments"].clone())
                    .await;
                texts.push(format!(
                    "{} {}",
                    outcome.call_id,
                    outcome.result.joined_text()
                ));
            }
            ToolResult::text(texts.join("\n"))
        },
    )
}

/// A tool that reports that it runs and then never ends.
pub(crate) fn endless(name: &str, started: Arc<tokio::sync::Notify>) -> Tool {
    Tool::from_fn(ToolSpec::new(name, ""), move |_, _| {
        let started = Arc::clone(&started);
        async move {
            started.notify_one();
            std::future::pending().await
        }
    })
}

pub(crate) async fn call(pipeline: &Pipeline, name: &str, arguments: Value) -> CallOutcome {
    pipeline.call(CallRequest::new("1", name, arguments)).await
}

/// A nested call of `name`, made by `relay`.
pub(crate) fn nested(name: &str, arguments: &Value) -> Value {
    json!({"calls": [{"name": name, "arguments": arguments}]})
}

#[derive(Clone, Default)]
pub(crate) struct Events(Arc<Mutex<Vec<RuntimeEvent>>>);

impl Events {
    pub(crate) fn sink(&self) -> EventSink {
        let events = self.clone();
        Arc::new(move |event| events.0.lock().unwrap().push(event))
    }

    pub(crate) fn all(&self) -> Vec<RuntimeEvent> {
        self.0.lock().unwrap().clone()
    }

    /// Each event in one line, without durations.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |event: RuntimeEvent| {
            let call = event.call.unwrap();
            match event.kind {
                EventKind::Started => format!(
                    "start {} {} in {}",
                    call.call_id,
                    call.tool_name,
                    call.parent_call_id.clone().unwrap_or_default()
                ),
                EventKind::Updated(update) => format!("update {} {}", call.call_id, update.text),
                EventKind::Ended { receipt, .. } => {
                    format!("end {} {:?}", call.call_id, receipt.status)
                }
                other => panic!("{other:?}"),
            }
        };
        self.all().into_iter().map(line).collect()
    }
}
