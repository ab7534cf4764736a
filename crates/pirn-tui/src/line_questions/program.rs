//! The question about a program.

use std::io;

use pirn_terminal::{Question, Reading, Tty};
use pirn_tool::{Answer, ApprovalRequest, Covers, ProgramSubject, Scope};

use super::{Said, offered, said};

pub(super) fn ask(
    tty: &mut Tty,
    program: &ProgramSubject,
    question: &ApprovalRequest,
) -> io::Result<Said> {
    let session = offered(question, Scope::Session)
        .filter(|choice| choice.covers == Covers::Arguments)
        .cloned();
    let offer = match session {
        Some(_) => ", [a]lways this very program in this session",
        None => "",
    };
    let prompt = format!("Run it? [y]es, [n]o{offer}: ");
    let answer = shown(program, question).ask(tty, &prompt, |word| {
        match (word.to_ascii_lowercase().as_str(), &session) {
            ("y" | "yes", _) => Ok(Reading::Consent(Answer::allow_once())),
            ("n" | "no" | "", _) => Ok(Reading::Refusal(Answer::deny())),
            ("a" | "always", Some(choice)) => Ok(Reading::Consent(Answer::allow(choice.clone()))),
            _ => Err(String::new()),
        }
    })?;
    Ok(said(answer))
}

fn shown(program: &ProgramSubject, question: &ApprovalRequest) -> Question {
    let callable = if program.callable.is_empty() {
        "It can call no tools.".to_owned()
    } else {
        format!("It can call {}.", program.callable.join(", "))
    };
    let size = match program.source.lines().count() {
        1 => format!("1 line, {} bytes", program.code_bytes),
        lines => format!("{lines} lines, {} bytes", program.code_bytes),
    };
    let title = format!("wants to run (effects: {})", question.effects.listed());
    Question::new(&format!("A {} program", program.language), &title)
        .fact(&format!("{size}, sha256 {}", short(&program.definition)))
        .fact(&program.confinement)
        .fact(&callable)
        .code("", &program.source)
}

/// Enough of a fingerprint to recognise it.
fn short(fingerprint: &str) -> &str {
    fingerprint.get(..12).unwrap_or(fingerprint)
}
