//! The request of chat completions.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::compat::{Compat, ThinkingFormat};
use crate::message::{Block, ToolCall};
use crate::model::ThinkingLevel;
use crate::replay::{Turn, turns};
use crate::request::{CacheRetention, HttpRequest, Request};
use crate::wire::join;

/// Characters of the name of a conversation that a cache takes.
const CACHE_KEY_CHARACTERS_MAX: usize = 64;
/// What introduces the pictures of a result, which has room for text only.
const IMAGES_OF_RESULT: &str = "Attached image(s) from the tool result:";
/// What stands in a result without text.
const EMPTY_RESULT: &str = "(no output)";

/// Builds the request of a chat completion.
pub(in crate::wire) fn build(request: &Request<'_>) -> HttpRequest {
    let model = request.model;
    let compat = Compat::of(model);
    let mut body = Map::new();
    body.insert("model".into(), json!(model.id));
    body.insert("messages".into(), messages(request, &compat));
    body.insert("stream".into(), json!(true));
    if compat.has_stream_usage {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    if compat.has_store {
        body.insert("store".into(), json!(false));
    }
    body.insert(
        compat.max_tokens_field.into(),
        json!(request.output_limit()),
    );
    let mut tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            let mut function = json!({
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            });
            if compat.has_strict_tools {
                function["strict"] = json!(false);
            }
            json!({"type": "function", "function": function})
        })
        .collect();
    if compat.has_cache_marks && request.retention != CacheRetention::None {
        mark_cache(&mut body, &mut tools, request.retention);
    }
    if !tools.is_empty() {
        body.insert("tools".into(), Value::Array(tools));
    }
    if compat.has_cache_key
        && request.retention != CacheRetention::None
        && let Some(id) = request.session_id
    {
        let key: String = id.chars().take(CACHE_KEY_CHARACTERS_MAX).collect();
        body.insert("prompt_cache_key".into(), json!(key));
    }
    if model.reasoning {
        thinking(&mut body, request, compat.thinking);
    }
    HttpRequest {
        url: join(&model.base_url, "/chat/completions"),
        headers: Vec::new(),
        body: Value::Object(body),
    }
}

fn thinking(body: &mut Map<String, Value>, request: &Request<'_>, format: ThinkingFormat) {
    let level = request.thinking;
    let is_on = level != ThinkingLevel::Off;
    let effort = request.model.level_name(level);
    let switch = if is_on { "enabled" } else { "disabled" };
    let mut set = |key: &str, value: Value| {
        body.insert(key.to_owned(), value);
    };
    match format {
        ThinkingFormat::OpenAi if is_on => set("reasoning_effort", json!(effort)),
        ThinkingFormat::OpenAi => {
            // Only a model that has a word for it can be told not to think.
            if request
                .model
                .thinking_level_map
                .get(&level)
                .is_some_and(Option::is_some)
            {
                set("reasoning_effort", json!(effort));
            }
        }
        ThinkingFormat::OpenRouter if is_on => set("reasoning", json!({"effort": effort})),
        ThinkingFormat::OpenRouter => set("reasoning", json!({"effort": "none"})),
        ThinkingFormat::Together => set("reasoning", json!({"enabled": is_on})),
        ThinkingFormat::DeepSeek => {
            set("thinking", json!({"type": switch}));
            if is_on {
                set("reasoning_effort", json!(effort));
            }
        }
        ThinkingFormat::Zai => set("thinking", json!({"type": switch})),
        ThinkingFormat::Qwen => set("enable_thinking", json!(is_on)),
        ThinkingFormat::ChatTemplate => {
            set("chat_template_kwargs", json!({"enable_thinking": is_on}));
        }
        ThinkingFormat::None => {}
    }
}

fn messages(request: &Request<'_>, compat: &Compat) -> Value {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        let role = if request.model.reasoning && compat.has_developer_role {
            "developer"
        } else {
            "system"
        };
        messages.push(json!({"role": role, "content": request.system}));
    }
    // Pictures of results follow after the last result of a reply: nothing may stand between them.
    let mut images: Vec<Value> = Vec::new();
    let mut is_after_result = false;
    for turn in turns(request.messages, request.model, compat.ids) {
        if !matches!(turn, Turn::Result { .. }) && !images.is_empty() {
            messages.push(images_of_results(std::mem::take(&mut images)));
            is_after_result = false;
        }
        match turn {
            Turn::User(blocks) => {
                if is_after_result && compat.wants_assistant_after_result {
                    messages.push(json!({"role": "assistant", "content": "I have processed the tool results."}));
                }
                messages.push(json!({"role": "user", "content": user_content(&blocks)}));
                is_after_result = false;
            }
            Turn::Assistant(blocks) => {
                messages.push(assistant(&blocks, compat));
                is_after_result = false;
            }
            Turn::Result {
                id,
                name,
                content,
                is_error: _,
            } => {
                messages.push(result(&id, name, &content, compat));
                images.extend(content.iter().filter_map(|block| image(block)));
                is_after_result = true;
            }
        }
    }
    if !images.is_empty() {
        messages.push(images_of_results(images));
    }
    Value::Array(messages)
}

fn user_content(blocks: &[Cow<'_, Block>]) -> Value {
    if let [only] = blocks
        && let Some(text) = only.as_text()
    {
        return json!(text);
    }
    blocks
        .iter()
        .filter_map(|block| match block.as_text() {
            Some(text) => Some(json!({"type": "text", "text": text})),
            None => image(block),
        })
        .collect()
}

fn image(block: &Block) -> Option<Value> {
    match block {
        Block::Image { data, mime_type } => Some(json!({
            "type": "image_url",
            "image_url": {"url": format!("data:{mime_type};base64,{data}")},
        })),
        Block::Text { .. } | Block::Thinking { .. } | Block::ToolCall(_) => None,
    }
}

fn images_of_results(images: Vec<Value>) -> Value {
    let mut content = vec![json!({"type": "text", "text": IMAGES_OF_RESULT})];
    content.extend(images);
    json!({"role": "user", "content": content})
}

fn assistant(blocks: &[Cow<'_, Block>], compat: &Compat) -> Value {
    let mut text = String::new();
    let mut thoughts: Option<(&str, String)> = None;
    let mut calls = Vec::new();
    let mut encrypted = Vec::new();
    for block in blocks {
        match block.as_ref() {
            Block::Text { text: more, .. } => text.push_str(more),
            Block::Thinking {
                thinking,
                thinking_signature,
                ..
            } => {
                let field = thinking_signature.as_deref().unwrap_or("reasoning_content");
                let (_, all) = thoughts.get_or_insert_with(|| (field, String::new()));
                all.push_str(thinking);
            }
            Block::ToolCall(call) => {
                calls.push(tool_call(call));
                let signature = call.thought_signature.as_deref();
                encrypted
                    .extend(signature.and_then(|text| serde_json::from_str::<Value>(text).ok()));
            }
            Block::Image { .. } => {}
        }
    }
    let mut message = json!({"role": "assistant"});
    if let Some((field, thoughts)) = thoughts {
        if compat.wants_thoughts_as_text {
            text = format!("<thinking>\n{thoughts}\n</thinking>\n\n{text}");
        } else if !field.contains(|letter: char| !letter.is_ascii_lowercase() && letter != '_') {
            message[field] = json!(thoughts);
        }
    } else if compat.wants_reasoning_content {
        message["reasoning_content"] = json!("");
    }
    message["content"] = match text.is_empty() {
        true if compat.wants_content => json!(""),
        true => Value::Null,
        false => json!(text),
    };
    if !encrypted.is_empty() {
        message["reasoning_details"] = Value::Array(encrypted);
    }
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    message
}

fn tool_call(call: &ToolCall) -> Value {
    let arguments = match &call.arguments {
        // What the model wrote in place of an object goes back in a form that every server can read again.
        Value::String(text) => json!({"input": text}),
        other => other.clone(),
    };
    let mut value = json!({
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments.to_string()},
    });
    // A signature that is no JSON is Google's.
    if let Some(signature) = &call.thought_signature
        && !signature.starts_with('{')
    {
        value["extra_content"] = json!({"google": {"thought_signature": signature}});
    }
    value
}

fn result(id: &str, name: &str, content: &[Cow<'_, Block>], compat: &Compat) -> Value {
    let texts: Vec<&str> = content.iter().filter_map(|block| block.as_text()).collect();
    let text = texts.join("\n");
    let has_images = texts.len() < content.len();
    let shown = match (text.is_empty(), has_images) {
        (false, _) => text,
        (true, true) => "(see attached image)".to_owned(),
        (true, false) => EMPTY_RESULT.to_owned(),
    };
    let mut message = json!({"role": "tool", "tool_call_id": id, "content": shown});
    if compat.wants_result_name {
        message["name"] = json!(name);
    }
    message
}

/// Marks where the cache should cut: after the system prompt, the last tool, and the last message.
fn mark_cache(body: &mut Map<String, Value>, tools: &mut [Value], retention: CacheRetention) {
    let mark = match retention {
        CacheRetention::Long => json!({"type": "ephemeral", "ttl": "1h"}),
        CacheRetention::Short | CacheRetention::None => json!({"type": "ephemeral"}),
    };
    if let Some(last) = tools.last_mut() {
        last["cache_control"] = mark.clone();
    }
    let Some(messages) = body.get_mut("messages").and_then(Value::as_array_mut) else {
        return;
    };
    let mut places = Vec::new();
    if messages
        .first()
        .is_some_and(|first| first["role"] != "user")
    {
        places.push(0);
    }
    places.extend(
        messages
            .iter()
            .rposition(|message| message["role"] == "user"),
    );
    for place in places {
        if let Some(content) = messages
            .get_mut(place)
            .and_then(|message| message.get_mut("content"))
        {
            if let Some(text) = content.as_str() {
                *content = json!([{"type": "text", "text": text}]);
            }
            if let Some(last) = content.as_array_mut().and_then(|parts| parts.last_mut()) {
                last["cache_control"] = mark.clone();
            }
        }
    }
}
