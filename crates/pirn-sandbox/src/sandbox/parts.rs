//! The folders on disk that belong to one sandbox: the private temporary folder, and what stands in for things inside.

use std::fs::{DirBuilder, File, Permissions};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Once;

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

/// How deep folders are made removable.
const REMOVE_DEPTH_MAX: usize = 64;

/// Devices that every program may use.
pub(super) const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// The folders on disk that belong to one sandbox. Dropping it removes them.
#[derive(Debug)]
pub(super) struct Parts {
    temp: PathBuf,
    folder: PathBuf,
    _owner: File,
}

impl Parts {
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

impl Drop for Parts {
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
/// killed meanwhile.
fn remove_parts(parts: &Path) {
    for entry in parts.read_dir().into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path());
        }
    }
    remove(parts);
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
    let Ok(entries) = temp_dir.read_dir() else {
        return;
    };
    let user = sys::user().id;
    for entry in entries.flatten().take(SWEEP_ENTRIES_MAX) {
        let name = entry.file_name();
        let Some(name) = name.to_str().and_then(|name| name.strip_suffix(SUFFIX)) else {
            continue;
        };
        let parts = entry.path();
        // Nobody can make us remove anything through a link, or what is not ours.
        let is_ours = name.starts_with(PREFIX)
            && parts
                .symlink_metadata()
                .is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == user);
        if is_ours
            && let Ok(owner) = File::open(parts.join(OWNER))
            && owner.try_lock().is_ok()
        {
            let temp = temp_dir.join(name);
            if temp
                .symlink_metadata()
                .is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == user)
            {
                remove(&temp);
            }
            remove_parts(&parts);
        }
    }
}

#[cfg(test)]
mod tests;
