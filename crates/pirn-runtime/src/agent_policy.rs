//! What a model may do when nobody is there to ask.

use std::path::{Component, Path, PathBuf};

use pirn_tool::{Containment, Decision, Effects, Policy, PolicyInput, ToolSpec, matches_pattern};

use crate::effect_policy::EffectPolicy;

/// The built-in tool whose processes the sandbox holds.
const COMMANDS: &str = "bash";
/// The built-in tools that change the file at their argument `path`.
const FILE_CHANGES: [&str; 2] = ["write", "edit"];

/// Decides about the calls of a model without a person: reading, files in the project, and commands that the sandbox holds are
/// allowed; the rest is what an [`EffectPolicy`] allows, or what the user named.
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
}

/// What holds the commands of `bash`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commands {
    /// The sandbox: they stay in the project, and reach no host that is not on the list.
    Confined,
    /// Nothing, or not enough.
    Unconfined,
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
        }
    }

    /// Says what holds commands; those that nothing holds are not allowed by themselves.
    #[must_use]
    pub fn commands(mut self, commands: Commands) -> Self {
        self.commands = commands;
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

    /// Whether the call is one of a built-in tool that stays where it may work.
    fn stays_inside(&self, input: PolicyInput<'_>) -> bool {
        let tool = input.tool;
        if tool.namespace.is_some() {
            return false;
        }
        if tool.name == COMMANDS {
            return self.commands == Commands::Confined && tool.containment == Containment::Held;
        }
        if FILE_CHANGES.contains(&tool.name.as_str()) {
            let path = input.arguments.get("path").and_then(|path| path.as_str());
            return path.is_some_and(|path| self.may_change(path));
        }
        only_orchestrates(tool)
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
}

/// Whether a tool does nothing but call others, which are decided about one by one.
fn only_orchestrates(tool: &ToolSpec) -> bool {
    (Effects::READ | Effects::ORCHESTRATION).contains(tool.effects)
}

impl Policy for AgentPolicy {
    fn decide(&self, input: PolicyInput<'_>) -> Decision {
        let decision = self.effects.decide(input);
        if decision == Decision::Allow || self.effects.denies(input.tool.effects) {
            return decision;
        }
        let is_named = self
            .tools
            .iter()
            .any(|pattern| matches_pattern(pattern, &input.tool.name));
        if is_named || self.stays_inside(input) {
            return Decision::Allow;
        }
        match decision {
            Decision::Deny { reason } => Decision::Deny {
                reason: format!(
                    "{reason}; --allow-tool {} allows this tool",
                    input.tool.name
                ),
            },
            Decision::Allow | Decision::Ask { .. } => decision,
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
