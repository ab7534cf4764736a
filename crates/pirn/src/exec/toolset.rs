//! Whether the tools that were named exist.

use pirn_runtime::{Runtime, Servers, ToolFilter};
use pirn_tool::{Tool, matches_pattern};

use crate::failure::Failure;

/// Names less alike than this are not offered as what was meant.
const LIKENESS_MIN: f64 = 0.7;
/// Names that are offered at most.
const SUGGESTIONS_MAX: usize = 3;

/// Fails on names that no tool has; those of servers are not known yet.
pub(super) fn check(filter: &ToolFilter, runtime: &Runtime) -> Result<(), Failure> {
    let tools = runtime.registry().registered();
    let servers = runtime.servers();
    for (flag, names) in [
        ("--tools", &filter.include),
        ("--exclude-tools", &filter.exclude),
    ] {
        for name in names {
            if !may_exist(name, &tools, servers) {
                return Err(unknown(flag, name, &tools));
            }
        }
    }
    Ok(())
}

fn may_exist(name: &str, tools: &[Tool], servers: Option<&Servers>) -> bool {
    tools
        .iter()
        .any(|tool| matches_pattern(name, &tool.spec().name))
        || servers.is_some_and(|servers| servers.may_have(name))
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
