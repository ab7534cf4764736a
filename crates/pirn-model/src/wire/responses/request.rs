//! The request of `OpenAI`'s responses.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::message::Block;
use crate::model::{Model, ThinkingLevel};
use crate::replay::{IdRule, Turn, turns};
use crate::request::{CacheRetention, HttpRequest, Request};
use crate::wire::join;

/// What the vendor takes for ids.
const IDS: IdRule = IdRule {
    length_max: 64,
    is_exact: false,
};
/// Characters of the name of a conversation that a cache takes.
const CACHE_KEY_CHARACTERS_MAX: usize = 64;
/// What stands in a result without text.
const EMPTY_RESULT: &str = "(no output)";

/// Builds the request of `OpenAI`'s responses.
pub(in crate::wire) fn build(request: &Request<'_>) -> HttpRequest {
    let model = request.model;
    let mut body = Map::new();
    body.insert("model".into(), json!(model.id));
    body.insert("input".into(), input(request));
    body.insert("stream".into(), json!(true));
    // The session is here and nowhere else; thoughts come encrypted so that they can go back.
    body.insert("store".into(), json!(false));
    if model.compat_flag("supportsMaxOutputTokens") != Some(false) {
        body.insert("max_output_tokens".into(), json!(request.output_limit()));
    }
    if !request.tools.is_empty() {
        let takes_grammars = takes_grammars(model);
        let tools = request.tools.iter().map(|tool| match &tool.grammar {
            Some(grammar) if takes_grammars => json!({
                "type": "custom",
                "name": tool.name,
                "description": tool.description,
                "format": {"type": "grammar", "syntax": "lark", "definition": grammar},
            }),
            _ => json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": false,
            }),
        });
        body.insert("tools".into(), tools.collect());
    }
    if request.retention != CacheRetention::None
        && let Some(id) = request.session_id
    {
        let key: String = id.chars().take(CACHE_KEY_CHARACTERS_MAX).collect();
        body.insert("prompt_cache_key".into(), json!(key));
    }
    if model.reasoning {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
        let is_on = request.thinking != ThinkingLevel::Off;
        let has_word = model.thinking_level_map.contains_key(&request.thinking);
        if is_on {
            let effort = model.level_name(request.thinking);
            body.insert(
                "reasoning".into(),
                json!({"effort": effort, "summary": "auto"}),
            );
        } else if has_word {
            let effort = model.level_name(request.thinking);
            body.insert("reasoning".into(), json!({"effort": effort}));
        }
    }
    HttpRequest {
        url: join(&model.base_url, "/responses"),
        headers: Vec::new(),
        body: Value::Object(body),
    }
}

/// Whether the model takes tools whose input is a text of a grammar: those of `OpenAI` do since the fifth generation.
fn takes_grammars(model: &Model) -> bool {
    model
        .compat_flag("supportsGrammarTools")
        .unwrap_or_else(|| model.provider == "openai" && model.id.starts_with("gpt-5"))
}

fn input(request: &Request<'_>) -> Value {
    let mut input = Vec::new();
    if !request.system.is_empty() {
        let has_role = request.model.compat_flag("supportsDeveloperRole") != Some(false);
        let role = if request.model.reasoning && has_role {
            "developer"
        } else {
            "system"
        };
        input.push(json!({"role": role, "content": request.system}));
    }
    // Calls whose input was a text of its own grammar: the vendor wants their results as such, too.
    let mut custom = BTreeSet::new();
    for turn in turns(request.messages, request.model, IDS) {
        match turn {
            Turn::User(blocks) => {
                let content: Vec<Value> = blocks.iter().filter_map(|block| part(block)).collect();
                input.push(json!({"role": "user", "content": content}));
            }
            Turn::Assistant(blocks) => {
                let calls = blocks.iter().filter_map(|block| match block.as_ref() {
                    Block::ToolCall(call) => Some(call),
                    Block::Text { .. } | Block::Image { .. } | Block::Thinking { .. } => None,
                });
                let texts = calls.filter(|call| call.arguments.is_string());
                custom.extend(texts.map(|call| call.id.clone()));
                input.extend(blocks.iter().filter_map(|block| item(block)));
            }
            Turn::Result {
                id,
                name: _,
                content,
                is_error: _,
            } => {
                let kind = if custom.contains(&id) {
                    "custom_tool_call_output"
                } else {
                    "function_call_output"
                };
                input.push(json!({"type": kind, "call_id": id, "output": output(&content)}));
            }
        }
    }
    Value::Array(input)
}

fn part(block: &Block) -> Option<Value> {
    match block {
        Block::Text { text, .. } => Some(json!({"type": "input_text", "text": text})),
        Block::Image { data, mime_type } => Some(json!({
            "type": "input_image",
            "detail": "auto",
            "image_url": format!("data:{mime_type};base64,{data}"),
        })),
        Block::Thinking { .. } | Block::ToolCall(_) => None,
    }
}

/// What a call gave: a text, or parts where it is more than that.
fn output(content: &[Cow<'_, Block>]) -> Value {
    match content {
        [] => json!(EMPTY_RESULT),
        [only] => match only.as_text() {
            Some("") => json!(EMPTY_RESULT),
            Some(text) => json!(text),
            None => part(only).into_iter().collect(),
        },
        several => several.iter().filter_map(|block| part(block)).collect(),
    }
}

/// A block of a reply as the item that it came as.
fn item(block: &Block) -> Option<Value> {
    match block {
        Block::Text {
            text,
            text_signature,
        } => {
            let mut message = json!({
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}],
            });
            if let Some(id) = text_signature {
                message["id"] = json!(id);
            }
            Some(message)
        }
        // Thoughts without the item that they came in mean nothing to the vendor.
        Block::Thinking {
            thinking_signature, ..
        } => serde_json::from_str(thinking_signature.as_deref()?).ok(),
        Block::ToolCall(call) => Some(match &call.arguments {
            Value::String(text) => json!({
                "type": "custom_tool_call",
                "call_id": call.id,
                "name": call.name,
                "input": text,
            }),
            arguments => json!({
                "type": "function_call",
                "call_id": call.id,
                "name": call.name,
                "arguments": arguments.to_string(),
            }),
        }),
        Block::Image { .. } => None,
    }
}
