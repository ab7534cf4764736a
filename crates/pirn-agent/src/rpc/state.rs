//! Commands that look and change nothing.

use crate::{Agent, QueueMode};
use pirn_model::{Block, Message};
use pirn_session::{Entry, EntryBody, Tree};
use serde_json::{Value, json};

/// Answers a command that only looks; `None` where it is none of these.
pub(super) fn look(
    agent: &Agent,
    name: &str,
    command: &Value,
) -> Option<Result<Option<Value>, String>> {
    let data = match name {
        "get_state" => state(agent),
        "get_messages" => json!({"messages": agent.state().messages}),
        "get_session_stats" => statistics(agent),
        "get_last_assistant_text" => json!({"text": last_text(&agent.state().messages)}),
        "get_fork_messages" => agent.with_session(|session| fork_messages(session.tree())),
        "get_tree" => agent.with_session(|session| {
            let tree = session.tree();
            json!({"tree": branches(tree), "leafId": tree.leaf()})
        }),
        // No commands are read from files yet.
        "get_commands" => json!({"commands": []}),
        "get_entries" => {
            let since = command["since"].as_str();
            return Some(match agent.entries(since) {
                Ok(entries) => {
                    let leaf =
                        agent.with_session(|session| session.tree().leaf().map(str::to_owned));
                    Ok(Some(json!({"entries": entries, "leafId": leaf})))
                }
                Err(error) => Err(error.to_string()),
            });
        }
        _ => return None,
    };
    Some(Ok(Some(data)))
}

fn mode(mode: QueueMode) -> &'static str {
    match mode {
        QueueMode::OneAtATime => "one-at-a-time",
        QueueMode::All => "all",
    }
}

fn state(agent: &Agent) -> Value {
    let state = agent.state();
    json!({
        "model": state.choice.model,
        "thinkingLevel": state.choice.thinking,
        "isStreaming": state.is_running,
        "isCompacting": state.is_compacting,
        "steeringMode": mode(state.steering),
        "followUpMode": mode(state.follow_up),
        "sessionFile": state.session_file,
        "sessionId": state.session_id,
        "sessionName": state.session_name,
        "autoCompactionEnabled": state.compacts_automatically,
        "autoRetryEnabled": state.retries_automatically,
        "messageCount": state.messages.len(),
        "pendingMessageCount": state.queued,
    })
}

fn statistics(agent: &Agent) -> Value {
    let state = agent.state();
    let count = |fits: fn(&Message) -> bool| {
        state
            .messages
            .iter()
            .filter(|message| fits(message))
            .count()
    };
    let calls: usize = state
        .messages
        .iter()
        .map(|message| match message {
            Message::Assistant(reply) => reply.tool_calls().count(),
            _ => 0,
        })
        .sum();
    let usage = state.usage;
    let total = usage.input + usage.output + usage.cache_read + usage.cache_write;
    let percent = state
        .context
        .tokens
        .map(|tokens| tokens.saturating_mul(100) / state.context.window.max(1));
    json!({
        "sessionFile": state.session_file,
        "sessionId": state.session_id,
        "userMessages": count(|message| matches!(message, Message::User(_))),
        "assistantMessages": count(|message| matches!(message, Message::Assistant(_))),
        "toolCalls": calls,
        "toolResults": count(|message| matches!(message, Message::ToolResult(_))),
        "totalMessages": state.messages.len(),
        "tokens": {
            "input": usage.input, "output": usage.output, "cacheRead": usage.cache_read,
            "cacheWrite": usage.cache_write, "total": total,
        },
        "cost": usage.cost,
        "contextUsage": {
            "tokens": state.context.tokens, "contextWindow": state.context.window, "percent": percent,
        },
    })
}

/// The text of the last reply.
fn last_text(messages: &[Message]) -> Option<String> {
    messages.iter().rev().find_map(|message| match message {
        Message::Assistant(reply) => {
            let texts: Vec<&str> = reply.content.iter().filter_map(Block::as_text).collect();
            Some(texts.join(""))
        }
        _ => None,
    })
}

/// What the user said, where a fork may begin.
fn fork_messages(tree: &Tree) -> Value {
    let messages: Vec<Value> = tree
        .entries()
        .iter()
        .filter_map(|entry| match &entry.body {
            EntryBody::Message {
                message: Message::User(user),
            } => Some(json!({"entryId": entry.id, "text": user.content.joined_text()})),
            _ => None,
        })
        .collect();
    json!({"messages": messages})
}

/// The first entries, each with those after it.
fn branches(tree: &Tree) -> Vec<Value> {
    let labels = tree.labels();
    // A parent always stands before its children, so the last ones are made first.
    let mut children: std::collections::HashMap<Option<&str>, Vec<Value>> =
        std::collections::HashMap::new();
    for entry in tree.entries().iter().rev() {
        let below = children
            .remove(&Some(entry.id.as_str()))
            .unwrap_or_default();
        children
            .entry(entry.parent_id.as_deref())
            .or_default()
            .push(node(entry, below, labels.get(entry.id.as_str()).copied()));
    }
    let mut roots = children.remove(&None).unwrap_or_default();
    roots.reverse();
    roots
}

fn node(entry: &Entry, mut children: Vec<Value>, label: Option<&str>) -> Value {
    children.reverse();
    let mut node = json!({"entry": entry, "children": children});
    if let Some(label) = label {
        node["label"] = json!(label);
    }
    node
}
