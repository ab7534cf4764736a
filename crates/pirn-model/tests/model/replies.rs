//! Replies as vendors send them, one fixture per oddity. Each is read at once, byte by byte, and cut at random.

use pirn_model::{Api, Model, Reply, ReplyDecoder, ReplyEvent, StreamEnd, ThinkingLevel};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde::Deserialize;
use serde_json::{Value, json};

const FIXTURES: &[(Api, &str)] = &[
    (
        Api::OpenAiCompletions,
        include_str!("fixtures/openai-completions.json"),
    ),
    (
        Api::AnthropicMessages,
        include_str!("fixtures/anthropic-messages.json"),
    ),
    (
        Api::OpenAiResponses,
        include_str!("fixtures/openai-responses.json"),
    ),
    (
        Api::GoogleGenerativeAi,
        include_str!("fixtures/google-generative-ai.json"),
    ),
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixture {
    name: String,
    #[serde(default)]
    compat: Value,
    /// Events of these data, and `[DONE]` where it is there.
    #[serde(default)]
    events: Vec<Value>,
    /// The stream as it is, where bytes count.
    raw: Option<String>,
    expect: Value,
}

impl Fixture {
    fn bytes(&self, api: Api) -> Vec<u8> {
        if let Some(raw) = &self.raw {
            return raw.clone().into_bytes();
        }
        let mut text = String::new();
        for event in &self.events {
            if api == Api::AnthropicMessages {
                let name = event["type"].as_str().unwrap_or("message");
                text.push_str(&format!("event: {name}\n"));
            }
            match event {
                Value::String(word) => text.push_str(&format!("data: {word}\n\n")),
                other => text.push_str(&format!("data: {other}\n\n")),
            }
        }
        text.into_bytes()
    }

    fn model(&self, api: Api) -> Model {
        Model {
            compat: self.compat.clone(),
            reasoning: true,
            ..Model::new("vendor", "model-1", api, "https://example.test")
        }
    }
}

fn fixtures(api: Api, text: &str) -> Vec<Fixture> {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{}: {error}", api.as_str()))
}

fn read<'a>(model: &Model, chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<ReplyEvent>, Reply) {
    let mut decoder = ReplyDecoder::new(model, ThinkingLevel::Medium, 7);
    let mut events = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        events.extend(decoder.take_events());
    }
    let (last, reply) = decoder.finish(StreamEnd::Closed);
    events.extend(last);
    (events, reply)
}

/// What a fixture speaks of: content without members that are not set, stop reason, failure, usage.
fn summary(reply: &Reply, expect: &Value) -> Value {
    let message = serde_json::to_value(&reply.message).unwrap();
    let mut found = json!({"content": message["content"], "stop": message["stopReason"]});
    for key in expect.as_object().unwrap().keys() {
        found[key] = match key.as_str() {
            "content" | "stop" => continue,
            "failure" => json!(reply.failure.as_ref().map(|failure| failure.kind.as_str())),
            "message" => message["errorMessage"].clone(),
            "usage" => {
                let usage = &message["usage"];
                json!([
                    usage["input"],
                    usage["output"],
                    usage["cacheRead"],
                    usage["cacheWrite"]
                ])
            }
            other => message[other].clone(),
        };
    }
    if reply.failure.is_some() && !found.as_object().unwrap().contains_key("failure") {
        found["failure"] = json!(reply.failure.as_ref().map(|failure| failure.kind.as_str()));
    }
    found
}

/// Joins the deltas of each kind and place, and checks that they say what the content says.
fn assert_events_tell_the_content(name: &str, events: &[ReplyEvent], reply: &Reply) {
    let content = &reply.message.content;
    let (mut texts, mut started, mut ended) = (
        vec![String::new(); content.len()],
        vec![0; content.len()],
        vec![0; content.len()],
    );
    for event in events {
        match event {
            ReplyEvent::TextStart { index } | ReplyEvent::ThinkingStart { index } => {
                started[*index] += 1;
            }
            ReplyEvent::ToolCallStart { index, id, .. } => {
                started[*index] += 1;
                let call = reply.message.tool_calls().find(|call| call.id == *id);
                assert!(call.is_some(), "{name}: {id}");
            }
            ReplyEvent::TextDelta { index, delta }
            | ReplyEvent::ThinkingDelta { index, delta }
            | ReplyEvent::ToolCallDelta { index, delta } => {
                assert_eq!(
                    (started[*index], ended[*index]),
                    (1, 0),
                    "{name}: {event:?}"
                );
                texts[*index].push_str(delta);
            }
            ReplyEvent::TextEnd { index, content } | ReplyEvent::ThinkingEnd { index, content } => {
                ended[*index] += 1;
                assert_eq!(*content, texts[*index], "{name}");
            }
            ReplyEvent::ToolCallEnd { index, .. } => ended[*index] += 1,
        }
    }
    assert!(
        started.iter().chain(&ended).all(|count| *count == 1),
        "{name}: {started:?} {ended:?}"
    );
}

#[test]
fn every_oddity_is_read_as_it_was_meant() {
    for (api, text) in FIXTURES {
        for fixture in fixtures(*api, text) {
            let model = fixture.model(*api);
            let bytes = fixture.bytes(*api);
            let (events, reply) = read(&model, [bytes.as_slice()]);
            let name = format!("{}: {}", api.as_str(), fixture.name);
            assert_eq!(
                serde_json::to_string_pretty(&summary(&reply, &fixture.expect)).unwrap(),
                serde_json::to_string_pretty(&fixture.expect).unwrap(),
                "{name}"
            );
            assert_events_tell_the_content(&name, &events, &reply);
            let single = read(&model, bytes.chunks(1));
            assert_eq!(single, (events, reply), "{name}, byte by byte");
        }
    }
}

#[test]
fn however_a_stream_is_cut_the_events_are_the_same() {
    let cases: Vec<(Model, Vec<u8>)> = FIXTURES
        .iter()
        .flat_map(|(api, text)| {
            fixtures(*api, text)
                .into_iter()
                .map(|fixture| (fixture.model(*api), fixture.bytes(*api)))
        })
        .collect();
    let wholes: Vec<_> = cases
        .iter()
        .map(|(model, bytes)| read(model, [bytes.as_slice()]))
        .collect();
    let mut runner = TestRunner::new(Config {
        cases: 300,
        failure_persistence: None,
        ..Config::default()
    });
    let strategy = (0..cases.len(), prop::collection::vec(1_usize..200, 1..40));
    runner
        .run(&strategy, |(case, lengths)| {
            let (model, bytes) = &cases[case];
            let mut rest = bytes.as_slice();
            let mut chunks = Vec::new();
            for length in lengths.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (chunk, tail) = rest.split_at((*length).min(rest.len()));
                chunks.push(chunk);
                rest = tail;
            }
            prop_assert_eq!(&read(model, chunks), &wholes[case]);
            Ok(())
        })
        .unwrap();
}

/// A stream that breaks anywhere is a failure that can be tried again, or the whole reply.
#[test]
fn a_stream_that_breaks_anywhere_is_never_taken_for_a_whole_reply() {
    for (api, text) in FIXTURES {
        for fixture in fixtures(*api, text) {
            if fixture.raw.is_some() || fixture.expect["stop"] == "error" {
                continue;
            }
            let model = fixture.model(*api);
            let bytes = fixture.bytes(*api);
            let whole = read(&model, [bytes.as_slice()]).1;
            // A step that meets every place within an event in some fixture.
            for end in (0..bytes.len()).step_by(7) {
                let cut = read(&model, [&bytes[..end]]).1;
                let is_same = cut.message.content == whole.message.content
                    && cut.message.stop_reason == whole.message.stop_reason;
                let is_ended_early_by_host = fixture.compat["supportsFinishReason"] == false;
                assert!(
                    is_same
                        || cut
                            .failure
                            .is_some_and(|failure| failure.kind.is_retryable())
                        || is_ended_early_by_host,
                    "{}: {} at {end}",
                    api.as_str(),
                    fixture.name
                );
            }
        }
    }
}

/// Pieces of text are read straight from their bytes. A member that is not expected there takes the long way, to the same end.
#[test]
fn pieces_mean_the_same_on_both_ways() {
    for (api, events) in [
        (
            Api::AnthropicMessages,
            vec![
                json!({"type": "message_start", "message": {"id": "r1", "model": "m", "usage": {"input_tokens": 3}}}),
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "one \"two\"\n"}}),
                json!({"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "nowhere"}}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
            ],
        ),
        (
            Api::OpenAiResponses,
            vec![
                json!({"type": "response.created", "response": {"id": "r1", "model": "m"}}),
                json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "i1"}}),
                json!({"type": "response.output_text.delta", "item_id": "i1", "output_index": 0, "content_index": 0, "delta": "one \u{e9}"}),
                json!({"type": "response.completed", "response": {"usage": {"input_tokens": 3, "output_tokens": 2}}}),
            ],
        ),
        (
            Api::OpenAiCompletions,
            vec![
                json!({"id": "r1", "model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}),
                json!({"id": "r1", "model": "m", "choices": [{"index": 0, "delta": {"content": "one \\ two"}, "finish_reason": null}], "usage": null}),
                json!({"id": "r1", "choices": [{"index": 0, "delta": {"content": "."}, "finish_reason": "length"}]}),
                json!({"id": "r1", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}),
            ],
        ),
        (
            Api::GoogleGenerativeAi,
            vec![
                json!({"responseId": "r1", "candidates": [{"content": {"parts": [{"text": "one"}], "role": "model"}, "index": 0}]}),
                json!({"responseId": "r1", "candidates": [{"content": {"parts": [{"text": " two"}]}, "index": 0}],
                    "usageMetadata": {"promptTokenCount": 3, "thoughtsTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 6}}),
                json!({"candidates": [{"content": {"parts": [{"text": "."}]}, "finishReason": "STOP"}]}),
            ],
        ),
    ] {
        let decoded = |extra: &str| {
            let model = Model::new("test", "m", api, "");
            let mut decoder = ReplyDecoder::new(&model, ThinkingLevel::Off, 1);
            let mut told = Vec::new();
            for event in &events {
                let text = event.to_string().replacen('{', &format!("{{{extra}"), 1);
                decoder.push(format!("data: {text}\n\n").as_bytes());
                told.extend(decoder.take_events());
                told.push(ReplyEvent::TextStart {
                    index: usize::try_from(decoder.usage().output).unwrap(),
                });
            }
            let (last, reply) = decoder.finish(StreamEnd::Closed);
            told.extend(last);
            (told, reply.message, reply.failure)
        };
        let (told, message, failure) = decoded("");
        assert!(failure.is_none() && !message.content.is_empty(), "{api:?}");
        assert_eq!(
            (told, message, failure),
            decoded("\"unexpected\": 1, "),
            "{api:?}"
        );
    }
}
