//! The request of Google's generative language API.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::message::Block;
use crate::model::ThinkingLevel;
use crate::replay::{IdRule, Turn, turns};
use crate::request::{HttpRequest, Request};
use crate::wire::join;

/// The vendor pairs calls and results by name and order; ids are ours.
const IDS: IdRule = IdRule {
    length_max: 64,
    is_exact: false,
};

/// Builds the request of Google's API.
pub(in crate::wire) fn build(request: &Request<'_>) -> HttpRequest {
    let model = request.model;
    let mut body = Map::new();
    if !request.system.is_empty() {
        let parts = json!({"parts": [{"text": request.system}]});
        body.insert("systemInstruction".into(), parts);
    }
    body.insert("contents".into(), contents(request));
    if !request.tools.is_empty() {
        let functions: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "parametersJsonSchema": tool.parameters,
                })
            })
            .collect();
        body.insert("tools".into(), json!([{"functionDeclarations": functions}]));
    }
    let mut config = json!({"maxOutputTokens": request.output_limit()});
    if model.reasoning {
        config["thinkingConfig"] = thinking(request);
    }
    body.insert("generationConfig".into(), config);
    HttpRequest {
        url: join(
            &model.base_url,
            &format!("/models/{}:streamGenerateContent?alt=sse", model.id),
        ),
        headers: Vec::new(),
        body: Value::Object(body),
    }
}

fn thinking(request: &Request<'_>) -> Value {
    let level = request.thinking;
    let is_on = level != ThinkingLevel::Off;
    match request.model.thinking_level_map.get(&level) {
        // A model that has words for its levels takes no number.
        Some(Some(word)) => json!({"includeThoughts": is_on, "thinkingLevel": word}),
        Some(None) | None => {
            json!({"includeThoughts": is_on, "thinkingBudget": level.budget_tokens()})
        }
    }
}

fn contents(request: &Request<'_>) -> Value {
    let mut contents: Vec<Value> = Vec::new();
    let mut user: Vec<Value> = Vec::new();
    for turn in turns(request.messages, request.model, IDS) {
        match turn {
            Turn::User(blocks) => user.extend(blocks.iter().map(|block| part(block))),
            Turn::Result {
                id: _,
                name,
                content,
                is_error,
            } => {
                user.push(result(name, &content, is_error));
                user.extend(content.iter().filter_map(|block| match block.as_ref() {
                    Block::Image { .. } => Some(part(block)),
                    Block::Text { .. } | Block::Thinking { .. } | Block::ToolCall(_) => None,
                }));
            }
            Turn::Assistant(blocks) => {
                push(&mut contents, &mut user);
                let parts: Vec<Value> = blocks.iter().map(|block| part(block)).collect();
                if !parts.is_empty() {
                    contents.push(json!({"role": "model", "parts": parts}));
                }
            }
        }
    }
    push(&mut contents, &mut user);
    Value::Array(contents)
}

fn push(contents: &mut Vec<Value>, user: &mut Vec<Value>) {
    if !user.is_empty() {
        contents.push(json!({"role": "user", "parts": std::mem::take(user)}));
    }
}

fn part(block: &Block) -> Value {
    let (mut part, signature) = match block {
        Block::Text {
            text,
            text_signature,
        } => (json!({"text": text}), text_signature),
        Block::Image { data, mime_type } => {
            return json!({"inlineData": {"mimeType": mime_type, "data": data}});
        }
        Block::Thinking {
            thinking,
            thinking_signature,
            ..
        } => (
            json!({"text": thinking, "thought": true}),
            thinking_signature,
        ),
        Block::ToolCall(call) => {
            let arguments = match &call.arguments {
                object @ Value::Object(_) => object.clone(),
                other => json!({"input": other}),
            };
            let call_part = json!({"functionCall": {"name": call.name, "args": arguments}});
            (call_part, &call.thought_signature)
        }
    };
    if let Some(signature) = signature {
        part["thoughtSignature"] = json!(signature);
    }
    part
}

fn result(name: &str, content: &[Cow<'_, Block>], is_error: bool) -> Value {
    let texts: Vec<&str> = content.iter().filter_map(|block| block.as_text()).collect();
    let key = if is_error { "error" } else { "output" };
    json!({"functionResponse": {"name": name, "response": {key: texts.join("\n")}}})
}
