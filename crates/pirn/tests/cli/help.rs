//! What help looks like.

use crate::place::{Place, transcript};

#[test]
fn every_help() {
    let place = Place::new();
    let help: String = [
        &["--help"][..],
        &["exec", "-h"],
        &["exec", "--help"],
        &["eval", "--help"],
        &["tools", "--help"],
        &["mcp", "--help"],
        &["mcp", "add", "-h"],
        &["mcp", "call", "--help"],
        &["mcp", "import", "--help"],
        &["trust", "--help"],
        &["doctor", "--help"],
        &["completions", "--help"],
    ]
    .iter()
    .map(|arguments| transcript(arguments, &place.run(arguments)))
    .collect();
    insta::assert_snapshot!(help);
}

#[test]
fn version() {
    let version = Place::new().run(&["--version"]).good();
    assert_eq!(version, format!("pirn {}\n", env!("CARGO_PKG_VERSION")));
}
