//! Which tools a script gets.

use pirn_tool::{Registry, Tool, matches_pattern};
use pirn_tools::{ToolsOptions, builtin_tools};

use crate::arguments::ExecArguments;
use crate::failure::Failure;

/// Names less alike than this are not offered as what was meant.
const LIKENESS_MIN: f64 = 0.7;
/// Names that are offered at most.
const SUGGESTIONS_MAX: usize = 3;

/// The built-in tools that the command line asks for.
pub(super) fn select(
    options: ToolsOptions,
    arguments: &ExecArguments,
) -> Result<Registry, Failure> {
    let tools = builtin_tools(options);
    for (flag, names) in [
        ("--tools", &arguments.tools),
        ("--exclude-tools", &arguments.exclude_tools),
    ] {
        for name in names {
            if !tools
                .iter()
                .any(|tool| matches_pattern(name, &tool.spec().name))
            {
                return Err(unknown(flag, name, &tools));
            }
        }
    }
    let is_in = |names: &[String], tool: &Tool| {
        names
            .iter()
            .any(|name| matches_pattern(name, &tool.spec().name))
    };
    let registry = Registry::new();
    for tool in tools {
        let is_wanted = arguments.tools.is_empty() || is_in(&arguments.tools, &tool);
        if is_wanted && !is_in(&arguments.exclude_tools, &tool) {
            registry.register(tool);
        }
    }
    Ok(registry)
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
