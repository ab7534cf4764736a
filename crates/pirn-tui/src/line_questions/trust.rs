//! The question whether files of a project count.

use std::io;

use pirn_terminal::{Question, Reading, Tty, Typed};
use pirn_tool::{Answer, ApprovalRequest, Choice};
use serde_json::json;

use super::{Said, said};

/// How long a yes holds, in the values of the answer.
const TRUST: &str = "trust";

pub(super) fn ask(tty: &mut Tty, folder: &str, question: &ApprovalRequest) -> io::Result<Said> {
    let arguments = &question.arguments;
    let files = arguments["files"].as_array().into_iter().flatten();
    let mut shown = Question::new("Pirn", &format!("asks: do you trust {folder}?"));
    shown = shown.fact("These files of it steer what Pirn does:");
    for file in files {
        let text = |key: &str| file[key].as_str().unwrap_or_default();
        shown = shown.fact(&format!("{} ({})", text("path"), text("what")));
    }
    let mut choices = vec!["[y]es".to_owned()];
    let parent = arguments["parent"].as_str();
    if let Some(parent) = parent {
        shown = shown.fact(&format!("parent: all of {parent}"));
        choices.push("[p]arent".to_owned());
    }
    let has_once = arguments["once"] == true;
    choices.extend(if has_once {
        ["[o]nce", "[n]o", "[s]kip this once"]
            .map(str::to_owned)
            .to_vec()
    } else {
        vec!["[n]o".to_owned()]
    });
    let yes = |what: &str| {
        Reading::Consent(Answer::Allow {
            choice: Choice::ONCE,
            values: Some(json!({TRUST: what})),
        })
    };
    let prompt = format!("{}: ", choices.join(", "));
    let answer = shown.ask(tty, &prompt, |word| {
        Ok(match word.to_ascii_lowercase().as_str() {
            "y" | "yes" => yes("folder"),
            "p" | "parent" if parent.is_some() => yes("parent"),
            "o" | "once" if has_once => yes("once"),
            "n" | "no" => Reading::Refusal(Answer::deny()),
            "s" | "skip" | "" => Reading::Refusal(skipped()),
            _ => return Err(String::new()),
        })
    })?;
    Ok(match answer {
        Typed::Nothing => Said::Answer(skipped()),
        answer => said(answer),
    })
}

fn skipped() -> Answer {
    Answer::Unanswered {
        cause: "the user skipped it".to_owned(),
    }
}
