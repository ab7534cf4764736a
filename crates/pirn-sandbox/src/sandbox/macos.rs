//! macOS: a Seatbelt profile around each child. There are neither namespaces nor cgroups, so it counts as the weakest level.

use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::explain::{Denial, SandboxFacts, explain};
use crate::network::NetworkDecision;
use crate::paths::Paths;
use crate::policy::{Level, Network, SandboxPolicy};
use crate::report::{Layer, MissingLayer, SandboxReport};
use crate::seatbelt::{self, LAUNCHER, NetworkAccess};
use crate::status::ExitStatus;

/// A profile, ready for children. Dropping it removes the private temporary folder.
#[derive(Debug)]
pub(crate) struct PreparedLevel {
    paths: Paths,
    profile: String,
    temp: PathBuf,
}

impl PreparedLevel {
    pub(super) fn prepare(
        policy: &SandboxPolicy,
        mut report: SandboxReport,
        _roots: std::sync::Arc<crate::paths::HeldRoots>,
    ) -> Result<(Self, SandboxReport), Error> {
        if let Some(level) = policy.require.filter(|level| *level > Level::Basic) {
            return Err(Error::confinement(format!(
                "macOS cannot confine programs at the level `{}`, only at `basic`.",
                level.as_str()
            )));
        }
        let temp = create_temp(&policy.temp_dir).map_err(|source| {
            Error::confinement(format!(
                "The folders of a sandbox cannot be created in {}: {source}",
                policy.temp_dir.display()
            ))
        })?;
        let paths = Paths::of(policy).map_err(|source| Error::confinement(source.to_string()))?;
        let reach = match policy.network {
            Network::Off | Network::AllowList(_) => NetworkAccess::Nothing,
            Network::On => NetworkAccess::Everything,
        };
        report.level = Some(Level::Basic);
        report.layers = vec![
            Layer::ProtectedPaths,
            Layer::UnreadablePaths,
            Layer::Seatbelt,
        ];
        report.missing = missing(policy);
        let profile = seatbelt::profile(&paths, &temp, reach);
        let confined = Self {
            paths,
            profile,
            temp,
        };
        Ok((confined, report))
    }

    pub(super) fn private_temp(&self) -> &Path {
        &self.temp
    }

    /// Variables that children get besides their own.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        vec![("TMPDIR".into(), self.temp.clone().into())]
    }

    /// What runs a program under the profile.
    pub(crate) fn wrap(&self, program: &OsStr, given: &[OsString]) -> (OsString, Vec<OsString>) {
        let arguments = seatbelt::arguments(&self.profile, program, given)
            .map(OsStr::to_owned)
            .collect();
        (LAUNCHER.into(), arguments)
    }

    pub(super) fn explain(
        &self,
        policy: &SandboxPolicy,
        output_tail: &str,
        status: ExitStatus,
        decisions: &[NetworkDecision],
    ) -> Vec<Denial> {
        let mut writable = self.paths.write_roots.clone();
        writable.push(self.temp.clone());
        let unreadable: Vec<PathBuf> = self
            .paths
            .unreadable
            .iter()
            .map(|unreadable| unreadable.path.clone())
            .collect();
        let facts = SandboxFacts {
            policy,
            level: Some(Level::Basic),
            writable: &writable,
            protected: &self.paths.protected,
            unreadable: &unreadable,
            readable: self.paths.read_roots.as_deref(),
            has_proxy: false,
            stand_ins: None,
            privileged: false,
        };
        explain(&facts, output_tail, status, decisions)
    }
}

impl Drop for PreparedLevel {
    fn drop(&mut self) {
        // What is left is in the way of nobody.
        let _left = std::fs::remove_dir_all(&self.temp);
    }
}

fn missing(policy: &SandboxPolicy) -> Vec<MissingLayer> {
    let limits = policy.limits;
    let is_listed = match policy.network {
        Network::AllowList(_) => true,
        Network::Off | Network::On => false,
    };
    [
        (
            is_listed,
            Layer::NetworkProxy,
            "There is no way yet that leads only to the proxy, so the network is off.",
        ),
        (
            limits.memory_bytes.is_some(),
            Layer::CgroupMemory,
            "macOS has no bound on the memory of several processes.",
        ),
        (
            limits.processes.is_some(),
            Layer::CgroupProcesses,
            "macOS has no bound on the number of a program's processes.",
        ),
    ]
    .into_iter()
    .filter(|(applies, _, _)| *applies)
    .map(|(_, layer, reason)| MissingLayer {
        layer,
        reason: reason.to_owned(),
        remedy: None,
    })
    .collect()
}

fn create_temp(temp_dir: &Path) -> std::io::Result<PathBuf> {
    let name = format!(
        "pirn-sandbox-{}-{:016x}",
        std::process::id(),
        RandomState::new().build_hasher().finish()
    );
    // Profiles are about paths with links resolved.
    let temp = temp_dir.canonicalize()?.join(name);
    DirBuilder::new().mode(0o700).create(&temp)?;
    Ok(temp)
}
