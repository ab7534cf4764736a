//! Whether the tools that were named exist.

use pirn_runtime::{Runtime, Servers, ToolFilter};
use pirn_tool::{Tool, closest, matches_pattern};

use crate::failure::Failure;

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
    let failure = if name.contains('*') {
        Failure::usage(format!("{flag}: no tool matches `{name}`"))
    } else {
        Failure::usage(format!("{flag}: there is no tool `{name}`"))
    };
    match closest(name, names()) {
        Some(close) => failure.hint(format!("did you mean `{close}`?")),
        None => failure.hint(format!(
            "the tools are {}",
            names().collect::<Vec<_>>().join(", ")
        )),
    }
}
