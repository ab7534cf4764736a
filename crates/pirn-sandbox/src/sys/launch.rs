//! What a child needs between fork and exec, made ready before the fork.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::{OwnedFd, RawFd};
use std::sync::Arc;

use libc::{c_int, rlim_t, sock_filter};

use super::arguments::Arguments;
use super::namespaces::IdentityMap;
use super::network::PrivateNetwork;

/// Everything a child needs.
#[derive(Debug)]
pub(crate) struct Launch {
    /// Become the descriptors 3, 4, … of the program.
    pub(crate) descriptors: Vec<Arc<OwnedFd>>,
    /// What it is confined by.
    pub(crate) confinement: Option<Confinement>,
    /// Stays open in the supervisor until every process of the child is gone, so that a lock on it shows that some are left.
    pub(crate) lock: Option<Arc<OwnedFd>>,
}

impl Launch {
    /// The mount plan, to tell what a failed step was.
    pub(crate) fn mounts(&self) -> Option<Arc<[Step]>> {
        let confinement = self.confinement.as_ref()?;
        let namespaces = confinement.namespaces.as_ref()?;
        Some(Arc::clone(&namespaces.mounts))
    }
}

/// What a child is confined by.
#[derive(Debug)]
pub(crate) struct Confinement {
    pub(crate) namespaces: Option<Namespaces>,
    /// Where it starts, inside.
    pub(crate) directory: CString,
    /// Limits by `setrlimit`, soft and hard alike.
    pub(crate) limits: Vec<ResourceLimit>,
    pub(crate) cgroups: Cgroups,
    /// A ruleset of Landlock, open.
    pub(crate) ruleset: Option<Arc<OwnedFd>>,
    /// A program of seccomp that filters system calls.
    pub(crate) filter: Option<&'static [sock_filter]>,
}

/// The type of `RLIMIT_…`, which differs between C libraries.
#[cfg(target_env = "gnu")]
pub(crate) type Resource = libc::__rlimit_resource_t;
#[cfg(not(target_env = "gnu"))]
pub(crate) type Resource = c_int;

/// A limit that the program cannot raise again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResourceLimit {
    /// One of the constants `RLIMIT_…`.
    pub(crate) resource: Resource,
    pub(crate) bound: rlim_t,
}

/// The cgroups of a child.
#[derive(Debug, Default)]
pub(crate) struct Cgroups {
    /// Files that take the program in when `0` is written to them.
    pub(crate) join: Vec<OwnedFd>,
    /// Folders to remove when all processes are gone.
    pub(crate) remove: Vec<CString>,
    /// A file with a line `oom_kill N`.
    pub(crate) events: Option<Arc<File>>,
}

/// The namespaces of a child.
#[derive(Debug)]
pub(crate) struct Namespaces {
    /// A set of the flags `CLONE_NEW…`.
    pub(crate) flags: c_int,
    /// Whom its user namespace knows.
    pub(crate) map: IdentityMap,
    /// Where it goes before it makes its namespaces; `None`: its network is the machine's.
    pub(crate) network: Option<Arc<PrivateNetwork>>,
    /// Our command line, which the first process inside has as well.
    pub(crate) arguments: Option<Arguments>,
    /// Steps that make its view of the file system.
    pub(crate) mounts: Arc<[Step]>,
    /// Room for what [`Step::Take`] took, by slot.
    pub(crate) taken: Vec<RawFd>,
    /// Covers a folder that cannot be read.
    pub(crate) locked_folder: CString,
    /// Covers a file that cannot be read.
    pub(crate) locked_file: CString,
}

/// One step towards a child's mounts.
#[derive(Debug)]
pub(crate) enum Step {
    /// Sets attributes of a mount and all below it.
    Attributes {
        /// The mount, with all below it.
        path: CString,
        /// Attributes to set, a set of the flags `MOUNT_ATTR_…`.
        set: u64,
        /// Whether mounts and unmounts stop travelling between it and the host's namespace.
        propagation: Propagation,
    },
    /// Copies a mount, to be put somewhere later.
    Take {
        /// The place whose mount is copied.
        source: CString,
        /// How much of it.
        depth: Depth,
        /// Whether the path may lead through symbolic links.
        links: Links,
        /// Where the copy is kept.
        slot: usize,
        /// What to do when it is not there.
        missing: IfMissing,
    },
    /// Puts a copy somewhere.
    Put {
        /// Where the copy was kept.
        slot: usize,
        /// The place that the copy covers.
        target: CString,
        /// Attributes to add, a set of the flags `MOUNT_ATTR_…`.
        set: u64,
        /// What to do when the place is not there.
        missing: IfMissing,
    },
    /// Covers a place with a copy of another one.
    Cover {
        /// The place that is copied.
        source: CString,
        /// The place that is covered.
        target: CString,
    },
    /// Covers a place with something that cannot be read. Nothing is there: nothing to do.
    Hide {
        /// The place that is covered.
        path: CString,
    },
    /// Makes a place a mount of its own, with these attributes added. Nothing is there: nothing to do.
    Pin {
        /// The place that becomes a mount.
        path: CString,
        /// Attributes to add, a set of the flags `MOUNT_ATTR_…`.
        set: u64,
    },
    /// Makes a folder or an empty file where there is nothing. Not through links out of what is writable at this point.
    Make {
        /// The place, whose parent must exist.
        path: CString,
        /// Whether a folder or a file is made.
        kind: Kind,
    },
    /// Makes a link where there is nothing.
    Link {
        /// The place of the link.
        path: CString,
        /// The path that the link holds.
        target: CString,
    },
    /// Mounts a file system of the kernel's.
    FileSystem {
        /// The type of file system, as the kernel names it.
        kind: &'static CStr,
        /// The place it is mounted on.
        target: CString,
        /// A set of the flags `MS_…`.
        flags: libc::c_ulong,
        /// Options of this type of file system.
        options: &'static CStr,
    },
    /// Sets the highest number that a process of this namespace can have, which bounds how many there are.
    BoundProcesses {
        /// `kernel/pid_max` in a `/proc` of the namespace, for kernels where that is not the machine's.
        path: CString,
        /// The number as text.
        bound: CString,
    },
    /// Makes a mount the root and lets go of the old one.
    Pivot {
        /// The mount that becomes the root.
        root: CString,
    },
}

/// What something is mounted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Folder,
    File,
}

/// Whether mounts travel between namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Propagation {
    Kept,
    Private,
}

/// How much of a mount is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    Mount,
    /// It and everything mounted below.
    Tree,
}

/// Whether a path may lead through symbolic links. Where confined processes can write, they could have put one there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    Followed,
    Refused,
}

/// What to do about a missing place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    /// The child does not start.
    Fails,
    /// It is left out.
    LeftOut,
}
