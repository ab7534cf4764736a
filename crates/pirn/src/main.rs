//! The command line of Pirn.
//!
//! The one place that reads the process environment, prints and exits: it puts the libraries together and passes everything
//! in. [`arguments`] says what can be typed, [`failure`] is how every error looks, and the other modules are one command each.

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests prepare and inspect what they test"
    )
)]

mod approvals;
mod arguments;
mod auth;
mod browser;
mod call_arguments;
mod calls;
mod catalog;
mod command_line;
mod config;
mod confinement;
mod consent;
mod doctor;
mod eval;
mod event_loop;
mod exec;
mod failure;
mod interactive;
mod interrupt;
mod invocation;
mod listing;
mod mcp;
mod models;
mod program;
mod project;
mod prompt;
mod questions;
#[cfg(test)]
mod reference;
mod sessions;
mod settings;
mod standard;
mod trust;
mod variables;

use std::ffi::OsString;

use clap::{CommandFactory as _, Parser as _};

use arguments::{Command, CommandLine, CompletionsArguments};
use failure::{Exit, Failure};
use invocation::Invocation;

#[expect(
    clippy::disallowed_methods,
    reason = "the binary reads its own arguments"
)]
fn main() -> std::process::ExitCode {
    // Before anything else is read: this is not the process that the user started.
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(first) if first == eval::BROKER_ARGUMENT => return eval::broker(),
        Some(first) if first == pirn_runtime::PICTURE_HELPER_ARGUMENT => {
            return picture_helper(arguments.next());
        }
        Some(_) | None => {}
    }
    let exit = run().unwrap_or_else(|failure| {
        standard::report(&failure);
        failure.exit
    });
    exit.into()
}

/// Decodes a picture for the process that started this one.
#[expect(
    clippy::disallowed_methods,
    reason = "the standard streams of a helper are its way to the one that asks; it shows nothing"
)]
fn picture_helper(order: Option<OsString>) -> std::process::ExitCode {
    let order = order.unwrap_or_default();
    let (mut picture, mut answer) = (std::io::stdin().lock(), std::io::stdout().lock());
    pirn_runtime::picture_helper(&order.to_string_lossy(), &mut picture, &mut answer)
}

/// What Pirn is for, for somebody who typed only its name.
const WELCOME: &str = "\
Pirn is a coding agent: a language model writes small programs that use your tools, which are files, commands and MCP servers.
Ask a model:   pirn -p 'What is in this folder?', or pirn alone on a terminal
Run a program: pirn exec -e 'return (await tools.ls({})).length'
See more:      pirn help (all commands), pirn tools (what programs can call), pirn mcp add NAME https://...
";

#[expect(
    clippy::disallowed_methods,
    reason = "the binary reads its own arguments"
)]
fn run() -> Result<Exit, Failure> {
    let arguments = command_line::normalised(std::env::args_os());
    if arguments.len() <= 1 {
        return alone();
    }
    let command_line = match CommandLine::try_parse_from(arguments) {
        Ok(command_line) => command_line,
        // `--help` and `--version` come as errors, too.
        Err(error) if !error.use_stderr() => {
            standard::write_out(&error.render().to_string())?;
            return Ok(Exit::Success);
        }
        Err(error) => return Err(Failure::from_clap(&error)),
    };
    let invocation = Invocation::read()?;
    match command_line.command {
        Command::Exec(arguments) => exec::run(*arguments, &invocation),
        Command::Prompt(arguments) => prompt::run(&arguments, &invocation),
        Command::Eval(arguments) => eval::run(&arguments, &invocation),
        Command::Tools(arguments) => listing::run(&arguments, &invocation),
        Command::Mcp(arguments) => mcp::run(&arguments, &invocation),
        Command::Config(arguments) => config::run(&arguments, &invocation),
        Command::Trust(arguments) => trust::run(&arguments, &invocation),
        Command::Approvals(arguments) => approvals::run(&arguments, &invocation),
        Command::Auth(arguments) => auth::run(&arguments, &invocation),
        Command::Models(arguments) => models::run(&arguments, &invocation),
        Command::Sessions(arguments) => sessions::run(&arguments, &invocation),
        Command::Doctor(arguments) => doctor::run(&arguments, &invocation),
        Command::Completions(arguments) => completions(&arguments),
    }
}

/// `pirn` without arguments: the interface where it can be shown, else what Pirn is.
fn alone() -> Result<Exit, Failure> {
    let invocation = Invocation::read()?;
    if !interactive::is_possible(&invocation) {
        standard::write_out(WELCOME)?;
        return Ok(Exit::Success);
    }
    let ended = interactive::run(&invocation);
    if ended.is_err() {
        // Without a model there is no conversation, but there is what runs without one.
        standard::write_out(WELCOME)?;
    }
    ended
}

fn completions(arguments: &CompletionsArguments) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut CommandLine::command(),
        "pirn",
        &mut script,
    );
    standard::write_out(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
