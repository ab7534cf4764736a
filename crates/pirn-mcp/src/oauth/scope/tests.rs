use super::super::metadata::Metadata;
use super::{ScopeSources, contains, select, union};

#[track_caller]
fn check(named: [Option<&str>; 3], resource: &[&str], server: &[&str], expected: Option<&str>) {
    let [configured, challenged, granted] = named;
    let supported: Vec<String> = resource.iter().map(ToString::to_string).collect();
    let metadata = Metadata {
        scopes_supported: server.iter().map(ToString::to_string).collect(),
        ..Metadata::default()
    };
    let sources = ScopeSources {
        configured,
        challenged,
        granted,
        supported: &supported,
    };
    assert_eq!(select(sources, Some(&metadata)).as_deref(), expected);
}

#[test]
fn selection() {
    check([None, None, None], &[], &["x"], None);
    check([None, None, None], &["a", "b"], &["x"], Some("a b"));
    check([Some("c"), None, None], &["a"], &[], Some("c"));
    check([Some("c"), Some("d c"), None], &["a"], &[], Some("c d"));
    check([Some(""), Some("  "), None], &["a"], &[], Some("a"));
    check(
        [Some("c"), Some("d"), Some("e")],
        &["a"],
        &[],
        Some("e c d"),
    );
    check([None, Some("d"), Some("d e")], &[], &[], Some("d e"));
}

#[test]
fn offline_access_is_added_where_it_is_known_and_something_is_asked() {
    let known = &["offline_access"];
    check([None, None, None], &[], known, None);
    check([None, None, None], &["a"], known, Some("a offline_access"));
    check(
        [Some("offline_access a"), None, None],
        &[],
        known,
        Some("offline_access a"),
    );
    check([Some("a"), None, None], &[], &["b"], Some("a"));
}

#[test]
fn unions() {
    assert_eq!(union(Some("a b"), Some("b c")).as_deref(), Some("a b c"));
    assert_eq!(union(None, Some("c")).as_deref(), Some("c"));
    assert_eq!(union(None, Some(" ")), None);
    assert!(contains("a b", "b"));
    assert!(!contains("ab", "b"));
}
