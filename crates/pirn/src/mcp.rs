//! MCP servers on the command line: `pirn mcp`, and what other commands need of it.

mod arguments;
mod browser;
mod call;
mod configuration;
mod edit;
mod elicitor;
mod import;
mod list;
mod login;
mod progress;
mod prompt;
mod servers;
mod table;
mod tools;
mod trace;

use pirn_mcp::Setting;

use crate::failure::{Exit, Failure};
use crate::standard;
use crate::surroundings::Surroundings;
use crate::visible::on_one_line;
use arguments::{
    AddArguments, CallArguments, FilesArguments, ImportArguments, ListArguments, LoginArguments,
    LogoutArguments, McpCommand, NamedArguments, PromptArguments, ToolsArguments, TraceArguments,
};

pub(crate) use arguments::{ConfigurationArguments, McpArguments};
pub(crate) use configuration::{Configuration, overview};
pub(crate) use servers::{Occasion, Servers, fetch_tools};

/// Names less alike than this are not offered as what was meant.
const LIKENESS_MIN: f64 = 0.7;

/// Runs one of the commands.
pub(crate) fn run(arguments: &McpArguments, surroundings: &Surroundings) -> Result<Exit, Failure> {
    match &arguments.command {
        McpCommand::Add(arguments) => edit::add(arguments, surroundings),
        McpCommand::Remove(arguments) => edit::remove(arguments, surroundings),
        McpCommand::Enable(arguments) => edit::switch(arguments, Setting::Enable, surroundings),
        McpCommand::Disable(arguments) => edit::switch(arguments, Setting::Disable, surroundings),
        McpCommand::List(arguments) => list::run(arguments, surroundings),
        McpCommand::Tools(arguments) => tools::run(arguments, surroundings),
        McpCommand::Call(arguments) => call::run(arguments, surroundings),
        McpCommand::Prompt(arguments) => prompt::run(arguments, surroundings),
        McpCommand::Login(arguments) => login::sign_in(arguments, surroundings),
        McpCommand::Logout(arguments) => login::sign_out(arguments, surroundings),
        McpCommand::Trace(arguments) => trace::run(arguments, surroundings),
        McpCommand::Import(arguments) => import::run(arguments, surroundings),
    }
}

/// Says that there is nothing to do anything with.
fn no_servers() {
    standard::note("no MCP servers are configured; `pirn mcp add` adds one");
}

/// Adds the name that was probably meant.
fn suggest(failure: Failure, typed: &str, names: &[&str]) -> Failure {
    let close = names
        .iter()
        .map(|known| (strsim::jaro_winkler(typed, known), known))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .max_by(|left, right| left.0.total_cmp(&right.0));
    match close {
        Some((_, close)) => failure.hint(format!("did you mean `{}`?", on_one_line(close))),
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
