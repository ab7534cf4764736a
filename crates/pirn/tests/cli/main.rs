//! The built program, run as a user runs it.

#![allow(
    clippy::disallowed_methods,
    reason = "tests prepare and inspect what they test"
)]
#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod approvals;
mod asking;
mod auth;
mod commands;
mod config;
mod consent;
mod desk;
mod ends;
mod eval;
#[cfg(target_os = "linux")]
mod eval_terminal;
mod examples;
mod exec_cases;
mod help;
mod input;
#[cfg(target_os = "linux")]
mod interactive;
#[cfg(target_os = "linux")]
mod interface;
#[cfg(target_os = "linux")]
mod interface_keeps;
#[cfg(target_os = "linux")]
mod interface_shows;
#[cfg(target_os = "linux")]
mod killed;
mod mcp;
mod mcp_files;
#[cfg(target_os = "linux")]
mod mcp_questions;
#[cfg(target_os = "linux")]
mod mcp_sandbox;
mod output;
mod pi_comparison;
mod place;
mod prompt;
mod protocol;
#[cfg(target_os = "linux")]
mod real_work;
mod rpc;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod screens;
#[cfg(target_os = "linux")]
mod session;
mod sessions;
mod settings;
mod sources;
mod store;
#[cfg(target_os = "linux")]
mod terminal;
mod trust;
mod turn_tools;

#[test]
fn no_file_is_forgotten() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
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
