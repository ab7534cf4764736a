//! Folders of sessions, listed and searched.

use std::path::{Path, PathBuf};

use pirn_model::{Message, UserMessage};
use pirn_session::{
    EntryBody, ErrorKind, ForkPart, FoundSession, NewSession, Session, SessionPlace,
    delete_session, find_session, list_sessions, load,
};

fn new(folder: &Path, id: &str) -> NewSession {
    NewSession {
        cwd: "/srv/project".into(),
        sessions: Some(folder.to_owned()),
        id: Some(id.to_owned()),
        parent: None,
    }
}

fn session_of(folder: &Path, id: &str, text: &str) -> PathBuf {
    let mut session = Session::create(new(folder, id)).unwrap();
    let message = Message::User(UserMessage::text(text, 1));
    session.append_message(message).unwrap();
    session.path().unwrap().to_owned()
}

fn ids(folder: &Path) -> Vec<String> {
    let list = list_sessions(folder).unwrap();
    assert_eq!(list.problems, Vec::<String>::new());
    let mut ids: Vec<String> = list.sessions.into_iter().map(|one| one.id).collect();
    ids.sort();
    ids
}

#[test]
fn a_list_follows_every_change_whatever_the_index_says() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    assert_eq!(ids(&folder.join("missing")), Vec::<String>::new());
    let first = session_of(folder, "a1", "one");
    assert_eq!(ids(folder), ["a1"]);
    session_of(folder, "a2", "two");
    assert_eq!(ids(folder), ["a1", "a2"]);
    let mut session = Session::open(&first).unwrap();
    let name = Some("named".to_owned());
    session.append(EntryBody::SessionInfo { name }).unwrap();
    drop(session);
    let list = list_sessions(folder).unwrap();
    let names: Vec<_> = list
        .sessions
        .iter()
        .filter_map(|one| one.name.as_deref())
        .collect();
    assert_eq!(names, ["named"]);
    for damage in ["", "{", "{\"version\":0,\"rows\":{}}", "[]"] {
        std::fs::write(folder.join("index.json"), damage).unwrap();
        assert_eq!(ids(folder), ["a1", "a2"], "{damage}");
    }
    delete_session(&first).unwrap();
    assert_eq!(ids(folder), ["a2"]);
}

#[test]
fn only_files_that_changed_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = session_of(folder.path(), "a1", "one");
    assert_eq!(ids(folder.path()), ["a1"]);
    // What the index says is believed while size and time are the same.
    let index = folder.path().join("index.json");
    let text = std::fs::read_to_string(&index).unwrap();
    std::fs::write(
        &index,
        text.replace("\"title\":\"one\"", "\"title\":\"index\""),
    )
    .unwrap();
    let title = || {
        list_sessions(folder.path())
            .unwrap()
            .sessions
            .remove(0)
            .title
    };
    assert_eq!(title(), "index");
    let mut session = Session::open(&path).unwrap();
    session
        .append(EntryBody::SessionInfo { name: None })
        .unwrap();
    assert_eq!(title(), "one");
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_listed() {
    let folder = tempfile::tempdir().unwrap();
    let good = session_of(folder.path(), "a1", "one");
    std::fs::write(good.with_file_name("bad.jsonl"), "no session").unwrap();
    let list = list_sessions(folder.path()).unwrap();
    assert_eq!(list.sessions.len(), 1);
    assert!(
        list.problems[0].contains("bad.jsonl is not a session"),
        "{:?}",
        list.problems
    );
}

#[test]
fn a_session_is_found_by_what_the_user_calls_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let one = session_of(folder, "abc-1", "one");
    let two = session_of(folder, "abc-2", "two");
    std::fs::write(folder.join("bare"), "").unwrap();
    let place = SessionPlace {
        sessions: Some(folder),
        paths_from: folder,
        cwd: folder,
    };
    let found = |called: &str| find_session(place, called);
    let kept = found("abc-1").unwrap();
    assert!(matches!(kept, FoundSession::Kept(_)), "{kept:?}");
    assert_eq!(kept.path(), one);
    for (called, file) in [
        (two.to_str().unwrap(), two.clone()),
        ("x.jsonl", folder.join("x.jsonl")),
        ("x/y", folder.join("x/y")),
        ("bare", folder.join("bare")),
    ] {
        assert_eq!(found(called).unwrap(), FoundSession::File(file));
    }
    let message = found("abc").unwrap_err().to_string();
    assert!(
        message.contains("2 sessions are meant by `abc`"),
        "{message}"
    );
    for nothing in ["", "zzz"] {
        assert_eq!(found(nothing).unwrap_err().kind(), ErrorKind::Format);
    }
    let error = find_session(
        SessionPlace {
            sessions: None,
            ..place
        },
        "abc-1",
    )
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Format);
}

#[test]
fn a_session_of_the_folder_comes_before_those_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    session_of(folder, "abc-1", "one");
    let mut elsewhere = new(folder, "abc-2");
    elsewhere.cwd = "/srv/other".into();
    let mut session = Session::create(elsewhere).unwrap();
    let message = Message::User(UserMessage::text("two", 1));
    session.append_message(message).unwrap();
    let found = |cwd: &str| {
        let place = SessionPlace {
            sessions: Some(folder),
            paths_from: folder,
            cwd: Path::new(cwd),
        };
        find_session(place, "abc")
    };
    for (here, id) in [("/srv/project", "abc-1"), ("/srv/other", "abc-2")] {
        let FoundSession::Kept(summary) = found(here).unwrap() else {
            panic!("it was named by its id");
        };
        assert_eq!(summary.id, id);
    }
    assert!(found("/srv/third").is_err());
}

#[test]
fn a_fork_takes_over_one_branch_with_its_labels() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut session = Session::create(new(folder, "source")).unwrap();
    let say = |session: &mut Session, text: &str| {
        let message = Message::User(UserMessage::text(text, 1));
        session.append_message(message).unwrap()
    };
    let one = say(&mut session, "one");
    let two = say(&mut session, "two");
    assert!(session.set_leaf(Some(&one)));
    say(&mut session, "other");
    let label = EntryBody::Label {
        target_id: two.clone(),
        label: Some("here".into()),
    };
    session.append(label).unwrap();
    let path = session.path().unwrap().to_owned();
    let before = std::fs::read(&path).unwrap();
    let source = load(&path).unwrap();
    let fork = |part, id| {
        let mut new = new(folder, id);
        new.parent = Some(path.clone());
        let fork = Session::fork(&source.tree, part, new).unwrap();
        load(fork.path().unwrap()).unwrap()
    };
    let branch = fork(ForkPart::UpTo(Some(&two)), "branch");
    assert_eq!(branch.tree.context().messages.len(), 2);
    assert_eq!(branch.tree.entries().len(), 3);
    assert_eq!(branch.tree.labels().get(two.as_str()), Some(&"here"));
    assert_eq!(branch.header.parent_session.as_deref(), path.to_str());
    let whole = fork(ForkPart::Whole, "whole");
    assert_eq!(whole.tree.entries(), source.tree.entries());
    let nothing = Session::fork(&source.tree, ForkPart::UpTo(None), new(folder, "nothing"));
    let nothing = nothing.unwrap();
    assert_eq!((nothing.tree().entries().len(), nothing.path()), (0, None));
    assert_eq!(
        std::fs::read(&path).unwrap(),
        before,
        "the source stays as it is"
    );
    let error = delete_session(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "somebody goes on with it");
}
