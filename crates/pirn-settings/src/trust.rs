//! Whether the files of a project may steer Pirn.

mod files;
mod store;

use std::path::{Path, PathBuf};

pub use files::{ProjectFile, ProjectFileKind, UserFolders, project_folder};
pub use store::{StoreError, TrustStore};

/// Whether a project's files count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// They do.
    Trusted,
    /// They are left alone.
    Untrusted,
}

/// What was decided, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The decision.
    pub trust: Trust,
    /// What it rests on.
    pub reason: Reason,
}

/// What a decision rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// A flag of this run.
    Flag,
    /// The project brings nothing that needs trust.
    NothingGated,
    /// What was decided for this folder, or for one above it.
    Saved(PathBuf),
    /// The setting.
    Setting,
    /// An answer of the user.
    Answer,
    /// Nobody decided yet, and nobody could be asked.
    Undecided,
}

impl Reason {
    /// A word for it, for programs.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::NothingGated => "nothing-gated",
            Self::Saved(_) => "saved",
            Self::Setting => "setting",
            Self::Answer => "answer",
            Self::Undecided => "undecided",
        }
    }
}

/// What happens to a project that nobody decided about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultTrust {
    /// It is trusted.
    Always,
    /// It is not trusted.
    Never,
    /// The user is asked.
    Ask,
}

/// What the user answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustAnswer {
    /// Trust the folder.
    Trust,
    /// Trust the folder above, and with it all that is in it.
    TrustParent,
    /// Trust the folder until this process ends.
    TrustOnce,
    /// Do not trust the folder.
    Deny,
    /// Do not trust the folder until this process ends.
    DenyOnce,
}

impl TrustAnswer {
    fn trust(self) -> Trust {
        match self {
            Self::Trust | Self::TrustParent | Self::TrustOnce => Trust::Trusted,
            Self::Deny | Self::DenyOnce => Trust::Untrusted,
        }
    }

    /// Keeps what is to be kept.
    pub fn save(self, folder: &Path, store: &TrustStore) -> Result<(), StoreError> {
        match self {
            Self::Trust => store.save(&[(folder, Some(Trust::Trusted))]),
            Self::TrustParent => {
                // Nothing lies above the root.
                let parent = folder.parent().unwrap_or(folder);
                store.save(&[(folder, None), (parent, Some(Trust::Trusted))])
            }
            Self::Deny => store.save(&[(folder, Some(Trust::Untrusted))]),
            Self::TrustOnce | Self::DenyOnce => Ok(()),
        }
    }
}

/// What a decision is made from.
#[derive(Debug)]
pub struct TrustCase<'a> {
    /// The project's folder, without links in its path.
    pub folder: &'a Path,
    /// What needs trust.
    pub gated: &'a [ProjectFile],
    /// What a flag says.
    pub flag: Option<Trust>,
    /// What the setting says.
    pub default_trust: DefaultTrust,
    /// Where decisions are kept.
    pub store: &'a TrustStore,
}

/// Decides. `ask` puts the question to the user; it returns `None` where nobody can be asked.
pub fn resolve(
    case: &TrustCase<'_>,
    ask: impl FnOnce() -> Option<TrustAnswer>,
) -> Result<Verdict, StoreError> {
    let verdict = |trust, reason| Ok(Verdict { trust, reason });
    if let Some(trust) = case.flag {
        return verdict(trust, Reason::Flag);
    }
    if let Some((folder, trust)) = case.store.nearest(case.folder)? {
        return verdict(trust, Reason::Saved(folder));
    }
    if case.gated.is_empty() {
        return verdict(Trust::Trusted, Reason::NothingGated);
    }
    match case.default_trust {
        DefaultTrust::Always => return verdict(Trust::Trusted, Reason::Setting),
        DefaultTrust::Never => return verdict(Trust::Untrusted, Reason::Setting),
        DefaultTrust::Ask => {}
    }
    match ask() {
        Some(answer) => {
            answer.save(case.folder, case.store)?;
            verdict(answer.trust(), Reason::Answer)
        }
        None => verdict(Trust::Untrusted, Reason::Undecided),
    }
}

#[cfg(test)]
mod tests;
