//! The wire of `OpenAI`'s responses.

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

/// A piece of a text. What it has besides says nothing here.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Piece<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    output_index: u64,
    #[serde(borrow)]
    delta: Cow<'a, str>,
    #[serde(rename = "item_id")]
    _item_id: Option<IgnoredAny>,
    #[serde(rename = "content_index")]
    _content_index: Option<IgnoredAny>,
    #[serde(rename = "sequence_number")]
    _sequence_number: Option<IgnoredAny>,
    #[serde(rename = "logprobs")]
    _logprobs: Option<IgnoredAny>,
    #[serde(rename = "obfuscation")]
    _obfuscation: Option<IgnoredAny>,
}

/// Reads one reply of `OpenAI`'s responses.
#[derive(Debug, Default)]
pub(super) struct Responses {
    /// Items of the output by their number.
    items: Vec<(u64, At, Kind)>,
}

impl Responses {
    fn at(&self, value: &Value) -> Option<(At, Kind)> {
        self.item(value.get("output_index").and_then(Value::as_u64)?)
    }

    fn item(&self, index: u64) -> Option<(At, Kind)> {
        self.items
            .iter()
            .rev()
            .find(|(known, ..)| *known == index)
            .map(|(_, at, kind)| (*at, *kind))
    }

    /// Begins an item, unless it is one that means nothing here, such as a search of the vendor's own.
    fn begin(&mut self, value: &Value, item: &Value, draft: &mut Draft) -> Option<(At, Kind)> {
        if let Some(known) = self.at(value) {
            return Some(known);
        }
        let word = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        let kind = match word("type") {
            "message" => Kind::Text,
            "reasoning" => Kind::Thinking,
            "function_call" | "custom_tool_call" => Kind::Call,
            _ => return None,
        };
        let at = draft.open(kind);
        if kind == Kind::Call {
            if word("type") == "custom_tool_call" {
                draft.mark_raw_text(at);
            }
            draft.name_call(at, word("call_id"), word("name"));
        }
        let index = value.get("output_index").and_then(Value::as_u64);
        self.items.push((index.unwrap_or(0), at, kind));
        Some((at, kind))
    }

    /// Ends an item with what it holds; deltas may have been left out.
    fn end(&mut self, value: &Value, item: &Value, draft: &mut Draft) {
        let Some((at, kind)) = self.begin(value, item, draft) else {
            return;
        };
        let is_untold = draft.text(at).is_empty();
        match kind {
            Kind::Text => {
                if is_untold {
                    draft.append(at, &texts(item.get("content")).join(""));
                }
                if let Some(id) = item.get("id").and_then(Value::as_str) {
                    draft.set_signature(at, id.to_owned());
                }
            }
            Kind::Thinking => {
                if is_untold {
                    draft.append(at, &texts(item.get("summary")).join("\n\n"));
                }
                // The vendor wants the item back as it is.
                draft.set_signature(at, item.to_string());
            }
            Kind::Call => {
                let input = item.get("arguments").or_else(|| item.get("input"));
                if let Some(text) = input.and_then(Value::as_str).filter(|_| is_untold) {
                    draft.append(at, text);
                }
            }
        }
        draft.close(at);
    }

    /// The vendor's last event.
    fn conclude(kind: &str, response: &Value, draft: &mut Draft) {
        if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
            let cached = count(usage, "/input_tokens_details/cached_tokens").unwrap_or(0);
            let input = count(usage, "/input_tokens").unwrap_or(0);
            draft.usage.input = input.saturating_sub(cached);
            draft.usage.cache_read = cached;
            draft.usage.output = count(usage, "/output_tokens").unwrap_or(0);
            draft.usage.reasoning = count(usage, "/output_tokens_details/reasoning_tokens");
            draft.usage.total_tokens = count(usage, "/total_tokens").unwrap_or(0);
        }
        let reason = response
            .pointer("/incomplete_details/reason")
            .and_then(Value::as_str);
        draft.ending.raw = reason.map(str::to_owned);
        draft.ending.is_complete = true;
        match (kind, reason) {
            ("response.failed", _) => {
                let text = crate::failure::error_in(response);
                let text =
                    text.unwrap_or_else(|| "the vendor could not finish the reply".to_owned());
                draft.fail(Failure::from_vendor(text));
            }
            (_, Some("content_filter")) => {
                let message = "the vendor withheld the reply (content_filter)";
                draft.fail(Failure::new(FailureKind::Refusal, message));
            }
            ("response.incomplete", _) => draft.ending.stop = Some(StopReason::Length),
            _ => draft.ending.stop = Some(StopReason::Stop),
        }
    }
}

/// The texts of a list of parts, refusals among them.
fn texts(parts: Option<&Value>) -> Vec<&str> {
    let parts = parts.and_then(Value::as_array);
    parts
        .into_iter()
        .flatten()
        .filter_map(|part| part.get("text").or_else(|| part.get("refusal")))
        .filter_map(Value::as_str)
        .collect()
}

impl Wire for Responses {
    fn piece(&mut self, data: &[u8], draft: &mut Draft) -> bool {
        let Ok(piece) = serde_json::from_slice::<Piece<'_>>(data) else {
            return false;
        };
        if piece.kind != "response.output_text.delta" {
            return false;
        }
        if let Some((at, _)) = self.item(piece.output_index) {
            draft.append(at, &piece.delta);
        }
        true
    }

    fn event(&mut self, name: &str, value: Value, draft: &mut Draft) {
        let kind = value.get("type").and_then(Value::as_str).unwrap_or(name);
        let delta = || {
            value
                .get("delta")
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let item = value.get("item");
        match kind {
            "response.created" | "response.in_progress" => {
                let word = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
                draft.response_id = word("/response/id").map(str::to_owned);
                draft.response_model = word("/response/model").map(str::to_owned);
            }
            "response.output_item.added" => {
                if let Some(item) = item {
                    self.begin(&value, item, draft);
                }
            }
            "response.output_item.done" => {
                if let Some(item) = item {
                    self.end(&value, item, draft);
                }
            }
            "response.output_text.delta"
            | "response.refusal.delta"
            | "response.reasoning_summary_text.delta"
            | "response.reasoning_text.delta"
            | "response.function_call_arguments.delta"
            | "response.custom_tool_call_input.delta" => {
                if let Some((at, _)) = self.at(&value) {
                    draft.append(at, delta());
                }
            }
            // Summaries come in parts; the next one is a paragraph of its own.
            "response.reasoning_summary_part.added" => {
                let is_next = value.get("summary_index").and_then(Value::as_u64) > Some(0);
                if let Some((at, _)) = self.at(&value).filter(|_| is_next) {
                    draft.append(at, "\n\n");
                }
            }
            "response.completed" | "response.done" | "response.incomplete" | "response.failed" => {
                let response = value.get("response").unwrap_or(&value);
                Self::conclude(kind, response, draft);
            }
            "error" => {
                let text = crate::failure::error_in(&value);
                draft.fail(Failure::from_vendor(
                    text.unwrap_or_else(|| value.to_string()),
                ));
            }
            // What is in progress, annotations, and events to come.
            _ => {}
        }
    }

    fn whole(&mut self, value: Value, draft: &mut Draft) -> bool {
        let Some(output) = value.get("output").and_then(Value::as_array) else {
            return false;
        };
        draft.response_id = value.get("id").and_then(Value::as_str).map(str::to_owned);
        for (index, item) in output.iter().enumerate() {
            self.end(&serde_json::json!({"output_index": index}), item, draft);
        }
        let kind = match value.get("status").and_then(Value::as_str) {
            Some("incomplete") => "response.incomplete",
            Some("failed") => "response.failed",
            _ => "response.completed",
        };
        Self::conclude(kind, &value, draft);
        true
    }
}
