//! Which places to grant so that others stay out of reach.

use std::path::{Path, PathBuf};

use crate::paths::Paths;

/// How many places are granted one by one; a rule costs some microseconds, and each child carries a copy of them.
const PLACES_MAX: usize = 4_000;

/// Where other programs keep their sockets and temporary files.
const HIDDEN: &[&str] = &["/run", "/var/run", "/tmp", "/var/tmp", "/dev"];

/// The kernel's folders that programs look into even where only chosen places are readable.
const KERNEL_FOLDERS: &[&str] = &["/proc", "/sys/devices/system/cpu"];

/// How a place can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadKind {
    Everything,
    /// Names only; of everything below as well.
    Names,
}

/// The places to grant.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Grants {
    pub(super) places: Vec<(PathBuf, ReadKind)>,
    /// What can be read though it should not, as sentences.
    pub(super) gaps: Vec<String>,
}

/// What can be read, besides what can be written.
pub(super) fn reads(paths: &Paths, shared_temp: &Path) -> Result<Grants, String> {
    let mut grants = Grants::default();
    let unreadable: Vec<PathBuf> = paths
        .unreadable
        .iter()
        .map(|place| place.path.clone())
        .collect();
    for place in &unreadable {
        if let Some(root) = paths
            .write_roots
            .iter()
            .find(|root| place.starts_with(root))
        {
            grants.gaps.push(format!(
                "{} can be read: it lies in {}, which is writable as a whole.",
                place.display(),
                root.display()
            ));
        }
    }
    let mut hidden = unreadable.clone();
    let places = HIDDEN
        .iter()
        .map(PathBuf::from)
        .chain([shared_temp.to_owned()]);
    hidden.extend(places.filter_map(|place| place.canonicalize().ok()));
    match &paths.read_roots {
        None => grants.add(Path::new("/"), &hidden)?,
        Some(roots) => {
            for root in roots {
                grants.add(root, &unreadable)?;
            }
            for folder in KERNEL_FOLDERS {
                grants.add(Path::new(folder), &unreadable)?;
            }
        }
    }
    // Places inside hidden ones that are readable all the same.
    grants.add(&paths.working_folder, &unreadable)?;
    if let Ok(resolver) = Path::new("/etc/resolv.conf").canonicalize() {
        grants.places.push((resolver, ReadKind::Everything));
    }
    Ok(grants)
}

impl Grants {
    /// Grants a place but for what is hidden in it. Fails where that takes too many rules.
    fn add(&mut self, place: &Path, hidden: &[PathBuf]) -> Result<(), String> {
        // Rules are about what a link leads to.
        let Ok(place) = place.canonicalize() else {
            return Ok(());
        };
        let mut open = vec![place];
        while let Some(place) = open.pop() {
            if hidden.iter().any(|hidden| place.starts_with(hidden)) {
                continue;
            }
            let inside: Vec<&PathBuf> = hidden
                .iter()
                .filter(|hidden| hidden.starts_with(&place))
                .collect();
            if inside.is_empty() {
                self.places.push((place, ReadKind::Everything));
                continue;
            }
            let entries = match place.read_dir() {
                Ok(entries) if self.places.len() < PLACES_MAX => entries,
                Ok(_too_many) => {
                    return Err(format!(
                        "At the level basic, keeping what lies in {} from being read takes more than {PLACES_MAX} rules; the setting \
                         sandbox.unreadable, without places in it, makes do with fewer.",
                        place.display()
                    ));
                }
                // Nor can the child read it.
                Err(_unreadable) => continue,
            };
            for entry in entries.flatten() {
                // A link has no rules of its own.
                if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                    open.push(entry.path());
                }
            }
            self.places.push((place, ReadKind::Names));
        }
        Ok(())
    }
}
