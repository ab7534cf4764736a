//! Where files lie, how long they are, and whether anything compiles them.

use super::repository::{Content, File, Repository};
use super::{Finding, sources};
use std::collections::BTreeSet;

/// Everything that may lie in the root. Plans, logs and drafts may not.
const ROOT: &[&str] = &[
    ".cargo",
    ".ci",
    ".config",
    ".editorconfig",
    ".gitattributes",
    ".github",
    ".gitignore",
    "AGENTS.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "clippy.toml",
    "crates",
    "docs",
    "examples",
    "fuzz",
    "rust-toolchain.toml",
    "rustfmt.toml",
    "tests",
    "typos.toml",
    "xtask",
];

/// A file of more code than this is shown: it probably has a second purpose.
const CODE_LINES_AIM: usize = 500;

/// A file of more code than this fails, unless [`LONG_FILES`] has it.
const CODE_LINES_MAX: usize = 800;

/// Files that are longer for a reason, each with its own ceiling. The list may only shrink.
const LONG_FILES: &[(&str, usize)] = &[];

/// Files of these kinds have a size; data and documents have not.
const CODE: &[&str] = &["rs", "c", "h", "js", "mjs", "ts", "py"];

/// Reports files and folders in the root that nobody agreed to.
pub(super) fn root_folder(repository: &Repository) -> Vec<Finding> {
    let entries: BTreeSet<&str> = repository
        .files
        .iter()
        .filter_map(|file| file.path.split('/').next())
        .collect();
    entries
        .into_iter()
        .filter(|entry| !ROOT.contains(entry))
        .map(|entry| Finding::error(entry, "does not belong into the root folder"))
        .collect()
}

/// Reports files that have grown too long, tests left out.
pub(super) fn sizes(repository: &Repository) -> Vec<Finding> {
    repository
        .files
        .iter()
        .filter(|file| file.has_extension(CODE) && !file.is_test())
        .filter_map(size)
        .collect()
}

fn size(file: &File) -> Option<Finding> {
    let lines = sources::lines(file)
        .filter(|line| !line.is_test && line.is_code())
        .count();
    let listed = LONG_FILES.iter().find(|(path, _)| *path == file.path);
    let path = file.path.as_str();
    match listed {
        Some((_, ceiling)) if lines > *ceiling => Some(Finding::error(
            path,
            format!("has {lines} lines of code, its ceiling is {ceiling}"),
        )),
        Some(_) if lines <= CODE_LINES_MAX => Some(Finding::error(
            path,
            "is short enough now; take it off LONG_FILES in xtask/src/tidy/files.rs",
        )),
        None if lines > CODE_LINES_MAX => Some(Finding::error(
            path,
            format!("has {lines} lines of code, the maximum is {CODE_LINES_MAX}"),
        )),
        None if lines > CODE_LINES_AIM => Some(Finding::warning(
            path,
            format!("has {lines} lines of code, the aim is {CODE_LINES_AIM}"),
        )),
        Some(_) | None => None,
    }
}

/// Reports binary files, which only tests may need as data.
pub(super) fn binaries(repository: &Repository) -> Vec<Finding> {
    repository
        .files
        .iter()
        .filter(|file| matches!(file.content, Content::Binary) && !file.is_test())
        .map(|file| Finding::error(file.path.as_str(), "is a binary file"))
        .collect()
}

/// Reports `mod.rs` files and files that no other file declares as a module, which the compiler
/// would silently leave out.
pub(super) fn modules(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &repository.files {
        let path = file.path.as_str();
        if !file.has_extension(&["rs"]) {
            continue;
        }
        if path.ends_with("/mod.rs") {
            findings.push(Finding::error(
                path,
                "a folder module is `name.rs` beside `name/`",
            ));
        } else if !is_target_root(path) && !is_declared(repository, path) {
            findings.push(Finding::error(path, "no file declares this module"));
        }
    }
    findings
}

/// True for files that cargo itself finds.
fn is_target_root(path: &str) -> bool {
    let components: Vec<&str> = path.split('/').collect();
    let (folder, name) = match components.as_slice() {
        [.., folder, name] => (*folder, *name),
        _ => return true,
    };
    name == "build.rs"
        || name == "main.rs"
        || name == "lib.rs"
        || ["bin", "tests", "benches", "examples", "fuzz_targets"].contains(&folder)
            && !components.contains(&"src")
        || folder == "bin"
}

fn is_declared(repository: &Repository, path: &str) -> bool {
    let Some((folder, name)) = path.rsplit_once('/') else {
        return false;
    };
    let declaration = format!("mod {};", name.trim_end_matches(".rs"));
    let attribute = format!("{name}\"]");
    let in_folder = |file: &&File| {
        file.path
            .rsplit_once('/')
            .is_some_and(|(parent, _)| parent == folder)
    };
    let above = format!("{folder}.rs");
    repository
        .files
        .iter()
        .filter(|file| file.has_extension(&["rs"]))
        .filter(|file| file.path == above || in_folder(file))
        .any(|file| {
            file.text().lines().any(|line| {
                let line = line.trim();
                line.ends_with(&declaration) && !line.starts_with("//")
                    || line.starts_with("#[path") && line.ends_with(&attribute)
            })
        })
}

#[cfg(test)]
mod tests;
