//! What a server wants to know: a form, or a visit to a page.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use pirn_terminal::{Field, Form, Question, Reading, Text, Tty, Typed, typed_value};
use pirn_tool::{Answer, Choice, Form as Wanted};
use serde_json::{Map, Value};
use url::Url;

use super::Said;

pub(super) fn ask(
    tty: &mut Tty,
    (server, message): (&str, &str),
    form: &Wanted,
    is_wanted: &AtomicBool,
) -> io::Result<Said> {
    match form {
        Wanted::Values { schema } => match Form::parse(schema) {
            Ok(form) => {
                let asking = Asking {
                    server,
                    message,
                    is_wanted,
                };
                asking.fill_in(tty, &form)
            }
            Err(problem) => {
                question(server, "asks", message).show(tty)?;
                tty.show(&Text::line(format_args!("  It is skipped: {problem}.")))?;
                Ok(Said::Answer(skipped()))
            }
        },
        Wanted::Page { url } => ask_visit(tty, (server, message), url),
    }
}

/// What a server says, behind the margin, where it cannot pass for one of Pirn's rows.
fn question(server: &str, title: &str, message: &str) -> Question {
    Question::new(&format!("MCP server {server}"), title).code("", message.trim())
}

/// Neither yes nor no.
fn skipped() -> Answer {
    Answer::Unanswered {
        cause: "the user skipped it".to_owned(),
    }
}

/// What to do with a filled form.
enum Sending {
    Send,
    Edit,
    Decline,
    Cancel,
}

/// A server that asks for values.
struct Asking<'a> {
    server: &'a str,
    message: &'a str,
    is_wanted: &'a AtomicBool,
}

impl Asking<'_> {
    fn fill_in(&self, tty: &mut Tty, form: &Form) -> io::Result<Said> {
        question(self.server, "asks", self.message).show(tty)?;
        if !form.fields.is_empty() {
            tty.show(&Text::line(
                "  The answers go to the server; Ctrl-D skips the question.",
            ))?;
        }
        loop {
            let mut values = Map::new();
            for field in &form.fields {
                if !self.take(tty, field, &mut values)? {
                    return Ok(Said::Answer(skipped()));
                }
                if !self.is_wanted.load(Ordering::Relaxed) {
                    return Ok(Said::Answer(skipped()));
                }
            }
            match self.send(tty, form, &values)? {
                Typed::Answer(Sending::Edit) => {}
                Typed::Answer(Sending::Send) => {
                    return Ok(Said::Answer(Answer::Allow {
                        choice: Choice::ONCE,
                        values: Some(Value::Object(values)),
                    }));
                }
                Typed::Answer(Sending::Decline) => return Ok(Said::Answer(Answer::deny())),
                Typed::Answer(Sending::Cancel) | Typed::Nothing => {
                    return Ok(Said::Answer(skipped()));
                }
                Typed::Interrupted => return Ok(Said::Interrupt),
            }
        }
    }

    /// Asks for one field. False where the question is skipped.
    fn take(
        &self,
        tty: &mut Tty,
        field: &Field,
        values: &mut Map<String, Value>,
    ) -> io::Result<bool> {
        if let Some(details) = field.details() {
            question(self.server, "asks for a value", &details).show(tty)?;
        }
        let Some(value) = tty.choose(&Text::words(field.prompt()), |typed| field.read(typed))?
        else {
            return Ok(false);
        };
        if let Some(value) = value {
            values.insert(field.name.clone(), value);
        }
        Ok(true)
    }

    fn send(
        &self,
        tty: &mut Tty,
        form: &Form,
        values: &Map<String, Value>,
    ) -> io::Result<Typed<Sending>> {
        let name = Question::name(self.server);
        let answers = values
            .iter()
            .map(|(name, value)| format!("{name} = {}", typed_value(value)));
        let (title, prompt) = if form.fields.is_empty() {
            (
                "asks",
                format!("Say yes to {name}? [y]es, [n]o, [c]ancel: "),
            )
        } else {
            (
                "gets these answers",
                format!("Send this to {name}? [y]es, [e]dit, [n]o, [c]ancel: "),
            )
        };
        let question = answers.fold(
            Question::new(&format!("MCP server {}", self.server), title),
            |question, answer| question.fact(&answer),
        );
        question.ask(tty, &prompt, |word| {
            Ok(match word.to_ascii_lowercase().as_str() {
                "y" | "yes" => Reading::Consent(Sending::Send),
                "e" | "edit" => Reading::Refusal(Sending::Edit),
                "n" | "no" => Reading::Refusal(Sending::Decline),
                "c" | "cancel" | "" => Reading::Refusal(Sending::Cancel),
                _ => return Err(String::new()),
            })
        })
    }
}

fn ask_visit(tty: &mut Tty, (server, message): (&str, &str), url: &str) -> io::Result<Said> {
    let page = Url::parse(url)
        .ok()
        .filter(|page| matches!(page.scheme(), "http" | "https"));
    let Some((page, host)) = page.and_then(|page| {
        let host = page.host_str()?.to_owned();
        Some((page, host))
    }) else {
        question(server, "asks", message)
            .code("page:", url)
            .show(tty)?;
        tty.show(&Text::line(
            "  It is declined: that is not a page on the web.",
        ))?;
        return Ok(Said::Answer(Answer::deny()));
    };
    let shown = question(server, &format!("wants you to visit {host}"), message)
        .code("page:", page.as_str());
    let answer = shown.ask(tty, "Open the page? [y]es, [n]o, [c]ancel: ", |word| {
        Ok(match word.to_ascii_lowercase().as_str() {
            "y" | "yes" => Reading::Consent(Answer::allow_once()),
            "n" | "no" => Reading::Refusal(Answer::deny()),
            "c" | "cancel" | "" => Reading::Refusal(skipped()),
            _ => return Err(String::new()),
        })
    })?;
    Ok(match answer {
        Typed::Answer(answer) if answer == Answer::allow_once() => {
            Said::Visit(answer, page.to_string())
        }
        Typed::Answer(answer) => Said::Answer(answer),
        Typed::Nothing => Said::Answer(skipped()),
        Typed::Interrupted => Said::Interrupt,
    })
}
