//! What a level refuses, for explanations of failed commands.

use std::path::{Path, PathBuf};

use super::PreparedLevel;
use crate::explain::{Denial, SandboxFacts, StandIns, explain, explain_source};
use crate::network::NetworkDecision;
use crate::policy::{Level, SandboxPolicy};
use crate::status::ExitStatus;
use crate::sys;

/// What the private temporary folder stands in for, where there are mounts.
const TEMP_NAMES: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

impl PreparedLevel {
    pub(in crate::sandbox) fn explain(
        &self,
        policy: &SandboxPolicy,
        output_tail: &str,
        status: ExitStatus,
        decisions: &[NetworkDecision],
    ) -> Vec<Denial> {
        self.with_facts(policy, |facts| {
            explain(facts, output_tail, status, decisions)
        })
    }

    pub(in crate::sandbox) fn explain_source(
        &self,
        policy: &SandboxPolicy,
        source: &str,
        folder: &Path,
    ) -> Vec<Denial> {
        self.with_facts(policy, |facts| explain_source(facts, source, folder))
    }

    fn with_facts(
        &self,
        policy: &SandboxPolicy,
        explain: impl FnOnce(&SandboxFacts<'_>) -> Vec<Denial>,
    ) -> Vec<Denial> {
        let paths = self.cache.last().unwrap_or_default();
        let mut writable = paths.write_roots.clone();
        writable.push(self.private_temp().to_owned());
        match self.level {
            Level::Basic => {}
            Level::Standard | Level::Strict => {
                let names = TEMP_NAMES.map(PathBuf::from);
                // A home below one of them is still there, and is no temporary folder.
                writable.extend(names.into_iter().chain([policy.temp_dir.clone()]).filter(
                    |name| {
                        !policy
                            .home
                            .as_ref()
                            .is_some_and(|home| home.starts_with(name))
                    },
                ));
            }
        }
        let unreadable: Vec<PathBuf> = paths
            .unreadable
            .iter()
            .map(|unreadable| unreadable.path.clone())
            .collect();
        let places: Vec<PathBuf> = [Path::new("/tmp"), Path::new("/var/tmp"), &policy.temp_dir]
            .into_iter()
            .filter_map(|place| place.canonicalize().ok())
            .collect();
        let stand_ins = StandIns {
            places: &places,
            private: self.private_temp(),
            real: |path| path.canonicalize().ok(),
        };
        let facts = SandboxFacts {
            policy,
            level: Some(self.level),
            writable: &writable,
            protected: &paths.protected,
            unreadable: &unreadable,
            readable: paths.read_roots.as_deref(),
            has_proxy: self.proxy().is_some(),
            stand_ins: match self.level {
                Level::Basic => None,
                Level::Standard | Level::Strict => Some(stand_ins),
            },
            privileged: sys::user().id == 0,
        };
        explain(&facts)
    }
}
