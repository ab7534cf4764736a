//! The one walk through what may be written: git folders and names that must not be read.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use super::pattern::Pattern;

/// How many entries one walk looks at: about 0.1 seconds with a warm cache. What lies near the top comes first.
const ENTRIES_MAX: usize = 100_000;
/// How deep it goes.
const DEPTH_MAX: usize = 16;
/// Folders that hold other people's files by the thousand, and no credentials of ours.
const SKIPPED: &[&str] = &["node_modules", "target"];

/// What a walk found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WalkResult {
    /// Everything named `.git`, whether folder or file.
    pub(super) git: Vec<PathBuf>,
    /// What matches a pattern for any depth; nothing below a match.
    pub(super) matches: Vec<PathBuf>,
    /// Whether something was not looked at.
    pub(super) cut_short: bool,
}

/// Walks through folders without following links, the shallow ones first.
pub(super) fn find(roots: &[PathBuf], patterns: &[Pattern], stopped: &AtomicBool) -> WalkResult {
    let bounds = WalkLimits {
        entries: ENTRIES_MAX,
        depth: DEPTH_MAX,
        stopped,
    };
    find_within(roots, patterns, &bounds)
}

/// What ends a walk before its end.
#[derive(Debug)]
pub(super) struct WalkLimits<'walk> {
    pub(super) entries: usize,
    pub(super) depth: usize,
    /// Nobody wants the answer any more.
    pub(super) stopped: &'walk AtomicBool,
}

pub(super) fn find_within(
    roots: &[PathBuf],
    patterns: &[Pattern],
    bounds: &WalkLimits<'_>,
) -> WalkResult {
    let mut found = WalkResult::default();
    let mut folders: VecDeque<(PathBuf, usize)> =
        roots.iter().map(|root| (root.clone(), 0)).collect();
    let mut entries_left = bounds.entries;
    while let Some((folder, depth)) = folders.pop_front() {
        if bounds.stopped.load(Ordering::Relaxed) {
            found.cut_short = true;
            return found;
        }
        let Ok(entries) = folder.read_dir() else {
            continue;
        };
        for entry in entries.flatten() {
            if entries_left == 0 {
                found.cut_short = true;
                return found;
            }
            entries_left -= 1;
            // Most entries are files of no interest: the name alone tells, and no path is made of it.
            let name = entry.file_name();
            if patterns
                .iter()
                .any(|pattern| pattern.matches_entry(&folder, &name))
            {
                found.matches.push(folder.join(name));
                continue;
            }
            if name == ".git" {
                found.git.push(folder.join(name));
                continue;
            }
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) || is_skipped(&name) {
                continue;
            }
            if depth < bounds.depth {
                folders.push_back((folder.join(name), depth + 1));
            } else {
                found.cut_short = true;
            }
        }
    }
    found
}

fn is_skipped(name: &OsStr) -> bool {
    SKIPPED.iter().any(|skipped| name == *skipped)
}
