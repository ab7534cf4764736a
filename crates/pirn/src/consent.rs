//! What the user allowed on the command line, and the question about a call on the terminal.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pirn_runtime::{EffectPolicy, Otherwise, effect_names};
use pirn_tool::{Approver, Effects, PolicyInput};
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

/// Allows reading and `allowed`; what becomes of the rest depends on whether somebody can be asked. `allowing` is the flag that
/// allows effects.
pub(crate) fn effect_policy(allowed: Effects, asking: Asking, allowing: &str) -> EffectPolicy {
    let otherwise = match asking {
        Asking::Possible => Otherwise::Ask,
        Asking::Impossible => Otherwise::Deny {
            because: "there is no terminal to ask on".to_owned(),
            allowed_by: Some(allowing.to_owned()),
        },
    };
    EffectPolicy::new(allowed, otherwise)
}

/// Allows reading only.
pub(crate) fn read_only_policy() -> EffectPolicy {
    let otherwise = Otherwise::deny("--read-only allows reading only");
    EffectPolicy::new(Effects::NONE, otherwise)
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
        effect_names(input.tool.effects)
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
