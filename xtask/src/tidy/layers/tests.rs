use super::edges;
use crate::tidy::repository::testing;
use serde_json::json;

#[track_caller]
fn check(name: &str, dependencies: serde_json::Value, expected: &[&str]) {
    let mut repository = testing::with_files(&[]);
    for member in ["pirn-sandbox", "pirn-tool", "pirn-testkit", "pirn-vm"] {
        repository.members.push(testing::package(member, json!([])));
    }
    repository.members.retain(|package| package.name != name);
    repository
        .members
        .push(testing::package(name, dependencies));
    let messages: Vec<String> = edges(&repository)
        .into_iter()
        .map(|finding| format!("{} {}", finding.place, finding.message))
        .collect();
    assert_eq!(messages.len(), expected.len(), "{messages:?}");
    for (message, part) in messages.iter().zip(expected) {
        assert!(message.contains(part), "{message} does not contain {part}");
    }
}

#[test]
fn arrows_of_the_table_pass() {
    check(
        "pirn-codemode",
        json!([{"name": "pirn-vm"}, {"name": "pirn-tool", "kind": null}, {"name": "serde"}]),
        &[],
    );
    check("pirn", json!([{"name": "pirn-sandbox"}]), &[]);
}

#[test]
fn other_arrows_fail() {
    check(
        "pirn-vm",
        json!([{"name": "pirn-tool", "kind": "build"}]),
        &["pirn-vm may not depend on pirn-tool"],
    );
    check(
        "pirn-tool",
        json!([{"name": "pirn-sandbox", "kind": "dev"}]),
        &["pirn-tool may not depend on pirn-sandbox"],
    );
}

#[test]
fn test_kit_is_for_tests_only() {
    check(
        "pirn-vm",
        json!([{"name": "pirn-testkit", "kind": "dev"}]),
        &[],
    );
    check(
        "pirn",
        json!([{"name": "pirn-testkit"}]),
        &["pirn may not depend on pirn-testkit"],
    );
}

#[test]
fn unknown_crate_needs_a_row() {
    check("pirn-misc", json!([]), &["no row for this crate"]);
}
