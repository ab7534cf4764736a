//! The question about a program, on the terminal.

use std::io;

use futures_util::future::BoxFuture;
use pirn_eval::{Answer, Confirmer, Question};
use pirn_runtime::effect_names;

use crate::consent::Asking;
use crate::exec::Questions;
use crate::standard;
use pirn_terminal::on_one_line;
use pirn_terminal::{Seen, Tty, show_pages};

/// Asks on the user's terminal.
#[derive(Debug)]
pub(super) struct TerminalConfirmer {
    /// Where questions are announced, so that nothing else is shown meanwhile.
    questions: Questions,
    asking: Asking,
}

impl TerminalConfirmer {
    /// Asks if that is possible.
    pub(super) fn new(questions: Questions, asking: Asking) -> Self {
        Self { questions, asking }
    }
}

impl Confirmer for TerminalConfirmer {
    fn is_present(&self) -> bool {
        match self.asking {
            Asking::Possible => true,
            Asking::Impossible => false,
        }
    }

    fn confirm<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let open = self.questions.open().await;
            let question = question.clone();
            let answer = tokio::task::spawn_blocking(move || {
                let _open = open;
                ask(&question)
            })
            .await;
            match answer {
                Ok(Ok(Said::Answer(answer))) => answer,
                // Whoever watches for Ctrl-C ends the call, and with it this future.
                Ok(Ok(Said::Interrupt)) => std::future::pending().await,
                Ok(Err(_)) | Err(_) => Answer::Nobody,
            }
        })
    }

    fn tell_remembered(&self, question: &Question) {
        standard::note(&format!(
            "this program was approved before in this session ({})",
            short(&question.fingerprint)
        ));
    }
}

enum Said {
    Answer(Answer),
    Interrupt,
}

fn ask(question: &Question) -> io::Result<Said> {
    let mut tty = Tty::open()?;
    tty.show(&introduction(question))?;
    let unseen = match show_pages(&mut tty, &question.source)? {
        Seen::Everything => String::new(),
        Seen::Part { lines, of } => {
            format!("You have not seen the whole program ({lines} of {of} lines). ")
        }
        Seen::Interrupted => return Ok(Said::Interrupt),
    };
    let session = if question.can_remember {
        ", [a]lways this very program in this session"
    } else {
        ""
    };
    let prompt = format!("{unseen}Run it? [y]es, [n]o{session}: ");
    let answer = tty.choose(&prompt, |word| match word.to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(Answer::Yes),
        "n" | "no" | "" => Ok(Answer::No),
        "a" | "always" if question.can_remember => Ok(Answer::YesForSession),
        _ => Err(String::new()),
    })?;
    Ok(Said::Answer(answer.unwrap_or(Answer::No)))
}

/// What is asked about, above the source. The reset undoes whatever was shown before.
fn introduction(question: &Question) -> String {
    let callable = if question.callable.is_empty() {
        "It can call no tools.".to_owned()
    } else {
        format!(
            "It can call {}.",
            on_one_line(&question.callable.join(", "))
        )
    };
    let lines = question.source.lines().count();
    format!(
        "\u{1b}[0mA {} program of {} wants to run (effects: {}; sha256 {}).\n  {}\n  {callable}\n\n",
        question.language.as_str(),
        if lines == 1 {
            format!("1 line, {} bytes,", question.code_bytes)
        } else {
            format!("{lines} lines, {} bytes,", question.code_bytes)
        },
        effect_names(question.effects),
        short(&question.fingerprint),
        question.confinement,
    )
}

/// Enough of a fingerprint to recognise it.
fn short(fingerprint: &str) -> &str {
    fingerprint.get(..12).unwrap_or(fingerprint)
}
