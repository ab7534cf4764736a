//! Whether a program may run: the question to a person, and what holds where nobody can be asked.
//!
//! Two gates stand one behind the other and do not know of each other. The first: with nobody to ask, nothing runs unless
//! [`NonInteractive::Allowed`] says so, whatever the second says. The second: with somebody to ask, the person is asked in the
//! [`ApprovalQueue`] unless [`ProgramQuestions::Never`] says otherwise, or the call that brought the program was approved with it.

use std::fmt::Write as _;

use pirn_tool::{
    Answer, ApprovalQueue, ApprovalRequest, ApprovedBy, CallContext, Choice, Covers, Effects,
    ProgramSubject, Reply, Scope, Subject,
};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::request::Language;

/// One program that is to be run, as a person is asked about it.
#[derive(Debug, Clone)]
pub struct ProgramQuestion {
    /// The program as a question shows it.
    pub subject: ProgramSubject,
    /// The source as it would run, not escaped.
    pub code: String,
    /// What the program and the tools that it can call can do.
    pub effects: Effects,
}

impl ProgramQuestion {
    /// The question about a program that is confined as `confinement` says and can call the tools named in `callable`.
    pub fn new(
        language: Language,
        code: &str,
        effects: Effects,
        confinement: String,
        callable: Vec<String>,
    ) -> Self {
        let effect_names = effects.listed();
        let definition = fingerprint(&[language.as_str(), &effect_names, &confinement, code]);
        Self {
            subject: ProgramSubject {
                language: language.as_str().to_owned(),
                source: code.to_owned(),
                code_bytes: code.len(),
                confinement,
                callable,
                definition,
            },
            code: code.to_owned(),
            effects,
        }
    }
}

/// Whether a person who is there is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProgramQuestions {
    /// The person sees and decides about every program.
    #[default]
    Always,
    /// Not at all: whoever configured this allowed every program.
    Never,
}

/// What happens to programs when nobody can be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NonInteractive {
    /// Programs are refused, with a sentence that says why.
    #[default]
    Refused,
    /// Programs run as if somebody had said yes.
    Allowed,
}

/// Whether a yes can hold for later programs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ApprovalMemory {
    /// Every program is a question, also one that was approved before.
    #[default]
    Off,
    /// The person may say yes to exactly this program until the session ends. Nothing is kept longer.
    Session,
}

/// The gates that a program passes before anything of it starts.
#[derive(Debug, Clone)]
pub struct Gates {
    /// Where a person is asked.
    pub approvals: ApprovalQueue,
    /// Whether they are asked.
    pub questions: ProgramQuestions,
    /// What holds when nobody can be asked.
    pub non_interactive: NonInteractive,
    /// Whether a yes can hold for later programs.
    pub memory: ApprovalMemory,
}

/// How a program came to be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// A person said yes to it.
    Given,
    /// A person said yes to exactly this program earlier in the session.
    Remembered,
    /// The call that brought the program was approved with it.
    WithCall,
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
            Self::WithCall => "with-call",
            Self::NotAsked => "not-asked",
            Self::NonInteractive => "non-interactive",
        }
    }
}

/// Why a program may not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denial {
    /// The person said no.
    Declined {
        /// What the person wants the model to know.
        words: Option<String>,
    },
    /// Nobody could be asked.
    NobodyToAsk,
    /// Nobody answered; says why, as the end of a sentence.
    Unanswered {
        /// Why, as the end of a sentence.
        cause: String,
    },
}

impl Denial {
    /// A sentence for the model and for people.
    pub fn message(&self) -> String {
        match self {
            Self::Declined { words: None } => {
                "approval denied: the user said no to this program; nothing was run".to_owned()
            }
            Self::Declined { words: Some(words) } => format!(
                "approval denied: the user said no to this program; nothing was run. The user says: {words}"
            ),
            Self::NobodyToAsk => {
                "approval denied: there is nobody to ask, and the setting eval.allowNonInteractive does not allow programs \
                 without asking; nothing was run"
                    .to_owned()
            }
            Self::Unanswered { cause } => {
                format!("approval denied: the question was not answered ({cause}); nothing was run")
            }
        }
    }
}

impl Gates {
    /// Gates that ask about every program and refuse where nobody can be asked.
    pub fn new(approvals: ApprovalQueue) -> Self {
        Self {
            approvals,
            questions: ProgramQuestions::default(),
            non_interactive: NonInteractive::default(),
            memory: ApprovalMemory::default(),
        }
    }

    /// Decides about one program of the call that `context` belongs to. The call's clock stands still while a person is asked;
    /// dropping the future withdraws the question.
    pub async fn pass(
        &self,
        question: ProgramQuestion,
        context: &CallContext,
    ) -> Result<Approval, Denial> {
        // Whoever approved the call has seen the program: it is the call's argument.
        if context.approved.is_some() {
            return Ok(Approval::WithCall);
        }
        if !self.approvals.is_attended() {
            return self.without_anybody(Denial::NobodyToAsk);
        }
        match self.questions {
            ProgramQuestions::Never => return Ok(Approval::NotAsked),
            ProgramQuestions::Always => {}
        }
        let _asking = context.clock().asking();
        let Reply {
            answer,
            approved_by,
        } = self.approvals.ask(self.request(question, context)).await;
        match answer {
            Answer::Allow { .. } => Ok(match approved_by {
                Some(ApprovedBy::Grant { .. }) => Approval::Remembered,
                Some(ApprovedBy::Person { .. }) | None => Approval::Given,
            }),
            Answer::Deny { words } => Err(Denial::Declined { words }),
            Answer::Unanswered { cause } => self.without_anybody(Denial::Unanswered { cause }),
            Answer::Expired => Err(Denial::Unanswered {
                cause: "its time was up".to_owned(),
            }),
        }
    }

    fn without_anybody(&self, denial: Denial) -> Result<Approval, Denial> {
        match self.non_interactive {
            NonInteractive::Allowed => Ok(Approval::NonInteractive),
            NonInteractive::Refused => Err(denial),
        }
    }

    fn request(&self, question: ProgramQuestion, context: &CallContext) -> ApprovalRequest {
        let ProgramQuestion {
            subject,
            code,
            effects,
        } = question;
        let run = context.run();
        let arguments = json!({"language": subject.language, "code": code});
        let mut choices = vec![Choice::ONCE];
        match self.memory {
            ApprovalMemory::Off => {}
            ApprovalMemory::Session => {
                choices.push(Choice::new(Scope::Session, Covers::Arguments));
            }
        }
        ApprovalRequest {
            run_id: run.id.to_string(),
            caller: run.caller.to_string(),
            project: run.project.to_string(),
            call_id: Some(context.call_id.clone()),
            parent_call_id: context.parent_call_id.clone(),
            origin: context.origin,
            choices,
            ..ApprovalRequest::new(Subject::Program(subject), effects, arguments)
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
