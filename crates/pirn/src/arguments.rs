//! What can be typed. Help, completions and the reference in `docs/cli.md` come from these definitions.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use pirn_codemode::{LayoutKind, OPTION_INTEGER_MAX, OPTION_TIMEOUT_MS_MAX};
use pirn_tool::Effects;

use crate::approvals::ApprovalsArguments;
use crate::auth::AuthArguments;
use crate::call_arguments::CallArguments;
use crate::config::ConfigArguments;
use crate::eval::EvalArguments;
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::mcp::{Configuration, ConfigurationArguments, McpArguments};
use crate::models::ModelsArguments;
use crate::project::Project;
use crate::prompt::PromptArguments;
use crate::sessions::SessionsArguments;
use pirn_settings::{ProjectFileKind, Trust};

/// Help is wrapped at this width, also on wider terminals: longer lines are hard to read.
const HELP_COLUMNS_MAX: usize = 100;
/// The least memory that the interpreter and a small script get along with.
const MEMORY_MB_MIN: u64 = 8;
/// The most memory of a script: a 32-bit machine has 4 GiB, of which the guest's own parts need some.
const MEMORY_MB_MAX: u64 = 2_048;
/// The most calls at once, as of the setting `codemode.callsInFlight`.
const CALLS_IN_FLIGHT_MAX: u64 = 1_024;
/// The word for every effect.
pub(crate) const EVERY_EFFECT: &str = "all";

/// Runs small programs that use your tools: files, commands, MCP servers
///
/// A language model, or you, writes a short script instead of calling tools one by one. Pirn runs it in a sandbox, asks you before it
/// changes anything, and gives back only what the script returns.
#[derive(Debug, Parser)]
#[command(
    name = "pirn",
    version,
    max_term_width = HELP_COLUMNS_MAX,
    subcommand_required = true,
    after_help = "Run `pirn COMMAND --help` for more about a command."
)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a script with the built-in tools
    ///
    /// The script is JavaScript or TypeScript, the body of an async function. What it returns and what it gives to `text()`
    /// goes to standard output; console lines, calls and errors go to standard error.
    #[command(
        override_usage = "pirn exec [OPTIONS] <FILE>\n       pirn exec [OPTIONS] -\n       pirn exec [OPTIONS] -e <CODE>",
        after_long_help = exit_codes()
    )]
    Exec(Box<ExecArguments>),
    /// Let a model work with the tools until it has an answer; `pirn -p` is short for it
    ///
    /// The answer goes to standard output. The model may read, change files in the project and run commands that the sandbox
    /// holds; nobody is asked, and what is denied names the flag that allows it. Keys are looked for in auth.json, models.json
    /// and the environment; without any, a model server on this machine is.
    #[command(
        override_usage = "pirn -p [OPTIONS] <MESSAGE>...\n       COMMAND | pirn -p [OPTIONS] [MESSAGE]",
        after_long_help = exit_codes()
    )]
    Prompt(Box<PromptArguments>),
    /// Run a Python or JavaScript program that calls tools
    ///
    /// The program runs in the user's own interpreter, confined, after it was shown and approved. Python gives the value of its
    /// last expression; JavaScript is the body of an async function and gives what it returns. Tools are `tools.NAME(...)`.
    #[command(
        override_usage = "pirn eval [OPTIONS] <FILE>\n       pirn eval [OPTIONS] --python -\n       pirn eval [OPTIONS] --python -e <CODE>",
        after_long_help = exit_codes()
    )]
    Eval(Box<EvalArguments>),
    /// List the tools that scripts can call
    Tools(ToolsArguments),
    /// Configure and try MCP servers
    Mcp(McpArguments),
    /// Show and change settings
    Config(ConfigArguments),
    /// Decide whether to trust the files of a project
    ///
    /// A project can bring files that start programs or change what a model is told. They count only when its folder, or one
    /// above it, is trusted. Without a flag, Pirn asks on the terminal.
    Trust(TrustArguments),
    /// List and revoke permanent approvals
    ///
    /// An answer "always" on the terminal is kept in `approvals.json` in Pirn's folder. It holds for the project, the tool as it
    /// described itself, its effects, and the exact arguments or the rule that was shown.
    Approvals(ApprovalsArguments),
    /// Store, check and print API keys of model providers
    ///
    /// A key is looked for in `auth.json` in Pirn's folder, in `models.json`, and in the provider's variables.
    Auth(AuthArguments),
    /// List the available models
    ///
    /// Those of `models.json`, those that are known of each provider, and those of model servers on this machine.
    Models(ModelsArguments),
    /// List, show, copy, name and delete conversations with models
    ///
    /// They are kept in `sessions` in Pirn's folder; `pirn -p --session FILE` goes on with one.
    Sessions(SessionsArguments),
    /// Check that Pirn works on this machine
    Doctor(DoctorArguments),
    /// Print a completion script for a shell
    Completions(CompletionsArguments),
}

/// The arguments of `pirn exec`.
#[derive(Debug, Args)]
pub(crate) struct ExecArguments {
    /// File that holds the script; `-` stands for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "code")]
    pub(crate) file: Option<PathBuf>,

    /// Run CODE instead of a file
    #[arg(short = 'e', long = "eval", value_name = "CODE")]
    pub(crate) code: Option<String>,

    /// The calls of the script.
    #[command(flatten)]
    pub(crate) calls: CallArguments,

    /// Print the whole result as one JSON object
    #[arg(long, conflicts_with = "layout", help_heading = "Output")]
    pub(crate) json: bool,

    /// Print what a model would read, with header and error
    #[arg(long, value_name = "LAYOUT", help_heading = "Output")]
    pub(crate) layout: Option<Layout>,

    /// Cut the output to about this many tokens and keep the whole in a file
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(..=OPTION_INTEGER_MAX),
        help_heading = "Output"
    )]
    pub(crate) max_output_tokens: Option<u64>,

    /// Do not show the script's calls
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,

    /// End the script after this time, waiting included [default: 30 minutes]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..=OPTION_TIMEOUT_MS_MAX),
        help_heading = "Limits"
    )]
    pub(crate) timeout_ms: Option<u64>,

    /// End the script after this much computing of its own [default: 60 seconds]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..=OPTION_TIMEOUT_MS_MAX),
        help_heading = "Limits"
    )]
    pub(crate) cpu_ms: Option<u64>,

    /// Memory the script may use, in MiB [default: 256]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(MEMORY_MB_MIN..=MEMORY_MB_MAX),
        help_heading = "Limits"
    )]
    pub(crate) memory_mb: Option<u64>,

    /// Calls of the script that run at the same time; more wait in order [default: 64]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..=CALLS_IN_FLIGHT_MAX),
        help_heading = "Limits"
    )]
    pub(crate) calls_in_flight: Option<u64>,

    /// Calls that the script may make [default: 100000]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32),
        help_heading = "Limits"
    )]
    pub(crate) calls_max: Option<u32>,

    /// Size of the arguments and of the result of one call, in MiB [default: 16]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..=MEMORY_MB_MAX),
        help_heading = "Limits"
    )]
    pub(crate) call_mb: Option<u64>,

    /// Characters that the script may print [default: 16777216]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Limits"
    )]
    pub(crate) output_characters: Option<u32>,

    /// JSON file behind `store()` and `load()`; made when missing
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) store: Option<PathBuf>,
}

/// The arguments of `pirn tools`.
#[derive(Debug, Args)]
pub(crate) struct ToolsArguments {
    /// Words to search for; the best match comes first
    #[arg(value_name = "QUERY", num_args = 0..)]
    pub(crate) query: Vec<String>,

    /// Print everything about the tools as a JSON array
    #[arg(long)]
    pub(crate) json: bool,

    /// Print the TypeScript declarations that a script sees
    #[arg(long, conflicts_with = "json")]
    pub(crate) declarations: bool,

    #[command(flatten)]
    pub(crate) mcp: UsedServersArguments,

    /// Trust in the project.
    #[command(flatten)]
    pub(crate) approval: ApprovalArguments,
}

/// Which MCP servers a command uses.
#[derive(Debug, Args)]
pub(crate) struct UsedServersArguments {
    /// Use no MCP servers
    #[arg(long, conflicts_with = "mcp_config", help_heading = "MCP servers")]
    pub(crate) no_mcp: bool,

    #[command(flatten)]
    pub(crate) configuration: ConfigurationArguments,
}

impl UsedServersArguments {
    /// The files of the project that the command uses.
    pub(crate) fn file_kinds(&self) -> &'static [ProjectFileKind] {
        if self.no_mcp {
            &[ProjectFileKind::Settings]
        } else {
            &[ProjectFileKind::Settings, ProjectFileKind::McpServers]
        }
    }

    /// The servers to use. `None` without any: then nothing of MCP is touched.
    pub(crate) fn configuration(
        &self,
        project: &Project,
        folder: &Path,
        invocation: &Invocation,
    ) -> Result<Option<Configuration>, Failure> {
        if self.no_mcp {
            return Ok(None);
        }
        let configuration = Configuration::load(&self.configuration, project, folder, invocation)?;
        // Servers that are all switched off cost nothing either.
        Ok(configuration.filter(Configuration::matters))
    }
}

/// Flags about the trust in a project, for one run.
#[derive(Debug, Args)]
pub(crate) struct ApprovalArguments {
    /// Trust the project's files in this run
    #[arg(long, conflicts_with = "no_approve", help_heading = "Permissions")]
    approve: bool,

    /// Leave the project's files alone in this run
    #[arg(long, help_heading = "Permissions")]
    no_approve: bool,
}

impl ApprovalArguments {
    pub(crate) fn flag(&self) -> Option<Trust> {
        match (self.approve, self.no_approve) {
            (true, _) => Some(Trust::Trusted),
            (_, true) => Some(Trust::Untrusted),
            (false, false) => None,
        }
    }
}

/// The arguments of `pirn trust`.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags as typed; at most one of the decisions is set"
)]
pub(crate) struct TrustArguments {
    /// The project's folder [default: the current one]
    #[arg(value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) path: Option<PathBuf>,

    /// Trust the folder and all that is in it
    #[arg(long, group = "decision")]
    pub(crate) yes: bool,

    /// Do not trust the folder
    #[arg(long, group = "decision")]
    pub(crate) no: bool,

    /// Trust the folder above, with all that is in it
    #[arg(long, group = "decision")]
    pub(crate) parent: bool,

    /// Print what was decided and what needs trust
    #[arg(long, group = "decision")]
    pub(crate) show: bool,

    /// With --show: print it as a JSON object
    #[arg(long, requires = "show")]
    pub(crate) json: bool,
}

/// The arguments of `pirn doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Look at one thing more closely
    #[arg(value_name = "TOPIC")]
    pub(crate) topic: Option<DoctorTopic>,

    /// Print the findings as a JSON object
    #[arg(long, conflicts_with = "topic")]
    pub(crate) json: bool,
}

/// What `pirn doctor` looks at more closely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorTopic {
    /// What this terminal says of itself and sends for keys
    Terminal,
}

/// The arguments of `pirn completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// Shell that the script is for
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// The forms in which a model reads results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Layout {
    /// One block per item
    Items,
    /// Neighbouring texts together, console lines at the end
    Joined,
}

impl From<Layout> for LayoutKind {
    fn from(layout: Layout) -> Self {
        match layout {
            Layout::Items => Self::Items,
            Layout::Joined => Self::Joined,
        }
    }
}

/// The union of effects that were given one by one.
pub(crate) fn union(effects: &[Effects]) -> Effects {
    effects
        .iter()
        .fold(Effects::NONE, |sum, effect| sum | *effect)
}

/// Reads effects by their names, and the word for all of them.
pub(crate) fn effects_parser() -> impl clap::builder::TypedValueParser<Value = Effects> {
    let names = Effects::ALL
        .into_iter()
        .map(|(_, name)| name)
        .chain([EVERY_EFFECT]);
    PossibleValuesParser::new(names).map(|name| {
        let every = Effects::ALL
            .into_iter()
            .fold(Effects::NONE, |sum, (effect, _)| sum | effect);
        Effects::from_name(&name).unwrap_or(every)
    })
}

fn exit_codes() -> String {
    let rows = Exit::ALL.map(|exit| format!("  {:<4} {}", exit.code(), exit.meaning()));
    format!("Exit codes:\n{}", rows.join("\n"))
}
