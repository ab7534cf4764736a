//! MCP servers on the command line: `pirn mcp`, and what other commands need of it.

mod arguments;
mod call;
mod configuration;
mod edit;
mod import;
mod list;
mod login;
mod progress;
mod prompt;
mod servers;
mod tools;
mod trace;

use pirn_mcp::Setting;

use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::standard;
use arguments::{
    AddArguments, CallArguments, FilesArguments, ImportArguments, ListArguments, LoginArguments,
    LogoutArguments, McpCommand, NamedArguments, PromptArguments, ToolsArguments, TraceArguments,
};
use pirn_terminal::on_one_line;
use pirn_tool::closest;

pub(crate) use arguments::{ConfigurationArguments, McpArguments};
pub(crate) use configuration::{Configuration, overview};
pub(crate) use servers::{TraceWhen, missing_note, server_options, settle_and_tell};

/// Runs one of the commands.
pub(crate) fn run(arguments: &McpArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    match &arguments.command {
        McpCommand::Add(arguments) => edit::add(arguments, invocation),
        McpCommand::Remove(arguments) => edit::remove(arguments, invocation),
        McpCommand::Enable(arguments) => edit::switch(arguments, Setting::Enable, invocation),
        McpCommand::Disable(arguments) => edit::switch(arguments, Setting::Disable, invocation),
        McpCommand::List(arguments) => list::run(arguments, invocation),
        McpCommand::Tools(arguments) => tools::run(arguments, invocation),
        McpCommand::Call(arguments) => call::run(arguments, invocation),
        McpCommand::Prompt(arguments) => prompt::run(arguments, invocation),
        McpCommand::Login(arguments) => login::sign_in(arguments, invocation),
        McpCommand::Logout(arguments) => login::sign_out(arguments, invocation),
        McpCommand::Trace(arguments) => trace::run(arguments, invocation),
        McpCommand::Import(arguments) => import::run(arguments, invocation),
    }
}

/// Says that there is nothing to do anything with.
fn no_servers() {
    standard::note("no MCP servers are configured; `pirn mcp add` adds one");
}

/// Adds the name that was probably meant.
fn suggest(failure: Failure, typed: &str, names: &[&str]) -> Failure {
    match closest(typed, names.iter().copied()) {
        Some(close) => failure.hint(format!("did you mean `{}`?", on_one_line(close))),
        None => failure,
    }
}

/// The two parts of something like `KEY=VALUE`.
fn pair(typed: &str, separators: &[char], form: &str) -> Result<(String, String), Failure> {
    match typed.split_once(separators) {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.to_owned()))
        }
        Some(_) | None => Err(Failure::usage(format!(
            "`{}` is not of the form {form}",
            on_one_line(typed)
        ))),
    }
}
