//! Where conversations are cut, and what a summary is made from.

use pirn_model::{Message, UserMessage};
use pirn_session::{EntryBody, NewSession, Session};
use serde_json::{Value, json};

use super::cut;
use super::files::FileLists;

/// A session of these messages: `u` of the user, `a` of the model, `c` of the model with a call, `r` its result; then how many
/// characters it has.
fn session(shape: &[(char, usize)]) -> Session {
    let mut session = Session::create(NewSession::default()).unwrap();
    for (number, (kind, length)) in shape.iter().enumerate() {
        let text = format!("{number:<length$}");
        let message: Message = match kind {
            'u' => Message::User(UserMessage::text(text, 1)),
            'r' => message(json!({
                "role": "toolResult", "toolCallId": "1", "toolName": "read", "isError": false,
                "content": [{"type": "text", "text": text}],
            })),
            _ => {
                let mut content = vec![json!({"type": "text", "text": text})];
                if *kind == 'c' {
                    content.push(json!({"type": "toolCall", "id": "1", "name": "read", "arguments": {"path": "a"}}));
                }
                message(json!({
                    "role": "assistant", "content": content, "api": "x", "provider": "x", "model": "x",
                    "usage": {}, "stopReason": "stop", "timestamp": 1,
                }))
            }
        };
        session.append_message(message).unwrap();
    }
    session
}

fn message(value: Value) -> Message {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_cut_never_parts_a_call_from_its_result() {
    for (shape, keep, before, turn, has_last_user) in [
        // Everything is recent.
        (vec![('u', 40), ('a', 40)], 1_000, None, 0, false),
        (
            vec![('u', 400), ('a', 400), ('u', 40), ('a', 40)],
            15,
            Some(2),
            0,
            false,
        ),
        // The recent part would begin with a result.
        (
            vec![('u', 40), ('c', 40), ('r', 400), ('a', 40)],
            100,
            Some(0),
            3,
            true,
        ),
        (
            vec![
                ('u', 40),
                ('a', 400),
                ('u', 40),
                ('c', 40),
                ('r', 400),
                ('a', 40),
            ],
            115,
            Some(2),
            1,
            true,
        ),
    ] {
        let session = session(&shape);
        let cut = cut(session.tree(), keep);
        let found = cut
            .as_ref()
            .map(|cut| (cut.before.len(), cut.turn.len(), cut.last_user.is_some()));
        assert_eq!(
            found,
            before.map(|before| (before, turn, has_last_user)),
            "{shape:?}"
        );
    }
}

#[test]
fn a_conversation_is_not_summarised_twice_in_a_row() {
    let mut session = session(&[('u', 400), ('a', 400), ('u', 40)]);
    let first = cut(session.tree(), 10).unwrap();
    session
        .append(EntryBody::Compaction {
            summary: "so far".into(),
            first_kept_entry_id: first.first_kept_entry_id,
            tokens_before: 1,
            details: Some(json!({"readFiles": ["a"], "modifiedFiles": ["b"]})),
            usage: None,
            from_hook: None,
            system_message: None,
        })
        .unwrap();
    assert!(cut(session.tree(), 10).is_none());
    let text = "x".repeat(400);
    for _ in 0..2 {
        session
            .append_message(Message::User(UserMessage::text(text.as_str(), 1)))
            .unwrap();
    }
    let second = cut(session.tree(), 10).unwrap();
    assert_eq!(second.previous.as_deref(), Some("so far"));
    assert_eq!(
        second.previous_files.details(),
        json!({"readFiles": ["a"], "modifiedFiles": ["b"]})
    );
}

#[test]
fn files_of_scripts_are_listed_too() {
    let mut lists = FileLists::default();
    lists.add(&[
        message(json!({
            "role": "assistant", "api": "x", "provider": "x", "model": "x", "usage": {}, "stopReason": "toolUse", "timestamp": 1,
            "content": [
                {"type": "toolCall", "id": "1", "name": "read", "arguments": {"path": "src/a"}},
                {"type": "toolCall", "id": "2", "name": "exec", "arguments": {"code": "..."}},
            ],
        })),
        message(json!({
            "role": "toolResult", "toolCallId": "2", "toolName": "exec", "isError": false, "content": [],
            "nestedCalls": {"complete": true, "calls": [
                {"id": "2/1", "name": "read", "status": "ok", "arguments": {"path": "src/b"}},
                {"id": "2/2", "name": "edit", "status": "ok", "arguments": {"path": "src/a"}},
                {"id": "2/3", "name": "bash", "status": "ok", "arguments": {"command": "ls"}},
            ]},
        })),
    ]);
    assert_eq!(
        lists.render(),
        "\n\n<read-files>\nsrc/b\n</read-files>\n\n<modified-files>\nsrc/a\n</modified-files>"
    );
}
