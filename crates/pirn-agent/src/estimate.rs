//! How many tokens a conversation has: what the last reply was told to have read, and estimates of what came after it.

use pirn_model::{Block, Message, StopReason};
use pirn_session::{EntryBody, Tree};

/// Characters that are taken for a token; texts in English have a few more, code fewer.
const CHARACTERS_PER_TOKEN: usize = 4;
/// What a picture counts for, in characters.
const IMAGE_CHARACTERS: usize = 4_800;

/// The size of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContextTokens {
    /// From what a model said it has read; `None` where none said so since the conversation became another.
    pub(crate) measured: Option<u64>,
    /// The best that is known.
    pub(crate) best: u64,
}

/// The size of what a model reads at the leaf.
pub(crate) fn context_tokens(tree: &Tree) -> ContextTokens {
    let context = tree.context();
    let path = tree.path();
    // After one of these, an older figure is of another conversation.
    let changed = path.iter().rposition(|entry| {
        matches!(
            entry.body,
            EntryBody::Compaction { .. } | EntryBody::ContextEdit { .. }
        )
    });
    let fresh: Vec<&str> = path
        .iter()
        .skip(changed.map_or(0, |place| place + 1))
        .map(|entry| entry.id.as_str())
        .collect();
    let last = context
        .messages
        .iter()
        .zip(&context.entry_ids)
        .enumerate()
        .rev()
        .find_map(|(place, (message, id))| match message {
            Message::Assistant(reply)
                if fresh.contains(&id.as_str())
                    && reply.usage.total_tokens > 0
                    && !matches!(reply.stop_reason, StopReason::Error | StopReason::Aborted) =>
            {
                Some((place, reply.usage.total_tokens))
            }
            _ => None,
        });
    let sum = |messages: &[Message]| messages.iter().map(estimate).sum::<u64>();
    match last {
        Some((place, known)) => {
            let after = context.messages.get(place + 1..).unwrap_or_default();
            let tokens = known.saturating_add(sum(after));
            ContextTokens {
                measured: Some(tokens),
                best: tokens,
            }
        }
        None => ContextTokens {
            measured: None,
            best: sum(&context.messages),
        },
    }
}

/// Tokens of a message, estimated.
pub(crate) fn estimate(message: &Message) -> u64 {
    let characters = match message {
        Message::System(system) => {
            let sections: usize = system
                .sections
                .iter()
                .filter_map(|(_, text)| text.as_ref())
                .map(|text| length(text))
                .sum();
            let tools: usize = system
                .tools_added
                .iter()
                .filter_map(|tool| serde_json::to_string(tool).ok())
                .map(|text| length(&text))
                .sum();
            length(&system.content) + sections + tools
        }
        Message::User(user) => of_blocks(&user.content.to_blocks()),
        Message::Assistant(reply) => of_blocks(&reply.content),
        Message::ToolResult(result) => of_blocks(&result.content),
        Message::BashExecution(run) => length(&run.command) + length(&run.output),
        Message::Custom(custom) => of_blocks(&custom.content.to_blocks()),
        Message::BranchSummary(summary) => length(&summary.summary),
        Message::CompactionSummary(summary) => length(&summary.summary),
    };
    characters.div_ceil(CHARACTERS_PER_TOKEN) as u64
}

fn of_blocks(blocks: &[Block]) -> usize {
    blocks
        .iter()
        .map(|block| match block {
            Block::Text { text, .. } => length(text),
            Block::Image { .. } => IMAGE_CHARACTERS,
            Block::Thinking { thinking, .. } => length(thinking),
            Block::ToolCall(call) => length(&call.name) + length(&call.arguments.to_string()),
        })
        .sum()
}

fn length(text: &str) -> usize {
    text.chars().count()
}
