//! The built program with real servers of the Model Context Protocol and a server of models, which `make peers` installs.

#![allow(
    clippy::disallowed_methods,
    reason = "tests prepare and inspect what they test"
)]
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests fail and print like tests"
)]

mod browser;
mod installed;
mod join;
mod kill;
mod models;
mod oauth;
#[path = "../cli/place.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod place;
mod processes;
#[path = "../cli/session.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod session;

#[test]
fn no_file_is_forgotten() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers");
    let listed = include_str!("main.rs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.extension().is_some_and(|extension| extension == "rs") && name != "main" {
            assert!(
                listed.contains(&format!("mod {name};")),
                "{name}.rs is not part of the tests"
            );
        }
    }
}
