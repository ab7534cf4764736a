//! Whether the files of a project may steer Pirn.
//!
//! A project can bring files that start programs or change what a model is told: [`Gate`] lists them. They count only when the
//! user trusts the folder. Decisions are kept in [`TrustStore`]; [`resolve`] says in which order flags, decisions, the setting
//! and a question count. Trust decides what is loaded; it keeps nothing from what a script may do.

mod command;
mod gate;
mod question;
mod store;

use std::path::{Path, PathBuf};

pub(crate) use command::{run, summary};
pub(crate) use gate::{Gate, Gated, Owner, project_folder};
pub(crate) use question::{current, decide};
pub(crate) use store::{StoreError, TrustStore};

/// Whether a project's files count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// They do.
    Trusted,
    /// They are left alone.
    Untrusted,
}

/// What was decided, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// The decision.
    pub(crate) trust: Trust,
    /// What it rests on.
    pub(crate) reason: Reason,
}

/// What a decision rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reason {
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
    pub(crate) fn word(&self) -> &'static str {
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
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "there is no setting yet that says so")
)]
pub(crate) enum DefaultTrust {
    /// It is trusted.
    Always,
    /// It is not trusted.
    Never,
    /// The user is asked.
    Ask,
}

/// What the user answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
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

impl Answer {
    fn trust(self) -> Trust {
        match self {
            Self::Trust | Self::TrustParent | Self::TrustOnce => Trust::Trusted,
            Self::Deny | Self::DenyOnce => Trust::Untrusted,
        }
    }

    /// Keeps what is to be kept.
    pub(crate) fn save(self, folder: &Path, store: &TrustStore) -> Result<(), StoreError> {
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
pub(crate) struct Case<'a> {
    /// The project's folder, without links in its path.
    pub(crate) folder: &'a Path,
    /// What needs trust.
    pub(crate) gated: &'a [Gated],
    /// What a flag says.
    pub(crate) flag: Option<Trust>,
    /// What the setting says.
    pub(crate) default_trust: DefaultTrust,
    /// Where decisions are kept.
    pub(crate) store: &'a TrustStore,
}

/// Decides. `ask` puts the question to the user; it returns `None` where nobody can be asked.
pub(crate) fn resolve(
    case: &Case<'_>,
    ask: impl FnOnce() -> Option<Answer>,
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
