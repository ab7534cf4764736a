//! What a model is told when it is to summarise a conversation.

use std::fmt::Write as _;

use pirn_model::{Block, Message, ToolCall, joined_text};

/// The system prompt of a request for a summary.
pub(super) const SUMMARISER: &str = "\
You summarise a conversation between a user and a coding agent, so that the agent can go on with the work from your summary alone. \
You do not go on with the conversation and answer no question in it. You write the summary in the format that is asked for, and \
nothing else.";

/// Characters of a result that a summary is made from; the beginning says what it was.
const RESULT_CHARACTERS_MAX: usize = 2_000;

const FORMAT: &str = "\
Write the summary with these headings:

## Goal
What the user wants. Several things, where there are several.

## Constraints & Preferences
What the user asked to keep to; \"(none)\" where nothing was said.

## Progress
### Done
- [x] What is finished
### In Progress
- [ ] What is being worked on
### Blocked
- What stands in the way, if anything

## Key Decisions
- **Decision**: why

## Next Steps
1. What comes next, in order

## Critical Context
- Data, examples and references that the work needs; \"(none)\" where there are none

Be brief. Keep exact paths, names of functions, and the words of errors.";

const UPDATE: &str = "\
The conversation goes on from the summary in <previous-summary>. Write one summary of both: keep what still holds, add what is new, \
move what was finished to Done, and bring the next steps up to date.";

const TURN_FORMAT: &str = "\
This is the beginning of a turn that was too large to be kept; its end is kept as it is. Summarise the beginning so that the end \
can be understood:

## Original Request
What the user asked for in this turn.

## Progress So Far
- What was decided and done

## Context Needed to Continue
- What the kept end relies on

Be brief. Keep what the rest needs.";

/// What is asked for the part before the turn that goes on.
pub(super) fn request(before: &[Message], previous: Option<&str>, focus: Option<&str>) -> String {
    let mut text = format!("<conversation>\n{}\n</conversation>\n\n", as_text(before));
    // Writing to a string cannot fail.
    if let Some(previous) = previous {
        let _infallible = write!(
            text,
            "<previous-summary>\n{previous}\n</previous-summary>\n\n{UPDATE}\n\n"
        );
    }
    text.push_str(FORMAT);
    if let Some(focus) = focus {
        let _infallible = write!(text, "\n\nAdditional focus: {focus}");
    }
    text
}

/// What is asked for the beginning of the turn that goes on.
pub(super) fn turn_request(turn: &[Message]) -> String {
    format!(
        "<conversation>\n{}\n</conversation>\n\n{TURN_FORMAT}",
        as_text(turn)
    )
}

/// A conversation as text.
fn as_text(messages: &[Message]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for message in messages {
        match message {
            Message::System(_) => {}
            Message::User(user) => {
                parts.push(format!("[User]: {}", user.content.joined_text()));
            }
            Message::Assistant(reply) => {
                let said = joined_text(&reply.content);
                if !said.is_empty() {
                    parts.push(format!("[Assistant]: {said}"));
                }
                let calls: Vec<String> = reply.content.iter().filter_map(call_of).collect();
                if !calls.is_empty() {
                    parts.push(format!("[Assistant tool calls]: {}", calls.join("; ")));
                }
            }
            Message::ToolResult(result) => {
                let text = cut(&joined_text(&result.content));
                parts.push(format!("[Tool result]: {text}"));
            }
            Message::BashExecution(run) => {
                parts.push(format!(
                    "[User]: Ran `{}`\n{}",
                    run.command,
                    cut(&run.output)
                ));
            }
            Message::Custom(custom) => {
                parts.push(format!("[User]: {}", custom.content.joined_text()));
            }
            Message::BranchSummary(summary) => {
                parts.push(format!("[User]: {}", summary.summary));
            }
            Message::CompactionSummary(summary) => {
                parts.push(format!("[User]: {}", summary.summary));
            }
        }
    }
    parts.join("\n\n")
}

fn call_of(block: &Block) -> Option<String> {
    let Block::ToolCall(ToolCall {
        name, arguments, ..
    }) = block
    else {
        return None;
    };
    let arguments: Vec<String> = match arguments.as_object() {
        Some(members) => members
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect(),
        None => vec![arguments.to_string()],
    };
    Some(format!("{name}({})", arguments.join(", ")))
}

fn cut(text: &str) -> String {
    let start: String = text.chars().take(RESULT_CHARACTERS_MAX).collect();
    let left_out = text.chars().count().saturating_sub(RESULT_CHARACTERS_MAX);
    match left_out {
        0 => start,
        _ => format!("{start}\n[{left_out} more characters]"),
    }
}
