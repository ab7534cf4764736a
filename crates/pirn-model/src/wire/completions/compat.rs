//! What hosts of chat completions do otherwise than `OpenAI`.

use crate::model::Model;
use crate::replay::IdRule;

/// How thinking is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThinkingFormat {
    /// The member `reasoning_effort`, as `OpenAI` has it.
    OpenAi,
    /// The member `reasoning: {effort}`, as `OpenRouter` has it.
    OpenRouter,
    /// The member `reasoning: {enabled}`, as Together has it.
    Together,
    /// `thinking: {type}`, and an effort.
    DeepSeek,
    /// The member `thinking: {type}`, as Z.ai has it.
    Zai,
    /// The member `enable_thinking`, as Qwen has it.
    Qwen,
    /// The member `chat_template_kwargs: {enable_thinking}`, for chat templates.
    ChatTemplate,
    /// It cannot be asked to think.
    None,
}

/// What one host does.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own that a file can set"
)]
pub(super) struct Compat {
    /// The member for the limit on the answer.
    pub(super) max_tokens_field: &'static str,
    /// How thinking is asked for.
    pub(super) thinking: ThinkingFormat,
    /// What ids of calls look like.
    pub(super) ids: IdRule,
    /// The system prompt of a thinking model has the role `developer`.
    pub(super) has_developer_role: bool,
    /// The vendor would keep the conversation; it is told not to.
    pub(super) has_store: bool,
    /// Usage is sent where it is asked for.
    pub(super) has_stream_usage: bool,
    /// The last event says why the reply ended.
    pub(super) has_finish_reason: bool,
    /// Results name their tool.
    pub(super) wants_result_name: bool,
    /// A reply has to stand between results and the user's next words.
    pub(super) wants_assistant_after_result: bool,
    /// A reply of calls only still has a text.
    pub(super) wants_content: bool,
    /// Thoughts go back as text.
    pub(super) wants_thoughts_as_text: bool,
    /// Every reply goes back with a member for thoughts.
    pub(super) wants_reasoning_content: bool,
    /// Anthropic's marks for caches are understood.
    pub(super) has_cache_marks: bool,
    /// The conversation is named to the cache.
    pub(super) has_cache_key: bool,
    /// `strict` of tools is understood.
    pub(super) has_strict_tools: bool,
}

/// `OpenAI`'s own limits on ids.
const IDS: IdRule = IdRule {
    length_max: 40,
    is_exact: false,
};
/// What Mistral allows in ids of calls.
const MISTRAL_IDS: IdRule = IdRule {
    length_max: 9,
    is_exact: true,
};

/// A server of which nothing is known, such as one on this machine: only what all understand.
const PLAIN: Compat = Compat {
    max_tokens_field: "max_tokens",
    thinking: ThinkingFormat::OpenAi,
    ids: IDS,
    has_developer_role: false,
    has_store: false,
    has_stream_usage: true,
    has_finish_reason: true,
    wants_result_name: false,
    wants_assistant_after_result: false,
    wants_content: false,
    wants_thoughts_as_text: false,
    wants_reasoning_content: false,
    has_cache_marks: false,
    has_cache_key: false,
    has_strict_tools: false,
};

/// Hosts by a part of their address, the first match counts.
const HOSTS: &[(&str, Compat)] = &[
    (
        "api.openai.com",
        Compat {
            max_tokens_field: "max_completion_tokens",
            has_developer_role: true,
            has_store: true,
            has_cache_key: true,
            has_strict_tools: true,
            ..PLAIN
        },
    ),
    (
        "openai.azure.com",
        Compat {
            max_tokens_field: "max_completion_tokens",
            has_developer_role: true,
            ..PLAIN
        },
    ),
    (
        "openrouter.ai",
        Compat {
            thinking: ThinkingFormat::OpenRouter,
            ..PLAIN
        },
    ),
    (
        "api.together.",
        Compat {
            thinking: ThinkingFormat::Together,
            ..PLAIN
        },
    ),
    (
        "api.deepseek.com",
        Compat {
            thinking: ThinkingFormat::DeepSeek,
            wants_reasoning_content: true,
            ..PLAIN
        },
    ),
    (
        "api.mistral.ai",
        Compat {
            thinking: ThinkingFormat::None,
            ids: MISTRAL_IDS,
            wants_result_name: true,
            wants_assistant_after_result: true,
            wants_thoughts_as_text: true,
            ..PLAIN
        },
    ),
    (
        "api.z.ai",
        Compat {
            thinking: ThinkingFormat::Zai,
            ..PLAIN
        },
    ),
    (
        "dashscope",
        Compat {
            thinking: ThinkingFormat::Qwen,
            ..PLAIN
        },
    ),
    (
        "api.x.ai",
        Compat {
            max_tokens_field: "max_completion_tokens",
            ..PLAIN
        },
    ),
    (
        "api.groq.com",
        Compat {
            max_tokens_field: "max_completion_tokens",
            ..PLAIN
        },
    ),
    (
        "cerebras.ai",
        Compat {
            max_tokens_field: "max_completion_tokens",
            ..PLAIN
        },
    ),
];

impl Compat {
    /// What the model's host does: what is known of it, changed by what the model says.
    pub(super) fn of(model: &Model) -> Self {
        let host = HOSTS
            .iter()
            .find(|(part, _)| model.base_url.contains(part))
            .map(|(_, compat)| *compat);
        let mut compat = host.unwrap_or(PLAIN);
        if model.base_url.contains("openrouter.ai") && model.id.starts_with("anthropic/") {
            compat.has_cache_marks = true;
        }
        compat.change(model);
        compat
    }

    fn change(&mut self, model: &Model) {
        let flags: [(&str, &mut bool); 11] = [
            ("supportsDeveloperRole", &mut self.has_developer_role),
            ("supportsStore", &mut self.has_store),
            ("supportsUsageInStreaming", &mut self.has_stream_usage),
            ("supportsFinishReason", &mut self.has_finish_reason),
            ("requiresToolResultName", &mut self.wants_result_name),
            (
                "requiresAssistantAfterToolResult",
                &mut self.wants_assistant_after_result,
            ),
            ("requiresNonNullAssistantContent", &mut self.wants_content),
            ("requiresThinkingAsText", &mut self.wants_thoughts_as_text),
            (
                "requiresReasoningContentOnAssistantMessages",
                &mut self.wants_reasoning_content,
            ),
            ("supportsLongCacheRetention", &mut self.has_cache_key),
            ("supportsStrictMode", &mut self.has_strict_tools),
        ];
        for (key, flag) in flags {
            if let Some(value) = model.compat_flag(key) {
                *flag = value;
            }
        }
        match model.compat_word("maxTokensField") {
            Some("max_completion_tokens") => self.max_tokens_field = "max_completion_tokens",
            Some("max_tokens") => self.max_tokens_field = "max_tokens",
            Some(_) | None => {}
        }
        if model.compat_word("cacheControlFormat") == Some("anthropic") {
            self.has_cache_marks = true;
        }
        if model.compat_flag("supportsReasoningEffort") == Some(false) {
            self.thinking = ThinkingFormat::None;
        }
        if let Some(format) = model
            .compat_word("thinkingFormat")
            .and_then(thinking_format)
        {
            self.thinking = format;
        }
    }
}

fn thinking_format(word: &str) -> Option<ThinkingFormat> {
    match word {
        "openai" => Some(ThinkingFormat::OpenAi),
        "openrouter" => Some(ThinkingFormat::OpenRouter),
        "together" => Some(ThinkingFormat::Together),
        "deepseek" => Some(ThinkingFormat::DeepSeek),
        "zai" => Some(ThinkingFormat::Zai),
        "qwen" => Some(ThinkingFormat::Qwen),
        "chat-template" | "qwen-chat-template" => Some(ThinkingFormat::ChatTemplate),
        _ => None,
    }
}
