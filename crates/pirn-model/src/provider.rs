//! The providers that are known without any file.

use crate::model::{Api, Input, Model};
use crate::usage::Prices;

/// A provider of models.
#[derive(Debug, Clone, Copy)]
pub struct Provider {
    /// Its name, as models are asked for.
    pub id: &'static str,
    /// The wire that it speaks.
    pub api: Api,
    /// Where its requests go.
    pub base_url: &'static str,
    /// The variables that may hold its key, the first one counts.
    pub key_variables: &'static [&'static str],
    /// The variables that may hold a token of a sign-in; they count before keys.
    pub token_variables: &'static [&'static str],
    models: &'static [Known],
}

/// What is known of a model. Prices in US dollars for a million tokens: read, written, read from and put into the cache.
#[derive(Debug, Clone, Copy)]
struct Known {
    id: &'static str,
    context_window: u64,
    max_tokens: u64,
    prices: [f64; 4],
}

/// The providers, those that are taken first where several have a key first. Of each, the first model is its default.
pub const PROVIDERS: &[Provider] = &[
    Provider {
        id: "anthropic",
        api: Api::AnthropicMessages,
        base_url: "https://api.anthropic.com",
        key_variables: &["ANTHROPIC_API_KEY"],
        token_variables: &["ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN"],
        models: &[
            Known {
                id: "claude-sonnet-4-5",
                context_window: 200_000,
                max_tokens: 64_000,
                prices: [3.0, 15.0, 0.3, 3.75],
            },
            Known {
                id: "claude-opus-4-5",
                context_window: 200_000,
                max_tokens: 64_000,
                prices: [5.0, 25.0, 0.5, 6.25],
            },
            Known {
                id: "claude-haiku-4-5",
                context_window: 200_000,
                max_tokens: 64_000,
                prices: [1.0, 5.0, 0.1, 1.25],
            },
        ],
    },
    Provider {
        id: "openai",
        api: Api::OpenAiCompletions,
        base_url: "https://api.openai.com/v1",
        key_variables: &["OPENAI_API_KEY"],
        token_variables: &[],
        models: &[
            Known {
                id: "gpt-5",
                context_window: 400_000,
                max_tokens: 128_000,
                prices: [1.25, 10.0, 0.125, 0.0],
            },
            Known {
                id: "gpt-5-mini",
                context_window: 400_000,
                max_tokens: 128_000,
                prices: [0.25, 2.0, 0.025, 0.0],
            },
        ],
    },
    Provider {
        id: "google",
        api: Api::GoogleGenerativeAi,
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        token_variables: &[],
        models: &[],
    },
    bare(
        "openrouter",
        "https://openrouter.ai/api/v1",
        &["OPENROUTER_API_KEY"],
    ),
    bare("groq", "https://api.groq.com/openai/v1", &["GROQ_API_KEY"]),
    bare(
        "deepseek",
        "https://api.deepseek.com",
        &["DEEPSEEK_API_KEY"],
    ),
    bare("xai", "https://api.x.ai/v1", &["XAI_API_KEY"]),
    bare("mistral", "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"]),
    bare(
        "together",
        "https://api.together.xyz/v1",
        &["TOGETHER_API_KEY"],
    ),
    bare(
        "cerebras",
        "https://api.cerebras.ai/v1",
        &["CEREBRAS_API_KEY"],
    ),
];

/// A provider whose models are asked for by their names; nothing else is known of them.
const fn bare(
    id: &'static str,
    base_url: &'static str,
    key_variables: &'static [&'static str],
) -> Provider {
    Provider {
        id,
        api: Api::OpenAiCompletions,
        base_url,
        key_variables,
        token_variables: &[],
        models: &[],
    }
}

impl Provider {
    /// The provider of this name.
    pub fn find(id: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.id == id)
    }

    /// The models that are known, the default one first.
    pub fn models(&self) -> Vec<Model> {
        self.models.iter().map(|known| self.known(known)).collect()
    }

    /// A model by its name, known or not.
    pub fn model(&self, id: &str) -> Model {
        match self.models.iter().find(|known| known.id == id) {
            Some(known) => self.known(known),
            None => Model::new(self.id, id, self.api, self.base_url),
        }
    }

    fn known(&self, known: &Known) -> Model {
        let [input, output, cache_read, cache_write] = known.prices;
        Model {
            reasoning: true,
            input: vec![Input::Text, Input::Image],
            context_window: known.context_window,
            max_tokens: known.max_tokens,
            cost: Prices {
                input,
                output,
                cache_read,
                cache_write,
                tiers: Vec::new(),
            },
            ..Model::new(self.id, known.id, self.api, self.base_url)
        }
    }
}
