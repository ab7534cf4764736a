//! What is copied before anything is covered.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use libc::MOUNT_ATTR_RDONLY;

use super::super::folders::DEVICES;
use super::{Builder, COVERED, DeferredMount, View, make_parents, text};
use crate::paths::{Paths, unless_absent};
use crate::policy::SandboxPolicy;
use crate::sys::{Depth, IfMissing, Links, Step};

impl Builder<'_> {
    pub(super) fn take(&mut self, source: &Path, depth: Depth, links: Links) -> io::Result<usize> {
        let slot = self.slots;
        self.slots += 1;
        self.steps.push(Step::Take {
            source: text(source)?,
            depth,
            links,
            slot,
            missing: IfMissing::LeftOut,
        });
        Ok(slot)
    }

    pub(super) fn take_part(&mut self, part: &Path) -> io::Result<usize> {
        self.take(part, Depth::Mount, Links::Refused)
    }

    pub(super) fn take_devices(&mut self) -> io::Result<Vec<(PathBuf, usize)>> {
        DEVICES
            .into_iter()
            .map(|name| {
                let device = Path::new("/dev").join(name);
                let slot = self.take(&device, Depth::Mount, Links::Followed)?;
                Ok((device, slot))
            })
            .collect()
    }

    /// The shared temporary folders, none inside another, each with a copy of the private one.
    pub(super) fn take_temps(&mut self, policy: &SandboxPolicy) -> io::Result<Vec<DeferredMount>> {
        let mut places: Vec<PathBuf> = Vec::new();
        for place in [Path::new("/tmp"), Path::new("/var/tmp"), &policy.temp_dir] {
            // One that cannot be looked at must not stay uncovered.
            let Some(real) = unless_absent(place, place.canonicalize())? else {
                continue;
            };
            let metadata = unless_absent(&real, real.metadata())?;
            if metadata.is_some_and(|metadata| metadata.is_dir()) && real.parent().is_some() {
                places.push(real);
            }
        }
        places.sort();
        let mut outer: Vec<PathBuf> = Vec::new();
        for place in places {
            if !outer.iter().any(|outer| place.starts_with(outer)) {
                outer.push(place);
            }
        }
        outer
            .into_iter()
            .map(|place| {
                Ok(DeferredMount {
                    place,
                    slot: self.take_part(self.parts.temp())?,
                    set: 0,
                })
            })
            .collect()
    }

    /// The files that `/etc/resolv.conf` leads to, where those lie in `/run`.
    pub(super) fn take_name_servers(&mut self) -> io::Result<Vec<DeferredMount>> {
        let run = Path::new("/run");
        match Path::new("/etc/resolv.conf").canonicalize() {
            Ok(file) if self.shape.view == View::Covered && file.starts_with(run) => {
                Ok(vec![DeferredMount {
                    slot: self.take(&file, Depth::Mount, Links::Followed)?,
                    place: file,
                    set: 0,
                }])
            }
            Ok(_) | Err(_) => Ok(Vec::new()),
        }
    }

    /// The chosen places, and links to them; apart from the others those that lie in a shared temporary folder, which come
    /// after the private one.
    pub(super) fn take_read_roots(
        &mut self,
        paths: &Paths,
        temps: &[DeferredMount],
    ) -> io::Result<(Vec<DeferredMount>, Vec<DeferredMount>)> {
        let mut all = Vec::new();
        if self.shape.view != View::Chosen {
            return Ok((all, Vec::new()));
        }
        for place in paths.read_roots.iter().flatten() {
            if place == &paths.working_folder || paths.write_roots.contains(place) {
                continue;
            }
            if let Ok(target) = place.read_link() {
                let link = self.in_root(place);
                make_parents(&link)?;
                // There since the last plan.
                let _known = symlink(target, link);
            } else if place.exists() {
                all.push(DeferredMount {
                    place: place.clone(),
                    slot: self.take(place, Depth::Tree, Links::Followed)?,
                    set: MOUNT_ATTR_RDONLY,
                });
            }
        }
        Ok(all
            .into_iter()
            .partition(|root| !temps.iter().any(|temp| root.place.starts_with(&temp.place))))
    }

    /// What is writable, and what must be seen though it lies below something that is covered; outer ones first.
    pub(super) fn take_shown(
        &mut self,
        policy: &SandboxPolicy,
        paths: &Paths,
        temps: &[DeferredMount],
    ) -> io::Result<Vec<DeferredMount>> {
        let mut shown: Vec<(PathBuf, u64)> = paths
            .write_roots
            .iter()
            .map(|root| (root.clone(), 0))
            .collect();
        let home = policy
            .home
            .as_deref()
            .and_then(|home| home.canonicalize().ok())
            .filter(|_home| self.shape.view != View::Chosen);
        for place in std::iter::once(paths.working_folder.clone()).chain(home) {
            let is_covered = self.shape.view == View::Chosen
                || temps.iter().any(|temp| place.starts_with(&temp.place))
                || (self.shape.view == View::Covered
                    && COVERED.iter().any(|covered| place.starts_with(covered)));
            let is_shown = shown.iter().any(|(root, _)| place.starts_with(root));
            if is_covered && !is_shown {
                shown.push((place, MOUNT_ATTR_RDONLY));
            }
        }
        shown.sort();
        shown
            .into_iter()
            .map(|(place, set)| {
                Ok(DeferredMount {
                    slot: self.take(&place, Depth::Tree, Links::Refused)?,
                    place,
                    set,
                })
            })
            .collect()
    }
}
