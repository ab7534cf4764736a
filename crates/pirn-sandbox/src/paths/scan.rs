//! The one walk through what may be written: what git may take for a repository, and names that matter.
//!
//! What a folder holds is kept from one walk to the next, with the time of its last change, which no program can set. A walk
//! that comes later asks each folder for that time and reads only those that have changed: some milliseconds for thousands of
//! folders.

#[cfg(target_os = "linux")]
mod listing;
#[cfg(not(target_os = "linux"))]
#[path = "scan/listing_std.rs"]
mod listing;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::pattern::Pattern;
use super::regular::unless_absent;
use listing::{Listed, Lister};

/// Folders that hold other people's files by the thousand: no credentials of ours, and nothing that an editor opens.
const FOREIGN: &[&str] = &["node_modules", "target"];
/// In a git folder, these hold nothing that git would take for a repository.
const GIT_STORES: &[&str] = &["objects", "refs", "logs", "lfs"];
/// How much older than its listing the last change of a folder must be, so that a later one shows: clocks of file systems tick
/// every few milliseconds.
const TICK: Duration = Duration::from_millis(50);

/// What is looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NamesOfInterest {
    /// What must not be read.
    pub(super) hidden: Vec<Pattern>,
    /// What must not be written.
    pub(super) unwritable: Vec<Pattern>,
}

/// What a walk found. Only names count, so none of it need be what it seems.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Everything that is named `.git`.
    pub(crate) git: Vec<PathBuf>,
    /// Folders of another name that look like git's.
    pub(crate) bare: Vec<PathBuf>,
    /// Everything that is named `.pirn`.
    pub(crate) pirn: Vec<PathBuf>,
    /// What must not be read, but not below folders of other people's files.
    pub(crate) hidden: Vec<PathBuf>,
    /// What must not be written, but not below folders of other people's files.
    pub(crate) unwritable: Vec<PathBuf>,
}

/// What an entry is looked for as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Git,
    Pirn,
    Hidden,
    Unwritable,
}

/// Whose files a folder holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Zone {
    Own,
    Foreign,
}

/// Which state of a folder a listing is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    number: u64,
    changed: (i64, i64),
}

/// What is known about one folder.
#[derive(Debug)]
struct Folder {
    /// `None` where it has to be listed each time.
    stamp: Option<Stamp>,
    round: u64,
    entries: u64,
    marks: Vec<(Mark, OsString)>,
    is_git: bool,
    folders: Vec<OsString>,
}

/// Tells most names that no pattern wants without trying each pattern: they are asked for by the hundred thousand.
#[derive(Debug)]
struct NameFilter<'names> {
    names: &'names NamesOfInterest,
    /// By the first byte of a name, whether a pattern begins with it.
    first: [bool; 256],
    /// What names end in that a pattern with `*` in front wants.
    ends: Vec<&'names [u8]>,
    /// Whether some pattern may want any name.
    wants_any: bool,
}

impl<'names> NameFilter<'names> {
    fn of(names: &'names NamesOfInterest) -> Self {
        let mut filter = Self {
            names,
            first: [false; 256],
            ends: Vec::new(),
            wants_any: false,
        };
        for last in names.patterns().filter_map(Pattern::last_name) {
            match last {
                [b'*', end @ ..] if !end.iter().any(|byte| matches!(byte, b'*' | b'?')) => {
                    filter.ends.push(end);
                }
                [] | [b'*' | b'?', ..] => filter.wants_any = true,
                [first, ..] => {
                    if let Some(place) = filter.first.get_mut(usize::from(*first)) {
                        *place = true;
                    }
                }
            }
        }
        filter
    }

    /// Whether a name may be of interest, wherever it is. Most are not, and nothing is kept of them.
    fn may_want(&self, name: &[u8], zone: Zone) -> bool {
        if name == b".git" || name == b".pirn" {
            return true;
        }
        let Some(first) = name.first().filter(|_| zone == Zone::Own) else {
            return false;
        };
        let is_likely = self.wants_any
            || self.first.get(usize::from(*first)) == Some(&true)
            || self.ends.iter().any(|end| name.ends_with(end));
        is_likely
            && self
                .names
                .patterns()
                .any(|pattern| pattern.matches_name(name))
    }
}

impl NamesOfInterest {
    fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.hidden.iter().chain(&self.unwritable)
    }
}

/// What is known about the folders below some roots.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    folders: HashMap<PathBuf, Folder>,
    round: u64,
    listings: u64,
    lister: Lister,
}

/// How many entries one walk may look at, with the setting that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntriesMax(pub(crate) u64);

impl Scan {
    /// Walks through folders without following links. Fails where not everything could be looked at.
    pub(crate) fn walk(
        &mut self,
        roots: &[PathBuf],
        names: &NamesOfInterest,
        entries_max: EntriesMax,
    ) -> io::Result<Found> {
        self.round += 1;
        let filter = NameFilter::of(names);
        let mut found = Found::default();
        let mut entries_left = entries_max.0;
        let mut open: Vec<(PathBuf, Zone)> =
            roots.iter().map(|root| (root.clone(), Zone::Own)).collect();
        while let Some((path, zone)) = open.pop() {
            let Some(folder) = self.folder(&path, zone, &filter)? else {
                continue;
            };
            entries_left = entries_left
                .checked_sub(folder.entries)
                .ok_or_else(|| too_many(entries_max))?;
            if folder.is_git {
                found.bare.push(path.clone());
            }
            for (mark, name) in &folder.marks {
                let list = match mark {
                    Mark::Git => &mut found.git,
                    Mark::Pirn => &mut found.pirn,
                    Mark::Hidden => &mut found.hidden,
                    Mark::Unwritable => &mut found.unwritable,
                };
                list.push(path.join(name));
            }
            for name in &folder.folders {
                let is_foreign = FOREIGN.iter().any(|foreign| name == *foreign);
                let zone = if is_foreign { Zone::Foreign } else { zone };
                open.push((path.join(name), zone));
            }
        }
        let round = self.round;
        self.folders.retain(|_, folder| folder.round == round);
        for list in [
            &mut found.git,
            &mut found.bare,
            &mut found.pirn,
            &mut found.hidden,
            &mut found.unwritable,
        ] {
            list.sort_unstable();
        }
        Ok(found)
    }

    /// How many folders have been read so far, in all walks: the same as before where nothing has changed.
    #[cfg(target_os = "linux")]
    pub(super) fn listings(&self) -> u64 {
        self.listings
    }

    /// What a folder holds now; `None` where there is none.
    fn folder(
        &mut self,
        path: &Path,
        zone: Zone,
        filter: &NameFilter<'_>,
    ) -> io::Result<Option<&Folder>> {
        let round = self.round;
        if let Some(folder) = self.folders.get(path)
            && folder.stamp.is_some()
            && folder.stamp == unless_absent(path, listing::stamp(path))?.flatten()
        {
            // The borrow above must end before this one begins.
            let folder = self.folders.get_mut(path);
            return Ok(folder.map(|folder| {
                folder.round = round;
                &*folder
            }));
        }
        self.listings += 1;
        let begun = SystemTime::now();
        let listed = self.lister.list(path, |name| filter.may_want(name, zone));
        let Some(listed) = unless_absent(path, listed)? else {
            return Ok(None);
        };
        let folder = Folder::of(path, listed, zone, filter.names, begun, round);
        self.folders.insert(path.to_owned(), folder);
        Ok(self.folders.get(path))
    }
}

impl Folder {
    fn of(
        path: &Path,
        listed: Listed,
        zone: Zone,
        names: &NamesOfInterest,
        begun: SystemTime,
        round: u64,
    ) -> Self {
        let has = |name: &str| listed.git_marks.iter().any(|mark| mark == name);
        let is_git = has("HEAD") && (has("objects") && has("refs") || has("commondir"));
        let marks = listed
            .candidates
            .into_iter()
            .flat_map(|name| {
                let marks = marks_of(path, &name, zone, names);
                marks.into_iter().map(move |mark| (mark, name.clone()))
            })
            .collect();
        let mut folders = listed.folders;
        folders.retain(|name| {
            // What lies in it belongs to the repository, which is looked at as one.
            name != ".git" && !(is_git && GIT_STORES.iter().any(|store| name == *store))
        });
        Self {
            stamp: listed.stamp.filter(|stamp| is_settled(stamp, begun)),
            round,
            entries: listed.entries,
            marks,
            is_git,
            folders,
        }
    }
}

/// Whether a later change would show in the stamp.
fn is_settled(stamp: &Stamp, begun: SystemTime) -> bool {
    let (seconds, nanoseconds) = stamp.changed;
    let changed = u64::try_from(seconds)
        .ok()
        .zip(u32::try_from(nanoseconds).ok())
        .map(|(seconds, nanoseconds)| SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds));
    changed.is_some_and(|changed| changed + TICK < begun)
}

/// What a name is looked for as: a file can be both unreadable and guarded.
fn marks_of(path: &Path, name: &OsString, zone: Zone, names: &NamesOfInterest) -> Vec<Mark> {
    if name == ".git" {
        return vec![Mark::Git];
    }
    if name == ".pirn" {
        return vec![Mark::Pirn];
    }
    if zone == Zone::Foreign {
        return Vec::new();
    }
    let is_one = |patterns: &[Pattern]| {
        patterns
            .iter()
            .any(|pattern| pattern.matches_entry(path, name))
    };
    let mut marks = Vec::new();
    if is_one(&names.hidden) {
        marks.push(Mark::Hidden);
    }
    if is_one(&names.unwritable) {
        marks.push(Mark::Unwritable);
    }
    marks
}

pub(super) fn too_many(entries_max: EntriesMax) -> io::Error {
    io::Error::other(format!(
        "There are more than {} files and folders in the writable folders, which are looked through for what must be protected; \
         the setting sandbox.filesMax raises that bound.",
        entries_max.0
    ))
}

#[cfg(test)]
mod tests;
