//! What the user allowed: the policy of `pirn exec`, and the question on the terminal.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pirn_tool::{Approver, Decision, Effects, Policy, PolicyInput};
use serde_json::Value;

use crate::exec::Questions;
use pirn_terminal::{Answer, Tty};
use pirn_terminal::{ends, on_one_line};

/// Characters of the arguments that a question shows from their start.
const ARGUMENT_HEAD_CHARS: usize = 1_500;
/// Characters of the arguments that a question shows from their end: an end that is never seen would be a place to hide things.
const ARGUMENT_TAIL_CHARS: usize = 500;

/// Whether somebody can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    /// On the terminal.
    Possible,
    /// Nobody is there.
    Impossible,
}

/// The flag that allows effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AllowingFlag {
    /// `--yes=EFFECTS`.
    Yes,
    /// `--allow=EFFECTS`.
    Allow,
}

impl AllowingFlag {
    fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "--yes",
            Self::Allow => "--allow",
        }
    }
}

/// What the user said about effects on the command line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Consent {
    allowed: Effects,
    denied: Effects,
    is_read_only: bool,
    asking: Asking,
    flag: AllowingFlag,
}

impl Consent {
    /// Allows reading and `allowed`, denies `denied`.
    pub(crate) fn new(allowed: Effects, denied: Effects, asking: Asking) -> Self {
        // A command can write files and reach the network, so nothing is gained by asking about those as well.
        let implied = if allowed.contains(Effects::PROCESS) {
            Effects::WRITE | Effects::NETWORK
        } else {
            Effects::NONE
        };
        Self {
            allowed: allowed | Effects::READ | implied,
            denied,
            is_read_only: false,
            asking,
            flag: AllowingFlag::Yes,
        }
    }

    /// Allows reading only.
    pub(crate) fn read_only(denied: Effects) -> Self {
        Self {
            allowed: Effects::READ,
            denied,
            is_read_only: true,
            asking: Asking::Impossible,
            flag: AllowingFlag::Yes,
        }
    }

    /// Names another flag in refusals.
    pub(crate) fn allowed_by(mut self, flag: AllowingFlag) -> Self {
        self.flag = flag;
        self
    }
}

impl Policy for Consent {
    fn decide(&self, input: PolicyInput<'_>) -> Decision {
        let effects = input.tool.effects;
        let denied = only(effects, |effect| self.denied.contains(effect));
        if denied != Effects::NONE {
            return Decision::Deny {
                reason: format!("effect: {}; --deny rules it out", names(denied)),
            };
        }
        let open = only(effects, |effect| !self.allowed.contains(effect));
        let reason = format!("effect: {}", names(open));
        match self.asking {
            _ if open == Effects::NONE => Decision::Allow,
            Asking::Impossible if self.is_read_only => Decision::Deny {
                reason: format!("{reason}; --read-only allows reading only"),
            },
            Asking::Impossible => Decision::Deny {
                reason: format!(
                    "{reason}; there is no terminal to ask on, {}={} allows it",
                    self.flag.as_str(),
                    flag(open)
                ),
            },
            Asking::Possible => Decision::Ask {
                reason: format!("{reason}; not allowed by the user"),
            },
        }
    }
}

/// The effects for which `condition` holds.
fn only(effects: Effects, condition: impl Fn(Effects) -> bool) -> Effects {
    Effects::ALL
        .into_iter()
        .filter(|(effect, _)| effects.contains(*effect) && condition(*effect))
        .fold(Effects::NONE, |sum, (effect, _)| sum | effect)
}

/// The names of effects, weakest first.
pub(crate) fn names(effects: Effects) -> String {
    effects.names().collect::<Vec<_>>().join(", ")
}

/// What to give to `--yes`, in as few words as possible.
fn flag(effects: Effects) -> String {
    let is_process = effects.contains(Effects::PROCESS);
    let named = only(effects, |effect| {
        !is_process || !(Effects::WRITE | Effects::NETWORK).contains(effect)
    });
    named.names().collect::<Vec<_>>().join(",")
}

/// Asks on the user's terminal, one question after the other.
#[derive(Debug)]
pub(crate) struct TerminalApprover {
    questions: Questions,
    /// Tools that need no more questions. The lock is held while a question is open.
    always: Arc<tokio::sync::Mutex<BTreeSet<String>>>,
}

impl TerminalApprover {
    /// An approver that announces its questions, so that nothing else is shown meanwhile.
    pub(crate) fn new(questions: Questions) -> Self {
        Self {
            questions,
            always: Arc::default(),
        }
    }
}

impl Approver for TerminalApprover {
    fn ask<'a>(
        &'a self,
        _call_id: &'a str,
        input: PolicyInput<'a>,
        _reason: &'a str,
    ) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let mut always = self.always.lock().await;
            let name = &input.tool.name;
            if always.contains(name) {
                return true;
            }
            let _open = self.questions.open().await;
            let (question, prompt) = question(input);
            let answer =
                tokio::task::spawn_blocking(move || Tty::open()?.ask(&question, &prompt)).await;
            match answer {
                Ok(Ok(Answer::All)) => {
                    always.insert(name.clone());
                    true
                }
                Ok(Ok(Answer::Yes)) => true,
                Ok(Ok(Answer::No) | Err(_)) | Err(_) => false,
            }
        })
    }
}

fn question(input: PolicyInput<'_>) -> (String, String) {
    let name = on_one_line(&input.tool.name);
    let arguments = on_one_line(&argument_text(input.arguments));
    let arguments = ends(&arguments, ARGUMENT_HEAD_CHARS, ARGUMENT_TAIL_CHARS);
    // The reset undoes whatever was shown before.
    let question = format!(
        "\u{1b}[0m{name} (effects: {})\n  {arguments}\n",
        names(input.tool.effects)
    );
    (
        question,
        format!("Allow? [y]es, [n]o, [a]ll calls of {name}: "),
    )
}

fn argument_text(arguments: &Value) -> String {
    arguments.to_string()
}

#[cfg(test)]
mod tests;
