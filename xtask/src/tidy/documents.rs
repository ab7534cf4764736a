//! Documents that have to keep up with the code.

use super::Finding;
use super::repository::{File, Repository};

const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// A map longer than this is no longer read.
const ARCHITECTURE_LINES_MAX: usize = 250;

const CHANGELOG: &str = "CHANGELOG.md";

/// Reports an architecture document that is too long or does not name every crate.
pub(super) fn architecture(repository: &Repository) -> Vec<Finding> {
    let Some(file) = repository.file(ARCHITECTURE) else {
        return vec![Finding::error(ARCHITECTURE, "is missing")];
    };
    let mut findings = Vec::new();
    let lines = file.text().lines().count();
    if lines > ARCHITECTURE_LINES_MAX {
        findings.push(Finding::error(
            ARCHITECTURE,
            format!("has {lines} lines, the maximum is {ARCHITECTURE_LINES_MAX}"),
        ));
    }
    for package in &repository.members {
        if !file.text().contains(&format!("`{}`", package.name)) {
            findings.push(Finding::error(
                ARCHITECTURE,
                format!("does not mention the crate `{}`", package.name),
            ));
        }
    }
    findings
}

/// Reports a changelog without a place for the next change.
pub(super) fn changelog(repository: &Repository) -> Vec<Finding> {
    let has_section = repository
        .file(CHANGELOG)
        .is_some_and(|file| file.text().lines().any(|line| line == "## Unreleased"));
    if has_section {
        Vec::new()
    } else {
        vec![Finding::error(CHANGELOG, "has no section `## Unreleased`")]
    }
}

/// Reports relative links in documents that lead nowhere.
pub(super) fn links(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &repository.files {
        if !file.has_extension(&["md"]) || file.is_test() {
            continue;
        }
        for (index, line) in file.text().lines().enumerate() {
            for target in link_targets(line) {
                if !leads_somewhere(repository, file, target) {
                    findings.push(Finding::error(
                        format!("{}:{}", file.path, index + 1),
                        format!("the link `{target}` leads nowhere"),
                    ));
                }
            }
        }
    }
    findings
}

fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target)
}

fn leads_somewhere(repository: &Repository, file: &File, target: &str) -> bool {
    let path = target.split('#').next().unwrap_or_default();
    if path.is_empty() || path.contains(':') {
        return true;
    }
    let mut components: Vec<&str> = file.path.split('/').collect();
    components.pop();
    for component in path.trim_end_matches('/').split('/') {
        match component {
            ".." if components.pop().is_none() => return false,
            "." | ".." => {}
            name => components.push(name),
        }
    }
    let wanted = components.join("/");
    let folder = format!("{wanted}/");
    repository
        .files
        .iter()
        .any(|candidate| candidate.path == wanted || candidate.path.starts_with(&folder))
}

#[cfg(test)]
mod tests;
