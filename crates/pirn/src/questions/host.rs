//! The question about a host.

use std::io;

use pirn_settings::{HostEnv, add_to_list};
use pirn_terminal::{Tty, on_one_line};
use pirn_tool::{Answer, ApprovalRequest, Choice, Scope, Target};

use super::{Said, offered};

/// The list that a host is added to that is allowed for always.
const ALLOWED_HOSTS: &str = "sandbox.allowedHosts";

/// What was typed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Typed {
    Once,
    Session,
    Always,
    No,
}

pub(super) fn ask(tty: &mut Tty, question: &ApprovalRequest, host: &HostEnv) -> io::Result<Said> {
    let place = match &question.target {
        Some(Target::Host { host, port }) => format!("{}:{port}", on_one_line(host)),
        Some(Target::Path { .. }) | None => "a host".to_owned(),
    };
    let prompt = format!(
        "{} wants to reach {place}. Allow? [o]nce, [s]ession, [a]lways, [n]o: ",
        on_one_line(&question.reason)
    );
    let typed = tty.choose(&prompt, |word| match word.to_ascii_lowercase().as_str() {
        "o" | "once" => Ok(Typed::Once),
        "s" | "session" => Ok(Typed::Session),
        "a" | "always" => Ok(Typed::Always),
        "n" | "no" | "" => Ok(Typed::No),
        _ => Err(String::new()),
    })?;
    if typed == Some(Typed::Always)
        && let Err(problem) = add_to_list(ALLOWED_HOSTS, &place, host)
    {
        tty.show(&format!(
            "  It counts for this session only: {}\n",
            on_one_line(&problem)
        ))?;
    }
    Ok(Said::Answer(match typed {
        Some(Typed::Once) => Answer::allow_once(),
        // The settings know what is allowed for always; the running proxy does not read them again.
        Some(Typed::Session | Typed::Always) => {
            let choice = offered(question, Scope::Session).unwrap_or(&Choice::ONCE);
            Answer::allow(choice.clone())
        }
        Some(Typed::No) | None => Answer::deny(),
    }))
}
