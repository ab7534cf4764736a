//! Conversations of Claude Code: a line for each block of a reply and for each message, each of which names the one before.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use pirn_model::{Api, Block, Message, RequestUsage, ToolCall, UserContent, UserMessage};
use pirn_session::EntryBody;
use serde_json::{Map, Value};

use super::ForeignSession;
use super::entries::{Entries, Reply, items, result, word};

pub(super) fn convert(lines: &[Value]) -> Option<ForeignSession> {
    let branch = branch(lines);
    let first = branch.first()?;
    let mut reading = Reading::default();
    for line in &branch {
        let Some(message) = line.get("message") else {
            continue;
        };
        match word(line, "type") {
            "assistant" => {
                reading.continue_reply(word(message, "id"));
                reading.entries.at(line);
                reading.assistant(message);
            }
            "user" => {
                reading.end_reply();
                reading.entries.at(line);
                // What the program says in the user's name is marked.
                if line.get("isMeta") != Some(&Value::Bool(true)) {
                    reading.user(message);
                }
            }
            _ => {}
        }
    }
    reading.end_reply();
    if let Some(name) = summary(lines, &branch) {
        reading.entries.push(EntryBody::SessionInfo {
            name: Some(name.to_owned()),
        });
    }
    Some(ForeignSession {
        id: word(first, "sessionId").to_owned(),
        cwd: PathBuf::from(word(first, "cwd")),
        entries: reading.entries.finish(),
        problems: Vec::new(),
    })
}

/// The lines from the first message to the last one; those of helpers are left out.
fn branch(lines: &[Value]) -> Vec<&Value> {
    let is_said = |line: &&Value| {
        matches!(word(line, "type"), "user" | "assistant" | "system")
            && line.get("isSidechain") != Some(&Value::Bool(true))
            && !word(line, "uuid").is_empty()
    };
    let said: Vec<&Value> = lines.iter().filter(is_said).collect();
    let by_id: BTreeMap<&str, &Value> = said
        .iter()
        .map(|line| (word(line, "uuid"), *line))
        .collect();
    let mut branch = Vec::new();
    // A damaged file may name a line that comes from itself.
    let mut seen = BTreeSet::new();
    let mut next = said.last().copied();
    while let Some(line) = next {
        if !seen.insert(word(line, "uuid")) {
            break;
        }
        branch.push(line);
        next = by_id.get(word(line, "parentUuid")).copied();
    }
    branch.reverse();
    branch
}

/// What the program calls the conversation.
fn summary<'a>(lines: &'a [Value], branch: &[&Value]) -> Option<&'a str> {
    let ids: BTreeSet<&str> = branch.iter().map(|line| word(line, "uuid")).collect();
    lines
        .iter()
        .filter(|line| word(line, "type") == "summary" && ids.contains(word(line, "leafUuid")))
        .map(|line| word(line, "summary"))
        .rfind(|summary| !summary.is_empty())
}

#[derive(Default)]
struct Reading {
    entries: Entries,
    /// The id of the reply that goes on.
    reply_id: String,
    reply: Option<Reply>,
    /// The tools of calls, by their ids.
    tools: BTreeMap<String, String>,
}

impl Reading {
    /// Ends the reply before, unless the next line belongs to it.
    fn continue_reply(&mut self, id: &str) {
        if id.is_empty() || self.reply_id != id {
            self.end_reply();
            id.clone_into(&mut self.reply_id);
        }
    }

    fn assistant(&mut self, message: &Value) {
        let timestamp = self.entries.now_ms();
        let reply = self.reply.get_or_insert_with(|| Reply {
            api: Api::AnthropicMessages,
            provider: "anthropic",
            model: word(message, "model").to_owned(),
            content: Vec::new(),
            usage: RequestUsage::default(),
            timestamp,
        });
        // Each line tells the sums so far.
        reply.usage = usage(message);
        for block in items(message, "content") {
            let block = match word(block, "type") {
                "text" => Block::text(word(block, "text")),
                "thinking" => Block::Thinking {
                    thinking: word(block, "thinking").to_owned(),
                    thinking_signature: block
                        .get("signature")
                        .and_then(Value::as_str)
                        .map(str::to_owned),
                    redacted: false,
                },
                "tool_use" => {
                    let (id, name) = (word(block, "id").to_owned(), word(block, "name").to_owned());
                    self.tools.insert(id.clone(), name.clone());
                    Block::ToolCall(ToolCall {
                        id,
                        name,
                        arguments: block.get("input").cloned().unwrap_or_default(),
                        thought_signature: None,
                        namespace: None,
                    })
                }
                _ => continue,
            };
            reply.content.push(block);
        }
    }

    fn user(&mut self, message: &Value) {
        let timestamp = self.entries.now_ms();
        if let Some(text) = message.get("content").and_then(Value::as_str) {
            self.entries
                .message(Message::User(UserMessage::text(text, timestamp)));
            return;
        }
        let mut said = Vec::new();
        for part in items(message, "content") {
            if word(part, "type") != "tool_result" {
                said.extend(block(part));
                continue;
            }
            let id = word(part, "tool_use_id");
            let Some(name) = self.tools.remove(id) else {
                continue;
            };
            let content = match part.get("content") {
                Some(Value::String(text)) => vec![Block::text(text.as_str())],
                _ => items(part, "content").iter().filter_map(block).collect(),
            };
            let is_error = part.get("is_error") == Some(&Value::Bool(true));
            self.entries
                .message(result(id, &name, content, is_error, timestamp));
        }
        if !said.is_empty() {
            self.entries.message(Message::User(UserMessage {
                content: UserContent::Blocks(said),
                timestamp,
                other: Map::new(),
            }));
        }
    }

    fn end_reply(&mut self) {
        self.reply_id.clear();
        if let Some(reply) = self.reply.take().filter(|reply| !reply.content.is_empty()) {
            self.entries.message(reply.into_message());
        }
    }
}

fn usage(message: &Value) -> RequestUsage {
    let count = |key: &str| {
        let count = message.get("usage").and_then(|usage| usage.get(key));
        count.and_then(Value::as_u64).unwrap_or(0)
    };
    let mut usage = RequestUsage {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cache_read: count("cache_read_input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
        ..RequestUsage::default()
    };
    usage.complete();
    usage
}

fn block(part: &Value) -> Option<Block> {
    match word(part, "type") {
        "text" => Some(Block::text(word(part, "text"))),
        "image" => {
            let source = part.get("source")?;
            (word(source, "type") == "base64").then(|| Block::Image {
                data: word(source, "data").to_owned(),
                mime_type: word(source, "media_type").to_owned(),
            })
        }
        _ => None,
    }
}
