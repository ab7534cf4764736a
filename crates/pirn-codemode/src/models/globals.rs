//! The globals over a [`ModelHost`]: reads their arguments and bounds how many run at once.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pirn_tool::{CallStage, WaitClock};
use pirn_vm::{CallTarget, JsonText};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{Availability, ModelHost, ModelQuery};
use crate::host::{CallEnd, Environment, HostCall, ResumedCall, ScriptHost, spread_global};

/// Model calls of one script that run at once; each costs money and most providers limit them harder than tools.
const CALLS_AT_ONCE_MAX: usize = 4;

/// Every global with what it does, as the catalog lists them.
pub(crate) const GLOBALS: [(&str, &str, &str); 5] = [
    (
        "models.getModelsOfType",
        "(type, provider?)",
        "a promise of the known models; type is \"chat\", \"image\" or \"classifier\".",
    ),
    (
        "models.getAvailableOfType",
        "(type, provider?)",
        "the same, those that can be used now.",
    ),
    (
        "models.getModelOfType",
        "(type, provider, id)",
        "a promise of one model, or undefined.",
    ),
    (
        "models.classify",
        "(model, { state, images?, questions })",
        "asks a classifier; a promise of `{ answers, stopReason, ... }`.",
    ),
    (
        "models.generateImages",
        "(model, { input })",
        "asks an image model; a promise of `{ output, stopReason, ... }`.",
    ),
];

impl Environment {
    /// Adds the `models.*` globals. Clones of the result share the limit of four model calls at once.
    #[must_use]
    pub fn with_models(self, models: Arc<dyn ModelHost>) -> Self {
        let names = GLOBALS.iter().map(|(name, ..)| spread_global(*name));
        let globals = self.globals.iter().cloned().chain(names).collect();
        let turns = Arc::new(Semaphore::new(CALLS_AT_ONCE_MAX));
        Self {
            tools: self.tools,
            globals,
            missing: self.missing,
            host: Arc::new(WithModels {
                inner: self.host,
                models,
                turns,
            }),
        }
    }
}

struct WithModels {
    inner: Arc<dyn ScriptHost>,
    models: Arc<dyn ModelHost>,
    turns: Arc<Semaphore>,
}

impl ScriptHost for WithModels {
    fn call(&self, call: HostCall) -> BoxFuture<'static, CallEnd> {
        let is_own = call.target == CallTarget::Global
            && GLOBALS.iter().any(|(name, ..)| *name == call.name);
        if !is_own {
            return self.inner.call(call);
        }
        let (models, turns) = (Arc::clone(&self.models), Arc::clone(&self.turns));
        Box::pin(async move {
            let arguments = call
                .arguments
                .as_ref()
                .and_then(|json| json.parse().ok())
                .unwrap_or_default();
            let asked = async {
                // The semaphore is never closed.
                let _turn = turns.acquire().await.map_err(|error| error.to_string())?;
                answer(models.as_ref(), &call.name, &arguments, &call.cancel).await
            };
            let answer = tokio::select! {
                biased;
                answer = asked => answer,
                () = call.cancel.cancelled() => return CallEnd::cancelled(format!("{} was stopped", call.name)),
            };
            match answer {
                Ok(value) => CallEnd::ok(value.map(|value| JsonText::from_value(&value))),
                Err(message) => CallEnd::error(format!("{}: {message}", call.name)),
            }
        })
    }

    fn resume_call(&self, call: &HostCall, stage: &CallStage) -> ResumedCall {
        self.inner.resume_call(call, stage)
    }

    fn arguments_complaint(&self, tool: &str, argument: &Value) -> Option<String> {
        self.inner.arguments_complaint(tool, argument)
    }

    fn clock(&self) -> WaitClock {
        self.inner.clock()
    }

    fn call_id(&self, number: u32) -> Option<String> {
        self.inner.call_id(number)
    }
}

async fn answer(
    models: &dyn ModelHost,
    function: &str,
    arguments: &Value,
    cancel: &CancellationToken,
) -> Result<Option<Value>, String> {
    match function {
        "models.classify" => {
            let request = read(arguments, 1, "{state, images?, questions}")?;
            models
                .classify(read(arguments, 0, MODEL)?, request, cancel.clone())
                .await
                .and_then(shown)
                .map(Some)
        }
        "models.generateImages" => {
            let request = read(arguments, 1, "{input: [blocks]}")?;
            models
                .generate_images(read(arguments, 0, MODEL)?, request, cancel.clone())
                .await
                .and_then(shown)
                .map(Some)
        }
        "models.getModelOfType" => {
            let (provider, id) = (
                read(arguments, 1, "a provider")?,
                read(arguments, 2, "an id")?,
            );
            let query = query(arguments, Some(provider), Some(id), Availability::Known)?;
            models
                .models(query)
                .await?
                .into_iter()
                .next()
                .map(shown)
                .transpose()
        }
        _ => {
            let provider = read(arguments, 1, "a provider, or none")?;
            let availability = if function == "models.getAvailableOfType" {
                Availability::Usable
            } else {
                Availability::Known
            };
            models
                .models(query(arguments, provider, None, availability)?)
                .await
                .and_then(shown)
                .map(Some)
        }
    }
}

const MODEL: &str = "a model {provider, id}";

fn query(
    arguments: &Value,
    provider: Option<String>,
    id: Option<String>,
    availability: Availability,
) -> Result<ModelQuery, String> {
    Ok(ModelQuery {
        kind: read(arguments, 0, "\"chat\", \"image\" or \"classifier\"")?,
        provider,
        id,
        availability,
    })
}

fn read<T: DeserializeOwned>(arguments: &Value, index: usize, shape: &str) -> Result<T, String> {
    let argument = arguments.get(index).cloned().unwrap_or_default();
    serde_json::from_value(argument)
        .map_err(|error| format!("argument {} must be {shape} ({error})", index + 1))
}

fn shown(answer: impl Serialize) -> Result<Value, String> {
    serde_json::to_value(answer).map_err(|error| error.to_string())
}
