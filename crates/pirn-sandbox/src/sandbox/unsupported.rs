//! Systems where children cannot be confined.

use std::convert::Infallible;
use std::path::Path;

use crate::error::Error;
use crate::explain::Denial;
use crate::network::NetworkDecision;
use crate::policy::SandboxPolicy;
use crate::report::SandboxReport;
use crate::status::ExitStatus;

/// Cannot be made on these systems.
#[derive(Debug)]
pub(crate) struct PreparedLevel(Infallible);

impl PreparedLevel {
    /// Refuses, since nothing here could hold a command.
    pub(super) fn prepare(
        _policy: &SandboxPolicy,
        _report: SandboxReport,
        _roots: std::sync::Arc<crate::paths::HeldRoots>,
    ) -> Result<(Self, SandboxReport), Error> {
        let reason = "Programs cannot be confined on this system yet, so none are started. To run them without confinement, set \
                      sandbox.profile to \"off\" or give --sandbox off.";
        Err(Error::confinement(reason.to_owned()))
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

    /// Variables that children get besides their own.
    #[cfg(unix)]
    pub(crate) fn environment(&self) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
        match self.0 {}
    }

    pub(super) fn private_temp(&self) -> &Path {
        match self.0 {}
    }
}
