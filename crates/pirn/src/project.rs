//! The project that a command works in: whether its files count, and what is set.

use std::path::Path;

use pirn_sandbox::NetworkMode;
use pirn_settings::{FlagValues, ProjectFileKind, Settings, Sources, Trust};

use crate::arguments::ApprovalArguments;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::settings::told;
use crate::trust::{TrustQuestion, decide};

/// The project that a command works in.
#[derive(Debug)]
pub(crate) struct Project {
    /// Whether its files count.
    pub(crate) trust: Trust,
    /// The settings, with the project's where they count, and those that were given as flags.
    pub(crate) settings: Settings,
    /// Where the settings come from.
    sources: Sources,
}

impl Project {
    /// Decides about the files of these kinds, at once for all, and reads the settings below the flags of the command.
    pub(crate) fn open(
        folder: &Path,
        kinds: &[ProjectFileKind],
        approval: &ApprovalArguments,
        flags: &FlagValues,
        invocation: &Invocation,
    ) -> Result<Self, Failure> {
        Self::open_with(
            folder,
            kinds,
            approval,
            TrustQuestion::Asked,
            flags,
            invocation,
        )
    }

    /// Like [`Self::open`], and says whether a person is asked.
    pub(crate) fn open_with(
        folder: &Path,
        kinds: &[ProjectFileKind],
        approval: &ApprovalArguments,
        question: TrustQuestion,
        flags: &FlagValues,
        invocation: &Invocation,
    ) -> Result<Self, Failure> {
        let trust = decide(folder, kinds, approval, question, invocation)?;
        let loaded = Settings::load_with_flags(folder, trust, &invocation.host, flags);
        let loaded = told(loaded)?;
        Ok(Self {
            trust,
            settings: loaded.settings,
            sources: loaded.sources,
        })
    }

    /// The settings for the work of a model: where nobody said which hosts its commands may reach, they are those that somebody
    /// allows.
    pub(crate) fn settings_for_model(&self) -> Settings {
        let mut settings = self.settings.clone();
        if self.sources.of("sandbox.network").is_empty() {
            settings.sandbox.network = NetworkMode::AllowList;
        }
        settings
    }
}
