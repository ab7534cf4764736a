//! `OpenAI`'s chat completions, in the dialects of those who took them over.

mod compat;
mod request;

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::{Wire, count};
use crate::draft::{At, Draft, Kind};
use crate::failure::{Failure, FailureKind};
use crate::message::StopReason;
use crate::model::Model;
use compat::Compat;

pub(super) use request::build;

/// Names under which hosts send thoughts.
const THOUGHTS: &[&str] = &[
    "reasoning_content",
    "reasoning",
    "reasoning_text",
    "thinking",
];

/// A piece of a text: one choice that goes on with nothing else. What the piece has besides was said by the first one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Piece<'a> {
    #[serde(borrow)]
    choices: [PieceChoice<'a>; 1],
    usage: Option<IgnoredAny>,
    #[serde(rename = "id")]
    _id: Option<IgnoredAny>,
    #[serde(rename = "object")]
    _object: Option<IgnoredAny>,
    #[serde(rename = "created")]
    _created: Option<IgnoredAny>,
    #[serde(rename = "model")]
    _model: Option<IgnoredAny>,
    #[serde(rename = "system_fingerprint")]
    _system_fingerprint: Option<IgnoredAny>,
    #[serde(rename = "service_tier")]
    _service_tier: Option<IgnoredAny>,
    #[serde(rename = "obfuscation")]
    _obfuscation: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PieceChoice<'a> {
    #[serde(borrow)]
    delta: PieceDelta<'a>,
    finish_reason: Option<IgnoredAny>,
    #[serde(rename = "index")]
    _index: Option<IgnoredAny>,
    #[serde(rename = "logprobs")]
    _logprobs: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PieceDelta<'a> {
    #[serde(borrow)]
    content: Cow<'a, str>,
    #[serde(rename = "role")]
    _role: Option<IgnoredAny>,
}

/// Reads one reply of a chat completion.
#[derive(Debug)]
pub(super) struct Completions {
    /// The text or thoughts that go on at present.
    open: Option<(At, Kind)>,
    /// Calls by the number that the server gives them, with the id under which they came.
    calls: Vec<OpenCall>,
    /// Encrypted thoughts that belong to calls, by the calls' ids.
    encrypted: Vec<(String, String)>,
    has_finish_reason: bool,
}

#[derive(Debug)]
struct OpenCall {
    index: Option<u64>,
    id: String,
    at: At,
}

impl Completions {
    pub(super) fn new(model: &Model) -> Self {
        Self {
            open: None,
            calls: Vec::new(),
            encrypted: Vec::new(),
            has_finish_reason: Compat::of(model).has_finish_reason,
        }
    }

    fn delta(&mut self, delta: &Value, draft: &mut Draft) {
        for name in THOUGHTS {
            if let Some(thoughts) = delta.get(*name).and_then(Value::as_str)
                && !thoughts.is_empty()
            {
                let at = self.continue_with(Kind::Thinking, draft);
                draft.append(at, thoughts);
                draft.set_signature(at, (*name).to_owned());
                break;
            }
        }
        match delta.get("content") {
            Some(Value::String(text)) => self.text(text, draft),
            Some(Value::Array(parts)) => {
                for part in parts {
                    self.part(part, draft);
                }
            }
            _ => {}
        }
        if let Some(text) = delta.get("refusal").and_then(Value::as_str)
            && !text.is_empty()
        {
            self.text(text, draft);
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            self.call(call, draft);
        }
        // The form before `tool_calls`.
        if let Some(function) = delta.get("function_call").filter(|call| call.is_object()) {
            let call = serde_json::json!({"index": 0, "function": function});
            self.call(&call, draft);
        }
        let details = delta.get("reasoning_details").and_then(Value::as_array);
        for detail in details.into_iter().flatten() {
            if detail.get("type").and_then(Value::as_str) == Some("reasoning.encrypted")
                && let Some(id) = detail.get("id").and_then(Value::as_str)
            {
                self.encrypted.push((id.to_owned(), detail.to_string()));
            }
        }
    }

    /// A part of content that came as a list: Mistral sends thoughts that way.
    fn part(&mut self, part: &Value, draft: &mut Draft) {
        if let Some(text) = part.get("text").and_then(Value::as_str) {
            self.text(text, draft);
        }
        let thoughts = part.get("thinking").and_then(Value::as_array);
        for thought in thoughts.into_iter().flatten() {
            if let Some(text) = thought.get("text").and_then(Value::as_str) {
                let at = self.continue_with(Kind::Thinking, draft);
                draft.append(at, text);
            }
        }
    }

    fn text(&mut self, text: &str, draft: &mut Draft) {
        if !text.is_empty() {
            let at = self.continue_with(Kind::Text, draft);
            draft.append(at, text);
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

    fn call(&mut self, call: &Value, draft: &mut Draft) {
        if let Some((at, _)) = self.open.take() {
            draft.close(at);
        }
        let word = |pointer: &str| {
            call.pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let id = word("/id");
        let is_custom = word("/type") == "custom" || call.get("custom").is_some();
        let (name, input) = if is_custom {
            (word("/custom/name"), call.pointer("/custom/input"))
        } else {
            (word("/function/name"), call.pointer("/function/arguments"))
        };
        let at = self.place(call.get("index").and_then(Value::as_u64), id, name, draft);
        if is_custom {
            draft.mark_raw_text(at);
        }
        draft.name_call(at, id, name);
        match input {
            Some(Value::String(text)) => draft.append(at, text),
            Some(Value::Null) | None => {}
            // Ollama and others send the object itself.
            Some(value) => draft.set_arguments(at, value.clone()),
        }
        if let Some(signature) = call
            .pointer("/extra_content/google/thought_signature")
            .and_then(Value::as_str)
        {
            draft.set_signature(at, signature.to_owned());
        }
    }

    /// The call that a piece belongs to. Not every server numbers calls, and some give all the same number; a new id, or a name
    /// where no piece is without one, begins a new call.
    fn place(&mut self, index: Option<u64>, id: &str, name: &str, draft: &mut Draft) -> At {
        let known = match index {
            Some(_) => self.calls.iter_mut().rev().find(|call| call.index == index),
            None if !id.is_empty() => self.calls.iter_mut().find(|call| call.id == id),
            None if name.is_empty() => self.calls.last_mut(),
            None => None,
        };
        if let Some(call) = known
            && (id.is_empty() || call.id.is_empty() || call.id == id)
        {
            if call.id.is_empty() {
                id.clone_into(&mut call.id);
            }
            return call.at;
        }
        let at = draft.open(Kind::Call);
        self.calls.push(OpenCall {
            index,
            id: id.to_owned(),
            at,
        });
        at
    }

    fn finish_reason(&mut self, reason: &str, draft: &mut Draft) {
        draft.ending.raw = Some(reason.to_owned());
        draft.ending.stop = match reason {
            "length" | "max_tokens" | "model_length" => Some(StopReason::Length),
            "tool_calls" | "function_call" | "tool_use" => Some(StopReason::ToolUse),
            "content_filter" | "refusal" => {
                let message = "the vendor withheld the reply (content_filter)";
                draft.fail(Failure::new(FailureKind::Refusal, message));
                None
            }
            "error" | "network_error" | "insufficient_system_resource" => {
                let message = format!("the vendor could not finish the reply ({reason})");
                draft.fail(Failure::new(FailureKind::Server, message));
                None
            }
            // `stop` and its like; new reasons are no failures.
            _ => Some(StopReason::Stop),
        };
        for (id, detail) in std::mem::take(&mut self.encrypted) {
            if let Some(call) = self.calls.iter().find(|call| call.id == id) {
                draft.set_signature(call.at, detail);
            }
        }
    }

    fn usage(value: &Value, draft: &mut Draft) {
        let cached = count(value, "/prompt_tokens_details/cached_tokens")
            .or_else(|| count(value, "/prompt_cache_hit_tokens"))
            .or_else(|| count(value, "/cached_tokens"))
            .unwrap_or(0);
        let written = count(value, "/prompt_tokens_details/cache_write_tokens").unwrap_or(0);
        let prompt = count(value, "/prompt_tokens").unwrap_or(0);
        let reasoning = count(value, "/completion_tokens_details/reasoning_tokens");
        let usage = &mut draft.usage;
        usage.input = prompt.saturating_sub(cached).saturating_sub(written);
        usage.cache_read = cached;
        usage.cache_write = written;
        usage.output = count(value, "/completion_tokens").unwrap_or(0);
        usage.reasoning = reasoning;
        usage.total_tokens = count(value, "/total_tokens").unwrap_or(0);
    }

    fn choice(&mut self, choice: &Value, draft: &mut Draft) {
        for key in ["delta", "message"] {
            if let Some(delta) = choice.get(key).filter(|delta| delta.is_object()) {
                self.delta(delta, draft);
                break;
            }
        }
        // Some hosts count in the choice.
        if let Some(usage) = choice.get("usage").filter(|usage| usage.is_object()) {
            Self::usage(usage, draft);
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str)
            && !reason.is_empty()
        {
            self.finish_reason(reason, draft);
        }
    }
}

impl Wire for Completions {
    fn piece(&mut self, data: &[u8], draft: &mut Draft) -> bool {
        // The first piece names the reply, and hosts without a reason at the end are looked at after each.
        if draft.response_id.is_none() || !self.has_finish_reason {
            return false;
        }
        match serde_json::from_slice::<Piece<'_>>(data) {
            Ok(Piece {
                choices:
                    [
                        PieceChoice {
                            delta,
                            finish_reason: None,
                            ..
                        },
                    ],
                usage: None,
                ..
            }) => {
                self.text(&delta.content, draft);
                true
            }
            _ => false,
        }
    }

    fn event(&mut self, _name: &str, value: Value, draft: &mut Draft) {
        if draft.response_id.is_none() {
            let word = |key: &str| {
                let word = value.get(key).and_then(Value::as_str);
                word.filter(|word| !word.is_empty()).map(str::to_owned)
            };
            draft.response_id = word("id");
            draft.response_model = word("model");
        }
        if let Some(usage) = value.get("usage").filter(|usage| usage.is_object()) {
            Self::usage(usage, draft);
        }
        if let Some(choice) = value.pointer("/choices/0") {
            self.choice(choice, draft);
        }
        if !self.has_finish_reason && draft.ending.stop.is_none() && !draft.is_empty() {
            // The end of the stream is all that this host says.
            draft.ending.stop = Some(StopReason::Stop);
        }
    }

    fn whole(&mut self, value: Value, draft: &mut Draft) -> bool {
        let is_reply = value.pointer("/choices/0/message").is_some();
        if is_reply {
            self.event("", value, draft);
        }
        is_reply
    }
}
