//! What can be typed after `pirn -p`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use pirn_model::ThinkingLevel;
use pirn_runtime::ToolFilter;
use pirn_tool::Effects;

use crate::arguments::{ApprovalArguments, EVERY_EFFECT, UsedServersArguments, effects_parser};
use crate::confinement::ConfinementArguments;

/// The arguments of `pirn -p`.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags as typed, each on its own"
)]
pub(crate) struct PromptArguments {
    /// What the model is to do; several are said one after the other. With `-`, or without any, standard input is read
    #[arg(value_name = "MESSAGE")]
    pub(crate) messages: Vec<String>,

    /// Print the answer and end; the only way there is so far
    #[arg(short, long)]
    pub(crate) print: bool,

    /// What is printed to standard output
    #[arg(
        long,
        value_name = "MODE",
        default_value = "text",
        help_heading = "Output"
    )]
    pub(crate) mode: Mode,

    /// The model, as NAME or PROVIDER/NAME, and after a colon how much it thinks
    #[arg(long, value_name = "MODEL[:LEVEL]", help_heading = "Model")]
    pub(crate) model: Option<String>,

    /// The provider of the model
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    pub(crate) provider: Option<String>,

    /// How much the model thinks: off, minimal, low, medium, high, xhigh, max
    #[arg(long, value_name = "LEVEL", value_parser = level, help_heading = "Model")]
    pub(crate) thinking: Option<ThinkingLevel>,

    /// How often the model may be asked at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Model")]
    pub(crate) max_turns: Option<u32>,

    /// Use this system prompt in place of Pirn's own
    #[arg(long, value_name = "TEXT", help_heading = "Prompt")]
    pub(crate) system_prompt: Option<String>,

    /// Add this to the system prompt
    #[arg(long, value_name = "TEXT", help_heading = "Prompt")]
    pub(crate) append_system_prompt: Vec<String>,

    /// Leave AGENTS.md and its like out
    #[arg(long, help_heading = "Prompt")]
    pub(crate) no_context_files: bool,

    /// Go on with the session in this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Session")]
    pub(crate) session: Option<PathBuf>,

    /// Keep no session on disk
    #[arg(long, conflicts_with = "session", help_heading = "Session")]
    pub(crate) no_session: bool,

    /// Folder in which the model works
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,

    /// Offer only these tools; a name may hold `*`
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        help_heading = "Tools"
    )]
    pub(crate) tools: Vec<String>,

    /// Leave these tools out; a name may hold `*`
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        help_heading = "Tools"
    )]
    pub(crate) exclude_tools: Vec<String>,

    /// Allow these tools, whatever they do; a name may hold `*`
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        help_heading = "Permissions"
    )]
    pub(crate) allow_tool: Vec<String>,

    /// Allow tools with these effects; alone, it allows all
    ///
    /// Without it, the model may read, change files in the project, and run commands that the sandbox holds. Nobody is asked:
    /// the rest is denied, and the model is told which flag allows it.
    #[arg(
        long,
        value_name = "EFFECTS",
        value_delimiter = ',',
        num_args = 0..,
        require_equals = true,
        default_missing_value = EVERY_EFFECT,
        value_parser = effects_parser(),
        help_heading = "Permissions"
    )]
    pub(crate) yes: Vec<Effects>,

    /// Deny tools with any of these effects; wins over all that allows
    #[arg(
        long,
        value_name = "EFFECTS",
        value_delimiter = ',',
        value_parser = effects_parser(),
        help_heading = "Permissions"
    )]
    pub(crate) deny: Vec<Effects>,

    /// Deny every tool that can do more than read
    #[arg(long, conflicts_with = "yes", help_heading = "Permissions")]
    pub(crate) read_only: bool,

    #[command(flatten)]
    pub(crate) confinement: ConfinementArguments,

    #[command(flatten)]
    pub(crate) mcp: UsedServersArguments,

    /// Trust in the project.
    #[command(flatten)]
    pub(crate) approval: ApprovalArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// The last answer as text
    Text,
    /// Everything that happens, one JSON object a line
    Json,
}

impl PromptArguments {
    /// The tools that the model sees.
    pub(crate) fn filter(&self) -> ToolFilter {
        ToolFilter {
            include: self.tools.clone(),
            exclude: self.exclude_tools.clone(),
            ..ToolFilter::default()
        }
    }
}

fn level(word: &str) -> Result<ThinkingLevel, String> {
    ThinkingLevel::from_name(word).ok_or_else(|| {
        let names = ThinkingLevel::ALL.map(ThinkingLevel::as_str);
        format!("the levels are {}", names.join(", "))
    })
}
