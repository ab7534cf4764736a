//! What is in force, and what is not, for reports.

use super::super::plan::{Proc, View};
use super::super::reasons::{self, Gaps, LevelFailure};
use super::{PathPlan, PreparedLevel};
use crate::cgroup;
use crate::error::Error;
use crate::policy::{Level, SandboxPolicy};
use crate::report::{Layer, MissingLayer, SandboxReport};

impl PathPlan {
    /// What is not kept.
    fn gaps(&self, layers: &[Layer]) -> Gaps<'_> {
        Gaps {
            sees_sockets: !layers.contains(&Layer::PrivateRoot) && !self.rules.path_sockets,
            has_proxy: layers.contains(&Layer::NetworkProxy),
            unreadable: self
                .paths
                .unreadable_gaps
                .iter()
                .chain(&self.rules.unreadable_gaps)
                .map(String::as_str)
                .collect(),
        }
    }
}

impl PreparedLevel {
    /// Says what is in force.
    pub(super) fn complete(
        &self,
        policy: &SandboxPolicy,
        mut report: SandboxReport,
        failures: Vec<LevelFailure>,
    ) -> Result<SandboxReport, Error> {
        let path_plan = self
            .path_plan(policy)
            .map_err(|source| Error::preparing(&source))?;
        report.level = Some(self.level);
        let mut missing: Vec<MissingLayer> = Vec::new();
        for failure in failures {
            missing.extend(failure.missing(self.level));
        }
        missing.extend(path_plan.rules.missing.iter().cloned());
        report.layers = self.layers(policy, &path_plan, &mut missing);
        report.missing = missing;
        Ok(report)
    }

    fn layers(
        &self,
        policy: &SandboxPolicy,
        path_plan: &PathPlan,
        missing: &mut Vec<MissingLayer>,
    ) -> Vec<Layer> {
        let mut layers = vec![Layer::NoNewPrivileges, Layer::ResourceLimits];
        match self.level {
            Level::Basic => {}
            Level::Standard | Level::Strict => layers.extend([
                Layer::UserNamespace,
                Layer::MountNamespace,
                Layer::ProcessNamespace,
                Layer::IpcNamespace,
                Layer::HostNameNamespace,
                Layer::ProtectedPaths,
            ]),
        }
        match self.view(policy) {
            Some(View::Covered | View::Chosen) => layers.push(Layer::PrivateRoot),
            Some(View::Whole) | None => {}
        }
        if self.level > Level::Basic && self.proc == Proc::Own {
            layers.push(Layer::PrivateProc);
        }
        if self.network.is_some() {
            layers.push(Layer::NetworkNamespace);
        }
        if self.proxy().is_some() {
            layers.push(Layer::NetworkProxy);
        }
        if path_plan.rules.files {
            layers.push(Layer::LandlockFiles);
        }
        if path_plan.rules.files || self.level > Level::Basic {
            layers.push(Layer::UnreadablePaths);
        }
        if path_plan.rules.scopes {
            layers.push(Layer::LandlockScopes);
        }
        match self.filter {
            Ok(_program) => layers.push(Layer::Seccomp),
            Err(reason) => missing.push(MissingLayer {
                layer: Layer::Seccomp,
                reason: reason.to_owned(),
                remedy: None,
            }),
        }
        let by_cgroup = self.limits_by_cgroup(policy);
        let no_cgroups = cgroup::Cgroups::of_machine().missing(&by_cgroup);
        for (layer, bound) in [
            (Layer::CgroupMemory, by_cgroup.memory_bytes),
            (Layer::CgroupProcesses, by_cgroup.processes),
        ] {
            if bound.is_some() && !no_cgroups.iter().any(|missing| missing.layer == layer) {
                layers.push(layer);
            }
        }
        missing.extend(no_cgroups);
        let gaps = reasons::gaps(self.level, policy, &path_plan.gaps(&layers));
        for gap in gaps {
            // Why there is none at all says more.
            let is_said = gap.layer == Layer::PrivateRoot
                && missing.iter().any(|said| said.layer == gap.layer);
            if !is_said {
                missing.push(gap);
            }
        }
        reasons::open_ends(self.level, missing);
        layers.sort_unstable();
        layers
    }
}
