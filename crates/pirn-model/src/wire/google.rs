//! Google's generative language API.

mod request;

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::{Wire, count};
use crate::draft::{At, Draft, Kind};
use crate::failure::{Failure, FailureKind};
use crate::message::StopReason;

pub(super) use request::build;

/// A piece of a text, with the usage so far. What it has besides was said by the first one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Piece<'a> {
    #[serde(borrow)]
    candidates: [PieceCandidate<'a>; 1],
    usage_metadata: Option<Usage>,
    #[serde(rename = "modelVersion")]
    _model_version: Option<IgnoredAny>,
    #[serde(rename = "responseId")]
    _response_id: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PieceCandidate<'a> {
    #[serde(borrow)]
    content: PieceContent<'a>,
    #[serde(rename = "index")]
    _index: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PieceContent<'a> {
    #[serde(borrow)]
    parts: [PiecePart<'a>; 1],
    #[serde(rename = "role")]
    _role: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PiecePart<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

/// The counts of tokens so far.
#[derive(Default, Deserialize)]
struct Usage {
    #[serde(rename = "cachedContentTokenCount")]
    cached: Option<u64>,
    #[serde(rename = "promptTokenCount")]
    prompt: Option<u64>,
    #[serde(rename = "thoughtsTokenCount")]
    thoughts: Option<u64>,
    #[serde(rename = "candidatesTokenCount")]
    answer: Option<u64>,
    #[serde(rename = "totalTokenCount")]
    total: Option<u64>,
}

impl Usage {
    fn of(value: &Value) -> Self {
        Self {
            cached: count(value, "/cachedContentTokenCount"),
            prompt: count(value, "/promptTokenCount"),
            thoughts: count(value, "/thoughtsTokenCount"),
            answer: count(value, "/candidatesTokenCount"),
            total: count(value, "/totalTokenCount"),
        }
    }

    fn write_to(&self, draft: &mut Draft) {
        let cached = self.cached.unwrap_or(0);
        let prompt = self.prompt.unwrap_or(0);
        let answer = self.answer.unwrap_or(0);
        let thoughts = self.thoughts;
        draft.usage.input = prompt.saturating_sub(cached);
        draft.usage.cache_read = cached;
        draft.usage.output = answer.saturating_add(thoughts.unwrap_or(0));
        draft.usage.reasoning = thoughts;
        draft.usage.total_tokens = self.total.unwrap_or(0);
    }
}

/// Reads one reply of Google's API.
#[derive(Debug, Default)]
pub(super) struct Google {
    /// The text or thoughts that go on at present.
    open: Option<(At, Kind)>,
}

impl Google {
    fn part(&mut self, part: &Value, draft: &mut Draft) {
        let signature = part.get("thoughtSignature").and_then(Value::as_str);
        if let Some(call) = part.get("functionCall") {
            if let Some((at, _)) = self.open.take() {
                draft.close(at);
            }
            let word = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
            let at = draft.open(Kind::Call);
            draft.name_call(at, word("id"), word("name"));
            if let Some(arguments) = call.get("args").filter(|arguments| arguments.is_object()) {
                draft.set_arguments(at, arguments.clone());
            }
            if let Some(signature) = signature {
                draft.set_signature(at, signature.to_owned());
            }
            draft.close(at);
            return;
        }
        let Some(text) = part.get("text").and_then(Value::as_str) else {
            return;
        };
        let is_thought = part.get("thought").and_then(Value::as_bool) == Some(true);
        let kind = if is_thought {
            Kind::Thinking
        } else {
            Kind::Text
        };
        if text.is_empty() && signature.is_none() {
            return;
        }
        let at = self.continue_with(kind, draft);
        draft.append(at, text);
        if let Some(signature) = signature {
            draft.set_signature(at, signature.to_owned());
        }
    }

    /// The block that goes on, or a new one where another kind comes.
    fn continue_with(&mut self, kind: Kind, draft: &mut Draft) -> At {
        match self.open {
            Some((at, open)) if open == kind => at,
            other => {
                if let Some((at, _)) = other {
                    draft.close(at);
                }
                let at = draft.open(kind);
                self.open = Some((at, kind));
                at
            }
        }
    }

    fn finish_reason(reason: &str, message: Option<&str>, draft: &mut Draft) {
        draft.ending.raw = Some(reason.to_owned());
        match reason {
            "STOP" | "FINISH_REASON_UNSPECIFIED" => draft.ending.stop = Some(StopReason::Stop),
            "MAX_TOKENS" => draft.ending.stop = Some(StopReason::Length),
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE"
            | "IMAGE_SAFETY" => {
                let message = format!("the vendor withheld the reply ({reason})");
                draft.fail(Failure::new(FailureKind::Refusal, message));
            }
            // A call that cannot be read, and reasons to come: another try may go well.
            _ => {
                let message = message.unwrap_or("the vendor could not finish the reply");
                draft.fail(Failure::new(
                    FailureKind::Server,
                    format!("{message} ({reason})"),
                ));
            }
        }
    }
}

impl Wire for Google {
    fn piece(&mut self, data: &[u8], draft: &mut Draft) -> bool {
        // The first piece names the reply.
        if draft.response_id.is_none() {
            return false;
        }
        let Ok(Piece {
            candidates: [candidate],
            usage_metadata,
            ..
        }) = serde_json::from_slice::<Piece<'_>>(data)
        else {
            return false;
        };
        let [part] = candidate.content.parts;
        if !part.text.is_empty() {
            let at = self.continue_with(Kind::Text, draft);
            draft.append(at, &part.text);
        }
        if let Some(usage) = usage_metadata {
            usage.write_to(draft);
        }
        true
    }

    fn event(&mut self, _name: &str, value: Value, draft: &mut Draft) {
        let word = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
        if draft.response_id.is_none() {
            draft.response_id = word("/responseId").map(str::to_owned);
            draft.response_model = word("/modelVersion").map(str::to_owned);
        }
        let parts = value
            .pointer("/candidates/0/content/parts")
            .and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            self.part(part, draft);
        }
        if let Some(usage) = value.get("usageMetadata").filter(|usage| usage.is_object()) {
            Usage::of(usage).write_to(draft);
        }
        if let Some(reason) = word("/promptFeedback/blockReason") {
            let message = format!("the vendor does not answer this ({reason})");
            draft.fail(Failure::new(FailureKind::Refusal, message));
        }
        if let Some(reason) = word("/candidates/0/finishReason") {
            Self::finish_reason(reason, word("/candidates/0/finishMessage"), draft);
        }
    }

    fn whole(&mut self, value: Value, draft: &mut Draft) -> bool {
        // Without `alt=sse` the stream is one list.
        let events = match value {
            Value::Array(events) => events,
            other => vec![other],
        };
        let is_reply = events.iter().any(|event| event.get("candidates").is_some());
        for event in events {
            self.event("", event, draft);
        }
        is_reply
    }
}
