//! What a model may do without a question, and what it may not do at all.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use pirn_eval::EVAL_TOOL_NAME;
use pirn_tool::{
    Choice, CommandConfinement, Containment, Covers, Decision, Effects, Offer, Policy, PolicyInput,
    Scope, Target, ToolSpec, matches_pattern,
};
use pirn_tools::{ToolsOptions, WriteJudgement, judge_write};
use serde_json::Value;

use crate::effect_policy::EffectPolicy;
use crate::runtime::Runtime;

/// The built-in tool whose processes the sandbox holds.
const COMMANDS: &str = "bash";
/// The built-in tools that change the file at their argument `path`.
const FILE_CHANGES: [&str; 2] = ["write", "edit"];

/// Decides about the calls of a model, for every front end alike: reading, files in the project, and commands that the sandbox
/// holds are allowed; what nobody may touch is denied; the rest is what an [`EffectPolicy`] says, or what the user named. The
/// front ends differ in that policy alone: it asks where somebody is there.
#[derive(Debug, Clone)]
pub struct AgentPolicy {
    effects: EffectPolicy,
    /// Patterns of tools that the user allowed.
    tools: Vec<String>,
    /// Where files may be changed, without links.
    write_roots: Vec<PathBuf>,
    /// Where relative paths begin.
    folder: PathBuf,
    commands: Commands,
    programs: Programs,
    /// How the tools that change files read paths, and what confines them; `None` where nothing does.
    files: Option<Arc<ToolsOptions>>,
}

/// What holds the commands of `bash`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commands {
    /// The sandbox: they stay in the project, and reach no host that is not on the list.
    Confined,
    /// Nothing, or not enough.
    Unconfined,
}

/// What happens to the programs of `eval`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Programs {
    /// Whether a person who is there is asked about each.
    pub are_asked_about: bool,
    /// Whether a person may say yes to the very same program until the session ends.
    pub are_remembered: bool,
    /// Whether they run where nobody is there, if processes are allowed as well.
    pub run_unattended: bool,
}

impl Default for Programs {
    fn default() -> Self {
        Self {
            are_asked_about: true,
            are_remembered: false,
            run_unattended: false,
        }
    }
}

impl AgentPolicy {
    /// A policy for work in `folder`. `effects` is what the user allows and denies.
    pub fn new(effects: EffectPolicy, folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self {
            effects,
            tools: Vec::new(),
            write_roots: vec![real_place(&folder)],
            folder,
            commands: Commands::Unconfined,
            programs: Programs::default(),
            files: None,
        }
    }

    /// Goes by what confines the tools of this runtime, too.
    #[must_use]
    pub fn confined_as(mut self, runtime: &Runtime) -> Self {
        self.files = Some(Arc::clone(&runtime.inner().tools_options));
        self
    }

    /// Says what holds commands; those that nothing holds are not allowed by themselves.
    #[must_use]
    pub fn commands(mut self, commands: Commands) -> Self {
        self.commands = commands;
        self
    }

    /// Says what happens to programs.
    #[must_use]
    pub fn programs(mut self, programs: Programs) -> Self {
        self.programs = programs;
        self
    }

    /// Allows changing files below these places, too.
    #[must_use]
    pub fn write_roots<'a>(mut self, roots: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        self.write_roots
            .extend(roots.into_iter().map(|root| real_place(root)));
        self
    }

    /// Allows tools whose names match, whatever they do.
    #[must_use]
    pub fn allow_tools(mut self, patterns: Vec<String>) -> Self {
        self.tools = patterns;
        self
    }

    fn judge(&self, path: &str) -> Option<WriteJudgement> {
        Some(judge_write(path, self.files.as_ref()?))
    }

    /// What the user said of the tool, as far as it goes for every call of it.
    fn by_effects(&self, input: PolicyInput<'_>) -> Decision {
        let decision = self.effects.decide(input);
        let is_named = self
            .tools
            .iter()
            .any(|pattern| matches_pattern(pattern, &input.tool.name));
        match decision {
            Decision::Allow => Decision::Allow,
            Decision::Ask { .. } | Decision::Deny { .. }
                if is_named && !self.effects.denies(input.tool.effects) =>
            {
                Decision::Allow
            }
            Decision::Deny { reason } if !self.effects.denies(input.tool.effects) => {
                Decision::Deny {
                    reason: format!(
                        "{reason}; --allow-tool {} allows this tool",
                        input.tool.name
                    ),
                }
            }
            Decision::Deny { .. } | Decision::Ask { .. } => decision,
        }
    }

    fn decide_change(&self, input: PolicyInput<'_>) -> Decision {
        let path = path_of(input);
        let is_inside = path.is_some_and(|path| self.may_change(path));
        let judgement = path.and_then(|path| self.judge(path));
        match judgement {
            Some(WriteJudgement::Private) => Decision::Allow,
            Some(WriteJudgement::Open(_)) | None if is_inside => Decision::Allow,
            // Whatever effects are allowed, the tool itself says no to what no person was shown.
            Some(WriteJudgement::Outside { why, .. } | WriteJudgement::Protected { why, .. })
                if self.effects.asks() =>
            {
                Decision::Ask { reason: why }
            }
            Some(WriteJudgement::Outside { target, why }) => {
                let folder = target.parent().unwrap_or(&target).display();
                Decision::Deny {
                    reason: format!("{why}; --allow-write {folder} allows it"),
                }
            }
            Some(WriteJudgement::Closed(why) | WriteJudgement::Protected { why, .. }) => {
                Decision::Deny { reason: why }
            }
            Some(WriteJudgement::Open(_) | WriteJudgement::Nowhere) | None => {
                self.by_effects(input)
            }
        }
    }

    fn decide_program(&self, input: PolicyInput<'_>) -> Decision {
        if self.effects.asks() {
            return if self.programs.are_asked_about {
                Decision::Ask {
                    reason: "each program is shown before it runs".to_owned(),
                }
            } else {
                self.by_effects(input)
            };
        }
        if self.programs.run_unattended && self.effects.allows(Effects::PROCESS) {
            return Decision::Allow;
        }
        Decision::Deny {
            reason: "nobody can be shown the program here: the setting eval.allowNonInteractive and --yes=process allow programs \
                     together"
                .to_owned(),
        }
    }

    fn may_change(&self, path: &str) -> bool {
        // Such paths mean another place than they say.
        if path.starts_with(['~', '@']) || path.contains("://") {
            return false;
        }
        let place = real_place(&self.folder.join(path));
        let is_protected = place
            .components()
            .any(|part| matches!(part.as_os_str().to_str(), Some(".git" | ".pirn")));
        !is_protected && self.write_roots.iter().any(|root| place.starts_with(root))
    }

    /// The file that a call would change, without links.
    fn target(&self, path: &str) -> Option<PathBuf> {
        match self.judge(path) {
            Some(
                WriteJudgement::Open(target)
                | WriteJudgement::Outside { target, .. }
                | WriteJudgement::Protected { target, .. },
            ) => Some(target),
            Some(WriteJudgement::Private | WriteJudgement::Closed(_) | WriteJudgement::Nowhere) => {
                None
            }
            None => Some(real_place(&self.folder.join(path))),
        }
    }
}

/// Which rows of the table a tool falls under.
enum Kind {
    /// A built-in tool that changes the file at its argument `path`.
    Change,
    /// The tool that runs commands.
    Command,
    /// The tool that runs programs.
    Program,
    /// Any other tool: those of servers and of the host.
    Other,
}

impl Kind {
    fn of(tool: &ToolSpec) -> Self {
        match tool.name.as_str() {
            _ if tool.namespace.is_some() => Self::Other,
            COMMANDS => Self::Command,
            EVAL_TOOL_NAME => Self::Program,
            name if FILE_CHANGES.contains(&name) => Self::Change,
            _ => Self::Other,
        }
    }
}

fn path_of(input: PolicyInput<'_>) -> Option<&str> {
    input.arguments.get("path").and_then(Value::as_str)
}

/// Whether a tool does nothing but call others, which are decided about one by one.
fn only_orchestrates(tool: &ToolSpec) -> bool {
    (Effects::READ | Effects::ORCHESTRATION).contains(tool.effects)
}

impl Policy for AgentPolicy {
    fn decide(&self, input: PolicyInput<'_>) -> Decision {
        let tool = input.tool;
        if self.effects.denies(tool.effects) {
            return self.effects.decide(input);
        }
        match Kind::of(tool) {
            Kind::Change => self.decide_change(input),
            Kind::Program => self.decide_program(input),
            Kind::Command
                if self.commands == Commands::Confined && tool.containment == Containment::Held =>
            {
                Decision::Allow
            }
            Kind::Other if tool.namespace.is_none() && only_orchestrates(tool) => Decision::Allow,
            Kind::Command | Kind::Other => self.by_effects(input),
        }
    }

    fn offer(&self, input: PolicyInput<'_>) -> Offer {
        let offer = Offer::for_tool(input.tool);
        match Kind::of(input.tool) {
            Kind::Change => {
                let target = path_of(input).and_then(|path| self.target(path));
                let folder = target.as_deref().and_then(Path::parent);
                let in_folder = folder.map(|folder| {
                    let path = folder.to_owned();
                    Choice::new(Scope::Run, Covers::Folder { path })
                });
                Offer {
                    choices: [Choice::ONCE].into_iter().chain(in_folder).collect(),
                    target: target.map(|path| Target::Path { path }),
                    ..offer
                }
            }
            // Each is asked about.
            Kind::Command => Offer {
                choices: vec![Choice::ONCE],
                ..offer
            },
            Kind::Program => Offer {
                choices: [Choice::ONCE]
                    .into_iter()
                    .chain(
                        self.programs
                            .are_remembered
                            .then(|| Choice::new(Scope::Session, Covers::Arguments)),
                    )
                    .collect(),
                confinement: CommandConfinement::NoCommand,
                ..offer
            },
            Kind::Other => offer,
        }
    }
}

/// Where a path leads: links are followed as far as there is something, and the rest is taken as it is written. A `..` beyond
/// that leads nowhere that is allowed.
fn real_place(path: &Path) -> PathBuf {
    let mut rest: Vec<Component<'_>> = Vec::new();
    let mut existing = path;
    loop {
        if let Ok(mut real) = existing.canonicalize() {
            if rest.contains(&Component::ParentDir) {
                return PathBuf::new();
            }
            real.extend(rest.iter().rev());
            return real;
        }
        // A link that leads nowhere yet may lead anywhere.
        if existing.is_symlink() {
            return PathBuf::new();
        }
        let (Some(parent), Some(last)) = (existing.parent(), existing.components().next_back())
        else {
            return PathBuf::new();
        };
        rest.push(last);
        existing = parent;
    }
}

#[cfg(test)]
mod tests;
