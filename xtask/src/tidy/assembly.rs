//! Where the parts of Pirn are put together: in one crate, whose clients the commands are.

use super::Finding;
use super::repository::Repository;
use super::sources::lines;

/// The crate of the commands.
const COMMANDS: &str = "crates/pirn/src/";

/// What only the runtime makes, and where a command gets it instead.
const PARTS: &[(&str, &str)] = &[
    ("Pipeline::builder", "a client's calls, or its `pipeline()`"),
    ("Registry::new", "a client's `registry()`"),
    ("pirn_tools::", "`RuntimeBuilder::builtin_tools`"),
    ("McpManager::new", "`Runtime::servers`"),
    ("OAuth::new", "`pirn_runtime::sign_in_service`"),
    ("Sandbox::prepare", "`Runtime::confinement`"),
    ("Sandbox::on_demand", "`Runtime::confinement`"),
    ("SandboxPolicy::new", "`pirn_runtime::sandbox_policy`"),
    ("NetworkProxy::new", "`Runtime::confinement`"),
    ("Kernel::new", "a client's evals"),
    ("EvalTool", "a client's evals"),
    ("PipelineHost", "a client's scripts"),
    (" Policy for ", "`pirn_runtime::Permissions`"),
    ("EffectPolicy::new", "`pirn_runtime::Permissions`"),
    ("AgentPolicy::new", "`pirn_runtime::Permissions`"),
    (".handler()", "a client's calls"),
];

/// Reports commands that put a registry, a pipeline, servers, a sandbox or a policy together.
pub(super) fn assembly(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &repository.files {
        if !file.path.starts_with(COMMANDS) || !file.has_extension(&["rs"]) {
            continue;
        }
        for line in lines(file).filter(|line| !line.is_test && line.is_code()) {
            let made = PARTS.iter().find(|(part, _)| line.text.contains(part));
            if let Some((part, instead)) = made {
                findings.push(Finding::error(
                    format!("{}:{}", file.path, line.number),
                    format!("`{part}`: a command is a client of pirn-runtime; use {instead}"),
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests;
