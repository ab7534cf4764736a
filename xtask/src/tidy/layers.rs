//! Which crate may depend on which: arrows point down only.

use super::Finding;
use super::repository::{DependencyKind, Repository};
use std::collections::BTreeSet;

/// What a crate may depend on inside the workspace.
enum Allowed {
    /// Everything: this crate puts the parts together.
    Everything,
    /// It may depend on these crates and no others.
    Only(&'static [&'static str]),
}

/// The crate whose only use is in tests, so any crate may have it as a dev-dependency.
const TEST_KIT: &str = "pirn-testkit";

/// The layers, the highest first. A crate that does not exist yet may have a row.
const LAYERS: &[(&str, Allowed)] = &[
    ("pirn", Allowed::Everything),
    ("pirn-bench", Allowed::Everything),
    (
        "pirn-tui",
        Allowed::Only(&[
            "pirn-agent",
            "pirn-codemode",
            "pirn-file",
            "pirn-jsonc",
            "pirn-model",
            "pirn-runtime",
            "pirn-sandbox",
            "pirn-session",
            "pirn-terminal",
            "pirn-tool",
        ]),
    ),
    (
        "pirn-gateway",
        Allowed::Only(&["pirn-codemode", "pirn-runtime", "pirn-state", "pirn-tool"]),
    ),
    (
        "pirn-agent",
        Allowed::Only(&[
            "pirn-codemode",
            "pirn-model",
            "pirn-runtime",
            "pirn-session",
            "pirn-tool",
        ]),
    ),
    (
        "pirn-runtime",
        Allowed::Only(&[
            "pirn-codemode",
            "pirn-eval",
            "pirn-file",
            "pirn-jsonc",
            "pirn-mcp",
            "pirn-sandbox",
            "pirn-settings",
            "pirn-tool",
            "pirn-tools",
        ]),
    ),
    (
        "pirn-import",
        Allowed::Only(&[
            "pirn-jsonc",
            "pirn-mcp",
            "pirn-model",
            "pirn-session",
            "pirn-settings",
        ]),
    ),
    (
        "pirn-settings",
        Allowed::Only(&["pirn-file", "pirn-jsonc", "pirn-sandbox", "pirn-tool"]),
    ),
    ("pirn-terminal", Allowed::Only(&[])),
    (
        "pirn-session",
        Allowed::Only(&["pirn-file", "pirn-model", "pirn-tool"]),
    ),
    ("pirn-model", Allowed::Only(&["pirn-file", "pirn-jsonc"])),
    ("pirn-state", Allowed::Only(&[])),
    (
        "pirn-mcp",
        Allowed::Only(&[
            "pirn-file",
            "pirn-jsonc",
            "pirn-sandbox",
            "pirn-settings",
            "pirn-tool",
        ]),
    ),
    (
        "pirn-eval",
        Allowed::Only(&["pirn-codemode", "pirn-file", "pirn-sandbox", "pirn-tool"]),
    ),
    (
        "pirn-tools",
        Allowed::Only(&["pirn-file", "pirn-sandbox", "pirn-tool"]),
    ),
    (
        "pirn-codemode",
        Allowed::Only(&["pirn-file", "pirn-tool", "pirn-vm"]),
    ),
    ("pirn-tool", Allowed::Only(&[])),
    ("pirn-sandbox", Allowed::Only(&["pirn-file"])),
    ("pirn-jsonc", Allowed::Only(&["pirn-file"])),
    ("pirn-file", Allowed::Only(&[])),
    ("pirn-vm", Allowed::Only(&[])),
    (TEST_KIT, Allowed::Only(&[])),
    ("xtask", Allowed::Only(&[])),
];

/// Reports every dependency between members that the table does not have.
pub(super) fn edges(repository: &Repository) -> Vec<Finding> {
    let members: BTreeSet<&str> = repository
        .members
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    let mut findings = Vec::new();
    for package in &repository.members {
        let name = package.name.as_str();
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == name) else {
            findings.push(Finding::error(
                name,
                "the layer table in xtask/src/tidy/layers.rs has no row for this crate",
            ));
            continue;
        };
        for dependency in &package.dependencies {
            let target = dependency.name.as_str();
            let is_test_kit = target == TEST_KIT && dependency.kind == DependencyKind::Dev;
            let is_allowed = match allowed {
                Allowed::Everything => target != TEST_KIT,
                Allowed::Only(names) => names.contains(&target),
            };
            if members.contains(target) && !is_test_kit && !is_allowed {
                findings.push(Finding::error(
                    name,
                    format!("may not depend on {target}; the layers do not have this arrow"),
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests;
