//! Development tasks of this repository, run as `cargo xtask <task>`.
//!
//! Kept small on purpose: it depends on no crate of the workspace, so it builds in seconds. A task
//! that needs Pirn itself lives in a crate of its own and is only started from here.

#![allow(
    clippy::disallowed_methods,
    reason = "a tool of development, which nothing is built on"
)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program talks to its terminal"
)]

mod bench;
mod check;
mod command;
mod tidy;
mod vm;

use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask <task>

Tasks:
  check [--fast] [--no-tests]  run every check that a change must pass, stop at the first failure
                               --fast      leave out documentation tests, rustdoc and fuzz targets
                               --no-tests  leave out everything that runs tests
  tidy                         check the rules of this repository that no compiler knows
  bench [ARGUMENT...]          run the benchmarks on a release build
  vm [--check]                 compile the sealed VM's WebAssembly guest, or compare it with its digest";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let root = workspace_root()?;
    let (task, rest) = match arguments.split_first() {
        Some((task, rest)) => (task.as_str(), rest),
        None => ("help", arguments),
    };
    match task {
        "check" => check::run(&root, &check::Options::parse(rest)?),
        "tidy" => tidy::run(&root),
        "bench" => bench::run(&root, rest),
        "vm" => vm::run(&root, rest),
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            Ok(())
        }
        unknown => bail!("there is no task `{unknown}`\n\n{USAGE}"),
    }
}

/// The repository's root, which is the folder above this package's.
fn workspace_root() -> Result<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(Path::to_path_buf)
        .context("the folder of xtask has no parent")
}
