//! Doing the steps of a mount plan. Only system calls: runs after a fork, in the first process of new namespaces.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;

use libc::{c_int, c_uint};

use super::descriptors::{descriptor, open_without_links};
use super::errno;
use super::launch::{Depth, IfMissing, Kind, Links, Namespaces, Propagation, Step};
use super::namespaces::write_file;

/// Where it stopped, and why.
pub(super) struct StepFailure {
    pub(super) step: u16,
    pub(super) errno: c_int,
}

/// Performs all steps of the plan in order.
pub(super) fn perform(namespaces: &mut Namespaces) -> Result<(), StepFailure> {
    let Namespaces {
        mounts,
        taken,
        locked_folder,
        locked_file,
        ..
    } = namespaces;
    // By their paths they cannot be found any more when the place they lie in is covered.
    let covers = CoverSources::open(locked_folder, locked_file)
        .map_err(|errno| StepFailure { step: 0, errno })?;
    for (index, step) in mounts.iter().enumerate() {
        let done =
            match step {
                Step::Attributes {
                    path,
                    set,
                    propagation,
                } => set_attributes(libc::AT_FDCWD, path, *set, *propagation),
                Step::Take {
                    source,
                    depth,
                    links,
                    slot,
                    missing,
                } => forgive(*missing, take(source, *depth, *links)).map(|copy| {
                    if let (Some(place), Some(copy)) = (taken.get_mut(*slot), copy) {
                        *place = copy;
                    }
                }),
                Step::Put {
                    slot,
                    target,
                    set,
                    missing,
                } => match taken.get(*slot) {
                    Some(copy) if *copy >= 0 => {
                        let put =
                            with_attributes(*copy, *set).and_then(|()| put_by_path(*copy, target));
                        forgive(*missing, put).map(|_done| ())
                    }
                    _ => Ok(()),
                },
                Step::Cover { source, target } => take(source, Depth::Mount, Links::Followed)
                    .and_then(|copy| {
                        let put = put_by_path(copy, target);
                        close(copy);
                        put
                    }),
                Step::Hide { path } => forgive(IfMissing::LeftOut, open_place(path))
                    .and_then(|place| covers.hide(place)),
                Step::Pin { path, set } => {
                    forgive(IfMissing::LeftOut, open_place(path)).and_then(|place| pin(place, *set))
                }
                Step::Make { path, kind } => make(path, *kind),
                Step::Link { path, target } => link(path, target),
                Step::FileSystem {
                    kind,
                    target,
                    flags,
                    options,
                } => mount(kind, target, *flags, options),
                Step::BoundProcesses { path, bound } => bound_processes(path, bound),
                Step::Pivot { root } => pivot(root),
            };
        if let Err(errno) = done {
            return Err(StepFailure {
                step: u16::try_from(index).unwrap_or(u16::MAX),
                errno,
            });
        }
    }
    Ok(())
}

/// Turns the absence of a place into `None` where that is allowed.
fn forgive<T>(missing: IfMissing, done: Result<T, c_int>) -> Result<Option<T>, c_int> {
    match done {
        Ok(value) => Ok(Some(value)),
        Err(libc::ENOENT | libc::ENOTDIR | libc::ELOOP) if missing == IfMissing::LeftOut => {
            Ok(None)
        }
        Err(errno) => Err(errno),
    }
}

/// Adds attributes to a copy.
fn with_attributes(copy: RawFd, set: u64) -> Result<(), c_int> {
    if set == 0 {
        return Ok(());
    }
    set_attributes(copy, c"", set, Propagation::Kept)
}

fn set_attributes(at: RawFd, path: &CStr, set: u64, propagation: Propagation) -> Result<(), c_int> {
    let attributes = libc::mount_attr {
        attr_set: set,
        attr_clr: 0,
        propagation: match propagation {
            Propagation::Kept => 0,
            Propagation::Private => libc::MS_PRIVATE,
        },
        userns_fd: 0,
    };
    // SAFETY: the path ends in zero and the structure has the given size.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            at,
            path.as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(errno()) }
}

/// A descriptor of the copy.
fn take(source: &CStr, depth: Depth, links: Links) -> Result<RawFd, c_int> {
    match links {
        Links::Followed => copy(libc::AT_FDCWD, source, depth),
        Links::Refused => {
            let place = open_place(source)?;
            let copied = copy(place, c"", depth);
            close(place);
            copied
        }
    }
}

fn copy(at: RawFd, path: &CStr, depth: Depth) -> Result<RawFd, c_int> {
    let recursive = match depth {
        Depth::Mount => 0,
        Depth::Tree => libc::AT_RECURSIVE.cast_unsigned(),
    };
    let flags: c_uint = libc::OPEN_TREE_CLONE
        | libc::OPEN_TREE_CLOEXEC
        | libc::AT_EMPTY_PATH.cast_unsigned()
        | recursive;
    // SAFETY: the path ends in zero.
    let copied = unsafe { libc::syscall(libc::SYS_open_tree, at, path.as_ptr(), flags) };
    descriptor(copied)
}

/// Opens a place by a path without symbolic links.
fn open_place(path: &CStr) -> Result<RawFd, c_int> {
    open_without_links(path, libc::O_NOFOLLOW)
}

fn put_by_path(copy: RawFd, target: &CStr) -> Result<(), c_int> {
    let place = open_place(target)?;
    let put = put(copy, place);
    close(place);
    put
}

fn put(copy: RawFd, place: RawFd) -> Result<(), c_int> {
    // SAFETY: both paths are empty strings that end in zero.
    let moved = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            copy,
            c"".as_ptr(),
            place,
            c"".as_ptr(),
            libc::MOVE_MOUNT_F_EMPTY_PATH | libc::MOVE_MOUNT_T_EMPTY_PATH,
        )
    };
    if moved == 0 { Ok(()) } else { Err(errno()) }
}

/// What covers places that cannot be read.
struct CoverSources {
    folder: RawFd,
    file: RawFd,
}

impl CoverSources {
    fn open(folder: &CStr, file: &CStr) -> Result<Self, c_int> {
        Ok(Self {
            folder: open_place(folder)?,
            file: open_place(file)?,
        })
    }

    /// Covers a place, and lets go of it.
    fn hide(&self, place: Option<RawFd>) -> Result<(), c_int> {
        let Some(place) = place else {
            return Ok(());
        };
        let hidden = is_folder(place)
            .and_then(|folder| {
                let cover = if folder { self.folder } else { self.file };
                copy(cover, c"", Depth::Mount)
            })
            .and_then(|cover| {
                let hidden = with_attributes(cover, libc::MOUNT_ATTR_RDONLY)
                    .and_then(|()| put(cover, place));
                close(cover);
                hidden
            });
        close(place);
        hidden
    }
}

fn is_folder(place: RawFd) -> Result<bool, c_int> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the structure is written by the call and read only when it succeeded.
    unsafe {
        if libc::fstat(place, status.as_mut_ptr()) != 0 {
            return Err(errno());
        }
        Ok(status.assume_init().st_mode & libc::S_IFMT == libc::S_IFDIR)
    }
}

/// Makes a place a mount of its own, and lets go of it.
fn pin(place: Option<RawFd>, set: u64) -> Result<(), c_int> {
    let Some(place) = place else {
        return Ok(());
    };
    let pinned = copy(place, c"", Depth::Tree).and_then(|itself| {
        let pinned = with_attributes(itself, set).and_then(|()| put(itself, place));
        close(itself);
        pinned
    });
    close(place);
    pinned
}

/// Only in what is ours: everything else is read-only by now or not there.
fn make(path: &CStr, kind: Kind) -> Result<(), c_int> {
    // SAFETY: the path ends in zero.
    let made = unsafe {
        match kind {
            Kind::Folder => libc::mkdir(path.as_ptr(), 0o755),
            Kind::File => libc::mknod(path.as_ptr(), libc::S_IFREG | 0o644, 0),
        }
    };
    unless_it_exists(made)
}

fn link(path: &CStr, target: &CStr) -> Result<(), c_int> {
    // SAFETY: both strings end in zero.
    unless_it_exists(unsafe { libc::symlink(target.as_ptr(), path.as_ptr()) })
}

fn unless_it_exists(made: c_int) -> Result<(), c_int> {
    match made {
        0 => Ok(()),
        _failed => match errno() {
            libc::EEXIST => Ok(()),
            errno => Err(errno),
        },
    }
}

fn mount(kind: &CStr, target: &CStr, flags: libc::c_ulong, options: &CStr) -> Result<(), c_int> {
    // SAFETY: all strings end in zero.
    let mounted = unsafe {
        libc::mount(
            kind.as_ptr(),
            target.as_ptr(),
            kind.as_ptr(),
            flags,
            options.as_ptr().cast(),
        )
    };
    if mounted == 0 { Ok(()) } else { Err(errno()) }
}

fn bound_processes(path: &CStr, bound: &CStr) -> Result<(), c_int> {
    // SAFETY: takes nothing.
    if unsafe { libc::getpid() } != 1 {
        return Err(libc::EPERM);
    }
    write_file(path, bound)
}

fn pivot(root: &CStr) -> Result<(), c_int> {
    // SAFETY: all strings end in zero. The old root ends up on top of the new one at the same place, and is then detached.
    let done = unsafe {
        libc::chdir(root.as_ptr()) == 0
            && libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()) == 0
            && libc::umount2(c".".as_ptr(), libc::MNT_DETACH) == 0
            && libc::chdir(c"/".as_ptr()) == 0
    };
    if done { Ok(()) } else { Err(errno()) }
}

fn close(descriptor: RawFd) {
    // SAFETY: the descriptor is ours and not used afterwards.
    unsafe { libc::close(descriptor) };
}
