//! Bounds on memory and processes by cgroup, the only ones that hold for all descendants together.
//!
//! A group per child is made below a base: version 1 below our own cgroup, version 2 below our own or the nearest one above
//! that hands its controllers down. The child joins by writing `0` to a file that was opened before; whoever is left when
//! all is over removes the folder.

mod base;

use std::fs::File;
use std::io;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::policy::Limits;
use crate::report::{Layer, MissingLayer};
use base::{Base, Bases, Version};

/// How the folders of groups begin; the number of the process that made it follows, then a running number.
const PREFIX: &str = "pirn-";
/// Names that are tried when one is taken: by a process with the same number that left something behind.
const NAMES_MAX: u32 = 64;
/// The longest file of a cgroup that is read.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// Room for a file with a line `oom_kill N`: it has some six short lines.
pub(crate) const EVENTS_BYTES_MAX: usize = 512;

/// What can be bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Controller {
    Memory,
    Processes,
}

impl Controller {
    const ALL: [Self; 2] = [Self::Memory, Self::Processes];

    /// The controller's name in the kernel's files.
    fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "pids",
        }
    }

    /// What people call it.
    fn what(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "processes",
        }
    }

    fn layer(self) -> Layer {
        match self {
            Self::Memory => Layer::CgroupMemory,
            Self::Processes => Layer::CgroupProcesses,
        }
    }

    fn bound(self, limits: &Limits) -> Option<u64> {
        match self {
            Self::Memory => limits.memory_bytes,
            Self::Processes => limits.processes,
        }
    }
}

/// Where groups can be made.
#[derive(Debug)]
pub(crate) struct Cgroups {
    bases: Bases,
}

/// A group that is ready for a child.
#[derive(Debug, Default)]
pub(crate) struct Group {
    /// Files to write `0` to, each of which takes the writer into the group.
    pub(crate) join: Vec<OwnedFd>,
    /// Folders to remove when all its processes are gone. Removing fails for moments after the last one's end.
    pub(crate) folders: Vec<PathBuf>,
    /// A file with a line `oom_kill N`, where memory is bounded.
    pub(crate) events: Option<File>,
    /// The layers that the group provides.
    pub(crate) layers: Vec<Layer>,
}

impl Cgroups {
    /// What this machine gives us, found out once per process by making a group. Removes what dead processes left behind.
    pub(crate) fn of_machine() -> &'static Self {
        static CGROUPS: OnceLock<Cgroups> = OnceLock::new();
        CGROUPS.get_or_init(|| {
            let cgroups = Self {
                bases: Bases::of_machine(),
            };
            cgroups.sweep();
            cgroups
        })
    }

    /// Which bounds would be missing for these limits, and why.
    pub(crate) fn missing(&self, limits: &Limits) -> Vec<MissingLayer> {
        Controller::ALL
            .into_iter()
            .filter(|controller| controller.bound(limits).is_some())
            .filter_map(|controller| {
                let reason = self.bases.of(controller).as_ref().err()?;
                Some(MissingLayer {
                    layer: controller.layer(),
                    reason: reason.clone(),
                    remedy: Some(
                        "Start the program in a cgroup of your own, for instance by `systemd-run --user --scope`."
                            .to_owned(),
                    ),
                })
            })
            .collect()
    }

    /// Makes a group with these limits. What is not to be bounded, or cannot be, costs nothing.
    pub(crate) fn make(&self, limits: &Limits) -> io::Result<Group> {
        let mut group = Group::default();
        let made = self.fill(&mut group, limits);
        if made.is_err() {
            remove(&group.folders);
        }
        made.map(|()| group)
    }

    fn fill(&self, group: &mut Group, limits: &Limits) -> io::Result<()> {
        for controller in Controller::ALL {
            let (Some(bound), Ok(base)) = (controller.bound(limits), self.bases.of(controller))
            else {
                continue;
            };
            // In version 2 both bounds are those of one group.
            let folder = match group.folders.first() {
                Some(folder) if folder.parent() == Some(&base.folder) => folder.clone(),
                Some(_) | None => {
                    let folder = create(&base.folder)?;
                    group.folders.push(folder.clone());
                    let join = File::options()
                        .write(true)
                        .open(folder.join("cgroup.procs"))?;
                    group.join.push(join.into());
                    folder
                }
            };
            set_bound(&folder, base.version, controller, bound)?;
            if controller == Controller::Memory {
                let name = match base.version {
                    Version::One => "memory.oom_control",
                    Version::Two => "memory.events",
                };
                group.events = Some(File::open(folder.join(name))?);
            }
            group.layers.push(controller.layer());
        }
        Ok(())
    }

    /// Removes the groups of processes that are gone. A group with somebody in it cannot be removed.
    fn sweep(&self) {
        for base in Controller::ALL
            .into_iter()
            .filter_map(|controller| self.bases.of(controller).as_ref().ok())
        {
            sweep(base, |process| Path::new("/proc").join(process).exists());
        }
    }
}

/// How many processes the kernel has killed in a group for its bound on memory, from the group's [`Group::events`]. `None` when
/// the group is gone.
pub(crate) fn memory_kills(events: &File) -> Option<u64> {
    let mut text = [0; EVENTS_BYTES_MAX];
    let count = events.read_at(&mut text, 0).ok()?;
    counted_kills(text.get(..count)?)
}

/// The number in the line `oom_kill N`. Allocates nothing: it is also called where that is not allowed.
pub(crate) fn counted_kills(events: &[u8]) -> Option<u64> {
    let number = events
        .split(|byte| *byte == b'\n')
        .find_map(|line| line.strip_prefix(b"oom_kill "))?;
    str::from_utf8(number).ok()?.parse().ok()
}

/// Removes groups without processes, once; says whether none is left.
pub(crate) fn remove(folders: &[PathBuf]) -> bool {
    folders.iter().fold(true, |all, folder| {
        let gone = match std::fs::remove_dir(folder) {
            Ok(()) => true,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        all && gone
    })
}

fn sweep(base: &Base, is_alive: impl Fn(&str) -> bool) {
    let Ok(entries) = base.folder.read_dir() else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some((process, _number)) = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX))
            .and_then(|rest| rest.split_once('-'))
        else {
            continue;
        };
        if process.parse::<u32>().is_ok() && !is_alive(process) {
            remove(&[entry.path()]);
        }
    }
}

/// Creates a group with a name of its own.
fn create(base: &Path) -> io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut tries = 0;
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = base.join(format!("{PREFIX}{}-{number}", std::process::id()));
        tries += 1;
        match std::fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < NAMES_MAX => {}
            Err(error) => return Err(error),
        }
    }
}

fn set_bound(
    folder: &Path,
    version: Version,
    controller: Controller,
    bound: u64,
) -> io::Result<()> {
    let text = bound.to_string();
    let set = |name: &str| std::fs::write(folder.join(name), &text);
    match (version, controller) {
        (Version::One, Controller::Memory) => {
            set("memory.limit_in_bytes")?;
            // Memory and swap together; only there when the kernel counts swap.
            ignore_missing(set("memory.memsw.limit_in_bytes"))
        }
        (Version::Two, Controller::Memory) => {
            set("memory.max")?;
            // What was swapped out would come on top.
            ignore_missing(std::fs::write(folder.join("memory.swap.max"), "0"))
        }
        (Version::One | Version::Two, Controller::Processes) => set("pids.max"),
    }
}

/// Files are opened without creating them, which cgroups do not allow: they answer with a missing right.
fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
            ) =>
        {
            Ok(())
        }
        other => other,
    }
}

fn read_file(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(FILE_BYTES_MAX)
        .read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests;
