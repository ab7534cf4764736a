use crate::event::Draft;

use super::{HISTORY_FILE, Storage};

fn draft(text: &str, queue: &[&str]) -> Draft {
    Draft {
        text: text.to_owned(),
        queue: queue.iter().map(|text| (*text).to_owned()).collect(),
    }
}

#[test]
fn a_draft_is_taken_over_by_the_next_interface_of_the_folder_alone() {
    let home = tempfile::tempdir().unwrap();
    let (here, elsewhere) = (home.path().join("a"), home.path().join("b"));
    let (storage, left) = Storage::open(home.path(), &here).unwrap();
    assert_eq!(left.draft, "");
    storage.keep_draft(draft("first", &[]));
    storage.keep_draft(draft("half a thought", &["waits", "waits, too"]));
    drop(storage);

    let (_other, left) = Storage::open(home.path(), &elsewhere).unwrap();
    assert_eq!(left.draft, "");
    let (storage, left) = Storage::open(home.path(), &here).unwrap();
    assert_eq!(left.draft, "waits\nwaits, too\nhalf a thought");
    // A second interface at the same time has a draft of its own.
    let (second, left) = Storage::open(home.path(), &here).unwrap();
    assert_eq!(left.draft, "");
    second.keep_draft(draft("of the second", &[]));
    drop(second);
    storage.keep_draft(Draft::default());
    drop(storage);
    let (_storage, left) = Storage::open(home.path(), &here).unwrap();
    assert_eq!(left.draft, "of the second");
}

#[test]
fn what_was_said_is_there_in_order_and_a_torn_line_costs_itself_only() {
    let home = tempfile::tempdir().unwrap();
    let cwd = home.path().join("project");
    let (storage, left) = Storage::open(home.path(), &cwd).unwrap();
    assert!(left.history.is_empty());
    storage.said("one".to_owned());
    storage.said("two\nlines".to_owned());
    drop(storage);
    let path = home.path().join(HISTORY_FILE);
    let mut content = std::fs::read_to_string(&path).unwrap();
    content.push_str("{\"text\": \"to");
    std::fs::write(&path, content).unwrap();
    let (storage, left) = Storage::open(home.path(), &cwd).unwrap();
    assert_eq!(left.history, ["one", "two\nlines"]);
    storage.said("three".to_owned());
    drop(storage);
    let (_storage, left) = Storage::open(home.path(), &cwd).unwrap();
    assert_eq!(left.history, ["one", "two\nlines", "three"]);
}
