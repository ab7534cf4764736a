//! Models that do one thing: answer questions about a state (classifiers), or make images.
//!
//! [`TaskClient`] asks them. What it sends and reads is made by pure functions, one file per API.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::model::Input;
use crate::request::HttpRequest;
use crate::usage::{Prices, RequestUsage};

mod client;
mod decisions;
mod images;
mod llama_cpp;
mod question;
mod system_one;

pub use client::TaskClient;
pub use question::{Question, Questions};

/// What a model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskKind {
    /// It answers questions about a state.
    Classifier,
    /// It makes images from a text.
    Image,
}

impl TaskKind {
    /// The name in files and scripts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Classifier => "classifier",
            Self::Image => "image",
        }
    }
}

/// A wire of a model that does one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskApi {
    /// System One as its author serves it: `POST BASE/systemone`.
    #[serde(rename = "typesafe-system-one")]
    SystemOne,
    /// The same behind Cloudflare's Workers AI: `POST BASE/run`.
    #[serde(rename = "cloudflare-workers-ai-system-one")]
    CloudflareSystemOne,
    /// `OpenAI`'s decisions: `POST BASE/decisions`.
    #[serde(rename = "openai-decisions")]
    OpenAiDecisions,
    /// Probabilities of the next token of any model on llama.cpp's server.
    #[serde(rename = "llama-cpp-classify")]
    LlamaCpp,
    /// Images of chat models: `POST BASE/chat/completions`.
    #[serde(rename = "openrouter-images")]
    OpenRouterImages,
}

impl TaskApi {
    /// Every wire, in the order of the documentation.
    pub const ALL: [Self; 5] = [
        Self::SystemOne,
        Self::CloudflareSystemOne,
        Self::OpenAiDecisions,
        Self::LlamaCpp,
        Self::OpenRouterImages,
    ];

    /// The name in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SystemOne => "typesafe-system-one",
            Self::CloudflareSystemOne => "cloudflare-workers-ai-system-one",
            Self::OpenAiDecisions => "openai-decisions",
            Self::LlamaCpp => "llama-cpp-classify",
            Self::OpenRouterImages => "openrouter-images",
        }
    }

    /// The wire of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.as_str() == name)
    }

    /// What its models are for.
    pub fn kind(self) -> TaskKind {
        match self {
            Self::SystemOne
            | Self::CloudflareSystemOne
            | Self::OpenAiDecisions
            | Self::LlamaCpp => TaskKind::Classifier,
            Self::OpenRouterImages => TaskKind::Image,
        }
    }
}

/// A model that does one thing. The fields are those of `models.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskModel {
    /// The name in requests.
    pub id: String,
    /// The name for people.
    #[serde(default)]
    pub name: String,
    /// The provider, whose key it is asked with.
    #[serde(default)]
    pub provider: String,
    /// The wire, and with it what the model is for.
    pub api: TaskApi,
    /// Where requests go; the wire adds its path.
    pub base_url: String,
    /// What it reads besides text, and text.
    #[serde(default = "text_only")]
    pub input: Vec<Input>,
    /// Prices for a million tokens.
    #[serde(default)]
    pub cost: Prices,
    /// Headers of every request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// What the host does otherwise than the wire's author.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub compat: Value,
}

fn text_only() -> Vec<Input> {
    vec![Input::Text]
}

impl TaskModel {
    /// `PROVIDER/ID`, as people ask for it.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    /// Everything that is no secret, as JSON: headers may hold keys and stay out.
    pub fn public_facts(&self) -> Map<String, Value> {
        crate::model::public_facts(self)
    }

    /// Whether it looks at pictures.
    pub fn sees_images(&self) -> bool {
        self.input.contains(&Input::Image)
    }

    fn post(&self, path: &str, body: Value) -> HttpRequest {
        let base = match self.api {
            // Its own API stands beside the one that it took over.
            TaskApi::LlamaCpp => self.base_url.trim_end_matches('/').trim_end_matches("/v1"),
            TaskApi::SystemOne
            | TaskApi::CloudflareSystemOne
            | TaskApi::OpenAiDecisions
            | TaskApi::OpenRouterImages => &self.base_url,
        };
        HttpRequest {
            url: crate::wire::join(base, path),
            headers: self
                .headers
                .iter()
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            body,
        }
    }
}

/// What a classifier is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Classification {
    /// What the questions are about.
    pub state: Map<String, Value>,
    /// Pictures that belong to the state.
    pub images: Vec<Picture>,
    /// The questions by their ids, in order.
    pub questions: Questions,
}

/// A picture as it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Picture {
    /// The file in base64.
    pub data: String,
    /// Its type, such as `image/png`.
    pub mime_type: String,
}

impl Picture {
    fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.mime_type, self.data)
    }
}

/// What a model that does one thing answered.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskAnswer {
    /// The answer: answers by question of a classifier (`{choice, probabilities, confidence}`, `{score, confidence}` or
    /// `{probability}`), or content blocks (text and images) of an image model; what is wrong with it otherwise.
    pub answer: Result<Value, Failure>,
    /// What it used, as far as the provider said so; also where the answer cannot be read.
    pub usage: Option<RequestUsage>,
}

impl TaskAnswer {
    fn failed(failure: Failure) -> Self {
        Self {
            answer: Err(failure),
            usage: None,
        }
    }
}

/// The usage that a body states as `{usage: {input_tokens, output_tokens}}` or in chat completions' words, priced.
fn usage(model: &TaskModel, body: &Value) -> Option<RequestUsage> {
    let stated = body.get("usage")?;
    let count = |names: [&str; 2]| {
        names
            .iter()
            .find_map(|name| stated.get(*name)?.as_u64())
            .unwrap_or(0)
    };
    let mut usage = RequestUsage {
        input: count(["input_tokens", "prompt_tokens"]),
        output: count(["output_tokens", "completion_tokens"]),
        ..RequestUsage::default()
    };
    usage.complete();
    usage.cost = model.cost.cost(&usage);
    Some(usage)
}

/// An answer about one question that its provider gave in another form.
fn unreadable(id: &str, what: &str) -> Failure {
    Failure::new(
        crate::failure::FailureKind::Stream,
        format!("the answer to `{id}` {what}"),
    )
}

/// A number between 0 and 1.
fn share(value: Option<&Value>) -> Option<f64> {
    value?.as_f64().filter(|share| (0.0..=1.0).contains(share))
}

/// An answer to a choice.
fn choice(label: &str, probabilities: &Map<String, Value>, confidence: f64) -> Value {
    json!({ "choice": label, "probabilities": probabilities, "confidence": confidence })
}

#[cfg(test)]
mod tests;
