//! What a server wants to know: a form, or a visit to a page.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use pirn_terminal::{Tty, cut, on_one_line};
use pirn_tool::{Answer, Choice, Form as Wanted};
use serde_json::{Map, Value};
use url::Url;

use super::Said;
use super::form::{Form, shown};

/// Lines of a server's message that are shown: a longer one would push the question off the screen.
const MESSAGE_LINES_MAX: usize = 20;
/// Columns of one such line.
const MESSAGE_COLUMNS: usize = 300;

pub(super) fn ask(
    tty: &mut Tty,
    (server, message): (&str, &str),
    form: &Wanted,
    is_wanted: &AtomicBool,
) -> io::Result<Said> {
    tty.show(&format!(
        "MCP server {} asks:\n{}",
        on_one_line(server),
        message_lines(message)
    ))?;
    match form {
        Wanted::Values { schema } => match Form::parse(schema) {
            Ok(form) => Ok(Said::Answer(ask_form(tty, server, &form, is_wanted)?)),
            Err(problem) => {
                tty.show(&format!("  It is put aside: {problem}.\n"))?;
                Ok(Said::Answer(put_aside()))
            }
        },
        Wanted::Page { url } => ask_visit(tty, url),
    }
}

/// Neither yes nor no.
fn put_aside() -> Answer {
    Answer::Unanswered {
        cause: "the user put it aside".to_owned(),
    }
}

/// What a server says, each line set off so that it cannot pass for one of Pirn's.
fn message_lines(message: &str) -> String {
    let mut lines: Vec<String> = message
        .trim()
        .lines()
        .take(MESSAGE_LINES_MAX + 1)
        .map(|line| format!("  | {}\n", cut(&on_one_line(line), MESSAGE_COLUMNS)))
        .collect();
    if lines.len() > MESSAGE_LINES_MAX {
        lines.truncate(MESSAGE_LINES_MAX);
        lines.push("  | …\n".to_owned());
    }
    lines.concat()
}

/// What to do with a filled form.
enum Sending {
    Send,
    Edit,
    Decline,
    Cancel,
}

fn ask_form(
    tty: &mut Tty,
    server: &str,
    form: &Form,
    is_wanted: &AtomicBool,
) -> io::Result<Answer> {
    let server = on_one_line(server);
    if !form.fields.is_empty() {
        tty.show("  The answers go to the server; Ctrl-D puts the question aside.\n")?;
    }
    loop {
        let mut values = Map::new();
        for field in &form.fields {
            match tty.choose(&field.prompt(), |typed| field.read(typed))? {
                Some(Some(value)) => values.insert(field.name.clone(), value),
                Some(None) => None,
                None => return Ok(put_aside()),
            };
            if !is_wanted.load(Ordering::Relaxed) {
                return Ok(put_aside());
            }
        }
        for (name, value) in &values {
            tty.show(&format!("  {} = {}\n", on_one_line(name), shown(value)))?;
        }
        let prompt = if form.fields.is_empty() {
            format!("Say yes to {server}? [y]es, [n]o, [c]ancel: ")
        } else {
            format!("Send this to {server}? [y]es, [e]dit, [n]o, [c]ancel: ")
        };
        let sending = tty.choose(&prompt, |word| match word.to_ascii_lowercase().as_str() {
            "y" | "yes" => Ok(Sending::Send),
            "e" | "edit" => Ok(Sending::Edit),
            "n" | "no" => Ok(Sending::Decline),
            "c" | "cancel" | "" => Ok(Sending::Cancel),
            _ => Err(String::new()),
        })?;
        return Ok(match sending {
            Some(Sending::Edit) => continue,
            Some(Sending::Send) => Answer::Allow {
                choice: Choice::ONCE,
                values: Some(Value::Object(values)),
            },
            Some(Sending::Decline) => Answer::deny(),
            Some(Sending::Cancel) | None => put_aside(),
        });
    }
}

fn ask_visit(tty: &mut Tty, url: &str) -> io::Result<Said> {
    let page = Url::parse(url)
        .ok()
        .filter(|page| matches!(page.scheme(), "http" | "https"));
    let Some((page, host)) = page.and_then(|page| {
        let host = page.host_str()?.to_owned();
        Some((page, host))
    }) else {
        tty.show(&format!(
            "  It is declined: {} is no page on the web.\n",
            cut(&on_one_line(url), MESSAGE_COLUMNS)
        ))?;
        return Ok(Said::Answer(Answer::deny()));
    };
    tty.show(&format!(
        "  It wants you to visit {}:\n    {}\n",
        on_one_line(&host),
        on_one_line(page.as_str())
    ))?;
    let answer = tty.choose("Open the page? [y]es, [n]o, [c]ancel: ", |word| match word
        .to_ascii_lowercase()
        .as_str()
    {
        "y" | "yes" => Ok(Answer::allow_once()),
        "n" | "no" => Ok(Answer::deny()),
        "c" | "cancel" | "" => Ok(put_aside()),
        _ => Err(String::new()),
    })?;
    Ok(match answer {
        Some(answer) if answer == Answer::allow_once() => Said::Visit(answer, page.to_string()),
        Some(answer) => Said::Answer(answer),
        None => Said::Answer(put_aside()),
    })
}
