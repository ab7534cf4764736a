//! The project that a command works in: whether its files count, and what is set.

use std::path::Path;

use crate::arguments::ApprovalArguments;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::trust::decide;
use pirn_settings::Settings;
use pirn_settings::{ProjectFileKind, Trust};

/// The project that a command works in.
#[derive(Debug)]
pub(crate) struct Project {
    /// Whether its files count.
    pub(crate) trust: Trust,
    /// The settings, with the project's where they count.
    pub(crate) settings: Settings,
}

impl Project {
    /// Decides about the files of these kinds, at once for all, and reads the settings.
    pub(crate) fn open(
        folder: &Path,
        gates: &[ProjectFileKind],
        approval: &ApprovalArguments,
        invocation: &Invocation,
    ) -> Result<Self, Failure> {
        let trust = decide(folder, gates, approval, invocation)?;
        Ok(Self {
            trust,
            settings: crate::settings::load(folder, trust, invocation)?,
        })
    }
}
