//! What comes from outside: licences, and how much of it there is.

use super::repository::Repository;
use super::{Finding, license};
use std::collections::BTreeMap;

/// Packages in `Cargo.lock`, all platforms. Raise it on purpose, in the change that needs it.
const LOCKED_PACKAGES_MAX: usize = 450;

/// Packages that are there in more than one version, counted once per extra version.
const DUPLICATE_VERSIONS_MAX: usize = 36;

/// Reports dependencies whose licence asks for more than a notice, or that declare none.
pub(super) fn licences(repository: &Repository) -> Vec<Finding> {
    repository
        .externals
        .iter()
        .filter_map(|package| {
            let place = format!("{} {}", package.name, package.version);
            match package.license.as_deref() {
                None => Some(Finding::error(place, "declares no licence")),
                Some(expression) if license::is_acceptable(expression) => None,
                Some(expression) => Some(Finding::error(
                    place,
                    format!("the licence `{expression}` is not on the list of accepted ones"),
                )),
            }
        })
        .collect()
}

/// Reports a lock file that has grown over its ceilings.
pub(super) fn ceilings(repository: &Repository) -> Vec<Finding> {
    let total = repository.externals.len() + repository.members.len();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in &repository.externals {
        versions
            .entry(&package.name)
            .or_default()
            .push(&package.version);
    }
    versions.retain(|_, found| found.len() > 1);
    let extra: usize = versions.values().map(|found| found.len() - 1).sum();

    let mut findings = Vec::new();
    if total > LOCKED_PACKAGES_MAX {
        findings.push(Finding::error(
            "Cargo.lock",
            format!("holds {total} packages, the ceiling is {LOCKED_PACKAGES_MAX}"),
        ));
    }
    if extra > DUPLICATE_VERSIONS_MAX {
        let list: Vec<String> = versions
            .iter()
            .map(|(name, found)| format!("{name} ({})", found.join(", ")))
            .collect();
        findings.push(Finding::error(
            "Cargo.lock",
            format!(
                "{extra} packages are there again in another version, the ceiling is \
                 {DUPLICATE_VERSIONS_MAX}: {}",
                list.join(", ")
            ),
        ));
    }
    findings
}
