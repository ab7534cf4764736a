//! The question about a program, on the terminal.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use pirn_runtime::effect_names;
use pirn_terminal::{Seen, Tty, on_one_line, show_pages};
use pirn_tool::{Answer, ApprovalRequest, Effects, FrontEnd, ProgramSubject, Scope, Subject};

use crate::exec::Questions;

/// Answers questions about programs on the user's terminal, one after the other, for as long as it is polled.
pub(super) async fn answer_questions(mut front_end: FrontEnd, screen: Questions) -> Infallible {
    loop {
        let open = front_end.next().await;
        let Some(request) = open.questions.first() else {
            continue;
        };
        let turn = screen.open().await;
        let asked = Arc::clone(request);
        let said = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            ask(&asked)
        })
        .await;
        let answer = match said {
            Ok(Ok(Said::Answer(answer))) => answer,
            // Whoever watches for Ctrl-C ends the call, and with it this future.
            Ok(Ok(Said::Interrupt)) => std::future::pending().await,
            Ok(Err(error)) => Answer::Unanswered {
                cause: format!("the terminal cannot be read: {error}"),
            },
            Err(panic) => Answer::Unanswered {
                cause: panic.to_string(),
            },
        };
        // It may have been withdrawn meanwhile, and then nobody waits.
        let _late = front_end.queue().answer(open.revision, &request.id, answer);
    }
}

enum Said {
    Answer(Answer),
    Interrupt,
}

fn ask(request: &ApprovalRequest) -> io::Result<Said> {
    let Subject::Program(program) = &request.subject else {
        return Ok(Said::Answer(Answer::Unanswered {
            cause: "only programs are asked about here".to_owned(),
        }));
    };
    let mut tty = Tty::open()?;
    tty.show(&introduction(program, request.effects))?;
    let unseen = match show_pages(&mut tty, &program.source)? {
        Seen::Everything => String::new(),
        Seen::Part { lines, of } => {
            format!("You have not seen the whole program ({lines} of {of} lines). ")
        }
        Seen::Interrupted => return Ok(Said::Interrupt),
    };
    let session = request
        .choices
        .iter()
        .find(|choice| choice.scope == Scope::Session);
    let offer = match session {
        Some(_) => ", [a]lways this very program in this session",
        None => "",
    };
    let prompt = format!("{unseen}Run it? [y]es, [n]o{offer}: ");
    let answer = tty.choose(&prompt, |word| {
        match (word.to_ascii_lowercase().as_str(), session) {
            ("y" | "yes", _) => Ok(Answer::allow_once()),
            ("n" | "no" | "", _) => Ok(Answer::deny()),
            ("a" | "always", Some(choice)) => Ok(Answer::allow(choice.clone())),
            _ => Err(String::new()),
        }
    })?;
    Ok(Said::Answer(answer.unwrap_or_else(Answer::deny)))
}

/// What is asked about, above the source. The reset undoes whatever was shown before.
fn introduction(question: &ProgramSubject, effects: Effects) -> String {
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
        question.language,
        if lines == 1 {
            format!("1 line, {} bytes,", question.code_bytes)
        } else {
            format!("{lines} lines, {} bytes,", question.code_bytes)
        },
        effect_names(effects),
        short(&question.definition),
        question.confinement,
    )
}

/// Enough of a fingerprint to recognise it.
fn short(fingerprint: &str) -> &str {
    fingerprint.get(..12).unwrap_or(fingerprint)
}
