//! A stored conversation in the form that every wire starts from: each call has its result, each result its call, and nothing in
//! it comes from a vendor that the model does not know.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::message::{
    AssistantMessage, BashExecutionMessage, Block, Message, StopReason, UserContent,
};
use crate::model::Model;

/// The result of a call that never got one.
const NO_RESULT: &str = "No result provided";
/// What stands for a picture that the model cannot see.
const NO_IMAGE: &str = "(image omitted: this model does not look at images)";

/// One step of the conversation.
#[derive(Debug)]
pub(crate) enum Turn<'a> {
    /// What the user said.
    User(Vec<Cow<'a, Block>>),
    /// What the model said.
    Assistant(Vec<Cow<'a, Block>>),
    /// What a call gave.
    Result {
        id: String,
        name: &'a str,
        content: Vec<Cow<'a, Block>>,
        is_error: bool,
    },
}

/// What a vendor takes for the id of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdRule {
    /// How many characters an id may have.
    pub(crate) length_max: usize,
    /// Whether all ids have exactly that length and no signs, as Mistral wants.
    pub(crate) is_exact: bool,
}

/// The conversation as steps.
pub(crate) fn turns<'a>(messages: &'a [Message], model: &Model, rule: IdRule) -> Vec<Turn<'a>> {
    let mut replay = Replay {
        turns: Vec::new(),
        waiting: Vec::new(),
        ids: Ids::new(rule),
        sees_images: model.sees_images(),
    };
    for message in messages {
        match message {
            Message::System(_) => {}
            Message::User(user) => replay.user(content(&user.content)),
            Message::Custom(custom) => replay.user(content(&custom.content)),
            Message::BashExecution(run) => {
                if run.exclude_from_context != Some(true) {
                    replay.user(vec![Cow::Owned(Block::text(command_text(run)))]);
                }
            }
            Message::BranchSummary(summary) => replay.user(vec![summary_block(
                "The following is a summary of a branch that this conversation came back from:",
                &summary.summary,
            )]),
            Message::CompactionSummary(summary) => replay.user(vec![summary_block(
                "The conversation before this point was compacted into the following summary:",
                &summary.summary,
            )]),
            Message::Assistant(assistant) => replay.assistant(assistant, model),
            Message::ToolResult(result) => {
                let blocks = result.content.iter().map(Cow::Borrowed).collect();
                replay.result(&result.tool_call_id, blocks, result.is_error);
            }
        }
    }
    replay.answer_waiting();
    replay.turns
}

struct Replay<'a> {
    turns: Vec<Turn<'a>>,
    /// Calls of the last reply without a result: their id, the id for the wire, and the name.
    waiting: Vec<(&'a str, String, &'a str)>,
    ids: Ids,
    sees_images: bool,
}

impl<'a> Replay<'a> {
    fn user(&mut self, blocks: Vec<Cow<'a, Block>>) {
        self.answer_waiting();
        let blocks = self.visible(blocks);
        if !blocks.is_empty() {
            self.turns.push(Turn::User(blocks));
        }
    }

    fn assistant(&mut self, message: &'a AssistantMessage, model: &Model) {
        self.answer_waiting();
        match message.stop_reason {
            StopReason::Error
            | StopReason::Aborted
            | StopReason::Pending
            | StopReason::Deferred => {
                return;
            }
            StopReason::Stop | StopReason::Length | StopReason::ToolUse => {}
        }
        let is_own = message.provider == model.provider
            && message.model == model.id
            && message.api == model.api.as_str();
        let mut blocks = Vec::new();
        self.ids.next_message();
        for block in &message.content {
            let Some(mut replayed) = replayed(block, is_own) else {
                continue;
            };
            if let Block::ToolCall(call) = block {
                let id = self.ids.wire_id(&call.id);
                self.waiting.push((&call.id, id.clone(), &call.name));
                if call.id != id
                    && let Block::ToolCall(renamed) = replayed.to_mut()
                {
                    renamed.id = id;
                }
            }
            blocks.push(replayed);
        }
        if !blocks.is_empty() {
            self.turns.push(Turn::Assistant(blocks));
        }
    }

    fn result(&mut self, id: &str, content: Vec<Cow<'a, Block>>, is_error: bool) {
        let Some(place) = self.waiting.iter().position(|(known, ..)| *known == id) else {
            return;
        };
        let (_, id, name) = self.waiting.remove(place);
        let content = self.visible(content);
        self.turns.push(Turn::Result {
            id,
            name,
            content,
            is_error,
        });
    }

    /// Gives calls that never got a result one that says so.
    fn answer_waiting(&mut self) {
        for (_, id, name) in std::mem::take(&mut self.waiting) {
            self.turns.push(Turn::Result {
                id,
                name,
                content: vec![Cow::Owned(Block::text(NO_RESULT))],
                is_error: true,
            });
        }
    }

    /// Without pictures that the model cannot see.
    fn visible(&self, blocks: Vec<Cow<'a, Block>>) -> Vec<Cow<'a, Block>> {
        blocks
            .into_iter()
            .map(|block| match block.as_ref() {
                Block::Image { .. } if !self.sees_images => Cow::Owned(Block::text(NO_IMAGE)),
                _ => block,
            })
            .collect()
    }
}

fn content(content: &UserContent) -> Vec<Cow<'_, Block>> {
    match content {
        UserContent::Text(text) if text.is_empty() => Vec::new(),
        UserContent::Text(text) => vec![Cow::Owned(Block::text(text.as_str()))],
        UserContent::Blocks(blocks) => blocks.iter().map(Cow::Borrowed).collect(),
    }
}

/// A block of a reply as it goes back. What another model thought and signed means nothing to this one.
fn replayed(block: &Block, is_own: bool) -> Option<Cow<'_, Block>> {
    match block {
        Block::Text { text, .. } if text.trim().is_empty() => None,
        Block::Thinking {
            thinking,
            thinking_signature,
            ..
        } => {
            let is_worth = !thinking.trim().is_empty() || thinking_signature.is_some();
            (is_own && is_worth).then_some(Cow::Borrowed(block))
        }
        Block::Text {
            text,
            text_signature,
        } if text_signature.is_some() && !is_own => Some(Cow::Owned(Block::text(text.as_str()))),
        Block::ToolCall(call) if call.thought_signature.is_some() && !is_own => {
            let mut call = call.clone();
            call.thought_signature = None;
            Some(Cow::Owned(Block::ToolCall(call)))
        }
        Block::Text { .. } | Block::Image { .. } | Block::ToolCall(_) => Some(Cow::Borrowed(block)),
    }
}

/// What the user ran, as the model reads it.
fn command_text(run: &BashExecutionMessage) -> String {
    let mut text = format!("Ran `{}`\n", run.command);
    if run.output.is_empty() {
        text.push_str("(no output)");
    } else {
        text.push_str("```\n");
        text.push_str(&run.output);
        text.push_str("\n```");
    }
    if run.cancelled {
        text.push_str("\n\n(command cancelled)");
    } else if let Some(code) = run.exit_code.filter(|code| *code != 0) {
        text.push_str("\n\nCommand exited with code ");
        text.push_str(&code.to_string());
    }
    if let Some(path) = run.full_output_path.as_ref().filter(|_| run.truncated) {
        text.push_str("\n\n[Output truncated. Full output: ");
        text.push_str(path);
        text.push(']');
    }
    text
}

fn summary_block(introduction: &str, summary: &str) -> Cow<'static, Block> {
    Cow::Owned(Block::text(format!(
        "{introduction}\n\n<summary>\n{summary}\n</summary>"
    )))
}

/// Ids for the wire: of the form that the vendor takes, and different in the whole conversation.
struct Ids {
    rule: IdRule,
    used: BTreeSet<String>,
    message: BTreeMap<String, String>,
}

impl Ids {
    fn new(rule: IdRule) -> Self {
        Self {
            rule,
            used: BTreeSet::new(),
            message: BTreeMap::new(),
        }
    }

    fn next_message(&mut self) {
        self.message.clear();
    }

    fn wire_id(&mut self, id: &str) -> String {
        if let Some(known) = self.message.get(id) {
            return known.clone();
        }
        let mut number = 0_u32;
        let wire_id = loop {
            let candidate = self.rule.apply(id, number);
            if self.used.insert(candidate.clone()) {
                break candidate;
            }
            number += 1;
        };
        self.message.insert(id.to_owned(), wire_id.clone());
        wire_id
    }
}

impl IdRule {
    /// The id in the vendor's form; a number tells ids apart that would be the same.
    fn apply(self, id: &str, number: u32) -> String {
        let fits = |letter: char| {
            letter.is_ascii_alphanumeric() || (!self.is_exact && matches!(letter, '_' | '-'))
        };
        let length = id.chars().count();
        let is_right_length = if self.is_exact {
            length == self.length_max
        } else {
            (1..=self.length_max).contains(&length)
        };
        if number == 0 && is_right_length && id.chars().all(fits) {
            return id.to_owned();
        }
        let mark = mark(id, number, MARK_LENGTH.min(self.length_max));
        let rest = self.length_max - mark.len();
        if self.is_exact || rest < 2 {
            return mark.chars().chain("0".repeat(rest).chars()).collect();
        }
        let head: String = id
            .chars()
            .map(|letter| if fits(letter) { letter } else { '_' })
            .take(rest - 1)
            .collect();
        format!("{head}_{mark}")
    }
}

/// Letters that tell ids apart after they were cut.
const MARK_LENGTH: usize = 9;

/// A short name of an id, always the same for the same id (FNV-1a in base 36).
fn mark(id: &str, number: u32, length: usize) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in id.bytes().chain(number.to_le_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    (0..length)
        .filter_map(|_| {
            let digit = u32::try_from(hash % 36).ok()?;
            hash /= 36;
            char::from_digit(digit, 36)
        })
        .collect()
}

#[cfg(test)]
mod tests;
