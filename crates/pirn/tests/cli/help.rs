//! What help looks like.

use crate::place::{Place, transcript};

#[test]
fn every_help() {
    let place = Place::new();
    let help: String = [
        &["--help"][..],
        &["exec", "-h"],
        &["exec", "--help"],
        &["tools", "--help"],
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
