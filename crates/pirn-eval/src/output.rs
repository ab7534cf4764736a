//! The result of an eval, for models and for people.

mod details;
mod sections;

use pirn_tool::{ContentBlock, ToolResult};

use crate::confirmation::{Approval, Denial};
use crate::limits::{OUTPUT_BYTES_LEAST, OUTPUT_BYTES_MOST};
use crate::outcome::{Display, EvalFailure, EvalFailureKind, EvalOutcome};
use crate::request::Language;

pub use sections::value_text;

/// How an eval ended.
#[derive(Debug, Clone, PartialEq)]
pub enum EvalReport {
    /// It was not run.
    Refused {
        /// The language of the program.
        language: Language,
        /// Why the program was not run.
        failure: EvalFailure,
        /// Set where a person, or nobody, said so.
        denial: Option<Denial>,
    },
    /// The program was started; the outcome says how it ended.
    Ran {
        /// How the program ended, with everything that it put out.
        outcome: Box<EvalOutcome>,
        /// How it came to be allowed.
        approval: Approval,
    },
}

impl EvalReport {
    /// A program that was not run for a reason that is no approval.
    pub fn refused(language: Language, kind: EvalFailureKind, message: impl Into<String>) -> Self {
        Self::Refused {
            language,
            failure: EvalFailure {
                kind,
                message: message.into(),
                trace: None,
            },
            denial: None,
        }
    }

    /// A program that may not run.
    pub fn denied(language: Language, denial: Denial) -> Self {
        Self::Refused {
            language,
            failure: EvalFailure {
                kind: EvalFailureKind::NotApproved,
                message: denial.message(),
                trace: None,
            },
            denial: Some(denial),
        }
    }

    /// Why it failed, where it did.
    pub fn failure(&self) -> Option<&EvalFailure> {
        match self {
            Self::Refused { failure, .. } => Some(failure),
            Self::Ran { outcome, .. } => outcome.failure.as_ref(),
        }
    }

    /// The result of the tool. The text takes at most `bytes_max` bytes, which is kept between [`OUTPUT_BYTES_LEAST`] and
    /// [`OUTPUT_BYTES_MOST`]. A failure is an error result that keeps what the program put out.
    pub fn to_result(&self, bytes_max: usize) -> ToolResult {
        let bytes_max = bytes_max.clamp(OUTPUT_BYTES_LEAST, OUTPUT_BYTES_MOST);
        let (text, is_cut) = match self {
            Self::Refused { failure, .. } => sections::refused(failure, bytes_max),
            Self::Ran { outcome, .. } => sections::ran(outcome, bytes_max),
        };
        let mut content = Vec::new();
        if !text.is_empty() {
            content.push(ContentBlock::text(text));
        }
        content.extend(self.displays().iter().map(|display| ContentBlock::Image {
            data: display.data.clone(),
            mime_type: display.mime_type.clone(),
        }));
        ToolResult {
            content,
            is_error: self.failure().is_some(),
            details: Some(self.details(is_cut)),
            ..ToolResult::default()
        }
    }

    /// The value as people read it, where there is one.
    pub fn value_text(&self) -> Option<String> {
        match self {
            Self::Refused { .. } => None,
            Self::Ran { outcome, .. } => sections::outcome_text(outcome),
        }
    }

    /// The pictures that the program showed, in order.
    pub fn displays(&self) -> &[Display] {
        match self {
            Self::Refused { .. } => &[],
            Self::Ran { outcome, .. } => &outcome.displays,
        }
    }
}

#[cfg(test)]
mod tests;
