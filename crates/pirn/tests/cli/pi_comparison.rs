//! The same conversations with pi and with Pirn, where `PIRN_PEERS` names a `node_modules` folder with pi's coding agent.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::repository;

#[test]
fn conversations_with_pi_and_pirn_are_the_same_but_for_what_is_listed() {
    let Some(modules) = std::env::var_os("PIRN_PEERS").map(PathBuf::from) else {
        return;
    };
    if !modules.join("@earendil-works/pi-coding-agent").is_dir() {
        return;
    }
    let output = Command::new("python3")
        .arg(repository("tests/pi-comparison"))
        .arg(modules)
        .arg(Path::new(env!("CARGO_BIN_EXE_pirn")))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
}
