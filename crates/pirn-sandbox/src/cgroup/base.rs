//! Below which folders groups can be made.

use std::io;
use std::path::{Path, PathBuf};

use super::{Controller, create, read_file, remove, set_bound};

/// How far above our own cgroup a place is looked for in version 2: a process that sits in a cgroup keeps it from handing its
/// controllers down, and that process is we.
const LEVELS_MAX: usize = 3;
/// A bound that stops nobody, to try with.
const TRIED_BYTES: u64 = 1 << 40;
const TRIED_PROCESSES: u64 = 1 << 20;

/// The two versions of the cgroup file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// A folder that groups can be made in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Base {
    pub(super) folder: PathBuf,
    pub(super) version: Version,
}

/// One for each controller, or a sentence that says why there is none.
#[derive(Debug)]
pub(super) struct Bases {
    memory: Result<Base, String>,
    processes: Result<Base, String>,
}

impl Bases {
    pub(super) fn of_machine() -> Self {
        let own = read_file(Path::new("/proc/self/cgroup")).unwrap_or_default();
        let mounts = read_file(Path::new("/proc/self/mountinfo")).unwrap_or_default();
        let find = |controller| {
            let candidates = candidates(&own, &mounts, controller);
            // What is wrong with the best place says most.
            let mut first_reason = None;
            for base in candidates {
                match try_out(&base, controller) {
                    Ok(()) => return Ok(base),
                    Err(error) => {
                        first_reason.get_or_insert_with(|| {
                            format!(
                                "No cgroup for {} can be made in {}: {error}.",
                                controller.what(),
                                base.folder.display()
                            )
                        });
                    }
                }
            }
            Err(first_reason
                .unwrap_or_else(|| format!("No cgroups for {} are mounted.", controller.what())))
        };
        Self {
            memory: find(Controller::Memory),
            processes: find(Controller::Processes),
        }
    }

    pub(super) fn of(&self, controller: Controller) -> &Result<Base, String> {
        match controller {
            Controller::Memory => &self.memory,
            Controller::Processes => &self.processes,
        }
    }
}

/// Where groups may be made, the best place first, from `/proc/self/cgroup` and `/proc/self/mountinfo`.
pub(super) fn candidates(own: &str, mounts: &str, controller: Controller) -> Vec<Base> {
    let mut found = Vec::new();
    for (version, path) in own.lines().filter_map(|line| {
        // <number>:<controllers>:<path>; the list is empty in version 2.
        let mut fields = line.splitn(3, ':');
        let (_number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        match controllers {
            "" => Some((Version::Two, path)),
            list if list.split(',').any(|name| name == controller.as_str()) => {
                Some((Version::One, path))
            }
            _other => None,
        }
    }) {
        let Some((mount, folder)) = folder(mounts, version, controller, path) else {
            continue;
        };
        let levels = match version {
            Version::One => 1,
            Version::Two => LEVELS_MAX,
        };
        found.extend(
            folder
                .ancestors()
                .take_while(|ancestor| ancestor.starts_with(&mount))
                .take(levels)
                .map(|folder| Base {
                    folder: folder.to_owned(),
                    version,
                }),
        );
    }
    // A controller belongs to one version at a time; where version 1 has it, the other cannot.
    found.sort_by_key(|base| base.version == Version::Two);
    found
}

/// Where the cgroup `path` is to be found, and the mount it is in.
fn folder(
    mounts: &str,
    version: Version,
    controller: Controller,
    path: &str,
) -> Option<(PathBuf, PathBuf)> {
    mounts.lines().find_map(|line| {
        // <id> <parent> <device> <root> <mount point> <options> [<tags>…] - <type> <source> <options>
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(3);
        let (root, point) = (left.next()?, PathBuf::from(unescaped(left.next()?)));
        let mut right = right.split(' ');
        let (kind, options) = (right.next()?, right.nth(1)?);
        let is_wanted = match version {
            Version::One => {
                kind == "cgroup" && options.split(',').any(|name| name == controller.as_str())
            }
            Version::Two => kind == "cgroup2",
        };
        if !is_wanted {
            return None;
        }
        // In a container only a part may be mounted; what lies outside it is out of reach.
        let below = Path::new(path).strip_prefix(unescaped(root)).ok()?;
        // Joining nothing would add a slash.
        let folder: PathBuf = point.components().chain(below.components()).collect();
        Some((point, folder))
    })
}

/// Spaces, tabs, line ends and backslashes are written as octal numbers.
fn unescaped(field: &str) -> String {
    ["\\040 ", "\\011\t", "\\012\n", "\\134\\"]
        .iter()
        .fold(field.to_owned(), |text, escape| {
            let (code, character) = escape.split_at(4);
            text.replace(code, character)
        })
}

/// Makes a group and removes it again.
fn try_out(base: &Base, controller: Controller) -> io::Result<()> {
    match base.version {
        Version::One => {}
        Version::Two => hand_down(&base.folder, controller)?,
    }
    let folder = create(&base.folder)?;
    let bound = match controller {
        Controller::Memory => TRIED_BYTES,
        Controller::Processes => TRIED_PROCESSES,
    };
    let tried = set_bound(&folder, base.version, controller, bound).and_then(|()| {
        // Moving a process takes rights on the place it comes from, too; version 2 asks for those of the common parent.
        let join = match base.version {
            Version::One => folder.join("cgroup.procs"),
            Version::Two => base.folder.join("cgroup.procs"),
        };
        std::fs::File::options().write(true).open(join).map(drop)
    });
    remove(&[folder]);
    tried
}

/// Lets the groups in a folder of version 2 have a controller.
fn hand_down(folder: &Path, controller: Controller) -> io::Result<()> {
    let has = |file: &str| {
        read_file(&folder.join(file)).map(|text| {
            text.split_whitespace()
                .any(|name| name == controller.as_str())
        })
    };
    if has("cgroup.subtree_control")? {
        return Ok(());
    }
    if !has("cgroup.controllers")? {
        return Err(io::Error::other(format!(
            "the controller {} was not handed down to it",
            controller.as_str()
        )));
    }
    std::fs::write(
        folder.join("cgroup.subtree_control"),
        format!("+{}", controller.as_str()),
    )
}
