//! What can be typed after `pirn -p`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use pirn_model::{Secret, ThinkingLevel};
use pirn_runtime::{Permissions, ToolFilter};

use crate::call_arguments::CallArguments;
use crate::failure::Failure;

/// The arguments of `pirn -p`.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags as typed, each on its own"
)]
pub(crate) struct PromptArguments {
    /// What the model is to do; several are said one after the other. `@FILE` puts a text or a picture before the first one. With
    /// `-`, or without any, standard input is read
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

    /// The key for the model's provider in this run; it can be seen in the list of processes
    #[arg(long, value_name = "KEY", help_heading = "Model")]
    pub(crate) api_key: Option<String>,

    /// How often the model may be asked at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Model")]
    pub(crate) max_turns: Option<u32>,

    /// Use this system prompt in place of Pirn's own
    #[arg(long, value_name = "TEXT", help_heading = "Prompt")]
    pub(crate) system_prompt: Option<String>,

    /// Add this to the system prompt
    #[arg(long, value_name = "TEXT", help_heading = "Prompt")]
    pub(crate) append_system_prompt: Vec<String>,

    /// Read this skill, too: its SKILL.md or its folder
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath, help_heading = "Prompt")]
    pub(crate) skill: Vec<PathBuf>,

    /// Leave all skills out but those of --skill
    #[arg(long, help_heading = "Prompt")]
    pub(crate) no_skills: bool,

    /// Know this prompt template, too
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Prompt")]
    pub(crate) prompt_template: Vec<PathBuf>,

    /// Leave all prompt templates out but those of --prompt-template
    #[arg(long, help_heading = "Prompt")]
    pub(crate) no_prompt_templates: bool,

    /// Leave AGENTS.md and its like out
    #[arg(long, help_heading = "Prompt")]
    pub(crate) no_context_files: bool,

    /// US dollars that the conversation may cost at most
    #[arg(long, value_name = "USD", value_parser = dollars, help_heading = "Model")]
    pub(crate) max_cost: Option<f64>,

    /// The answer has to fit the JSON Schema in this file; the model may mend it once, else it is a failure
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) output_schema: Option<PathBuf>,

    /// Go on with the last session of this folder
    #[arg(short, long = "continue", help_heading = "Session", conflicts_with_all = ["session", "fork", "no_session"])]
    pub(crate) continue_last: bool,

    /// Go on with a session: its file, or the start of its id
    #[arg(long, value_name = "FILE|ID", value_hint = ValueHint::FilePath, help_heading = "Session")]
    pub(crate) session: Option<String>,

    /// Begin a session with what was said in another one
    #[arg(long, value_name = "FILE|ID", conflicts_with_all = ["session", "no_session"], help_heading = "Session")]
    pub(crate) fork: Option<String>,

    /// The id of the new session
    #[arg(long, value_name = "ID", value_parser = session_id, conflicts_with_all = ["session", "continue_last"], help_heading = "Session")]
    pub(crate) session_id: Option<String>,

    /// The folder of sessions
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Session")]
    pub(crate) session_dir: Option<PathBuf>,

    /// What the session is called in lists
    #[arg(short, long, value_name = "NAME", help_heading = "Session")]
    pub(crate) name: Option<String>,

    /// Make the session shorter first: a summary, which may look at FOCUS, stands for its beginning
    #[arg(long, value_name = "FOCUS", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with = "no_session", help_heading = "Session")]
    pub(crate) compact: Option<String>,

    /// Keep no session on disk
    #[arg(long, conflicts_with = "session", help_heading = "Session")]
    pub(crate) no_session: bool,

    /// Offer the model no tools at all
    #[arg(long, conflicts_with = "tools", help_heading = "Tools")]
    pub(crate) no_tools: bool,

    /// Leave the built-in tools out but those that --tools names with a +
    #[arg(long, help_heading = "Tools")]
    pub(crate) no_builtin_tools: bool,

    /// Allow these tools, whatever they do; a name may hold `*`
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        help_heading = "Permissions"
    )]
    pub(crate) allow_tool: Vec<String>,

    /// The calls of the model.
    #[command(flatten)]
    pub(crate) calls: CallArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// The last answer as text
    Text,
    /// Everything that happens, one JSON object a line
    Json,
    /// Like json, and another program says what to do, with commands on standard input
    Rpc,
}

/// The built-in tools, `exec` and `eval` with them.
const BUILTIN_TOOLS: [&str; 10] = [
    "read", "write", "edit", "bash", "grep", "find", "ls", "exec", "wait", "eval",
];
/// How the names of tools of servers begin.
const SERVER_TOOLS: &str = "mcp__";

impl PromptArguments {
    /// What is allowed and denied beforehand.
    pub(crate) fn permissions(&self) -> Permissions {
        Permissions {
            tools: self.allow_tool.clone(),
            ..self.calls.permissions()
        }
    }

    /// The tools that the model sees. Fails where names and changes are mixed.
    pub(crate) fn filter(&self) -> Result<ToolFilter, Failure> {
        let typed = self.calls.filter();
        let is_change = |name: &&String| name.starts_with(['+', '-']);
        let (changes, names): (Vec<_>, Vec<_>) = typed.include.iter().partition(is_change);
        if !changes.is_empty() && !names.is_empty() {
            return Err(Failure::usage(
                "--tools takes names, or changes that begin with + or -, not both at once",
            ));
        }
        let taken_back = |name: &str| {
            changes
                .iter()
                .any(|change| change.strip_prefix('+') == Some(name))
        };
        let mut exclude = typed.exclude.clone();
        exclude.extend(
            changes
                .iter()
                .filter_map(|change| change.strip_prefix('-'))
                .map(str::to_owned),
        );
        if self.no_tools {
            exclude.push("*".to_owned());
        }
        if self.no_builtin_tools {
            let left_out = BUILTIN_TOOLS.into_iter().filter(|name| !taken_back(name));
            exclude.extend(left_out.map(str::to_owned));
        }
        let mut include: Vec<String> = names.into_iter().cloned().collect();
        let names_servers = include.iter().any(|name| name.starts_with(SERVER_TOOLS));
        if !include.is_empty() && !names_servers {
            include.push(format!("{SERVER_TOOLS}*"));
        }
        Ok(ToolFilter {
            include,
            exclude,
            ..ToolFilter::default()
        })
    }

    /// The key that counts before all others.
    pub(crate) fn given_key(&self) -> Option<Secret> {
        self.api_key.clone().map(Secret::new)
    }

    /// Whether there is something to do although nothing is said.
    pub(crate) fn compacts(&self) -> bool {
        self.compact.is_some()
    }
}

fn dollars(word: &str) -> Result<f64, String> {
    match word.parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount >= 0.0 => Ok(amount),
        Ok(_) | Err(_) => Err("an amount of US dollars is meant, such as 0.50".to_owned()),
    }
}

fn session_id(word: &str) -> Result<String, String> {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric();
    let fits = word.starts_with(is_plain)
        && word.ends_with(is_plain)
        && word
            .chars()
            .all(|sign| is_plain(sign) || matches!(sign, '.' | '_' | '-'));
    if fits {
        Ok(word.to_owned())
    } else {
        Err(
            "an id has letters, digits, `.`, `_` and `-`, the first and the last a letter or digit"
                .to_owned(),
        )
    }
}

fn level(word: &str) -> Result<ThinkingLevel, String> {
    ThinkingLevel::from_name(word).ok_or_else(|| {
        let names = ThinkingLevel::ALL.map(ThinkingLevel::as_str);
        format!("the levels are {}", names.join(", "))
    })
}
