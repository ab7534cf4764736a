//! Other names that places have because a part of their file system is mounted somewhere else as well.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What the kernel tells about the mounts of this process.
const MOUNTS: &str = "/proc/self/mountinfo";

/// The mounts of which a part is mounted more than once.
#[derive(Debug, Default)]
pub(super) struct MountAliases {
    mounts: Vec<Mount>,
    /// Whether some file system has several mounts.
    are_any: bool,
}

/// One mount, as the kernel lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    /// Which file system, as the kernel writes it.
    device: Vec<u8>,
    /// Which folder of it.
    root: PathBuf,
    at: PathBuf,
}

impl MountAliases {
    /// Those of now. Where the system tells of none there are none.
    pub(super) fn look() -> io::Result<Self> {
        match std::fs::read(MOUNTS) {
            Ok(text) => Ok(Self::parse(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(io::Error::new(
                error.kind(),
                format!("{MOUNTS} cannot be read: {error}"),
            )),
        }
    }

    fn parse(text: &[u8]) -> Self {
        let mounts: Vec<Mount> = text
            .split(|byte| *byte == b'\n')
            .filter_map(|line| {
                let mut fields = line.split(|byte| *byte == b' ').skip(2);
                Some(Mount {
                    device: fields.next()?.to_owned(),
                    root: unescaped(fields.next()?),
                    at: unescaped(fields.next()?),
                })
            })
            .collect();
        let mut devices: Vec<&[u8]> = mounts.iter().map(|mount| &*mount.device).collect();
        devices.sort_unstable();
        let are_any = devices.windows(2).any(|pair| pair.first() == pair.last());
        Self { mounts, are_any }
    }

    /// Whether some file system has several mounts.
    pub(super) fn are_any(&self) -> bool {
        self.are_any
    }

    /// The other names of a place, by a path without links; of those that lie in it the place where the part of it is mounted.
    pub(super) fn of(&self, place: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        // The last one is on top of those at the same place.
        let own = self
            .mounts
            .iter()
            .enumerate()
            .filter(|(_, mount)| place.starts_with(&mount.at));
        let Some((index, own)) =
            own.max_by_key(|(index, mount)| (mount.at.components().count(), *index))
        else {
            return found;
        };
        if !self.are_any {
            return found;
        }
        let Ok(below) = place.strip_prefix(&own.at) else {
            return found;
        };
        let inside = join(&own.root, below);
        for (other, mount) in self.mounts.iter().enumerate() {
            if other == index || mount.device != own.device {
                continue;
            }
            if let Ok(below) = inside.strip_prefix(&mount.root) {
                let alias = join(&mount.at, below);
                // Something else may be mounted over it.
                if alias != place && is_same(&alias, place) {
                    found.push(alias);
                }
            } else if mount.root.starts_with(&inside) && !mount.at.starts_with(place) {
                found.push(mount.at.clone());
            }
        }
        found.sort();
        found.dedup();
        found
    }
}

/// Joining nothing would add a separator.
fn join(folder: &Path, below: &Path) -> PathBuf {
    folder.components().chain(below.components()).collect()
}

fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| {
        let metadata = path.symlink_metadata().ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

/// The kernel writes spaces, tabs, line ends and backslashes as a backslash and three octal digits.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, behind)) = rest.split_first() {
        let octal = behind.get(..3).filter(|digits| {
            *first == b'\\' && digits.iter().all(|digit| (b'0'..=b'7').contains(digit))
        });
        if let Some(digits) = octal {
            let value = digits
                .iter()
                .fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
            bytes.push(u8::try_from(value).unwrap_or(b'?'));
            rest = behind.get(3..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = behind;
        }
    }
    PathBuf::from(OsStr::from_bytes(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_by_each_mount_of_its_file_system() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let here = root.to_str().unwrap();
        std::fs::create_dir_all(root.join("user/.ssh")).unwrap();
        std::fs::create_dir_all(root.join("work/mnt\\ here")).unwrap();
        let mounts = |more: &str| {
            let text = format!(
                "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:5 / /proc rw - proc proc rw\n{more}"
            );
            MountAliases::parse(text.as_bytes())
        };
        let place = root.join("user/.ssh");
        assert_eq!(mounts("").of(&place), [] as [PathBuf; 0]);
        // All of the user folder, of which nothing is there: no test mounts anything.
        let whole = mounts(&format!(
            "3 1 8:1 {here}/user {here}/build/x rw - ext4 /dev/a rw\n"
        ));
        assert_eq!(whole.of(&place), [] as [PathBuf; 0]);
        let other = mounts(&format!(
            "3 1 8:2 {here}/user/.ssh/in {here}/build/x rw - ext4 /dev/b rw\n"
        ));
        assert_eq!(other.of(&place), [] as [PathBuf; 0]);
        let part = mounts(&format!(
            "3 1 8:1 {here}/user/.ssh/in {here}/build/a\\040b rw - ext4 /dev/a rw\n"
        ));
        assert_eq!(part.of(&place), [root.join("build/a b")]);
    }
}
