//! What files can suffer.

use std::path::{Path, PathBuf};

use pirn_model::{Message, UserMessage};
use pirn_session::{ErrorKind, NewSession, Session, load};

fn user(text: &str) -> Message {
    Message::User(UserMessage::text(text, 1))
}

fn texts(path: &Path) -> Vec<String> {
    let messages = load(path).unwrap().tree.context().messages;
    messages
        .iter()
        .map(|message| match message {
            Message::User(user) => user.content.joined_text(),
            other => panic!("{other:?}"),
        })
        .collect()
}

fn session_of(folder: &Path, words: &[&str]) -> PathBuf {
    let mut session = Session::create(NewSession {
        cwd: "/srv/project".into(),
        sessions: Some(folder.to_owned()),
        ..NewSession::default()
    })
    .unwrap();
    for word in words {
        session.append_message(user(word)).unwrap();
    }
    session.path().unwrap().to_owned()
}

#[test]
fn a_file_cut_at_any_byte_loses_only_the_torn_entry() {
    let folder = tempfile::tempdir().unwrap();
    let path = session_of(folder.path(), &["one", "two", "three"]);
    let whole = std::fs::read(&path).unwrap();
    let header = whole.iter().position(|byte| *byte == b'\n').unwrap();
    for end in header + 1..=whole.len() {
        std::fs::write(&path, &whole[..end]).unwrap();
        let lines = whole[..end].split(|byte| *byte == b'\n').count() - 2;
        // A line that lacks nothing but its end is whole.
        let is_whole = whole.get(end) == Some(&b'\n');
        let mut expected: Vec<&str> =
            ["one", "two", "three"][..lines + usize::from(is_whole)].to_vec();
        assert_eq!(texts(&path), expected, "{end}");
        let mut session = Session::open(&path).unwrap();
        session.append_message(user("four")).unwrap();
        drop(session);
        expected.push("four");
        assert_eq!(texts(&path), expected, "{end}, appended");
    }
}

#[test]
fn a_damaged_line_costs_what_hangs_on_it_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = session_of(folder.path(), &["one", "two", "three"]);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"two\"", "two")).unwrap();
    let mut session = Session::open(&path).unwrap();
    let problems = session.problems().join("\n");
    assert!(
        problems.starts_with("line 3 cannot be read and is left out"),
        "{problems}"
    );
    assert!(problems.contains("1 entries are left out"), "{problems}");
    session.append_message(user("four")).unwrap();
    drop(session);
    assert_eq!(texts(&path), ["one", "four"]);
    let kept = std::fs::read_to_string(&path).unwrap();
    assert!(
        kept.contains("three"),
        "nothing is ever taken out of the file"
    );
}

#[test]
fn two_writers_are_one_too_many() {
    let folder = tempfile::tempdir().unwrap();
    let path = session_of(folder.path(), &["one"]);
    let first = Session::open(&path).unwrap();
    let error = Session::open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("is writing to it"), "{source}");
    #[cfg(target_os = "linux")]
    assert!(source.contains(&std::process::id().to_string()), "{source}");
    drop(first);
    Session::open(&path).unwrap();
}

#[test]
fn a_session_that_says_nothing_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    session_with_model_only(folder.path());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

fn session_with_model_only(folder: &Path) {
    let mut session = Session::create(NewSession {
        cwd: "/work".into(),
        sessions: Some(folder.to_owned()),
        ..NewSession::default()
    })
    .unwrap();
    session
        .append(pirn_session::EntryBody::ModelChange {
            provider: "p".into(),
            model_id: "m".into(),
        })
        .unwrap();
}

#[test]
fn what_is_no_session_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    for (content, words) in [
        ("", "is not a session"),
        ("{\"type\":\"message\"}\n", "is not a session"),
        (
            "{\"type\":\"session\",\"version\":9,\"id\":\"i\",\"timestamp\":\"t\",\"cwd\":\"/\"}\n",
            "version 9",
        ),
    ] {
        std::fs::write(&path, content).unwrap();
        let error = Session::open(&path).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
    }
}
