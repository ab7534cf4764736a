//! Requests as they leave, for one conversation with everything in it.

use pirn_model::{
    Api, CacheRetention, Credential, Input, Instructions, Message, Model, Request, Secret,
    ThinkingLevel, build, credential_headers,
};
use serde_json::{Value, json};

fn conversation(api: Api, model: &str) -> Vec<Message> {
    serde_json::from_value(json!([
        {
            "role": "system", "content": "", "timestamp": 1,
            "sections": {"preamble": "You are Pirn.", "cwd": "work"},
            "toolsAdded": [{
                "name": "read", "description": "Reads a file",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
            }],
        },
        {"role": "user", "content": "Look at both.", "timestamp": 2},
        {
            "role": "assistant", "api": api.as_str(), "provider": "vendor", "model": model, "timestamp": 3,
            "stopReason": "toolUse",
            "content": [
                {"type": "thinking", "thinking": "Two files.", "thinkingSignature": "reasoning_content"},
                {"type": "text", "text": "I look."},
                {"type": "toolCall", "id": "call_a", "name": "read", "arguments": {"path": "a"}},
                {"type": "toolCall", "id": "call_b", "name": "read", "arguments": {"path": "b.png"}},
            ],
        },
        {
            "role": "toolResult", "toolCallId": "call_a", "toolName": "read", "isError": true, "timestamp": 4,
            "content": [{"type": "text", "text": "no such file"}],
        },
        {
            "role": "toolResult", "toolCallId": "call_b", "toolName": "read", "timestamp": 5,
            "content": [{"type": "text", "text": "a picture"}, {"type": "image", "data": "AAAA", "mimeType": "image/png"}],
        },
        {"role": "user", "content": [{"type": "text", "text": "And now?"}], "timestamp": 6},
    ]))
    .unwrap()
}

fn model(api: Api, base: &str) -> Model {
    Model {
        reasoning: true,
        input: vec![Input::Text, Input::Image],
        ..Model::new("vendor", "model-1", api, base)
    }
}

fn body(model: &Model, messages: &[Message]) -> Value {
    let instructions = Instructions::of(messages);
    let request = Request {
        system: &instructions.prompt,
        tools: &instructions.tools,
        thinking: ThinkingLevel::Low,
        session_id: Some("session-1"),
        ..Request::new(model, messages)
    };
    build(&request).body
}

#[test]
fn chat_completions_of_an_unknown_host_have_only_what_all_understand() {
    let model = model(Api::OpenAiCompletions, "http://127.0.0.1:1/v1/");
    let found = body(&model, &conversation(model.api, "model-1"));
    let expected = json!({
        "model": "model-1",
        "messages": [
            {"role": "system", "content": "You are Pirn.\n\n<cwd>\nwork\n</cwd>"},
            {"role": "user", "content": "Look at both."},
            {
                "role": "assistant",
                "reasoning_content": "Two files.",
                "content": "I look.",
                "tool_calls": [
                    {"id": "call_a", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}},
                    {"id": "call_b", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"b.png\"}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "call_a", "content": "no such file"},
            {"role": "tool", "tool_call_id": "call_b", "content": "a picture"},
            {"role": "user", "content": [
                {"type": "text", "text": "Attached image(s) from the tool result:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            ]},
            {"role": "user", "content": "And now?"},
        ],
        "stream": true,
        "stream_options": {"include_usage": true},
        "max_tokens": 16384,
        "tools": [{"type": "function", "function": {
            "name": "read", "description": "Reads a file",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        }}],
        "reasoning_effort": "low",
    });
    assert_eq!(found, expected);
}

#[test]
fn anthropic_messages_carry_marks_signatures_and_errors() {
    let model = model(Api::AnthropicMessages, "https://api.anthropic.com");
    let found = body(&model, &conversation(model.api, "model-1"));
    let mark = json!({"type": "ephemeral"});
    let expected = json!({
        "model": "model-1",
        "max_tokens": 16384,
        "stream": true,
        "system": [{"type": "text", "text": "You are Pirn.\n\n<cwd>\nwork\n</cwd>", "cache_control": mark}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Look at both."}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Two files.", "signature": "reasoning_content"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "call_a", "name": "read", "input": {"path": "a"}},
                {"type": "tool_use", "id": "call_b", "name": "read", "input": {"path": "b.png"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call_a", "is_error": true,
                 "content": [{"type": "text", "text": "no such file"}]},
                {"type": "tool_result", "tool_use_id": "call_b", "is_error": false, "content": [
                    {"type": "text", "text": "a picture"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                ]},
                {"type": "text", "text": "And now?", "cache_control": mark},
            ]},
        ],
        "tools": [{
            "name": "read", "description": "Reads a file",
            "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
            "cache_control": mark,
        }],
        "thinking": {"type": "enabled", "budget_tokens": 2048},
    });
    assert_eq!(found, expected);
}

#[test]
fn responses_are_items_that_go_back_as_they_came() {
    let model = model(Api::OpenAiResponses, "https://api.openai.com/v1");
    let mut messages = conversation(model.api, "model-1");
    let item = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "ENC"});
    if let Message::Assistant(reply) = &mut messages[2] {
        reply.content[0] = pirn_model::Block::Thinking {
            thinking: "Two files.".into(),
            thinking_signature: Some(item.to_string()),
            redacted: false,
        };
    }
    let found = body(&model, &messages);
    let call = |id: &str, path: &str| json!({"type": "function_call", "call_id": id, "name": "read", "arguments": json!({"path": path}).to_string()});
    let expected = json!([
        {"role": "developer", "content": "You are Pirn.\n\n<cwd>\nwork\n</cwd>"},
        {"role": "user", "content": [{"type": "input_text", "text": "Look at both."}]},
        item,
        {
            "type": "message", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
        },
        call("call_a", "a"),
        call("call_b", "b.png"),
        {"type": "function_call_output", "call_id": "call_a", "output": "no such file"},
        {"type": "function_call_output", "call_id": "call_b", "output": [
            {"type": "input_text", "text": "a picture"},
            {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"},
        ]},
        {"role": "user", "content": [{"type": "input_text", "text": "And now?"}]},
    ]);
    assert_eq!(found["input"], expected);
    assert_eq!(found["store"], false);
    assert_eq!(found["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(
        found["reasoning"],
        json!({"effort": "low", "summary": "auto"})
    );
}

/// A call whose input was a text of its own grammar goes back as such, and so does its result, in as many parts as it has.
#[test]
fn custom_calls_of_responses_go_back_as_they_came() {
    let model = model(Api::OpenAiResponses, "https://api.openai.com/v1");
    let messages: Vec<Message> = serde_json::from_value(json!([
        {"role": "user", "content": "Go", "timestamp": 1},
        {
            "role": "assistant", "api": model.api.as_str(), "provider": "vendor", "model": "model-1", "timestamp": 2,
            "stopReason": "toolUse",
            "content": [
                {"type": "toolCall", "id": "call_a", "name": "exec", "arguments": "return 1"},
                {"type": "toolCall", "id": "call_b", "name": "wait", "arguments": {"cell_id": "1"}},
            ],
        },
        {
            "role": "toolResult", "toolCallId": "call_a", "toolName": "exec", "timestamp": 3,
            "content": [{"type": "text", "text": "Output:\n"}, {"type": "text", "text": "1"}],
        },
        {"role": "toolResult", "toolCallId": "call_b", "toolName": "wait", "timestamp": 4, "content": []},
    ]))
    .unwrap();
    let found = body(&model, &messages);
    let expected = json!([
        {"role": "user", "content": [{"type": "input_text", "text": "Go"}]},
        {"type": "custom_tool_call", "call_id": "call_a", "name": "exec", "input": "return 1"},
        {"type": "function_call", "call_id": "call_b", "name": "wait", "arguments": "{\"cell_id\":\"1\"}"},
        {"type": "custom_tool_call_output", "call_id": "call_a", "output": [
            {"type": "input_text", "text": "Output:\n"},
            {"type": "input_text", "text": "1"},
        ]},
        {"type": "function_call_output", "call_id": "call_b", "output": "(no output)"},
    ]);
    assert_eq!(found["input"], expected);
}

#[test]
fn a_tool_with_a_grammar_is_offered_as_one_to_models_that_take_it() {
    let system = json!([{
        "role": "system", "content": "Work.", "timestamp": 1,
        "toolsAdded": [{"name": "exec", "description": "Runs", "parameters": {"type": "object"}, "grammar": "start: /x/"}],
    }]);
    let messages: Vec<Message> = serde_json::from_value(system).unwrap();
    let custom = json!({
        "type": "custom", "name": "exec", "description": "Runs",
        "format": {"type": "grammar", "syntax": "lark", "definition": "start: /x/"},
    });
    for (provider, id, compat, takes_it) in [
        ("openai", "gpt-5.5", json!({}), true),
        ("openai", "gpt-4.1", json!({}), false),
        ("vendor", "gpt-5.5", json!({}), false),
        ("vendor", "any", json!({"supportsGrammarTools": true}), true),
        (
            "openai",
            "gpt-5.5",
            json!({"supportsGrammarTools": false}),
            false,
        ),
    ] {
        let model = Model {
            compat,
            ..Model::new(provider, id, Api::OpenAiResponses, "https://host/v1")
        };
        let tool = body(&model, &messages)["tools"][0].clone();
        assert_eq!(tool == custom, takes_it, "{provider}/{id}: {tool}");
        assert_eq!(tool["type"] == "function", !takes_it, "{provider}/{id}");
    }
}

#[test]
fn google_pairs_calls_and_results_by_name() {
    let model = model(Api::GoogleGenerativeAi, "https://host/v1beta");
    let found = body(&model, &conversation(model.api, "model-1"));
    let call = |path: &str| json!({"functionCall": {"name": "read", "args": {"path": path}}});
    let expected = json!([
        {"role": "user", "parts": [{"text": "Look at both."}]},
        {"role": "model", "parts": [
            {"text": "Two files.", "thought": true, "thoughtSignature": "reasoning_content"},
            {"text": "I look."},
            call("a"),
            call("b.png"),
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"name": "read", "response": {"error": "no such file"}}},
            {"functionResponse": {"name": "read", "response": {"output": "a picture"}}},
            {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
            {"text": "And now?"},
        ]},
    ]);
    assert_eq!(found["contents"], expected);
    assert_eq!(
        found["generationConfig"]["thinkingConfig"],
        json!({"includeThoughts": true, "thinkingBudget": 2048})
    );
}

/// What a host wants otherwise: the place in the body, and what is there.
#[test]
fn hosts_get_what_they_want() {
    for (base, compat, pointer, expected) in [
        (
            "https://api.openai.com/v1",
            json!({}),
            "/max_completion_tokens",
            json!(16384),
        ),
        (
            "https://api.openai.com/v1",
            json!({}),
            "/messages/0/role",
            json!("developer"),
        ),
        (
            "https://api.openai.com/v1",
            json!({}),
            "/store",
            json!(false),
        ),
        (
            "https://api.openai.com/v1",
            json!({}),
            "/prompt_cache_key",
            json!("session-1"),
        ),
        (
            "https://openrouter.ai/api/v1",
            json!({}),
            "/reasoning/effort",
            json!("low"),
        ),
        (
            "https://api.deepseek.com",
            json!({}),
            "/thinking/type",
            json!("enabled"),
        ),
        (
            "https://api.mistral.ai/v1",
            json!({}),
            "/messages/3/name",
            json!("read"),
        ),
        (
            "https://api.mistral.ai/v1",
            json!({}),
            "/messages/2/content",
            json!("<thinking>\nTwo files.\n</thinking>\n\nI look."),
        ),
        (
            "https://api.mistral.ai/v1",
            json!({}),
            "/reasoning_effort",
            Value::Null,
        ),
        (
            "http://localhost",
            json!({"thinkingFormat": "chat-template"}),
            "/chat_template_kwargs/enable_thinking",
            json!(true),
        ),
        (
            "http://localhost",
            json!({"thinkingFormat": "qwen"}),
            "/enable_thinking",
            json!(true),
        ),
        (
            "http://localhost",
            json!({"supportsUsageInStreaming": false}),
            "/stream_options",
            Value::Null,
        ),
        (
            "http://localhost",
            json!({"maxTokensField": "max_completion_tokens"}),
            "/max_completion_tokens",
            json!(16384),
        ),
        (
            "http://localhost",
            json!({"cacheControlFormat": "anthropic"}),
            "/tools/0/cache_control/type",
            json!("ephemeral"),
        ),
    ] {
        let mut model = model(Api::OpenAiCompletions, base);
        model.compat = compat;
        let body = body(&model, &conversation(model.api, "model-1"));
        let found = body.pointer(pointer).cloned().unwrap_or(Value::Null);
        assert_eq!(found, expected, "{base} {pointer}");
    }
}

#[test]
fn what_another_model_signed_does_not_reach_this_one() {
    for api in Api::ALL {
        let model = model(api, "http://localhost");
        let body = body(&model, &conversation(api, "another")).to_string();
        assert!(!body.contains("Two files."), "{body}");
        assert!(body.contains("I look."), "{body}");
    }
}

#[test]
fn a_model_without_eyes_is_told_that_there_was_a_picture() {
    for api in Api::ALL {
        let model = Model {
            input: vec![Input::Text],
            ..model(api, "http://localhost")
        };
        let body = body(&model, &conversation(api, "model-1")).to_string();
        assert!(!body.contains("AAAA"), "{body}");
        assert!(body.contains("image omitted"), "{body}");
    }
}

/// The beginning of a request is the same as long as the conversation only grows.
#[test]
fn a_longer_conversation_begins_with_the_same_bytes() {
    for api in Api::ALL {
        let model = model(api, "http://localhost");
        let messages = conversation(api, "model-1");
        let text = |count: usize| {
            let request = Request {
                retention: CacheRetention::None,
                ..Request::new(&model, &messages[..count])
            };
            let body = build(&request).body;
            ["messages", "input", "contents"]
                .iter()
                .find_map(|key| body.get(*key))
                .unwrap()
                .to_string()
        };
        let before = text(2);
        let after = text(messages.len());
        let shared = before.trim_end_matches(']');
        assert!(after.starts_with(shared), "{before}\n{after}");
    }
}

#[test]
fn keys_go_where_the_vendor_looks_for_them_and_are_never_shown() {
    let key = Credential::ApiKey(Secret::new("s3cret"));
    let header = |api, credential: &Credential| {
        credential_headers(api, credential)
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.expose()))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(
        header(Api::OpenAiCompletions, &key),
        "authorization: Bearer s3cret"
    );
    assert_eq!(header(Api::AnthropicMessages, &key), "x-api-key: s3cret");
    assert_eq!(
        header(Api::OpenAiResponses, &key),
        "authorization: Bearer s3cret"
    );
    assert_eq!(
        header(Api::GoogleGenerativeAi, &key),
        "x-goog-api-key: s3cret"
    );
    let token = Credential::Bearer(Secret::new("tok"));
    assert_eq!(
        header(Api::AnthropicMessages, &token),
        "authorization: Bearer tok"
    );
    assert_eq!(header(Api::AnthropicMessages, &Credential::None), "");
    assert!(!format!("{key:?}").contains("s3cret"));
}
