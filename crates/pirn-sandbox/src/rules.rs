//! Landlock: rules on files that hold whatever is mounted where, and scopes for signals and abstract sockets.
//!
//! The ruleset is made here, in the parent; the child puts it into force with one system call.
//!
//! Rules grant, they cannot take back: what must stay unreadable is kept so by granting everything beside it. The folders on
//! the way down to such a place are not granted as a whole, so they get the right to list names instead, which holds for
//! everything below them: **names of unreadable files can be listed, their content cannot be read.** What appears in those
//! folders later is not readable with a ruleset made before.
//!
//! Rules are about files, not about paths: a bind mount of a granted folder is granted. A file system that the child mounts is
//! not by itself, but what lies above its mount point counts: so the terminals mounted below the granted stand-in for `/dev`
//! are.

mod grant;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, PathBeneath, Ruleset, RulesetAttr as _, RulesetCreated,
    RulesetCreatedAttr as _, RulesetError, Scope,
};

use crate::paths::Paths;
use crate::report::{Layer, MissingLayer};
use crate::sys::landlock_version;

/// What the rules are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandledAccess {
    /// Reading and writing: nothing else confines them.
    ReadsAndWrites,
    /// Writing: what can be read is bounded by what is mounted.
    Writes,
}

/// What rules are made from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RulesRequest<'paths> {
    /// What the rules are about.
    pub(crate) handled: HandledAccess,
    /// What may be read and written.
    pub(crate) paths: &'paths Paths,
    /// The private temporary folder, writable.
    pub(crate) private_temp: &'paths Path,
    /// What stands in for `/dev` in a root of its own; what it holds may be written, terminals included.
    pub(crate) devices: &'paths Path,
    /// What stands in for `/dev/shm`, writable.
    pub(crate) shared_memory: &'paths Path,
    /// The shared temporary folder, which is hidden.
    pub(crate) shared_temp: &'paths Path,
}

/// A ruleset and what it is worth.
#[derive(Debug)]
pub(crate) struct Rules {
    /// For `landlock_restrict_self`; closed on exec. `None` where the kernel has no Landlock.
    pub(crate) ruleset: Option<OwnedFd>,
    /// Whether file rules are in force.
    pub(crate) files: bool,
    /// Whether the scopes for signals and abstract sockets are in force.
    pub(crate) scopes: bool,
    /// Whether connecting to sockets in the file system is under the rules (kernels from 7.1 on).
    pub(crate) path_sockets: bool,
    /// What is missing, and why.
    pub(crate) missing: Vec<MissingLayer>,
    /// What of the unreadable paths is not kept by these rules, as sentences. Only with [`Handled::ReadsAndWrites`].
    pub(crate) unreadable_gaps: Vec<String>,
}

/// The newest version of the interface whose rights are used; the `landlock` crate drops what the kernel does not know.
const NEWEST: ABI = ABI::V10;

/// Device files that everybody may write.
const WRITABLE_DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

impl Rules {
    /// Makes a ruleset. Fails when the kernel refuses what it said it could, and when something cannot be granted for another
    /// reason than that it is gone.
    pub(crate) fn make(request: RulesRequest<'_>) -> Result<Self, String> {
        let support = Support::of_kernel()
            .map_err(|error| format!("Whether there is Landlock cannot be found out: {error}"))?;
        if !support.has_files() {
            return Ok(Self {
                ruleset: None,
                files: false,
                scopes: false,
                path_sockets: false,
                missing: support.missing(),
                unreadable_gaps: vec![
                    "Without Landlock nothing keeps files from being read.".to_owned(),
                ],
            });
        }
        let mut unreadable_gaps = Vec::new();
        let ruleset: Option<OwnedFd> = build(request, &mut unreadable_gaps)?.into();
        if ruleset.is_none() {
            return Err("Landlock rules cannot be made, though there is Landlock.".to_owned());
        }
        Ok(Self {
            ruleset,
            files: true,
            scopes: support.newest >= ABI::V6,
            path_sockets: support.newest >= ABI::V9,
            missing: support.missing(),
            unreadable_gaps,
        })
    }
}

/// The rights that writing a file takes.
fn write_file() -> BitFlags<AccessFs> {
    AccessFs::WriteFile | AccessFs::Truncate
}

fn read() -> BitFlags<AccessFs> {
    AccessFs::from_read(NEWEST)
}

/// Everything a program may do to its own folders. No device nodes: whoever may make one of a disk can read all of it.
fn write() -> BitFlags<AccessFs> {
    handled_writes() & !(AccessFs::MakeChar | AccessFs::MakeBlock)
}

/// Requests to devices (`ioctl`) are left out: which devices there are is bounded by the rules, and programs ask terminals
/// that they inherited for their size.
fn handled_writes() -> BitFlags<AccessFs> {
    AccessFs::from_write(NEWEST) & !AccessFs::IoctlDev
}

fn build(request: RulesRequest<'_>, gaps: &mut Vec<String>) -> Result<RulesetCreated, String> {
    let handled = match request.handled {
        HandledAccess::ReadsAndWrites => read() | handled_writes(),
        HandledAccess::Writes => handled_writes(),
    };
    let mut ruleset = Ruleset::default()
        .handle_access(handled)
        .and_then(|ruleset| ruleset.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create)
        .map_err(|error| unmade(&error))?;
    let written = match request.handled {
        HandledAccess::ReadsAndWrites => read() | write(),
        HandledAccess::Writes => write(),
    };
    for root in &request.paths.write_roots {
        ruleset = allow(ruleset, root, written)?;
    }
    ruleset = allow(ruleset, request.private_temp, written)?;
    ruleset = allow(ruleset, request.shared_memory, written)?;
    let device = match request.handled {
        HandledAccess::ReadsAndWrites => write_file() | read() & !AccessFs::Execute,
        HandledAccess::Writes => write_file(),
    };
    for path in WRITABLE_DEVICES
        .iter()
        .map(Path::new)
        .chain([request.devices])
    {
        ruleset = allow(ruleset, path, device)?;
    }
    match request.handled {
        HandledAccess::Writes => Ok(ruleset),
        HandledAccess::ReadsAndWrites => {
            let grants = grant::reads(request.paths, request.shared_temp)?;
            gaps.extend(grants.gaps);
            for (place, access) in &grants.places {
                let access = match access {
                    grant::ReadKind::Everything => read(),
                    grant::ReadKind::Names => AccessFs::ReadDir.into(),
                };
                ruleset = allow(ruleset, place, access)?;
            }
            Ok(ruleset)
        }
    }
}

fn unmade(error: &RulesetError) -> String {
    format!("Landlock rules cannot be made: {error}")
}

/// Adds a rule. A place that is gone by now, or that we may not look at ourselves, needs none. Of the rights, the crate keeps
/// those that a file can have.
fn allow(
    ruleset: RulesetCreated,
    place: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, String> {
    let (opened, is_folder) = match open_place(place) {
        Ok(opened) => opened,
        Err(error) => {
            return match error.raw_os_error() {
                Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP | libc::EACCES | libc::ENXIO) => {
                    Ok(ruleset)
                }
                _ => Err(format!("{} cannot be granted: {error}", place.display())),
            };
        }
    };
    let access = if is_folder {
        access
    } else {
        access & AccessFs::from_file(NEWEST)
    };
    if access.is_empty() {
        return Ok(ruleset);
    }
    ruleset
        .add_rule(PathBeneath::new(opened, access))
        .map_err(|error| unmade(&error))
}

/// Opens a place to name it, and says whether it is a folder: the very one that was opened.
fn open_place(place: &Path) -> io::Result<(File, bool)> {
    let opened = File::options()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_CLOEXEC)
        .open(place)?;
    let is_folder = opened.metadata()?.is_dir();
    Ok((opened, is_folder))
}

/// What the kernel's Landlock can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Support {
    /// The newest version whose rights it knows.
    newest: ABI,
}

impl Support {
    fn of_kernel() -> io::Result<Self> {
        let version = landlock_version()?;
        let newest = [
            (9, ABI::V9),
            (6, ABI::V6),
            (5, ABI::V5),
            (3, ABI::V3),
            (2, ABI::V2),
            (1, ABI::V1),
        ]
        .into_iter()
        .find(|(number, _)| version >= *number)
        .map_or(ABI::Unsupported, |(_, newest)| newest);
        Ok(Self { newest })
    }

    fn has_files(self) -> bool {
        self.newest >= ABI::V1
    }

    fn missing(self) -> Vec<MissingLayer> {
        let missing = |layer, reason: &str, remedy: &str| MissingLayer {
            layer,
            reason: reason.to_owned(),
            remedy: Some(remedy.to_owned()),
        };
        if !self.has_files() {
            let reason = "The kernel has no Landlock, or it is switched off.";
            let remedy = "Use Linux 6.12 or newer with `landlock` in the list of security modules (`lsm=` on the kernel's command line).";
            return vec![
                missing(Layer::LandlockFiles, reason, remedy),
                missing(Layer::LandlockScopes, reason, remedy),
            ];
        }
        let mut all = Vec::new();
        if self.newest < ABI::V3 {
            all.push(missing(
                Layer::LandlockFiles,
                "This kernel's Landlock cannot keep files from being cut short, and hardly lets files be moved between folders.",
                "Use Linux 6.2 or newer.",
            ));
        }
        if self.newest < ABI::V6 {
            all.push(missing(
                Layer::LandlockScopes,
                "This kernel's Landlock knows no scopes for signals and abstract sockets.",
                "Use Linux 6.12 or newer.",
            ));
        }
        all
    }
}

#[cfg(test)]
mod tests;
