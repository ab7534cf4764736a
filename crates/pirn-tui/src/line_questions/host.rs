//! The question about a host.

use std::io;

use pirn_terminal::{Question, Reading, Text, Tty, Typed, on_one_line};
use pirn_tool::{Answer, ApprovalRequest, Choice, Scope, Target};

use super::{Reactions, Said, offered};

const PROMPT: &str = "Allow? [o]nce, [s]ession, [a]lways, [n]o: ";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Chosen {
    Once,
    Session,
    Always,
    No,
}

pub(super) fn ask(
    tty: &mut Tty,
    question: &ApprovalRequest,
    reactions: &Reactions,
) -> io::Result<Said> {
    let place = match &question.target {
        Some(Target::Host { host, port }) => format!("{}:{port}", on_one_line(host)),
        Some(Target::Path { .. }) | None => "a host".to_owned(),
    };
    let shown = Question::new(&question.reason, &format!("wants to reach {place}")).fact(&format!(
        "always: {place} is added to sandbox.allowedHosts in your settings"
    ));
    let typed = shown.ask(tty, PROMPT, |word| {
        match word.to_ascii_lowercase().as_str() {
            "o" | "once" | "y" | "yes" => Ok(Reading::Consent(Chosen::Once)),
            "s" | "session" => Ok(Reading::Consent(Chosen::Session)),
            "a" | "always" => Ok(Reading::Consent(Chosen::Always)),
            "n" | "no" | "" => Ok(Reading::Refusal(Chosen::No)),
            _ => Err(String::new()),
        }
    })?;
    let chosen = match typed {
        Typed::Answer(chosen) => chosen,
        Typed::Nothing => Chosen::No,
        Typed::Interrupted => return Ok(Said::Interrupt),
    };
    if chosen == Chosen::Always
        && let Err(problem) = (reactions.allow_host)(&place)
    {
        tty.show(&Text::line(format_args!(
            "  It counts for this session only: {problem}"
        )))?;
    }
    Ok(Said::Answer(match chosen {
        Chosen::Once => Answer::allow_once(),
        // The settings know what is allowed for always; the running proxy does not read them again.
        Chosen::Session | Chosen::Always => {
            let choice = offered(question, Scope::Session).unwrap_or(&Choice::ONCE);
            Answer::allow(choice.clone())
        }
        Chosen::No => Answer::deny(),
    }))
}
