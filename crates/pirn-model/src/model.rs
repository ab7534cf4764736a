//! A model as it is asked: where, how, and what it can do.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::usage::Prices;

/// The way in which a provider is talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Api {
    /// `OpenAI`'s chat completions, which most servers speak.
    #[serde(rename = "openai-completions")]
    OpenAiCompletions,
    /// The messages of Anthropic's API.
    #[serde(rename = "anthropic-messages")]
    AnthropicMessages,
    /// The responses of `OpenAI`'s API.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Google's generative language API.
    #[serde(rename = "google-generative-ai")]
    GoogleGenerativeAi,
}

impl Api {
    /// Every wire, in the order of the documentation.
    pub const ALL: [Self; 4] = [
        Self::OpenAiCompletions,
        Self::AnthropicMessages,
        Self::OpenAiResponses,
        Self::GoogleGenerativeAi,
    ];

    /// The name in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAiCompletions => "openai-completions",
            Self::AnthropicMessages => "anthropic-messages",
            Self::OpenAiResponses => "openai-responses",
            Self::GoogleGenerativeAi => "google-generative-ai",
        }
    }
}

/// How much a model thinks before it answers.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    /// It does not think at all.
    Off,
    /// As little as it can.
    Minimal,
    /// It thinks a little.
    Low,
    /// It thinks as usual.
    #[default]
    Medium,
    /// It thinks more than usual.
    High,
    /// Much more, where the model has that.
    Xhigh,
    /// As much as it can, where the model has that.
    Max,
}

impl ThinkingLevel {
    /// Every level, the least first.
    pub const ALL: [Self; 7] = [
        Self::Off,
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::Xhigh,
        Self::Max,
    ];

    /// The name in files and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// The level of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }

    /// Tokens for thinking, where a wire wants a number.
    pub fn budget_tokens(self) -> u64 {
        match self {
            Self::Off => 0,
            Self::Minimal => 1_024,
            Self::Low => 2_048,
            Self::Medium => 8_192,
            Self::High | Self::Xhigh | Self::Max => 16_384,
        }
    }
}

/// What a model reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Input {
    /// It reads or writes text.
    Text,
    /// It reads or writes pictures.
    Image,
}

/// A model as it is asked. The fields are those of `models.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// What requests call it.
    pub id: String,
    /// What people call it.
    #[serde(default)]
    pub name: String,
    /// Whose model it is.
    #[serde(default)]
    pub provider: String,
    /// The wire it is asked over.
    pub api: Api,
    /// Where requests go; the wire adds its path.
    pub base_url: String,
    /// Whether it can think.
    #[serde(default)]
    pub reasoning: bool,
    /// What the vendor calls the levels of thinking; `null` where it has none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub thinking_level_map: BTreeMap<ThinkingLevel, Option<String>>,
    /// What it reads besides text, and text.
    #[serde(default = "text_only")]
    pub input: Vec<Input>,
    /// What a million tokens cost.
    #[serde(default)]
    pub cost: Prices,
    /// Tokens that it can hold, question and answer together.
    #[serde(default = "context_window_default")]
    pub context_window: u64,
    /// Tokens of an answer at most.
    #[serde(default = "max_tokens_default")]
    pub max_tokens: u64,
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

fn context_window_default() -> u64 {
    128_000
}

fn max_tokens_default() -> u64 {
    16_384
}

/// The members of a model without its headers.
pub(crate) fn public_facts(model: &impl Serialize) -> serde_json::Map<String, Value> {
    match serde_json::to_value(model) {
        Ok(Value::Object(mut members)) => {
            members.shift_remove("headers");
            members
        }
        Ok(_) | Err(_) => serde_json::Map::new(),
    }
}

impl Model {
    /// A model of which nothing more is known.
    pub fn new(
        provider: impl Into<String>,
        id: impl Into<String>,
        api: Api,
        base_url: impl Into<String>,
    ) -> Self {
        let id = id.into();
        Self {
            name: id.clone(),
            id,
            provider: provider.into(),
            api,
            base_url: base_url.into(),
            reasoning: false,
            thinking_level_map: BTreeMap::new(),
            input: text_only(),
            cost: Prices::default(),
            context_window: context_window_default(),
            max_tokens: max_tokens_default(),
            headers: BTreeMap::new(),
            compat: Value::Null,
        }
    }

    /// `PROVIDER/ID`, as people ask for it.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    /// Everything that is no secret, as JSON: headers may hold keys and stay out.
    pub fn public_facts(&self) -> serde_json::Map<String, Value> {
        public_facts(self)
    }

    /// Whether it looks at pictures.
    pub fn sees_images(&self) -> bool {
        self.input.contains(&Input::Image)
    }

    /// The level that it has, at or below the one wanted, or else its least.
    pub fn clamp(&self, wanted: ThinkingLevel) -> ThinkingLevel {
        if !self.reasoning {
            return ThinkingLevel::Off;
        }
        let has = |level: &ThinkingLevel| match self.thinking_level_map.get(level) {
            Some(mapped) => mapped.is_some(),
            None => *level <= ThinkingLevel::High,
        };
        let below = ThinkingLevel::ALL
            .into_iter()
            .rev()
            .filter(|level| *level <= wanted)
            .find(has);
        below
            .or_else(|| ThinkingLevel::ALL.into_iter().find(has))
            .unwrap_or(ThinkingLevel::Off)
    }

    /// What the vendor calls a level.
    pub fn level_name(&self, level: ThinkingLevel) -> String {
        match self.thinking_level_map.get(&level) {
            Some(Some(name)) => name.clone(),
            Some(None) | None => level.as_str().to_owned(),
        }
    }

    /// A switch of `compat`.
    pub(crate) fn compat_flag(&self, key: &str) -> Option<bool> {
        self.compat.get(key)?.as_bool()
    }

    /// A word of `compat`.
    pub(crate) fn compat_word(&self, key: &str) -> Option<&str> {
        self.compat.get(key)?.as_str()
    }
}
