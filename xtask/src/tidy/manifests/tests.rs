use super::objections;
use crate::tidy::repository::testing;
use serde_json::json;

const GOOD: &str = r#"
[package]
name = "pirn-thing"
version.workspace = true
edition.workspace = true
rust-version.workspace = true
license.workspace = true
repository.workspace = true

[lints]
workspace = true

[dependencies]
# A reason.
serde.workspace = true
tokio = { workspace = true, features = ["rt"] }

[features]
default = []
"#;

#[track_caller]
fn check(manifest: &str, expected: &[&str]) {
    let package = testing::package("pirn-thing", json!([]));
    let found = objections(manifest, &package);
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (message, part) in found.iter().zip(expected) {
        assert!(message.contains(part), "{message} does not contain {part}");
    }
}

#[test]
fn inheriting_manifest_passes() {
    check(GOOD, &[]);
}

#[test]
fn own_versions_and_lints_are_reported() {
    check(
        &GOOD.replace("serde.workspace = true", "serde = \"1\""),
        &["serde = \"1\""],
    );
    check(
        &GOOD.replace(
            "version.workspace = true\nedition",
            "version = \"3.0.0\"\nedition",
        ),
        &["lacks `version.workspace = true`"],
    );
    check(
        &GOOD.replace("[lints]\nworkspace = true", "[lints]"),
        &["[lints] lacks"],
    );
}

#[test]
fn unpublished_package_may_have_a_version() {
    let mut package = testing::package("xtask", json!([]));
    package.publish = Some(Vec::new());
    let manifest = GOOD
        .replace(
            "version.workspace = true\nedition",
            "version = \"0.0.0\"\nedition",
        )
        .replace("repository.workspace = true\n", "");
    assert_eq!(objections(&manifest, &package), Vec::<String>::new());
}
