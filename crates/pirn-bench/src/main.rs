//! Measures a release build: `cargo xtask bench [engine|mcp|safe|agent] [--json FILE] [--only TEXT]`; without a name all four.
//! `cargo xtask bench instructions` counts what the guest runs, in a build of its own.
//!
//! Every figure in the documentation comes from here. Where `PIRN_PEERS` names a `node_modules` folder with
//! `@earendil-works/pi-codemode`, the same work is done there in the same run.

#![allow(
    clippy::disallowed_methods,
    reason = "a tool of development, which nothing is built on"
)]

mod agent;
mod commands;
mod engine;
#[cfg(feature = "instructions")]
mod instructions;
mod interrupt;
mod mcp;
mod peers;
mod process;
mod report;
mod safe;
mod scripts;
mod search;
mod stats;
mod sys;

use std::path::PathBuf;

use anyhow::{Result, bail};

use report::Report;

/// What the command line asks for.
struct Options {
    json: Option<PathBuf>,
    only: Option<String>,
}

impl Options {
    fn wants(&self, name: &str) -> bool {
        self.only.as_deref().is_none_or(|only| name.contains(only))
    }
}

#[cfg(feature = "instructions")]
fn count(options: &Options, report: &mut Report) -> Result<()> {
    instructions::measure(options, report)
}

#[cfg(not(feature = "instructions"))]
fn count(_options: &Options, _report: &mut Report) -> Result<()> {
    bail!("this build does not count; use `cargo xtask bench instructions`")
}

fn main() -> Result<()> {
    let arguments = std::env::args().skip(1);
    let mut options = Options {
        json: None,
        only: None,
    };
    let mut arguments = arguments.peekable();
    let suite = match arguments.peek().map(String::as_str) {
        Some("serve-noop") => return mcp::serve_noop(),
        Some(flag) if flag.starts_with("--") => None,
        Some("engine" | "mcp" | "safe" | "agent" | "instructions") => arguments.next(),
        Some(other) => {
            bail!(
                "there is no suite `{other}`; the suites are: engine, mcp, safe, agent, instructions"
            )
        }
        None => None,
    };
    while let Some(flag) = arguments.next() {
        match flag.as_str() {
            "--json" => options.json = arguments.next().map(PathBuf::from),
            "--only" => options.only = arguments.next(),
            other => bail!("unknown option `{other}`; there are --json FILE and --only TEXT"),
        }
    }
    let counts = suite.as_deref() == Some("instructions");
    // What is counted is the same in every build.
    if cfg!(debug_assertions) && !counts {
        bail!("figures of a debug build mean nothing; use `cargo xtask bench`");
    }
    let mut report = Report::new();
    if counts {
        count(&options, &mut report)?;
    }
    let wants = |name: &str| suite.as_deref().is_none_or(|suite| suite == name);
    if wants("engine") {
        // First, since the peak of a child counts from before it became the other program, when it was a copy of this one.
        process::measure(&options, &mut report)?;
        engine::measure(&options, &mut report)?;
        scripts::measure(&options, &mut report)?;
        interrupt::measure(&options, &mut report)?;
        search::measure(&options, &mut report)?;
        commands::measure(&options, &mut report)?;
        peers::measure(&options, &mut report)?;
    }
    if wants("mcp") {
        mcp::measure(&options, &mut report)?;
    }
    if wants("safe") {
        safe::measure(&options, &mut report)?;
    }
    if wants("agent") {
        agent::measure(&options, &mut report)?;
    }
    report.print();
    if let Some(path) = options.json {
        report.write_json(&path)?;
    }
    Ok(())
}
