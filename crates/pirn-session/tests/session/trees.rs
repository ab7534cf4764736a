//! Trees: what a model reads at a place, and what other programs wrote.

use pirn_model::{Message, UserMessage};
use pirn_session::{EntryBody, NewSession, Replacement, Session, load};
use serde_json::{Value, json};

fn memory() -> Session {
    Session::create(NewSession::default()).unwrap()
}

fn say(session: &mut Session, text: &str) -> String {
    session
        .append_message(Message::User(UserMessage::text(text, 1)))
        .unwrap()
}

fn texts(session: &Session) -> Vec<String> {
    let context = session.tree().context();
    assert_eq!(context.messages.len(), context.entry_ids.len());
    context
        .messages
        .iter()
        .map(|message| match message {
            Message::User(user) => user.content.joined_text(),
            Message::CompactionSummary(summary) => format!("({})", summary.summary),
            Message::System(system) => format!("[{}]", system.content),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn branches_edits_and_compactions_change_what_is_read_and_never_what_is_kept() {
    let mut session = memory();
    let one = say(&mut session, "one");
    let two = say(&mut session, "two");
    let three = say(&mut session, "three");
    assert!(session.set_leaf(Some(&two)));
    say(&mut session, "other");
    assert_eq!(texts(&session), ["one", "two", "other"]);
    assert_eq!(session.tree().ends().len(), 2);
    assert!(!session.set_leaf(Some("nobody")));
    assert!(session.set_leaf(Some(&three)));
    session
        .append(EntryBody::ContextEdit {
            target_id: one,
            replacement: None,
        })
        .unwrap();
    session
        .append(EntryBody::ContextEdit {
            target_id: two.clone(),
            replacement: Some(Replacement {
                content: pirn_model::UserContent::Text("zwei".into()),
            }),
        })
        .unwrap();
    assert_eq!(texts(&session), ["zwei", "three"]);
    session
        .append(EntryBody::Compaction {
            summary: "before".into(),
            first_kept_entry_id: three.clone(),
            tokens_before: 9,
            details: None,
            usage: None,
            from_hook: None,
            system_message: Some(pirn_model::SystemMessage {
                content: "checkpoint".into(),
                ..Default::default()
            }),
        })
        .unwrap();
    say(&mut session, "four");
    assert_eq!(
        texts(&session),
        ["[checkpoint]", "(before)", "three", "four"]
    );
    assert!(session.set_leaf(Some(&two)));
    assert_eq!(texts(&session), ["one", "two"]);
    assert_eq!(session.tree().entries().len(), 8);
}

#[test]
fn names_and_labels_are_the_last_ones() {
    let mut session = memory();
    let one = say(&mut session, "one");
    for name in [Some("a"), None, Some("b")] {
        let name = name.map(str::to_owned);
        session.append(EntryBody::SessionInfo { name }).unwrap();
    }
    for label in [Some("x"), None, Some("y")] {
        let label = label.map(str::to_owned);
        let target_id = one.clone();
        session
            .append(EntryBody::Label { target_id, label })
            .unwrap();
    }
    assert_eq!(session.tree().name(), Some("b"));
    assert_eq!(session.tree().labels().get(one.as_str()), Some(&"y"));
}

/// A file of another program: what this one does not know stays, and what it knows is written as it was.
#[test]
fn what_is_written_is_read_and_what_is_foreign_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let entry = |id: &str, parent: Value, rest: Value| {
        let mut value =
            json!({"id": id, "parentId": parent, "timestamp": "2026-11-20T10:00:00.000Z"});
        value
            .as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        value
    };
    let lines = [
        json!({"type": "session", "version": 3, "id": "s", "timestamp": "t", "cwd": "/w", "x-later": 1}),
        entry(
            "1",
            json!(null),
            json!({"type": "model_change", "provider": "anthropic", "modelId": "m"}),
        ),
        entry(
            "2",
            json!("1"),
            json!({"type": "thinking_level_change", "thinkingLevel": "high"}),
        ),
        entry(
            "3",
            json!("2"),
            json!({"type": "message", "message": {
                "role": "system", "content": "", "timestamp": 1, "sections": {"preamble": "Hi", "cwd": null},
                "toolsAdded": [{"name": "read", "description": "d", "parameters": {}, "exposure": "direct"}],
            }}),
        ),
        entry(
            "4",
            json!("3"),
            json!({"type": "message", "message": {"role": "user", "content": "go", "timestamp": 1}}),
        ),
        entry(
            "5",
            json!("4"),
            json!({"type": "message", "message": {
                "role": "assistant", "api": "openai-responses", "provider": "openai", "model": "m", "timestamp": 2,
                "content": [
                    {"type": "thinking", "thinking": "t", "thinkingSignature": "s"},
                    {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "a"}},
                ],
                "usage": {
                    "input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3,
                    "cost": {"input": 0.5, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.5},
                },
                "stopReason": "toolUse", "diagnostics": {"a": 1},
            }}),
        ),
        entry(
            "6",
            json!("5"),
            json!({"type": "message", "message": {
                "role": "toolResult", "toolCallId": "c", "toolName": "read", "content": [{"type": "text", "text": "r"}],
                "isError": false, "timestamp": 3, "nestedCalls": {"calls": [], "complete": true},
            }}),
        ),
        entry(
            "7",
            json!("6"),
            json!({"type": "custom", "customType": "codemode-store", "data": {"set": {}, "delete": []}}),
        ),
        entry(
            "8",
            json!("7"),
            json!({"type": "of_tomorrow", "payload": [1, 2]}),
        ),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, &text).unwrap();
    let loaded = load(&path).unwrap();
    assert_eq!(loaded.problems, Vec::<String>::new());
    let context = loaded.tree.context();
    assert_eq!(context.messages.len(), 4);
    assert_eq!(context.model, Some(("anthropic".into(), "m".into())));
    assert_eq!(context.thinking_level.as_deref(), Some("high"));
    assert!((loaded.tree.usage().cost - 0.5).abs() < 1e-9);
    let same = |value: Value, expected: &Value| assert_eq!(&value, expected);
    same(serde_json::to_value(&loaded.header).unwrap(), &lines[0]);
    for (entry, line) in loaded.tree.entries().iter().zip(&lines[1..]) {
        same(serde_json::to_value(entry).unwrap(), line);
    }
}

#[test]
fn the_first_version_is_read_as_one_branch() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let text = [
        json!({"type": "session", "id": "s", "timestamp": "t", "cwd": "/w"}),
        json!({"type": "message", "timestamp": "t", "message": {"role": "user", "content": "a"}}),
        json!({"type": "message", "timestamp": "t", "message": {
            "role": "hookMessage", "customType": "x", "content": "b", "display": true,
        }}),
    ];
    let text: String = text.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, &text).unwrap();
    let loaded = load(&path).unwrap();
    assert_eq!(loaded.problems, Vec::<String>::new());
    assert_eq!(loaded.tree.context().messages.len(), 2);
}
