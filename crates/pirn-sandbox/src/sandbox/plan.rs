//! The mount plan: what a child of a level finds in its file system, as steps for [`crate::sys`].
//!
//! Everything that exists outside is made read-only at once, and the few places that shall differ are covered: that takes far
//! fewer system calls than building a root from pieces, and the result is the same, because nothing can uncover a place
//! without the rights that the program has given up. Only where just chosen places are readable a root is built.

mod copies;

use std::ffi::CString;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use libc::{MOUNT_ATTR_NODEV, MOUNT_ATTR_NOSUID, MOUNT_ATTR_RDONLY};

use super::folders::SandboxFolders;
use crate::paths::{Paths, unless_absent};
use crate::policy::SandboxPolicy;
use crate::sys::{Depth, IfMissing, Kind, Links, Propagation, Step};

/// What the plan depends on besides the policy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) view: View,
    /// Whether a `/proc` of its own can be mounted.
    pub(super) proc: Proc,
    /// The highest number of a process, where that is set.
    pub(super) process_number_max: Option<u64>,
}

/// What is visible inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    /// Everything, with the shared temporary folders covered.
    Whole,
    /// Everything but the places of sockets, devices and the kernel.
    Covered,
    /// Only the places that the policy names.
    Chosen,
}

/// Whether a `/proc` of its own can be mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proc {
    Own,
    /// No: it is empty.
    Empty,
}

/// The steps, and how many places for copies they need.
#[derive(Debug)]
pub(super) struct MountPlan {
    pub(super) steps: Arc<[Step]>,
    pub(super) slots: usize,
}

/// Makes the plan, and the folders and files on disk that its mounts go on.
pub(super) fn plan(
    shape: Shape,
    policy: &SandboxPolicy,
    paths: &Paths,
    parts: &SandboxFolders,
) -> io::Result<MountPlan> {
    let mut builder = Builder {
        shape,
        parts,
        steps: Vec::new(),
        slots: 0,
        entries: Vec::new(),
    };
    builder.build(policy, paths)?;
    Ok(MountPlan {
        steps: builder.steps.into(),
        slots: builder.slots,
    })
}

struct Builder<'plan> {
    shape: Shape,
    parts: &'plan SandboxFolders,
    steps: Vec<Step>,
    slots: usize,
    /// What stands where inside, later ones on top of earlier ones.
    entries: Vec<PlacedEntry>,
}

/// Something that stands somewhere inside.
struct PlacedEntry {
    place: PathBuf,
    parent: MountParent,
}

/// What mount points are made in.
enum MountParent {
    /// Nothing has to be made: the same is there as outside.
    Outside,
    /// A folder of ours that confined programs cannot write to.
    Folder(PathBuf),
    /// The private temporary folder. Confined programs may have put links there, so nothing is made in it from outside.
    Temp,
}

/// A copy that goes to its place late.
struct DeferredMount {
    place: PathBuf,
    slot: usize,
    set: u64,
}

impl Builder<'_> {
    fn build(&mut self, policy: &SandboxPolicy, paths: &Paths) -> io::Result<()> {
        let devices = self.take_devices()?;
        self.steps.push(Step::Attributes {
            path: c"/".into(),
            set: MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
            propagation: Propagation::Private,
        });
        self.begin_root()?;
        // All copies are taken before anything is covered or read-only.
        let temps = self.take_temps(policy)?;
        let shared_memory = self.take_part(&self.parts.shared_memory())?;
        let name_servers = self.take_name_servers()?;
        let (read_roots, read_in_temps) = self.take_read_roots(paths, &temps)?;
        let mut shown = self.take_shown(policy, paths, &temps)?;
        shown.extend(read_in_temps);
        shown.sort_by(|one, other| one.place.cmp(&other.place));
        self.mount_proc()?;
        self.cover_system()?;
        self.put_all(read_roots)?;
        self.put_all(name_servers)?;
        self.make_devices(devices)?;
        self.steps.push(Step::Attributes {
            path: c"/".into(),
            set: MOUNT_ATTR_RDONLY,
            propagation: Propagation::Kept,
        });
        for deferred in temps {
            self.put_folder(&deferred)?;
            self.entries.push(PlacedEntry {
                place: deferred.place.clone(),
                parent: MountParent::Temp,
            });
            self.link_temp(&deferred.place)?;
        }
        self.put_folder(&DeferredMount {
            place: "/dev/shm".into(),
            slot: shared_memory,
            set: 0,
        })?;
        self.put_all(shown)?;
        self.keep(paths)?;
        if self.shape.view == View::Chosen {
            let root = text(&self.parts.root())?;
            self.steps.push(Step::Pivot { root });
        }
        Ok(())
    }

    fn begin_root(&mut self) -> io::Result<()> {
        match self.shape.view {
            View::Whole | View::Covered => {}
            View::Chosen => {
                let root = self.parts.root();
                self.steps.push(Step::Pin {
                    path: text(&root)?,
                    set: 0,
                });
                self.entries.push(PlacedEntry {
                    place: "/".into(),
                    parent: MountParent::Folder(root),
                });
            }
        }
        Ok(())
    }

    fn mount_proc(&mut self) -> io::Result<()> {
        let target = self.mount_point(Path::new("/proc"), Kind::Folder)?;
        self.steps.push(match self.shape.proc {
            // Read-only later on: for root, some of its files are the machine's settings.
            Proc::Own => Step::FileSystem {
                kind: c"proc",
                target,
                flags: libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC,
                options: c"",
            },
            Proc::Empty => Step::Cover {
                source: text(&self.parts.empty())?,
                target,
            },
        });
        if let Some(bound) = self.shape.process_number_max {
            self.steps.push(Step::BoundProcesses {
                path: text(&self.in_root(Path::new("/proc/sys/kernel/pid_max")))?,
                bound: CString::new(bound.to_string())?,
            });
        }
        Ok(())
    }

    /// Covers the places of other programs' sockets and of the kernel.
    fn cover_system(&mut self) -> io::Result<()> {
        match self.shape.view {
            View::Whole | View::Chosen => Ok(()),
            View::Covered => {
                for place in COVERED {
                    let path = Path::new(place);
                    let found = unless_absent(path, path.symlink_metadata())?;
                    if found.is_some_and(|found| found.is_dir()) {
                        let folder = if *place == "/sys" {
                            self.parts.empty()
                        } else {
                            self.parts.run()
                        };
                        self.cover(path, folder)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn cover(&mut self, place: &Path, folder: PathBuf) -> io::Result<()> {
        let target = self.mount_point(place, Kind::Folder)?;
        self.steps.push(Step::Cover {
            source: text(&folder)?,
            target,
        });
        self.entries.push(PlacedEntry {
            place: place.to_owned(),
            parent: MountParent::Folder(folder),
        });
        Ok(())
    }

    fn make_devices(&mut self, devices: Vec<(PathBuf, usize)>) -> io::Result<()> {
        match self.shape.view {
            View::Whole => {}
            View::Covered | View::Chosen => {
                self.cover(Path::new("/dev"), self.parts.devices())?;
            }
        }
        for (device, slot) in devices {
            let target = text(&self.in_root(&device))?;
            self.put(slot, target, 0);
        }
        let terminals = Path::new("/dev/pts");
        if self.shape.view == View::Whole && !terminals.is_dir() {
            return Ok(());
        }
        self.steps.push(Step::FileSystem {
            kind: c"devpts",
            target: text(&self.in_root(terminals))?,
            flags: libc::MS_NOSUID | libc::MS_NOEXEC,
            options: c"newinstance,ptmxmode=0666,mode=0620",
        });
        let master = Path::new("/dev/ptmx");
        if self.shape.view == View::Whole && master.exists() && !master.is_symlink() {
            let slot = self.take(&terminals.join("ptmx"), Depth::Mount, Links::Refused)?;
            self.put(slot, text(master)?, 0);
        }
        Ok(())
    }

    /// Lets the private folder be found by its outside path: below the folder it covers, which is itself.
    fn link_temp(&mut self, covered: &Path) -> io::Result<()> {
        let Ok(below) = self.parts.temp().strip_prefix(covered) else {
            return Ok(());
        };
        let mut target = PathBuf::from(".");
        target.extend(below.components().skip(1).map(|_level| ".."));
        let link = self.parts.temp().to_owned();
        self.make_in_temp(covered, &link, None)?;
        self.steps.push(Step::Link {
            path: text(&self.in_root(&link))?,
            target: text(&target)?,
        });
        Ok(())
    }

    /// Makes a place inside, with the folders it lies in; only those without a kind.
    fn make_in_temp(&mut self, covered: &Path, place: &Path, kind: Option<Kind>) -> io::Result<()> {
        let mut parents: Vec<&Path> = place
            .ancestors()
            .skip(1)
            .take_while(|parent| *parent != covered)
            .collect();
        parents.reverse();
        let parents = parents.into_iter().map(|parent| (parent, Kind::Folder));
        for (path, kind) in parents.chain(kind.map(|kind| (place, kind))) {
            self.steps.push(Step::Make {
                path: text(&self.in_root(path))?,
                kind,
            });
        }
        Ok(())
    }

    fn put(&mut self, slot: usize, target: CString, set: u64) {
        self.steps.push(Step::Put {
            slot,
            target,
            set,
            missing: IfMissing::LeftOut,
        });
    }

    fn put_folder(&mut self, deferred: &DeferredMount) -> io::Result<()> {
        if self.shape.view == View::Whole && !deferred.place.exists() {
            return Ok(());
        }
        let target = self.mount_point(&deferred.place, Kind::Folder)?;
        self.put(deferred.slot, target, deferred.set);
        Ok(())
    }

    fn put_all(&mut self, all: Vec<DeferredMount>) -> io::Result<()> {
        for deferred in all {
            let kind = if deferred.place.is_dir() {
                Kind::Folder
            } else {
                Kind::File
            };
            let target = self.mount_point(&deferred.place, kind)?;
            self.steps.push(Step::Put {
                slot: deferred.slot,
                target,
                set: deferred.set,
                // Work that seems to be written somewhere else would be lost.
                missing: IfMissing::Fails,
            });
            self.entries.push(PlacedEntry {
                place: deferred.place,
                parent: MountParent::Outside,
            });
        }
        Ok(())
    }

    /// What stays as it is inside writable places, and what cannot be read.
    fn keep(&mut self, paths: &Paths) -> io::Result<()> {
        for path in &paths.pinned {
            let path = text(&self.in_root(path))?;
            self.steps.push(Step::Pin { path, set: 0 });
        }
        for path in &paths.protected {
            let path = text(&self.in_root(path))?;
            self.steps.push(Step::Pin {
                path,
                set: MOUNT_ATTR_RDONLY,
            });
        }
        for unreadable in &paths.unreadable {
            let path = text(&self.in_root(&unreadable.path))?;
            self.steps.push(Step::Hide { path });
        }
        Ok(())
    }

    /// Where a place is while the plan is carried out.
    fn in_root(&self, place: &Path) -> PathBuf {
        match self.shape.view {
            View::Whole | View::Covered => place.to_owned(),
            View::Chosen => below(&self.parts.root(), place),
        }
    }

    /// The path of a place that something is to be mounted on. Where something of ours stands, the place is made in that.
    fn mount_point(&mut self, place: &Path, kind: Kind) -> io::Result<CString> {
        let stand = self
            .entries
            .iter()
            .rev()
            .find(|stand| place.starts_with(&stand.place) && place != stand.place);
        match stand {
            None
            | Some(PlacedEntry {
                parent: MountParent::Outside,
                ..
            }) => {}
            Some(PlacedEntry {
                parent: MountParent::Folder(folder),
                place: covered,
            }) => {
                if let Ok(rest) = place.strip_prefix(covered) {
                    make(&folder.join(rest), kind)?;
                }
            }
            Some(PlacedEntry {
                parent: MountParent::Temp,
                place: covered,
            }) => {
                let covered = covered.clone();
                self.make_in_temp(&covered, place, Some(kind))?;
            }
        }
        text(&self.in_root(place))
    }
}

/// Covered unless everything is visible.
const COVERED: &[&str] = &["/run", "/var/run", "/sys"];

fn make(path: &Path, kind: Kind) -> io::Result<()> {
    make_parents(path)?;
    match kind {
        Kind::Folder => make_folder(path),
        Kind::File => match File::create_new(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            Ok(_) | Err(_) => Ok(()),
        },
    }
}

fn make_parents(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), make_folder)
}

fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}

fn below(root: &Path, place: &Path) -> PathBuf {
    root.join(place.strip_prefix("/").unwrap_or(place))
}

fn text(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from)
}
