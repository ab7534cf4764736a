//! The folders on disk that belong to one sandbox: the private temporary folder, and what stands in for things inside.

use std::fs::{DirBuilder, File, Permissions, TryLockError};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use super::placeholders;
use crate::sys;

/// How the private temporary folder's name begins; our number and a random one follow.
const PREFIX: &str = "pirn-sandbox-";
/// How the name of the folder beside it ends.
const SUFFIX: &str = "-parts";
/// Locked for as long as the sandbox lives; who finds it unlocked may sweep.
const OWNER: &str = "owner";
/// Names are random, so more than one collision means something else.
const ATTEMPTS_MAX: u32 = 4;
/// How many entries of the temporary folder are looked at for what others left behind.
const SWEEP_ENTRIES_MAX: usize = 10_000;

/// How often a [`CleanupLock`] is tried for, and the time between: others have theirs for less than a millisecond.
const TURN_ATTEMPTS_MAX: u32 = 50;
const TURN_PAUSE: Duration = Duration::from_millis(2);

/// How deep folders are made removable.
const REMOVE_DEPTH_MAX: usize = 64;

/// Devices that every program may use.
pub(super) const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// The folders on disk that belong to one sandbox. Dropping it removes them.
#[derive(Debug)]
pub(super) struct SandboxFolders {
    temp: PathBuf,
    folder: PathBuf,
    _owner: File,
}

impl SandboxFolders {
    /// Creates them below an existing folder, and sweeps up what dead processes left there.
    pub(super) fn create(temp_dir: &Path) -> io::Result<Self> {
        static SWEPT: Once = Once::new();
        let temp_dir = temp_dir.canonicalize()?;
        SWEPT.call_once(|| sweep(&temp_dir));
        let mut attempt = 0;
        loop {
            attempt += 1;
            match Self::try_create(&temp_dir) {
                Ok(parts) => return Ok(parts),
                Err(_error) if attempt < ATTEMPTS_MAX => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn try_create(temp_dir: &Path) -> io::Result<Self> {
        let name = format!(
            "{PREFIX}{}-{:016x}",
            std::process::id(),
            RandomState::new().build_hasher().finish()
        );
        let parts = temp_dir.join(format!("{name}{SUFFIX}"));
        private_folder(&parts)?;
        let owner = File::create_new(parts.join(OWNER))?;
        owner.lock()?;
        let temp = temp_dir.join(name);
        private_folder(&temp)?;
        let created = Self {
            temp,
            folder: parts,
            _owner: owner,
        };
        created.fill()?;
        Ok(created)
    }

    fn fill(&self) -> io::Result<()> {
        for folder in [self.empty(), self.run(), self.devices(), self.root()] {
            shown_folder(&folder)?;
        }
        private_folder(&self.shared_memory())?;
        private_folder(&self.locked_folder())?;
        std::fs::set_permissions(self.locked_folder(), Permissions::from_mode(0o0))?;
        File::create_new(self.locked_file())?.set_permissions(Permissions::from_mode(0o0))?;
        let devices = self.devices();
        for name in DEVICES {
            File::create_new(devices.join(name))?;
        }
        for name in ["pts", "shm"] {
            shown_folder(&devices.join(name))?;
        }
        for (name, target) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
            ("ptmx", "pts/ptmx"),
        ] {
            symlink(target, devices.join(name))?;
        }
        self.link_run();
        Ok(())
    }

    /// Links in `/run` that lead elsewhere are how some systems find their programs.
    fn link_run(&self) {
        let run = Path::new("/run");
        let Ok(entries) = run.read_dir() else {
            return;
        };
        for entry in entries.flatten().take(SWEEP_ENTRIES_MAX) {
            let path = entry.path();
            if path.is_symlink()
                && let Ok(target) = path.canonicalize()
                && !target.starts_with(run)
            {
                // A missing link shows by itself.
                let _linked = symlink(target, self.run().join(entry.file_name()));
            }
        }
    }

    /// The folder that the parts lie in. Confined programs do not see it.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The private temporary folder.
    pub(super) fn temp(&self) -> &Path {
        &self.temp
    }

    /// A folder that nobody can read.
    pub(super) fn locked_folder(&self) -> PathBuf {
        self.folder.join("locked-folder")
    }

    /// A file that nobody can read.
    pub(super) fn locked_file(&self) -> PathBuf {
        self.folder.join("locked-file")
    }

    /// Makes a folder to try a level out in.
    pub(super) fn make_neutral(&self) -> io::Result<PathBuf> {
        let folder = self.folder.join("neutral");
        private_folder(&folder)?;
        Ok(folder)
    }

    /// A folder without entries.
    pub(super) fn empty(&self) -> PathBuf {
        self.folder.join("empty")
    }

    /// Stands in for `/run`.
    pub(super) fn run(&self) -> PathBuf {
        self.folder.join("run")
    }

    /// Stands in for `/dev`.
    pub(super) fn devices(&self) -> PathBuf {
        self.folder.join("dev")
    }

    /// Stands in for `/dev/shm`.
    pub(super) fn shared_memory(&self) -> PathBuf {
        self.folder.join("shm")
    }

    /// Stands in for `/`.
    pub(super) fn root(&self) -> PathBuf {
        self.folder.join("root")
    }
}

impl Drop for SandboxFolders {
    fn drop(&mut self) {
        remove(&self.temp);
        remove_parts(&self.folder);
    }
}

fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

fn shown_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o755).create(path)
}

/// Removes the folder with the parts. The file that tells whose it is goes last, so that a sweep finds what is left when we are
/// killed meanwhile. As long as there is a record of something that has to be removed, the two of them stay.
fn remove_parts(parts: &Path) {
    for entry in parts.read_dir().into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path());
        }
    }
    if !placeholders::are_left(parts) {
        remove(parts);
    }
}

/// Removes a folder with everything in it. What cannot be removed is left to the next sweep.
fn remove(folder: &Path) {
    if std::fs::remove_dir_all(folder).is_err() && folder.is_dir() {
        // Programs make folders read-only, and one of ours cannot even be looked into.
        open_up(folder, REMOVE_DEPTH_MAX);
        let _left = std::fs::remove_dir_all(folder);
    }
}

/// Gives us all rights to folders, so that they can be emptied. Nobody is there any more to put links in the way.
fn open_up(folder: &Path, depth_left: usize) {
    let _none = std::fs::set_permissions(folder, Permissions::from_mode(0o700));
    let Ok(entries) = folder.read_dir() else {
        return;
    };
    for entry in entries.flatten() {
        if depth_left > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path(), depth_left - 1);
        }
    }
}

/// Removes what processes left that were killed.
fn sweep(temp_dir: &Path) {
    let mut dead = Vec::new();
    {
        let lock = CleanupLock::take(temp_dir);
        // Before the dead ones are locked, which makes them look alive.
        let needed = lock
            .as_ref()
            .and_then(|_lock| needed_by_living(temp_dir, None));
        for (parts, temp) in ours(temp_dir) {
            if let Ok(owner) = File::open(parts.join(OWNER))
                && owner.try_lock().is_ok()
            {
                placeholders::clear(&parts, needed.as_deref());
                dead.push((parts, temp, owner));
            }
        }
    }
    for (parts, temp, _owner) in dead {
        if is_our_folder(&temp) {
            remove(&temp);
        }
        remove_parts(&parts);
    }
}

/// The folders of sandboxes of this user: of the parts, and the private temporary one.
fn ours(temp_dir: &Path) -> impl Iterator<Item = (PathBuf, PathBuf)> {
    temp_dir
        .read_dir()
        .into_iter()
        .flatten()
        .flatten()
        .take(SWEEP_ENTRIES_MAX)
        .filter_map(move |entry| {
            let name = entry.file_name();
            let name = name.to_str()?.strip_suffix(SUFFIX)?;
            let is_ours = name.starts_with(PREFIX) && is_our_folder(&entry.path());
            is_ours.then(|| (entry.path(), temp_dir.join(name)))
        })
}

/// Nobody can make us remove anything through a link, or what is not ours.
fn is_our_folder(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == sys::user().id)
}

/// What the children of living sandboxes, but for one, cannot do without. `None` when that cannot be found out.
pub(super) fn needed_by_living(temp_dir: &Path, but: Option<&Path>) -> Option<Vec<PathBuf>> {
    let mut needed = Vec::new();
    for (parts, _temp) in ours(temp_dir) {
        let is_alive = File::open(parts.join(OWNER))
            .is_ok_and(|owner| matches!(owner.try_lock_shared(), Err(TryLockError::WouldBlock)));
        if is_alive && but.is_none_or(|but| but != parts) {
            needed.extend(placeholders::needed(&parts)?);
        }
    }
    Some(needed)
}

/// For as long as it is held, no sandbox of another process with the same temporary folder writes down what it needs, or
/// removes what nobody needs.
#[derive(Debug)]
pub(super) struct CleanupLock(Option<File>);

impl CleanupLock {
    /// `None` when others take their time: anybody can lock a folder that everybody can read.
    pub(super) fn take(temp_dir: &Path) -> Option<Self> {
        let Ok(folder) = File::open(temp_dir) else {
            return Some(Self(None));
        };
        for _attempt in 0..TURN_ATTEMPTS_MAX {
            match folder.try_lock() {
                Ok(()) => return Some(Self(Some(folder))),
                Err(TryLockError::WouldBlock) => std::thread::sleep(TURN_PAUSE),
                // There are no locks here, so nobody else has one.
                Err(TryLockError::Error(_)) => return Some(Self(None)),
            }
        }
        None
    }
}

impl Drop for CleanupLock {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            // Closing would not do: a child that is just being started has a copy.
            let _unlocked = folder.unlock();
        }
    }
}

#[cfg(test)]
mod tests;
