//! The question about a call of a tool.

use std::io;

use pirn_runtime::effect_names;
use pirn_terminal::{Tty, ends, on_one_line};
use pirn_tool::{Answer, ApprovalRequest, Choice, Covers, Scope, ToolSubject};

use super::Said;

/// Characters of the arguments that a question shows from their start.
const ARGUMENT_HEAD_CHARS: usize = 1_500;
/// Characters of the arguments that a question shows from their end: an end that is never seen would be a place to hide things.
const ARGUMENT_TAIL_CHARS: usize = 500;

pub(super) fn ask(
    tty: &mut Tty,
    tool: &ToolSubject,
    question: &ApprovalRequest,
) -> io::Result<Said> {
    tty.show(&text(tool, question))?;
    let answer = tty.choose(&prompt(tool, question), |typed| read(typed, question))?;
    Ok(Said::Answer(answer.unwrap_or_else(Answer::deny)))
}

fn text(tool: &ToolSubject, question: &ApprovalRequest) -> String {
    let arguments = on_one_line(&question.arguments.to_string());
    format!(
        "{} (effects: {})\n  {}\n",
        on_one_line(&tool.name),
        effect_names(question.effects),
        ends(&arguments, ARGUMENT_HEAD_CHARS, ARGUMENT_TAIL_CHARS)
    )
}

/// The letter of a way to say yes, and what it says.
fn letter(choice: &Choice, name: &str) -> Option<(&'static str, String)> {
    let what = match &choice.covers {
        Covers::Arguments => "this very call".to_owned(),
        Covers::Tool => format!("all calls of {name}"),
        Covers::Folder { path } => format!("{name} in {}", on_one_line(&path.to_string_lossy())),
        Covers::Host { host, port } => format!("{name} at {}:{port}", on_one_line(host)),
    };
    match (choice.scope, &choice.covers) {
        (Scope::Once, _) => None,
        (Scope::Run, Covers::Tool) => Some(("a", format!("[a]ll calls of {name}"))),
        (Scope::Run, _) => Some(("r", format!("in this [r]un {what}"))),
        (Scope::Session, _) => Some(("s", format!("in this [s]ession {what}"))),
        (Scope::Always, _) => Some(("w", format!("al[w]ays {what}"))),
    }
}

fn prompt(tool: &ToolSubject, question: &ApprovalRequest) -> String {
    let name = on_one_line(&tool.name);
    let mut words = vec!["[y]es".to_owned(), "[n]o".to_owned()];
    let lasting = question.choices.iter();
    words.extend(lasting.filter_map(|choice| Some(letter(choice, &name)?.1)));
    format!("Allow? {}: ", words.join(", "))
}

/// What was typed, as an answer. What follows a no is told to the program that made the call.
fn read(typed: &str, question: &ApprovalRequest) -> Result<Answer, String> {
    let (word, rest) = typed.split_once(' ').unwrap_or((typed, ""));
    let rest = rest.trim();
    match (word.to_ascii_lowercase().as_str(), rest) {
        ("y" | "yes", "") => Ok(Answer::allow_once()),
        ("n" | "no" | "", "") => Ok(Answer::deny()),
        ("n" | "no", words) => Ok(Answer::deny_with(words)),
        (word, "") => {
            let chosen = question.choices.iter().find(|choice| {
                letter(choice, "").is_some_and(|(letter, _)| {
                    word == letter || word == full_word(choice.scope, &choice.covers)
                })
            });
            chosen
                .map(|choice| Answer::allow(choice.clone()))
                .ok_or_else(String::new)
        }
        _ => Err(String::new()),
    }
}

fn full_word(scope: Scope, covers: &Covers) -> &'static str {
    match (scope, covers) {
        (Scope::Once, _) => "once",
        (Scope::Run, Covers::Tool) => "all",
        (Scope::Run, _) => "run",
        (Scope::Session, _) => "session",
        (Scope::Always, _) => "always",
    }
}

#[cfg(test)]
mod tests;
