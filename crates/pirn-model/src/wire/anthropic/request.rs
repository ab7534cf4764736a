//! The request of Anthropic's messages.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::message::Block;
use crate::model::ThinkingLevel;
use crate::replay::{IdRule, Turn, turns};
use crate::request::{CacheRetention, HttpRequest, Request};
use crate::wire::join;

/// The version of the wire.
const VERSION: &str = "2023-06-01";
/// What the vendor takes for ids.
const IDS: IdRule = IdRule {
    length_max: 64,
    is_exact: false,
};
/// Tokens that are left for the answer behind the thoughts.
const ANSWER_TOKENS_MIN: u64 = 1_024;

/// Builds the request of Anthropic's messages.
pub(in crate::wire) fn build(request: &Request<'_>) -> HttpRequest {
    let model = request.model;
    let mark = cache_mark(request.retention);
    let mut body = Map::new();
    body.insert("model".into(), json!(model.id));
    body.insert("max_tokens".into(), json!(request.output_limit()));
    body.insert("stream".into(), json!(true));
    if !request.system.is_empty() {
        let mut block = json!({"type": "text", "text": request.system});
        set_mark(&mut block, mark.as_ref());
        body.insert("system".into(), json!([block]));
    }
    body.insert("messages".into(), messages(request, mark.as_ref()));
    if !request.tools.is_empty() {
        let mut tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.parameters,
                })
            })
            .collect();
        let marks_tools = model.compat_flag("supportsCacheControlOnTools") != Some(false);
        if let Some(last) = tools.last_mut().filter(|_| marks_tools) {
            set_mark(last, mark.as_ref());
        }
        body.insert("tools".into(), Value::Array(tools));
    }
    if model.reasoning {
        thinking(&mut body, request);
    }
    HttpRequest {
        url: join(&model.base_url, "/v1/messages"),
        headers: vec![("anthropic-version".to_owned(), VERSION.to_owned())],
        body: Value::Object(body),
    }
}

fn thinking(body: &mut Map<String, Value>, request: &Request<'_>) {
    if request.thinking == ThinkingLevel::Off {
        body.insert("thinking".into(), json!({"type": "disabled"}));
        return;
    }
    if request.model.compat_flag("forceAdaptiveThinking") == Some(true) {
        let effort = request.model.level_name(request.thinking);
        body.insert("thinking".into(), json!({"type": "adaptive"}));
        body.insert("output_config".into(), json!({"effort": effort}));
        return;
    }
    let room = request.output_limit().saturating_sub(ANSWER_TOKENS_MIN);
    let budget = request.thinking.budget_tokens().min(room);
    if budget >= ThinkingLevel::Minimal.budget_tokens() {
        body.insert(
            "thinking".into(),
            json!({"type": "enabled", "budget_tokens": budget}),
        );
    }
}

fn cache_mark(retention: CacheRetention) -> Option<Value> {
    match retention {
        CacheRetention::None => None,
        CacheRetention::Short => Some(json!({"type": "ephemeral"})),
        CacheRetention::Long => Some(json!({"type": "ephemeral", "ttl": "1h"})),
    }
}

fn set_mark(block: &mut Value, mark: Option<&Value>) {
    if let Some(mark) = mark {
        block["cache_control"] = mark.clone();
    }
}

fn messages(request: &Request<'_>, mark: Option<&Value>) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    // Results and what the user says next are one message of the user.
    let mut pending: Vec<Value> = Vec::new();
    for turn in turns(request.messages, request.model, IDS) {
        match turn {
            Turn::User(blocks) => {
                pending.extend(blocks.iter().filter_map(|block| user_block(block)));
            }
            Turn::Result {
                id,
                name: _,
                content,
                is_error,
            } => pending.push(result(&id, &content, is_error)),
            Turn::Assistant(blocks) => {
                push_user(&mut messages, &mut pending);
                let content: Vec<Value> = blocks
                    .iter()
                    .filter_map(|block| assistant_block(block, request))
                    .collect();
                if !content.is_empty() {
                    messages.push(json!({"role": "assistant", "content": content}));
                }
            }
        }
    }
    push_user(&mut messages, &mut pending);
    let last_user = messages
        .iter_mut()
        .rev()
        .find(|message| message["role"] == "user")
        .and_then(|message| message["content"].as_array_mut())
        .and_then(|content| content.last_mut());
    if let Some(block) = last_user {
        set_mark(block, mark);
    }
    Value::Array(messages)
}

fn push_user(messages: &mut Vec<Value>, pending: &mut Vec<Value>) {
    if !pending.is_empty() {
        messages.push(json!({"role": "user", "content": std::mem::take(pending)}));
    }
}

fn user_block(block: &Block) -> Option<Value> {
    match block {
        Block::Text { text, .. } if text.trim().is_empty() => None,
        Block::Text { text, .. } => Some(json!({"type": "text", "text": text})),
        Block::Image { data, mime_type } => Some(json!({
            "type": "image",
            "source": {"type": "base64", "media_type": mime_type, "data": data},
        })),
        Block::Thinking { .. } | Block::ToolCall(_) => None,
    }
}

fn result(id: &str, content: &[Cow<'_, Block>], is_error: bool) -> Value {
    let content: Vec<Value> = content
        .iter()
        .filter_map(|block| user_block(block))
        .collect();
    json!({"type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error})
}

fn assistant_block(block: &Block, request: &Request<'_>) -> Option<Value> {
    match block {
        Block::Text { text, .. } => Some(json!({"type": "text", "text": text})),
        Block::Thinking {
            thinking_signature: Some(data),
            redacted: true,
            ..
        } => Some(json!({"type": "redacted_thinking", "data": data})),
        Block::Thinking {
            thinking,
            thinking_signature: Some(signature),
            ..
        } => Some(json!({"type": "thinking", "thinking": thinking, "signature": signature})),
        // Thoughts that were cut off have no signature; the vendor does not take them back, other hosts of the wire do.
        Block::Thinking { thinking, .. } => {
            let takes_unsigned = request.model.compat_flag("allowEmptySignature") == Some(true);
            takes_unsigned
                .then(|| json!({"type": "thinking", "thinking": thinking, "signature": ""}))
        }
        Block::ToolCall(call) => {
            let input = match &call.arguments {
                object @ Value::Object(_) => object.clone(),
                other => json!({"input": other}),
            };
            Some(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input}))
        }
        Block::Image { .. } => None,
    }
}
