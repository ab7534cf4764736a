//! What can be typed after `pirn eval`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use pirn_eval::Language;
use pirn_sandbox::{HostRule, NetworkMode};
use pirn_tool::Effects;

use crate::arguments::{ApprovalArguments, effects_parser};
use crate::confinement::network_parser;

/// The longest time, in seconds; longer work is a script's, which can be stopped and resumed.
const TIMEOUT_SECONDS_MAX: u64 = 120;

/// The arguments of `pirn eval`.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags as typed; each has a meaning of its own"
)]
pub(crate) struct EvalArguments {
    /// File that holds the program; `-` stands for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "code")]
    pub(super) file: Option<PathBuf>,

    /// Run CODE instead of a file
    #[arg(short = 'e', long = "eval", value_name = "CODE")]
    pub(super) code: Option<String>,

    /// The program is Python; needed where no file's ending tells it
    #[arg(long, group = "language")]
    python: bool,

    /// The program is JavaScript; needed where no file's ending tells it
    #[arg(long, group = "language")]
    javascript: bool,

    /// Folder in which the program and the tools work; the program's own FILE is looked up in the current one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(super) cwd: Option<PathBuf>,

    /// File that keeps `state` between runs; made when missing
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) state: Option<PathBuf>,

    /// Forget what the state file holds before the program runs
    #[arg(long, requires = "state")]
    pub(super) reset: bool,

    /// Keep one Python namespace alive between programs, as the setting eval.engine does
    #[arg(long, conflicts_with_all = ["state", "javascript"])]
    pub(super) persistent: bool,

    /// Run the program, and the tools that it may call, without asking
    #[arg(long, help_heading = "Permissions")]
    pub(super) yes: bool,

    /// Let the program call tools with these effects, without asking about each call [default: those of the setting
    /// eval.effects, asking about all that do more than read]
    #[arg(
        long,
        value_name = "EFFECTS",
        value_delimiter = ',',
        value_parser = effects_parser(),
        help_heading = "Permissions"
    )]
    pub(super) allow: Vec<Effects>,

    /// Trust in the project.
    #[command(flatten)]
    pub(super) approval: ApprovalArguments,

    /// What the program and the commands that it runs may reach [default: off, or the setting eval.network]
    #[arg(
        long,
        value_name = "MODE",
        value_parser = network_parser(),
        help_heading = "Confinement"
    )]
    pub(super) network: Option<NetworkMode>,

    /// Let it reach this host: `example.com`, `*.example.com`, either with `:PORT`; alone it also sets --network allow-list
    #[arg(
        long,
        value_name = "HOST",
        value_delimiter = ',',
        help_heading = "Confinement"
    )]
    pub(super) allow_host: Vec<HostRule>,

    /// Print the whole result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,

    /// Folder for the pictures that the program shows [default: the temporary folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Output")]
    pub(super) output: Option<PathBuf>,

    /// Do not show the program's calls
    #[arg(short, long, help_heading = "Output")]
    pub(super) quiet: bool,

    /// End the program after this time [default: 30, or the setting eval.timeoutSeconds]
    #[arg(
        long,
        value_name = "SECONDS",
        value_parser = clap::value_parser!(u64).range(1..=TIMEOUT_SECONDS_MAX),
        help_heading = "Limits"
    )]
    pub(super) timeout: Option<u64>,
}

impl EvalArguments {
    /// The language that was named.
    pub(super) fn language(&self) -> Option<Language> {
        match (self.python, self.javascript) {
            (true, _) => Some(Language::Python),
            (_, true) => Some(Language::JavaScript),
            (false, false) => None,
        }
    }
}
