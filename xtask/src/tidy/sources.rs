//! What may not be written, in code and elsewhere.

use super::Finding;
use super::repository::{File, Repository};

/// A line of a source file.
pub(super) struct Line<'a> {
    /// The number of the line, counted from 1.
    pub(super) number: usize,
    /// Without leading and trailing blanks.
    pub(super) text: &'a str,
    /// In a test file or in an inline test module.
    pub(super) is_test: bool,
}

impl Line<'_> {
    /// False for blank lines and lines that hold nothing but a comment.
    pub(super) fn is_code(&self) -> bool {
        !self.text.is_empty()
            && !["//", "/*", "*/", "* "]
                .iter()
                .any(|comment| self.text.starts_with(comment))
            && self.text != "*"
    }
}

/// The lines of a file. An inline test module is taken to be the last thing in its file.
pub(super) fn lines(file: &File) -> impl Iterator<Item = Line<'_>> {
    let mut is_test = file.is_test();
    let mut follows_test_attribute = false;
    file.text().lines().enumerate().map(move |(index, line)| {
        let text = line.trim();
        is_test |= follows_test_attribute && text.contains("mod ") && text.ends_with('{');
        // Further attributes may stand between this one and the module.
        follows_test_attribute =
            text == "#[cfg(test)]" || follows_test_attribute && text.starts_with("#[");
        Line {
            number: index + 1,
            text,
            is_test,
        }
    })
}

/// Crates that may allow unsafe code, besides the tools of development.
const CRATES_WITH_UNSAFE: &[&str] = &["pirn-bench", "pirn-sandbox", "pirn-vm"];

/// Reports crates that allow what the workspace denies. What else only one crate does for all is in `clippy.toml`.
pub(super) fn unsafe_code(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &repository.files {
        let mut components = file.path.split('/');
        let (Some("crates"), Some(name), Some("src")) =
            (components.next(), components.next(), components.next())
        else {
            continue;
        };
        if !CRATES_WITH_UNSAFE.contains(&name) && file.has_extension(&["rs"]) {
            findings.extend(find(
                file,
                &["(unsafe_code", "(clippy::undocumented_unsafe_blocks"],
                "this crate has no unsafe code",
                |line| !line.is_test && line.is_code(),
            ));
        }
    }
    findings
}

/// The comment that allows a sleep in a test, followed by the reason.
const SLEEP_REASON: &str = "// sleeps:";

/// Reports ignored tests, and tests that wait for time to pass instead of for an event.
pub(super) fn test_code(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    let rust_files = repository
        .files
        .iter()
        .filter(|file| file.has_extension(&["rs"]) && !file.path.starts_with("xtask/"));
    for file in rust_files {
        findings.extend(find(
            file,
            &["#[ignore"],
            "a test runs or does not exist",
            |line| line.text.starts_with("#["),
        ));
        findings.extend(find(
            file,
            &["thread::sleep(", "time::sleep("],
            "a test waits for an event, not for time to pass; `// sleeps: REASON` on the line allows it",
            |line| line.is_test && line.is_code() && !line.text.contains(SLEEP_REASON),
        ));
    }
    findings
}

/// Where the folders of people and machines begin. A path below one of them works on one machine.
const MACHINE_FOLDERS: &[&str] = &["/home/", "/Users/", "C:\\Users\\"];

/// Folders that hold checkouts on many machines and that a document may well speak of.
const COMMON_FOLDERS: &[&str] = &[
    "/",
    "/builds",
    "/data",
    "/home",
    "/mnt",
    "/opt",
    "/root",
    "/src",
    "/srv",
    "/tmp",
    "/usr/src",
    "/workspace",
];

/// Names in such a path that stand for nobody.
const PLACEHOLDERS: &[&str] = &[
    "alice", "ann", "bob", "dev", "me", "name", "someone", "test", "user", "you",
];

/// What a merge leaves behind.
const CONFLICT_MARKERS: &[&str] = &["<<<<<<< ", ">>>>>>> ", "||||||| "];

/// Reports text that belongs to one machine or one moment.
pub(super) fn forbidden_text(repository: &Repository) -> Vec<Finding> {
    let checkout = repository.root.to_string_lossy();
    let neighbours = repository
        .root
        .parent()
        .map(|folder| folder.to_string_lossy())
        .filter(|folder| !COMMON_FOLDERS.contains(&folder.as_ref()))
        .map(|folder| format!("{folder}/"));
    let folders: Vec<&str> = MACHINE_FOLDERS
        .iter()
        .copied()
        .chain(neighbours.as_deref())
        .collect();
    let mut findings = Vec::new();
    for file in &repository.files {
        for (index, line) in file.text().lines().enumerate() {
            let place = || format!("{}:{}", file.path, index + 1);
            if CONFLICT_MARKERS
                .iter()
                .any(|marker| line.starts_with(marker))
            {
                findings.push(Finding::error(place(), "an unresolved conflict"));
            }
            if line.contains(checkout.as_ref()) || names_machine_folder(line, &folders) {
                findings.push(Finding::error(
                    place(),
                    "a path of one machine; write it relative, or with the name `user`",
                ));
            }
        }
    }
    findings
}

fn names_machine_folder(line: &str, folders: &[&str]) -> bool {
    folders.iter().any(|folder| {
        line.match_indices(folder).any(|(start, _)| {
            let before = line.get(..start).unwrap_or_default();
            let after = line.get(start + folder.len()..).unwrap_or_default();
            let name: String = after
                .chars()
                .take_while(|letter| letter.is_alphanumeric() || "._-".contains(*letter))
                .collect();
            // `docs/home/`, `https://host/home/` and `[PLACE]/home/` are not the folder meant here.
            let is_absolute =
                !before.ends_with(|letter: char| letter.is_alphanumeric() || letter == ']');
            is_absolute && !name.is_empty() && !PLACEHOLDERS.contains(&name.as_str())
        })
    })
}

fn find(
    file: &File,
    needles: &[&str],
    message: &str,
    matters: impl Fn(&Line<'_>) -> bool,
) -> Vec<Finding> {
    lines(file)
        .filter(|line| matters(line))
        .filter_map(|line| {
            let needle = needles.iter().find(|needle| line.text.contains(**needle))?;
            Some(Finding::error(
                format!("{}:{}", file.path, line.number),
                format!("`{needle}`: {message}"),
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests;
