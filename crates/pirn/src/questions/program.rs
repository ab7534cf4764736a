//! The question about a program.

use std::io;

use pirn_runtime::effect_names;
use pirn_terminal::{Seen, Tty, on_one_line, show_pages};
use pirn_tool::{Answer, ApprovalRequest, Covers, ProgramSubject, Scope};

use super::{Said, offered};

pub(super) fn ask(
    tty: &mut Tty,
    program: &ProgramSubject,
    question: &ApprovalRequest,
) -> io::Result<Said> {
    tty.show(&introduction(program, question))?;
    let unseen = match show_pages(tty, &program.source)? {
        Seen::Everything => String::new(),
        Seen::Part { lines, of } => {
            format!("You have not seen the whole program ({lines} of {of} lines). ")
        }
        Seen::Interrupted => return Ok(Said::Interrupt),
    };
    let session = offered(question, Scope::Session)
        .filter(|choice| choice.covers == Covers::Arguments)
        .cloned();
    let offer = match session {
        Some(_) => ", [a]lways this very program in this session",
        None => "",
    };
    let prompt = format!("{unseen}Run it? [y]es, [n]o{offer}: ");
    let answer = tty.choose(&prompt, |word| {
        match (word.to_ascii_lowercase().as_str(), &session) {
            ("y" | "yes", _) => Ok(Answer::allow_once()),
            ("n" | "no" | "", _) => Ok(Answer::deny()),
            ("a" | "always", Some(choice)) => Ok(Answer::allow(choice.clone())),
            _ => Err(String::new()),
        }
    })?;
    Ok(Said::Answer(answer.unwrap_or_else(Answer::deny)))
}

/// What is asked about, above the source.
fn introduction(program: &ProgramSubject, question: &ApprovalRequest) -> String {
    let callable = if program.callable.is_empty() {
        "It can call no tools.".to_owned()
    } else {
        format!("It can call {}.", on_one_line(&program.callable.join(", ")))
    };
    let size = match program.source.lines().count() {
        1 => format!("1 line, {} bytes,", program.code_bytes),
        lines => format!("{lines} lines, {} bytes,", program.code_bytes),
    };
    format!(
        "A {} program of {size} wants to run (effects: {}; sha256 {}).\n  {}\n  {callable}\n\n",
        on_one_line(&program.language),
        effect_names(question.effects),
        short(&program.definition),
        on_one_line(&program.confinement),
    )
}

/// Enough of a fingerprint to recognise it.
fn short(fingerprint: &str) -> &str {
    fingerprint.get(..12).unwrap_or(fingerprint)
}
