//! Conversations of Codex: `rollout-*.jsonl`, a line for each item of the Responses API and for what happened besides.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pirn_model::{Api, Block, Message, RequestUsage, ToolCall, UserContent, UserMessage};
use pirn_session::EntryBody;
use serde_json::{Map, Value};

use super::ForeignSession;
use super::entries::{Entries, Reply, items, picture, result, word};

/// How messages begin that Codex itself says in the user's name.
const OWN_WORDS: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
];
/// The model where no line names one.
const UNKNOWN_MODEL: &str = "unknown";

pub(super) fn convert(lines: &[Value]) -> Option<ForeignSession> {
    let head = lines
        .iter()
        .find(|line| word(line, "type") == "session_meta")?;
    let head = head.get("payload")?;
    let mut reading = Reading::default();
    for line in lines {
        reading.entries.at(line);
        let Some(payload) = line.get("payload") else {
            continue;
        };
        match word(line, "type") {
            "turn_context" => word(payload, "model").clone_into(&mut reading.model),
            "response_item" => reading.item(payload),
            "compacted" => reading.compacted(word(payload, "message")),
            // What happened besides is said by the items, too.
            _ => {}
        }
    }
    reading.end_reply();
    Some(ForeignSession {
        id: word(head, "id").to_owned(),
        cwd: PathBuf::from(word(head, "cwd")),
        entries: reading.entries.finish(),
        problems: Vec::new(),
    })
}

#[derive(Default)]
struct Reading {
    entries: Entries,
    model: String,
    /// Blocks of the reply that goes on.
    reply: Vec<Block>,
    /// The tools of calls, by their ids.
    tools: BTreeMap<String, String>,
}

impl Reading {
    fn item(&mut self, item: &Value) {
        match word(item, "type") {
            "message" if word(item, "role") == "assistant" => {
                let texts = items(item, "content").iter().filter_map(block);
                self.reply.extend(texts);
            }
            "message" if word(item, "role") == "user" => {
                self.end_reply();
                self.user(item);
            }
            "reasoning" => {
                let summary: Vec<&str> = items(item, "summary")
                    .iter()
                    .map(|part| word(part, "text"))
                    .collect();
                self.reply.push(Block::Thinking {
                    thinking: summary.join("\n\n"),
                    // The vendor wants the item back as it is.
                    thinking_signature: Some(item.to_string()),
                    redacted: false,
                });
            }
            "function_call" => {
                let text = word(item, "arguments");
                let arguments =
                    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
                self.call(item, arguments);
            }
            "custom_tool_call" => {
                self.call(item, Value::String(word(item, "input").to_owned()));
            }
            "function_call_output" | "custom_tool_call_output" => {
                self.end_reply();
                self.output(item);
            }
            _ => {}
        }
    }

    fn user(&mut self, item: &Value) {
        let blocks: Vec<Block> = items(item, "content").iter().filter_map(block).collect();
        let first = blocks.first().and_then(Block::as_text).unwrap_or_default();
        if blocks.is_empty() || OWN_WORDS.iter().any(|own| first.starts_with(own)) {
            return;
        }
        let content = UserContent::Blocks(blocks);
        let timestamp = self.entries.now_ms();
        self.entries.message(Message::User(UserMessage {
            content,
            timestamp,
            other: Map::new(),
        }));
    }

    fn call(&mut self, item: &Value, arguments: Value) {
        let (id, name) = (
            word(item, "call_id").to_owned(),
            word(item, "name").to_owned(),
        );
        self.tools.insert(id.clone(), name.clone());
        self.reply.push(Block::ToolCall(ToolCall {
            id,
            name,
            arguments,
            thought_signature: None,
            namespace: None,
        }));
    }

    fn output(&mut self, item: &Value) {
        let id = word(item, "call_id");
        let Some(name) = self.tools.remove(id) else {
            return;
        };
        let content = match item.get("output") {
            Some(Value::String(text)) => vec![Block::text(text.as_str())],
            Some(Value::Array(parts)) => parts.iter().filter_map(block).collect(),
            Some(Value::Object(output)) => {
                let text = output.get("content").and_then(Value::as_str);
                vec![Block::text(text.unwrap_or_default())]
            }
            _ => Vec::new(),
        };
        let timestamp = self.entries.now_ms();
        self.entries
            .message(result(id, &name, content, false, timestamp));
    }

    fn compacted(&mut self, summary: &str) {
        self.end_reply();
        if summary.is_empty() {
            return;
        }
        // What came before stays in the file, and the model reads the summary in its place.
        let first_kept_entry_id = self.entries.next_id();
        self.entries.push(EntryBody::Compaction {
            summary: summary.to_owned(),
            first_kept_entry_id,
            tokens_before: 0,
            details: None,
            usage: None,
            from_hook: None,
            system_message: None,
        });
    }

    fn end_reply(&mut self) {
        let content = std::mem::take(&mut self.reply);
        if content.is_empty() {
            return;
        }
        let model = if self.model.is_empty() {
            UNKNOWN_MODEL
        } else {
            &self.model
        };
        let reply = Reply {
            api: Api::OpenAiResponses,
            provider: "openai",
            model: model.to_owned(),
            content,
            usage: RequestUsage::default(),
            timestamp: self.entries.now_ms(),
        };
        self.entries.message(reply.into_message());
    }
}

fn block(part: &Value) -> Option<Block> {
    match word(part, "type") {
        "input_text" | "output_text" | "text" => Some(Block::text(word(part, "text"))),
        "input_image" => picture(word(part, "image_url")),
        _ => None,
    }
}
