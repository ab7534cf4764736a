//! Manifests inherit: versions, lints and metadata are written once, in the root.

use super::Finding;
use super::repository::{Package, Repository};

/// Keys of `[package]` that every member takes from the workspace.
const INHERITED: &[&str] = &["edition", "rust-version", "license"];

/// Keys that a published member takes from the workspace as well.
const INHERITED_WHEN_PUBLISHED: &[&str] = &["version", "repository"];

/// Reports members that write down what the root already says.
pub(super) fn inheritance(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &repository.members {
        let path = repository.manifest_of(package);
        let Some(file) = repository.file(&path) else {
            continue;
        };
        findings.extend(
            objections(file.text(), package)
                .into_iter()
                .map(|message| Finding::error(path.as_str(), message)),
        );
        if package.name != "xtask" && path != format!("crates/{}/Cargo.toml", package.name) {
            findings.push(Finding::error(
                path,
                format!("the folder is not named after the crate `{}`", package.name),
            ));
        }
    }
    findings
}

/// What is wrong with one manifest. Reads lines, not TOML: our manifests are plain.
fn objections(manifest: &str, package: &Package) -> Vec<String> {
    let is_published = package.publish.as_ref().is_none_or(|to| !to.is_empty());
    let mut wanted: Vec<String> = INHERITED
        .iter()
        .chain(
            is_published
                .then_some(INHERITED_WHEN_PUBLISHED)
                .into_iter()
                .flatten(),
        )
        .map(|key| format!("{key}.workspace = true"))
        .collect();
    let mut inherits_lints = false;
    let mut found = Vec::new();
    let mut section = "";
    for line in manifest.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with('[') {
            section = line.trim_matches(|letter| letter == '[' || letter == ']');
            continue;
        }
        if section == "package" {
            wanted.retain(|key| key != line);
        } else if section == "lints" {
            inherits_lints |= line == "workspace = true";
        } else if section.ends_with("dependencies")
            && line.contains('=')
            && !line.contains("workspace = true")
        {
            found.push(format!(
                "`{line}`: put the version into the root's [workspace.dependencies]"
            ));
        }
    }
    found.extend(
        wanted
            .into_iter()
            .map(|key| format!("[package] lacks `{key}`")),
    );
    if !inherits_lints {
        found.push("[lints] lacks `workspace = true`".to_owned());
    }
    found
}

#[cfg(test)]
mod tests;
