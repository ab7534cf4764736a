//! The page about security names the test that shows each claim; each of them has to be there.

use super::Finding;
use super::repository::{File, Repository};

const PAGE: &str = "docs/security.md";

/// Where the attempts to get out are, whose names the last table has.
const ATTEMPTS: &str = "crates/pirn-sandbox/tests/escape/rows/";

/// Reports tests that the page names and nobody has, and attempts to get out that it does not name.
pub(super) fn named_tests(repository: &Repository) -> Vec<Finding> {
    let Some(page) = repository.file(PAGE) else {
        return vec![Finding::error(PAGE, "is missing")];
    };
    let mut findings = Vec::new();
    for (line, claim) in claims(repository, page.text()) {
        if !claim.is_there(repository) {
            findings.push(Finding::error(
                format!("{PAGE}:{line}"),
                format!("{} has no test `{}`", claim.package, claim.test),
            ));
        }
    }
    for name in attempts(repository) {
        if !page.text().contains(&format!("| `{name}`")) {
            findings.push(Finding::error(
                PAGE,
                format!("the table of attempts lacks `{name}`"),
            ));
        }
    }
    findings
}

/// A test that the page names.
#[derive(Debug, PartialEq, Eq)]
struct Claim<'a> {
    /// A crate, or `fuzz` for a fuzz target.
    package: &'a str,
    /// A test or a module of tests, with or without the modules it is in.
    test: &'a str,
}

impl Claim<'_> {
    fn is_there(&self, repository: &Repository) -> bool {
        if self.package == FUZZ {
            let path = format!("fuzz/fuzz_targets/{}.rs", self.test);
            return repository.file(&path).is_some();
        }
        let folder = format!("crates/{}/", self.package);
        let mut modules: Vec<&str> = self.test.split("::").collect();
        let name = modules.pop().unwrap_or_default();
        // Tests beside the code are in a file or in a part of one.
        let module = modules.into_iter().rfind(|module| *module != "tests");
        repository
            .files
            .iter()
            .filter(|file| file.has_extension(&["rs"]))
            .filter(|file| {
                let inside = file.path.strip_prefix(&folder);
                inside.is_some_and(|inside| module.is_none_or(|module| is_below(inside, module)))
            })
            .any(|file| has_test(file, name) || ends_in(&file.path, name))
    }
}

/// Stands for the package of fuzz targets.
const FUZZ: &str = "fuzz";

/// The tests that a text names, with their lines: code right after the name of a crate, and what is listed after it.
fn claims<'a>(repository: &'a Repository, text: &'a str) -> Vec<(usize, Claim<'a>)> {
    let mut claims = Vec::new();
    let mut package = None;
    let mut line = 1;
    for (index, part) in text.split('`').enumerate() {
        if index % 2 == 0 {
            package = package_after(repository, part, package);
        } else if let Some(package) = package
            && is_path(part)
        {
            let claim = Claim {
                package,
                test: part,
            };
            claims.push((line, claim));
        }
        line += part.matches('\n').count();
    }
    claims
}

/// Whose tests are named after this text between two pieces of code.
fn package_after<'a>(
    repository: &'a Repository,
    between: &str,
    before: Option<&'a str>,
) -> Option<&'a str> {
    let between = between.trim();
    if matches!(between, "," | "(" | "and" | ", and") {
        return before;
    }
    if between.ends_with("fuzz target") {
        return Some(FUZZ);
    }
    let last = between.rsplit(|character: char| character.is_whitespace() || character == '(');
    let last = last.map(str::trim).next().unwrap_or_default();
    repository
        .members
        .iter()
        .map(|member| member.name.as_str())
        .find(|name| *name == last)
}

fn is_path(code: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part.chars().all(|character| {
                character.is_ascii_lowercase() || character.is_ascii_digit() || character == '_'
            })
    };
    code.split("::").all(is_part)
}

/// Whether a file is a module, or in one.
fn is_below(path: &str, module: &str) -> bool {
    path.trim_end_matches(".rs")
        .split('/')
        .any(|part| part == module)
}

/// Whether a file, or the folder it is the root of, has this name.
fn ends_in(path: &str, module: &str) -> bool {
    path.ends_with(&format!("/{module}.rs")) || path.ends_with(&format!("/{module}/main.rs"))
}

/// Whether a file has a function of that name, or a trial of that name.
fn has_test(file: &File, name: &str) -> bool {
    let text = file.text();
    text.contains(&format!("fn {name}(")) || text.contains(&format!("\"{name}\""))
}

/// The names of all attempts to get out.
fn attempts(repository: &Repository) -> impl Iterator<Item = &str> {
    repository
        .files
        .iter()
        .filter(|file| file.path.starts_with(ATTEMPTS))
        .flat_map(|file| file.text().lines())
        .filter_map(|line| {
            line.trim_start()
                .strip_prefix("name: \"")?
                .strip_suffix("\",")
        })
}

#[cfg(test)]
mod tests;
