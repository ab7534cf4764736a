//! Conversations of other programs, whole and damaged.

#![allow(
    clippy::disallowed_methods,
    clippy::format_collect,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests prepare and inspect what they test"
)]

use std::path::{Path, PathBuf};

use pirn_import::{
    ForeignError, ForeignSession, SessionProgram, convert_session, discover_sessions,
    session_folder,
};
use pirn_model::{Block, Message};
use pirn_session::EntryBody;
use proptest::prelude::*;
use serde_json::{Value, json};

fn file(folder: &Path, lines: &[Value]) -> PathBuf {
    let path = folder.join("one.jsonl");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, text).unwrap();
    path
}

fn messages(session: &ForeignSession) -> Vec<&Message> {
    let entries = session.entries.iter();
    entries
        .filter_map(|entry| match &entry.body {
            EntryBody::Message { message } => Some(message),
            _ => None,
        })
        .collect()
}

/// The roles of messages, with what is in them.
fn shape(session: &ForeignSession) -> Vec<String> {
    let block = |block: &Block| match block {
        Block::Text { text, .. } => text.clone(),
        Block::Thinking { .. } => "(thinks)".to_owned(),
        Block::Image { mime_type, .. } => format!("({mime_type})"),
        Block::ToolCall(call) => format!("{} {}", call.name, call.arguments),
    };
    let shown = |message: &&Message| match message {
        Message::User(user) => format!("user: {}", user.content.joined_text()),
        Message::Assistant(reply) => {
            let blocks: Vec<String> = reply.content.iter().map(block).collect();
            format!("{}: {}", reply.model, blocks.join(", "))
        }
        Message::ToolResult(result) => {
            let blocks: Vec<String> = result.content.iter().map(block).collect();
            format!("{} gave: {}", result.tool_name, blocks.join(", "))
        }
        other => format!("{other:?}"),
    };
    messages(session).iter().map(shown).collect()
}

fn codex_lines() -> Vec<Value> {
    let line = |kind: &str, payload: Value| json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload});
    let item = |payload: Value| line("response_item", payload);
    let says = |role: &str, kind: &str, text: &str| {
        item(json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
    };
    vec![
        line(
            "session_meta",
            json!({"id": "0193-a", "cwd": "/srv/project", "cli_version": "1"}),
        ),
        line(
            "turn_context",
            json!({"model": "gpt-5.5", "cwd": "/srv/project"}),
        ),
        says(
            "user",
            "input_text",
            "<environment_context>x</environment_context>",
        ),
        says("user", "input_text", "Count"),
        item(
            json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "One."}], "encrypted_content": "E"}),
        ),
        item(
            json!({"type": "function_call", "name": "shell", "arguments": "{\"cmd\":\"ls\"}", "call_id": "c1"}),
        ),
        line("event_msg", json!({"type": "token_count"})),
        item(json!({"type": "function_call_output", "call_id": "c1", "output": "a.txt"})),
        item(
            json!({"type": "custom_tool_call", "name": "exec", "input": "return 1", "call_id": "c2"}),
        ),
        item(
            json!({"type": "custom_tool_call_output", "call_id": "c2", "output": [
                {"type": "input_text", "text": "1"},
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
            ]}),
        ),
        says("assistant", "output_text", "One."),
    ]
}

#[test]
fn codex_is_read_item_by_item() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), &codex_lines());
    assert_eq!(session_folder(&path), Some("/srv/project".into()));
    let session = convert_session(SessionProgram::Codex, &path).unwrap();
    assert_eq!(
        (session.id.as_str(), session.cwd.as_path()),
        ("0193-a", Path::new("/srv/project"))
    );
    assert_eq!(
        shape(&session),
        [
            "user: Count",
            "gpt-5.5: (thinks), shell {\"cmd\":\"ls\"}",
            "shell gave: a.txt",
            "gpt-5.5: exec \"return 1\"",
            "exec gave: 1, (image/png)",
            "gpt-5.5: One.",
        ]
    );
    assert_eq!(session.entries[0].timestamp, "2026-01-01T00:00:00.000Z");
}

fn claude_code_lines() -> Vec<Value> {
    let line = |kind: &str, id: &str, parent: Value, message: Value| {
        json!({
            "type": kind, "uuid": id, "parentUuid": parent, "sessionId": "5e55", "cwd": "/srv/project",
            "timestamp": "2026-01-01T00:00:00.000Z", "isSidechain": false, "message": message,
        })
    };
    let reply = |block: Value| {
        json!({
            "id": "m1", "role": "assistant", "model": "sonnet", "content": [block],
            "usage": {"input_tokens": 3, "output_tokens": 2, "cache_read_input_tokens": 5},
        })
    };
    let mut helper = line("user", "s", json!("u1"), json!({"content": "for a helper"}));
    helper["isSidechain"] = json!(true);
    let mut meta = line("user", "u3", json!("u2"), json!({"content": "Caveat"}));
    meta["isMeta"] = json!(true);
    vec![
        json!({"type": "summary", "summary": "Counting", "leafUuid": "a3"}),
        line("user", "u1", Value::Null, json!({"content": "Count"})),
        helper,
        line(
            "assistant",
            "a1",
            json!("u1"),
            reply(json!({"type": "thinking", "thinking": "One.", "signature": "S"})),
        ),
        line(
            "assistant",
            "a2",
            json!("a1"),
            reply(
                json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}),
            ),
        ),
        line(
            "user",
            "u2",
            json!("a2"),
            json!({"content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "a.txt"}], "is_error": true},
            ]}),
        ),
        // A branch that was left.
        line("user", "x1", json!("a2"), json!({"content": "left"})),
        meta,
        line(
            "assistant",
            "a3",
            json!("u3"),
            json!({"id": "m2", "model": "sonnet", "content": [{"type": "text", "text": "One."}]}),
        ),
    ]
}

#[test]
fn claude_code_is_read_along_the_last_branch() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), &claude_code_lines());
    assert_eq!(session_folder(&path), Some("/srv/project".into()));
    let session = convert_session(SessionProgram::ClaudeCode, &path).unwrap();
    assert_eq!(
        shape(&session),
        [
            "user: Count",
            "sonnet: (thinks), Bash {\"command\":\"ls\"}",
            "Bash gave: a.txt",
            "sonnet: One.",
        ]
    );
    let Message::Assistant(reply) = messages(&session)[1] else {
        panic!("the second message is the reply");
    };
    assert_eq!((reply.usage.read(), reply.usage.output), (8, 2));
    let named = session.entries.iter().any(|entry| {
        entry.body
            == EntryBody::SessionInfo {
                name: Some("Counting".to_owned()),
            }
    });
    assert!(named);
}

#[test]
fn what_is_no_conversation_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let nothing = folder.path().join("one.jsonl");
    for program in [SessionProgram::Codex, SessionProgram::ClaudeCode] {
        for text in ["", "[]\n", "{\"type\":\"other\"}\n", "\u{0}\u{1}"] {
            std::fs::write(&nothing, text).unwrap();
            let error = convert_session(program, &nothing).unwrap_err();
            assert!(matches!(error, ForeignError::Unknown(_)), "{error:?}");
        }
        let error = convert_session(program, folder.path()).unwrap_err();
        assert!(matches!(error, ForeignError::Unknown(_)), "{error:?}");
        let error = convert_session(program, &folder.path().join("missing")).unwrap_err();
        assert!(matches!(error, ForeignError::Unreadable(..)), "{error:?}");
    }
    assert!(convert_session(SessionProgram::Pi, folder.path()).is_err());
}

/// A line that names itself as the one before, and two that name each other, end the way back.
#[test]
fn circles_of_lines_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = claude_code_lines();
    lines[1]["parentUuid"] = json!("a3");
    let path = file(folder.path(), &lines);
    let session = convert_session(SessionProgram::ClaudeCode, &path).unwrap();
    assert_eq!(session.entries.len(), 5);
}

#[test]
fn links_are_not_followed_and_only_lines_are_found() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".codex/sessions/2026/01/01");
    std::fs::create_dir_all(&folder).unwrap();
    let kept = folder.join("rollout-1.jsonl");
    std::fs::write(&kept, "").unwrap();
    std::fs::write(folder.join("notes.txt"), "").unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&kept, folder.join("rollout-2.jsonl")).unwrap();
        std::os::unix::fs::symlink(home.path(), folder.join("circle")).unwrap();
    }
    assert_eq!(
        discover_sessions(SessionProgram::Codex, home.path()),
        [kept]
    );
    assert!(discover_sessions(SessionProgram::Pi, home.path()).is_empty());
}

fn damaged(lines: &[Value]) -> impl Strategy<Value = Vec<u8>> {
    let text: Vec<u8> = lines
        .iter()
        .flat_map(|line| format!("{line}\n").into_bytes())
        .collect();
    let length = text.len();
    let holes = prop::collection::vec((0..length, any::<u8>()), 0..20);
    (0..=length, holes).prop_map(move |(end, holes)| {
        let mut text = text.clone();
        for (at, byte) in holes {
            text[at] = byte;
        }
        text.truncate(end);
        text
    })
}

/// Whatever is left of a file, reading it ends, and what comes out is a conversation: each entry hangs on the one before.
fn check(program: SessionProgram, content: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.jsonl");
    std::fs::write(&path, content).unwrap();
    let Ok(session) = convert_session(program, &path) else {
        return;
    };
    let mut before = None;
    for entry in &session.entries {
        assert_eq!(entry.parent_id, before);
        before = Some(entry.id.clone());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_damaged_file_of_codex_is_read_as_far_as_it_goes(content in damaged(&codex_lines())) {
        check(SessionProgram::Codex, &content);
    }

    #[test]
    fn a_damaged_file_of_claude_code_is_read_as_far_as_it_goes(content in damaged(&claude_code_lines())) {
        check(SessionProgram::ClaudeCode, &content);
    }
}
