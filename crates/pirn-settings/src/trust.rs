//! Whether the files of a project may steer Pirn.

mod covered;
mod files;
mod question;
mod store;

use std::path::{Path, PathBuf};

pub use files::{PROJECT_PYTHONS, ProjectFile, ProjectFileKind, UserFolders, project_folder};
pub use question::TrustOffer;
pub use store::{StoreError, TrustStore};

use crate::host_env::HostEnv;
use crate::values::Settings;

/// Whether a project's files count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The project's files count.
    Trusted,
    /// They are left alone.
    Untrusted,
}

/// What was decided, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the project's files count.
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
    /// A hook of the embedding program decided.
    Hook,
    /// The setting `defaultProjectTrust` decided.
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
            Self::Hook => "hook",
            Self::Setting => "setting",
            Self::Answer => "answer",
            Self::Undecided => "undecided",
        }
    }
}

/// What happens to a project that nobody decided about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DefaultTrust {
    /// Every project is trusted without a question.
    Always,
    /// It is not trusted.
    Never,
    /// The user is asked.
    #[default]
    Ask,
}

impl DefaultTrust {
    /// The value of this name in settings.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "always" => Some(Self::Always),
            "never" => Some(Self::Never),
            "ask" => Some(Self::Ask),
            _ => None,
        }
    }

    /// The name in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Never => "never",
            Self::Ask => "ask",
        }
    }
}

/// What the user answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustAnswer {
    /// The folder and all that is in it are trusted from now on.
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
            Self::Trust => {
                store.save(&[(folder, Some(Trust::Trusted))])?;
                store.cover(folder)
            }
            Self::TrustParent => {
                // Nothing lies above the root.
                let parent = folder.parent().unwrap_or(folder);
                store.save(&[(folder, None), (parent, Some(Trust::Trusted))])?;
                store.cover(parent)
            }
            Self::Deny => store.save(&[(folder, Some(Trust::Untrusted))]),
            Self::TrustOnce | Self::DenyOnce => Ok(()),
        }
    }
}

/// What a hook says about a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookAnswer {
    /// The project is trusted in this run.
    Trusted,
    /// The project is not trusted in this run.
    Untrusted,
    /// The hook says nothing; others decide.
    Undecided,
}

/// Says whether a project is trusted, before decisions that were kept, the setting and the user are asked. Only the user's own
/// code may be one: a project must not decide about itself. It is given the project's folder and the files that need trust.
pub type TrustHook = Box<dyn Fn(&Path, &[ProjectFile]) -> HookAnswer + Send + Sync>;

/// A project that may need trust, and all that counts for the decision but the user's answer.
pub struct ProjectTrust {
    /// The project's folder, without links in its path.
    pub folder: PathBuf,
    /// The files of the project that need trust, as far as they are there.
    pub files: Vec<ProjectFile>,
    /// What a flag says.
    pub flag: Option<Trust>,
    /// What is asked first; of those that say something the first counts.
    pub hooks: Vec<TrustHook>,
    /// What the setting says.
    pub default_trust: DefaultTrust,
    /// Where decisions are kept.
    pub store: TrustStore,
}

impl std::fmt::Debug for ProjectTrust {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ProjectTrust")
            .field("folder", &self.folder)
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

/// What is known about a project before its user is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nobody has to be asked.
    Made(Verdict),
    /// Only the user can say. A front end puts the question and gives the answer to [`ProjectTrust::answered`]; where nobody can
    /// be asked, [`Verdict::UNDECIDED`] counts.
    Open,
}

impl Verdict {
    /// Nobody decided, so the project's files are left alone.
    pub const UNDECIDED: Self = Self {
        trust: Trust::Untrusted,
        reason: Reason::Undecided,
    };

    fn new(trust: Trust, reason: Reason) -> Self {
        Self { trust, reason }
    }
}

impl ProjectTrust {
    /// The project in `folder`, which is without links, with its files of these kinds, the user's setting, no flag and no hooks.
    pub fn find(folder: PathBuf, kinds: &[ProjectFileKind], host: &HostEnv) -> Self {
        let own = UserFolders {
            home: host.home.as_deref(),
            pirn_home: host.pirn_home.as_deref(),
        };
        let files = ProjectFile::find(&folder, kinds, &own);
        // The user's file alone: what a project says about itself does not count.
        let loaded = Settings::load(&folder, Trust::Untrusted, host);
        Self {
            files,
            folder,
            flag: None,
            hooks: Vec::new(),
            default_trust: loaded.default_project_trust(),
            store: TrustStore::new(host.pirn_home.as_deref()),
        }
    }

    /// Decides as far as that is possible without asking: a flag, hooks where something needs trust, what was decided for the
    /// folder or the nearest one above it, and the setting, in this order.
    pub fn decide(&self) -> Result<Decision, StoreError> {
        let made = |trust, reason| Ok(Decision::Made(Verdict::new(trust, reason)));
        if let Some(trust) = self.flag {
            return made(trust, Reason::Flag);
        }
        if !self.files.is_empty() {
            for hook in &self.hooks {
                match hook(&self.folder, &self.files) {
                    HookAnswer::Trusted => return made(Trust::Trusted, Reason::Hook),
                    HookAnswer::Untrusted => return made(Trust::Untrusted, Reason::Hook),
                    HookAnswer::Undecided => {}
                }
            }
        }
        if let Some((folder, trust)) = self.store.nearest(&self.folder)?
            && (trust == Trust::Untrusted || self.is_covered(&folder)?)
        {
            return made(trust, Reason::Saved(folder));
        }
        if self.files.is_empty() {
            return made(Trust::Trusted, Reason::NothingGated);
        }
        match self.default_trust {
            DefaultTrust::Always => made(Trust::Trusted, Reason::Setting),
            DefaultTrust::Never => made(Trust::Untrusted, Reason::Setting),
            DefaultTrust::Ask => Ok(Decision::Open),
        }
    }

    /// Whether the decision about a folder was given for the files of this project as they are.
    fn is_covered(&self, decided: &Path) -> Result<bool, StoreError> {
        let own = project_folder(&self.folder, None).unwrap_or_default();
        let has_own = self.files.iter().any(|file| file.path.starts_with(&own));
        if decided == self.folder || !has_own {
            return Ok(true);
        }
        let digest = covered::digest(&own);
        Ok(digest.is_some() && self.store.covered(&own)? == digest)
    }

    /// What counts without asking.
    pub fn known(&self) -> Result<Verdict, StoreError> {
        Ok(match self.decide()? {
            Decision::Made(verdict) => verdict,
            Decision::Open => Verdict::UNDECIDED,
        })
    }

    /// What counts after the user's answer, which is kept where it is to be.
    pub fn answered(&self, answer: TrustAnswer) -> Result<Verdict, StoreError> {
        answer.save(&self.folder, &self.store)?;
        Ok(Verdict::new(answer.trust(), Reason::Answer))
    }
}

#[cfg(test)]
mod tests;
