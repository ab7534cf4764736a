//! The wire of Anthropic's messages.

mod request;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::{Wire, count};
use crate::draft::{At, Draft, Kind};
use crate::failure::{Failure, FailureKind};
use crate::message::StopReason;

pub(super) use request::build;

/// A piece of a text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Piece<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    index: u64,
    #[serde(borrow)]
    delta: TextDelta<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextDelta<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

/// Reads one reply of Anthropic's messages.
#[derive(Debug, Default)]
pub(super) struct Anthropic {
    /// Blocks by the number that the server gives them.
    blocks: Vec<(u64, At)>,
}

impl Anthropic {
    fn at(&self, value: &Value) -> Option<At> {
        self.block(value.get("index").and_then(Value::as_u64)?)
    }

    fn block(&self, index: u64) -> Option<At> {
        self.blocks
            .iter()
            .rev()
            .find(|(known, _)| *known == index)
            .map(|(_, at)| *at)
    }

    fn start(&mut self, value: &Value, draft: &mut Draft) {
        let Some(block) = value.get("content_block") else {
            return;
        };
        let index = value.get("index").and_then(Value::as_u64).unwrap_or(0);
        if let Some(at) = block_start(block, draft) {
            self.blocks.push((index, at));
        }
    }

    fn delta(&mut self, value: &Value, draft: &mut Draft) {
        let (Some(at), Some(delta)) = (self.at(value), value.get("delta")) else {
            return;
        };
        let word = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        match word("type") {
            "text_delta" => draft.append(at, word("text")),
            "thinking_delta" => draft.append(at, word("thinking")),
            "input_json_delta" => draft.append(at, word("partial_json")),
            "signature_delta" => draft.sign(at, word("signature")),
            // Citations and what is to come: nothing that goes back.
            _ => {}
        }
    }

    fn usage(value: &Value, draft: &mut Draft) {
        let usage = &mut draft.usage;
        // Later events repeat only a part of the numbers, and proxies send zeros there.
        let set = |field: &mut u64, pointer: &str| {
            if let Some(number) = count(value, pointer).filter(|number| *number > 0) {
                *field = number;
            }
        };
        set(&mut usage.input, "/input_tokens");
        set(&mut usage.output, "/output_tokens");
        set(&mut usage.cache_read, "/cache_read_input_tokens");
        set(&mut usage.cache_write, "/cache_creation_input_tokens");
        if let Some(hour) = count(value, "/cache_creation/ephemeral_1h_input_tokens") {
            usage.cache_write_1h = Some(hour).filter(|tokens| *tokens > 0);
        }
    }

    fn stop(reason: &str, draft: &mut Draft) {
        draft.ending.raw = Some(reason.to_owned());
        draft.ending.stop = match reason {
            "max_tokens" => Some(StopReason::Length),
            "tool_use" => Some(StopReason::ToolUse),
            "refusal" => {
                let message = "the model refused to answer (refusal)";
                draft.fail(Failure::new(FailureKind::Refusal, message));
                None
            }
            "model_context_window_exceeded" => {
                let message = "the context window was exceeded while answering";
                draft.fail(Failure::new(FailureKind::Overflow, message));
                None
            }
            // `end_turn`, `stop_sequence`, `pause_turn`, and reasons to come.
            _ => Some(StopReason::Stop),
        };
    }

    fn begin(value: &Value, draft: &mut Draft) {
        let message = value.get("message").unwrap_or(value);
        let word = |key: &str| message.get(key).and_then(Value::as_str).map(str::to_owned);
        draft.response_id = word("id");
        draft.response_model = word("model");
        if let Some(usage) = message.get("usage") {
            Self::usage(usage, draft);
        }
    }
}

/// Begins a block with what it holds already. `None` for kinds that mean nothing here, such as the vendor's own tools.
fn block_start(block: &Value, draft: &mut Draft) -> Option<At> {
    let word = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
    match word("type") {
        "text" => {
            let at = draft.open(Kind::Text);
            draft.append(at, word("text"));
            Some(at)
        }
        "thinking" => {
            let at = draft.open(Kind::Thinking);
            draft.append(at, word("thinking"));
            draft.sign(at, word("signature"));
            Some(at)
        }
        "redacted_thinking" => {
            let at = draft.open(Kind::Thinking);
            draft.set_signature(at, word("data").to_owned());
            draft.redact(at);
            Some(at)
        }
        "tool_use" => {
            let at = draft.open(Kind::Call);
            draft.name_call(at, word("id"), word("name"));
            let input = block
                .get("input")
                .filter(|input| input.as_object().is_some_and(|members| !members.is_empty()));
            if let Some(input) = input {
                draft.set_arguments(at, input.clone());
            }
            Some(at)
        }
        _ => None,
    }
}

impl Wire for Anthropic {
    fn piece(&mut self, data: &[u8], draft: &mut Draft) -> bool {
        let Ok(piece) = serde_json::from_slice::<Piece<'_>>(data) else {
            return false;
        };
        if piece.kind != "content_block_delta" || piece.delta.kind != "text_delta" {
            return false;
        }
        if let Some(at) = self.block(piece.index) {
            draft.append(at, &piece.delta.text);
        }
        true
    }

    fn event(&mut self, name: &str, value: Value, draft: &mut Draft) {
        let kind = value.get("type").and_then(Value::as_str).unwrap_or(name);
        match kind {
            "message_start" => Self::begin(&value, draft),
            "content_block_start" => self.start(&value, draft),
            "content_block_delta" => self.delta(&value, draft),
            "content_block_stop" => {
                if let Some(at) = self.at(&value) {
                    draft.close(at);
                }
            }
            "message_delta" => {
                if let Some(reason) = value.pointer("/delta/stop_reason").and_then(Value::as_str) {
                    Self::stop(reason, draft);
                }
                if let Some(usage) = value.get("usage") {
                    Self::usage(usage, draft);
                }
            }
            "message_stop" => draft.ending.is_complete = true,
            // `ping`, and events to come.
            _ => {}
        }
    }

    fn whole(&mut self, value: Value, draft: &mut Draft) -> bool {
        if value.get("type").and_then(Value::as_str) != Some("message") {
            return false;
        }
        Self::begin(&value, draft);
        let blocks = value.get("content").and_then(Value::as_array);
        for block in blocks.into_iter().flatten() {
            if let Some(at) = block_start(block, draft) {
                draft.close(at);
            }
        }
        if let Some(reason) = value.get("stop_reason").and_then(Value::as_str) {
            Self::stop(reason, draft);
        }
        true
    }
}
