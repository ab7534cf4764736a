//! Which tools a script gets.

use pirn_tool::{Registry, Tool, matches_pattern};

use crate::arguments::ExecArguments;
use crate::failure::Failure;
use crate::mcp::Servers;

/// Names less alike than this are not offered as what was meant.
const LIKENESS_MIN: f64 = 0.7;
/// Names that are offered at most.
const SUGGESTIONS_MAX: usize = 3;

/// The tools that the command line asks for.
#[derive(Debug)]
pub(super) struct Selection {
    wanted: Vec<String>,
    excluded: Vec<String>,
}

impl Selection {
    /// What the command line says about tools. Fails on names that no tool has; those of servers are not known yet.
    pub(super) fn new(
        arguments: &ExecArguments,
        builtin: &[Tool],
        servers: Option<&Servers>,
    ) -> Result<Self, Failure> {
        for (flag, names) in [
            ("--tools", &arguments.tools),
            ("--exclude-tools", &arguments.exclude_tools),
        ] {
            for name in names {
                let is_known = builtin
                    .iter()
                    .any(|tool| matches_pattern(name, &tool.spec().name))
                    || servers.is_some_and(|servers| servers.may_have(name));
                if !is_known {
                    return Err(unknown(flag, name, builtin));
                }
            }
        }
        Ok(Self {
            wanted: arguments.tools.clone(),
            excluded: arguments.exclude_tools.clone(),
        })
    }

    /// The registry with these tools only.
    pub(super) fn apply(&self, registry: &Registry) -> Registry {
        if self.wanted.is_empty() && self.excluded.is_empty() {
            return registry.clone();
        }
        let is_in = |names: &[String], tool: &Tool| {
            names
                .iter()
                .any(|name| matches_pattern(name, &tool.spec().name))
        };
        let selected = Registry::new();
        for tool in registry.callable() {
            let is_wanted = self.wanted.is_empty() || is_in(&self.wanted, &tool);
            if is_wanted && !is_in(&self.excluded, &tool) {
                selected.register(tool);
            }
        }
        selected
    }
}

fn unknown(flag: &str, name: &str, tools: &[Tool]) -> Failure {
    let names = || tools.iter().map(|tool| tool.spec().name.as_str());
    let mut close: Vec<(f64, &str)> = names()
        .map(|known| (strsim::jaro_winkler(&name.to_lowercase(), known), known))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .collect();
    close.sort_by(|left, right| right.0.total_cmp(&left.0));
    let close: Vec<String> = close
        .iter()
        .take(SUGGESTIONS_MAX)
        .map(|(_, known)| format!("`{known}`"))
        .collect();
    let failure = if name.contains('*') {
        Failure::usage(format!("{flag}: no tool matches `{name}`"))
    } else {
        Failure::usage(format!("{flag}: there is no tool `{name}`"))
    };
    if close.is_empty() {
        failure.hint(format!(
            "the tools are {}",
            names().collect::<Vec<_>>().join(", ")
        ))
    } else {
        failure.hint(format!("did you mean {}?", close.join(" or ")))
    }
}
