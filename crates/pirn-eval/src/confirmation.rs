//! Whether a program may run: the question to a person, and what holds where nobody can be asked.
//!
//! Two gates stand one behind the other and do not know of each other. The first: with nobody to ask, nothing runs unless
//! [`NonInteractive::Allowed`] says so, whatever the second says. The second: with somebody to ask, the person is asked unless
//! [`Asking::Never`] says otherwise, or an approval of exactly this program is remembered.

mod escape;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use pirn_tool::Effects;
use sha2::{Digest as _, Sha256};

use crate::request::Language;

pub use escape::escape_source;

/// Approvals that are remembered; of more, the new ones are asked again.
const REMEMBERED_MAX: usize = 10_000;

/// What a person says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Run it this once.
    Yes,
    /// Run it, also when exactly this program comes again in this session. The same as [`Self::Yes`] where approvals are not
    /// remembered.
    YesForSession,
    /// Do not run it.
    No,
    /// Nobody answered, because nobody could be asked.
    Nobody,
}

/// The question about one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its language.
    pub language: Language,
    /// Its whole source as [`escape_source`] shows it: on a terminal, nothing in it moves the cursor, hides or changes places.
    pub source: String,
    /// Bytes of the source itself.
    pub code_bytes: usize,
    /// What the program and the tools that it can call can do.
    pub effects: Effects,
    /// What confines it, in one sentence.
    pub confinement: String,
    /// The names of the tools that it can call.
    pub callable: Vec<String>,
    /// Hexadecimal SHA-256 of language, effects, confinement and source: what an approval is remembered by.
    pub fingerprint: String,
    /// Whether [`Answer::YesForSession`] differs from [`Answer::Yes`].
    pub can_remember: bool,
}

/// Asks a person. A program or a model can never answer.
pub trait Confirmer: Send + Sync {
    /// Whether somebody can be asked at all.
    fn is_present(&self) -> bool;

    /// Asks. Questions may come at the same time; the implementation puts them in a row. Dropped when the call is cancelled.
    fn confirm<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer>;

    /// Says that an approval from earlier is used instead of a question. Does nothing by default.
    fn tell_remembered(&self, _question: &Question) {}
}

/// Nobody is there.
#[derive(Debug, Clone, Copy, Default)]
pub struct NobodyThere;

impl Confirmer for NobodyThere {
    fn is_present(&self) -> bool {
        false
    }

    fn confirm<'a>(&'a self, _question: &'a Question) -> BoxFuture<'a, Answer> {
        Box::pin(std::future::ready(Answer::Nobody))
    }
}

/// Whether a person who is there is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Asking {
    /// About every program.
    #[default]
    Always,
    /// Not at all: whoever configured this allowed every program.
    Never,
}

/// What happens to programs when nobody can be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NonInteractive {
    /// They are refused.
    #[default]
    Refused,
    /// They run.
    Allowed,
}

/// Whether approvals are remembered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Remembering {
    /// Every program is a question, also one that was approved before.
    #[default]
    Off,
    /// [`Answer::YesForSession`] holds for exactly the same program until the session ends.
    Session,
}

/// The gates that a program passes before anything of it starts.
#[derive(Clone)]
pub struct Gates {
    /// Who is asked.
    pub confirmer: Arc<dyn Confirmer>,
    /// Whether they are asked.
    pub asking: Asking,
    /// What holds when nobody can be asked.
    pub non_interactive: NonInteractive,
    /// Whether approvals are remembered.
    pub remembering: Remembering,
    /// What was approved in this session.
    pub approvals: Approvals,
}

/// Approvals of one session, by fingerprint. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Approvals {
    fingerprints: Arc<Mutex<BTreeSet<String>>>,
}

impl Approvals {
    /// Forgets them all, as when a session ends.
    pub fn forget(&self) {
        self.lock().clear();
    }

    fn hold(&self, fingerprint: &str) -> bool {
        self.lock().contains(fingerprint)
    }

    fn add(&self, fingerprint: &str) {
        let mut fingerprints = self.lock();
        if fingerprints.len() < REMEMBERED_MAX {
            fingerprints.insert(fingerprint.to_owned());
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.fingerprints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Gates {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Gates")
            .field("asking", &self.asking)
            .field("non_interactive", &self.non_interactive)
            .field("remembering", &self.remembering)
            .finish_non_exhaustive()
    }
}

/// How a program came to be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// A person said yes to it.
    Given,
    /// A person said yes to exactly this program earlier in the session.
    Remembered,
    /// Nobody is asked about programs.
    NotAsked,
    /// Nobody could be asked, and that is allowed.
    NonInteractive,
}

impl Approval {
    /// The name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Remembered => "remembered",
            Self::NotAsked => "not-asked",
            Self::NonInteractive => "non-interactive",
        }
    }
}

/// Why a program may not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// The person said no.
    Declined,
    /// Nobody could be asked.
    NobodyToAsk,
}

impl Denial {
    /// A sentence for the model and for people.
    pub fn message(self) -> &'static str {
        match self {
            Self::Declined => "approval denied: the user said no to this program; nothing was run",
            Self::NobodyToAsk => {
                "approval denied: there is nobody to ask, and the setting eval.allowNonInteractive does not allow programs \
                 without asking; nothing was run"
            }
        }
    }
}

impl Gates {
    /// Gates that ask `confirmer` about every program and refuse where nobody can be asked.
    pub fn new(confirmer: Arc<dyn Confirmer>) -> Self {
        Self {
            confirmer,
            asking: Asking::default(),
            non_interactive: NonInteractive::default(),
            remembering: Remembering::default(),
            approvals: Approvals::default(),
        }
    }

    /// Decides about one program.
    pub async fn pass(&self, question: &Question) -> Result<Approval, Denial> {
        if !self.confirmer.is_present() {
            return self.without_anybody();
        }
        match self.asking {
            Asking::Never => return Ok(Approval::NotAsked),
            Asking::Always => {}
        }
        if self.remembers(question) {
            self.confirmer.tell_remembered(question);
            return Ok(Approval::Remembered);
        }
        match self.confirmer.confirm(question).await {
            Answer::Yes => Ok(Approval::Given),
            Answer::YesForSession => {
                self.remember(question);
                Ok(Approval::Given)
            }
            Answer::No => Err(Denial::Declined),
            Answer::Nobody => self.without_anybody(),
        }
    }

    fn without_anybody(&self) -> Result<Approval, Denial> {
        match self.non_interactive {
            NonInteractive::Allowed => Ok(Approval::NonInteractive),
            NonInteractive::Refused => Err(Denial::NobodyToAsk),
        }
    }

    fn remembers(&self, question: &Question) -> bool {
        match self.remembering {
            Remembering::Off => false,
            Remembering::Session => self.approvals.hold(&question.fingerprint),
        }
    }

    fn remember(&self, question: &Question) {
        match self.remembering {
            Remembering::Off => {}
            Remembering::Session => self.approvals.add(&question.fingerprint),
        }
    }
}

/// Hexadecimal SHA-256 of everything that an approval is about. Each part is preceded by its length, so that no two programs
/// read the same.
pub(crate) fn fingerprint(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher
        .finalize()
        .iter()
        .fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _infallible = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests;
