//! The question about a call of a tool.

use std::io;

use pirn_terminal::{Question, Reading, Tty, on_one_line};
use pirn_tool::{Answer, ApprovalRequest, Choice, Covers, Scope, ToolSubject};
use serde_json::Value;

use super::{Said, said};

/// Arguments that are code in whatever tool has them, and stand in lines of their own also when they have only one.
const CODE_ARGUMENTS: [&str; 4] = ["command", "code", "script", "source"];

/// Bytes of a list or an object that is shown in one row.
const SHORT_VALUE_BYTES: usize = 60;

pub(super) fn ask(
    tty: &mut Tty,
    asker: &str,
    tool: &ToolSubject,
    question: &ApprovalRequest,
) -> io::Result<Said> {
    let answer = shown(asker, tool, question)
        .ask(tty, &prompt(tool, question), |typed| read(typed, question))?;
    Ok(said(answer))
}

fn shown(asker: &str, tool: &ToolSubject, question: &ApprovalRequest) -> Question {
    let title = format!(
        "wants to call {} (effects: {})",
        tool.name,
        question.effects.listed()
    );
    let mut shown = Question::new(asker, &title);
    if let Some(server) = &tool.server {
        shown = shown.fact(&format!("a tool of the MCP server of {server}"));
    }
    let arguments = match &question.arguments {
        Value::Object(arguments) => arguments,
        Value::Null => return shown,
        other => return shown.code("arguments:", &format!("{other:#}")),
    };
    for (name, value) in arguments {
        shown = match value {
            Value::String(text)
                if text.contains('\n') || CODE_ARGUMENTS.contains(&name.as_str()) =>
            {
                shown.code(&format!("{name}:"), text)
            }
            Value::Array(_) | Value::Object(_) => {
                let whole = value.to_string();
                if whole.len() <= SHORT_VALUE_BYTES {
                    shown.fact(&format!("{name}: {whole}"))
                } else {
                    shown.code(&format!("{name}:"), &format!("{value:#}"))
                }
            }
            value => shown.fact(&format!("{name}: {value}")),
        };
    }
    shown
}

/// The letter of a way to say yes, and what it says: all that it will cover.
fn letter(choice: &Choice, name: &str) -> Option<(&'static str, String)> {
    let what = match &choice.covers {
        Covers::Arguments => "this very call".to_owned(),
        Covers::Tool => format!("all calls of {name}"),
        Covers::Folder { path } => format!("{name} in {}", on_one_line(&path.to_string_lossy())),
        Covers::Host { host, port } => format!("{name} at {}:{port}", on_one_line(host)),
    };
    match (choice.scope, &choice.covers) {
        (Scope::Once, _) => None,
        (Scope::Run, Covers::Tool) => Some(("a", format!("[a]ll calls of {name} in this run"))),
        (Scope::Run, _) => Some(("r", format!("in this [r]un {what}"))),
        (Scope::Session, _) => Some(("s", format!("in this [s]ession {what}"))),
        (Scope::Always, _) => Some(("w", format!("al[w]ays {what}"))),
    }
}

fn prompt(tool: &ToolSubject, question: &ApprovalRequest) -> String {
    let name = Question::name(&tool.name);
    let mut words = vec!["[y]es".to_owned(), "[n]o".to_owned()];
    let lasting = question.choices.iter();
    words.extend(lasting.filter_map(|choice| Some(letter(choice, &name)?.1)));
    format!("Allow? {}: ", words.join(", "))
}

/// What was typed, as an answer. What follows a no is told to the program that made the call.
fn read(typed: &str, question: &ApprovalRequest) -> Result<Reading<Answer>, String> {
    let (word, rest) = typed.split_once(' ').unwrap_or((typed, ""));
    let rest = rest.trim();
    match (word.to_ascii_lowercase().as_str(), rest) {
        ("y" | "yes", "") => Ok(Reading::Consent(Answer::allow_once())),
        ("n" | "no" | "", "") => Ok(Reading::Refusal(Answer::deny())),
        ("n" | "no", words) => Ok(Reading::Refusal(Answer::deny_with(words))),
        (word, "") => {
            let chosen = question.choices.iter().find(|choice| {
                letter(choice, "").is_some_and(|(letter, _)| {
                    word == letter || word == full_word(choice.scope, &choice.covers)
                })
            });
            chosen
                .map(|choice| Reading::Consent(Answer::allow(choice.clone())))
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
