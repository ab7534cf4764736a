//! `cargo xtask tidy`: the rules of this repository that no compiler knows.
//!
//! A rule reads the [`Repository`] and returns its findings. All rules run, so that one run shows
//! everything there is to repair.

mod assembly;
mod comments;
mod dependencies;
mod documents;
mod files;
mod layers;
mod license;
mod manifests;
mod repository;
mod security;
mod sources;

use anyhow::{Result, bail};
use repository::Repository;
use std::path::Path;

/// One thing that a rule objects to.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    severity: Severity,
    /// A path, with a line where there is one, or the name of a package.
    place: String,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Severity {
    /// Shown, so that it is repaired before it hurts.
    Warning,
    /// Makes the whole run fail.
    Error,
}

impl Finding {
    fn error(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            place: place.into(),
            message: message.into(),
        }
    }

    fn warning(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(place, message)
        }
    }
}

type Rule = fn(&Repository) -> Vec<Finding>;

const RULES: &[(&str, Rule)] = &[
    ("layers", layers::edges),
    ("manifests", manifests::inheritance),
    ("licences", dependencies::licences),
    ("dependency ceilings", dependencies::ceilings),
    ("root folder", files::root_folder),
    ("file sizes", files::sizes),
    ("binary files", files::binaries),
    ("module files", files::modules),
    ("test code", sources::test_code),
    ("unsafe code", sources::unsafe_code),
    ("assembly", assembly::assembly),
    ("forbidden text", sources::forbidden_text),
    ("short comments", comments::short_docs),
    ("architecture", documents::architecture),
    ("changelog", documents::changelog),
    ("links", documents::links),
    ("tests of the security page", security::named_tests),
];

pub(crate) fn run(root: &Path) -> Result<()> {
    let repository = Repository::load(root)?;
    let mut errors = 0;
    let mut warnings = 0;
    for (name, rule) in RULES {
        for finding in rule(&repository) {
            let word = match finding.severity {
                Severity::Warning => {
                    warnings += 1;
                    "warning"
                }
                Severity::Error => {
                    errors += 1;
                    "error"
                }
            };
            println!("{word}: {name}: {}: {}", finding.place, finding.message);
        }
    }
    if errors > 0 {
        bail!("tidy found {errors} errors and {warnings} warnings");
    }
    println!(
        "    {} rules over {} files, {warnings} warnings",
        RULES.len(),
        repository.files.len()
    );
    Ok(())
}
