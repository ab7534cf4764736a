//! Systems where children cannot be confined.

use std::convert::Infallible;
use std::path::Path;

use crate::error::Error;
use crate::explain::Denial;
use crate::network::NetworkDecision;
use crate::policy::SandboxPolicy;
use crate::report::{Layer, MissingLayer, SandboxReport};
use crate::status::ExitStatus;

/// Cannot be made on these systems.
#[derive(Debug)]
pub(crate) struct PreparedLevel(Infallible);

impl PreparedLevel {
    /// Refuses where a level is required; else the report says that nothing is in force.
    pub(super) fn prepare(
        policy: &SandboxPolicy,
        mut report: SandboxReport,
    ) -> Result<(Option<Self>, SandboxReport), Error> {
        let reason = "Programs cannot be confined on this system yet.";
        if policy.require.is_some() {
            return Err(Error::confinement(format!(
                "{reason} Without a required level they run unconfined."
            )));
        }
        report.missing.push(MissingLayer {
            layer: Layer::JobObject,
            reason: reason.to_owned(),
            remedy: None,
        });
        Ok((None, report))
    }

    pub(super) fn explain(
        &self,
        _policy: &SandboxPolicy,
        _output_tail: &str,
        _status: ExitStatus,
        _decisions: &[NetworkDecision],
    ) -> Vec<Denial> {
        match self.0 {}
    }

    pub(super) fn private_temp(&self) -> &Path {
        match self.0 {}
    }
}
