//! What ignore files say of the entries of a folder.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use pirn_file::{Entry, EntryKind};

use super::GIT_FOLDER;

/// Ignore files of any program.
const IGNORE_FILE: &str = ".ignore";
/// The file that git reads in each folder.
const GIT_IGNORE_FILE: &str = ".gitignore";
/// Where git looks in its own folder.
const GIT_EXCLUDE_FILE: &str = "info/exclude";

/// Bytes of an ignore file that count: a thousand times what real ones have.
const IGNORE_FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The rules of a folder, with those of the folders above it. Only folders that have some are in the chain.
#[derive(Debug)]
pub(super) struct Ignored {
    above: Option<Arc<Self>>,
    plain: Gitignore,
    git: Gitignore,
    exclude: Gitignore,
    /// Rules of git above it do not count below it.
    is_repository: bool,
}

impl Ignored {
    /// The rules that hold in `folder`, one without links, by the ignore files of the folders above it.
    pub(super) fn above(folder: &Path, global: Option<&Path>) -> Arc<Self> {
        let mut rules = Arc::new(Self {
            above: None,
            plain: Gitignore::empty(),
            git: Gitignore::empty(),
            // Counts least, as the user's own file does.
            exclude: global.map_or_else(Gitignore::empty, |file| read(folder, file)),
            is_repository: false,
        });
        let mut folders: Vec<&Path> = folder.ancestors().skip(1).collect();
        folders.reverse();
        for folder in folders {
            let present = Present {
                plain: folder.join(IGNORE_FILE).is_file(),
                git: folder.join(GIT_IGNORE_FILE).is_file(),
                repository: folder.join(GIT_FOLDER).exists(),
            };
            rules = Self::in_folder(&rules, folder, present);
        }
        rules
    }

    /// The rules in a folder that has these entries.
    pub(super) fn below(above: &Arc<Self>, folder: &Path, entries: &[Entry]) -> Arc<Self> {
        let has = |name: &str| entries.iter().any(|entry| entry.name == name);
        let present = Present {
            plain: has(IGNORE_FILE),
            git: has(GIT_IGNORE_FILE),
            repository: has(GIT_FOLDER),
        };
        Self::in_folder(above, folder, present)
    }

    fn in_folder(above: &Arc<Self>, folder: &Path, present: Present) -> Arc<Self> {
        if !(present.plain || present.git || present.repository) {
            return Arc::clone(above);
        }
        let file = |is_present: bool, name: &str| {
            if is_present {
                read(folder, &folder.join(name))
            } else {
                Gitignore::empty()
            }
        };
        let exclude = folder.join(GIT_FOLDER).join(GIT_EXCLUDE_FILE);
        Arc::new(Self {
            above: Some(Arc::clone(above)),
            plain: file(present.plain, IGNORE_FILE),
            git: file(present.git, GIT_IGNORE_FILE),
            exclude: if present.repository {
                read(folder, &exclude)
            } else {
                Gitignore::empty()
            },
            is_repository: present.repository,
        })
    }

    /// Whether an entry is left out, given by its path without links.
    pub(super) fn ignores(&self, path: &Path, kind: EntryKind) -> bool {
        let is_folder = kind == EntryKind::Folder;
        let mut plain = Match::None;
        let mut git = Match::None;
        let mut exclude = Match::None;
        let mut is_within = true;
        let mut rules = Some(self);
        while let Some(at) = rules {
            let matched = |rules: &'_ Gitignore, so_far: Match<()>| {
                if so_far.is_none() && !rules.is_empty() {
                    rules.matched(path, is_folder).map(|_glob| ())
                } else {
                    so_far
                }
            };
            plain = matched(&at.plain, plain);
            if is_within || at.above.is_none() {
                git = matched(&at.git, git);
                exclude = matched(&at.exclude, exclude);
            }
            is_within &= !at.is_repository;
            rules = at.above.as_deref();
        }
        plain.or(git).or(exclude).is_ignore()
    }
}

/// Which of these a folder has.
#[derive(Debug, Clone, Copy)]
struct Present {
    plain: bool,
    git: bool,
    repository: bool,
}

/// The rules in a file, for paths in `folder`. What is no regular file, and lines that are no patterns, count for nothing.
fn read(folder: &Path, file: &Path) -> Gitignore {
    let mut text = String::new();
    let read = pirn_file::open_readable(file).and_then(|opened| {
        if opened.metadata()?.is_file() {
            let mut bytes = Vec::new();
            opened.take(IGNORE_FILE_BYTES_MAX).read_to_end(&mut bytes)?;
            text = String::from_utf8_lossy(&bytes).into_owned();
        }
        Ok(())
    });
    if read.is_err() {
        return Gitignore::empty();
    }
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.trim_start_matches('\u{FEFF}').lines() {
        // A broken line makes only that line count for nothing.
        let _broken = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
