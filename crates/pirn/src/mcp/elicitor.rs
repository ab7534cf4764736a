//! Questions of servers, asked on the terminal.

mod form;
mod format;

use std::io;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pirn_mcp::{ElicitationAnswer, ElicitationKind, ElicitationRequest, Elicitor};
use serde_json::{Map, Value};
use tokio::sync::{Mutex, oneshot};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::browser::Browser;
use crate::exec::Questions;
use form::{Form, shown};
use pirn_terminal::Tty;
use pirn_terminal::{cut, on_one_line};

/// Lines of a server's message that are shown: a longer one would push the question off the screen.
const MESSAGE_LINES_MAX: usize = 20;
/// Columns of one such line.
const MESSAGE_COLUMNS: usize = 300;

/// Asks on the user's terminal, one question after the other.
#[derive(Debug)]
pub(crate) struct TerminalElicitor {
    browser: Browser,
    /// Where questions are announced, so that nothing else is shown meanwhile.
    questions: Option<Questions>,
    /// Held while a question is open.
    turn: Arc<Mutex<()>>,
}

impl TerminalElicitor {
    /// An elicitor that opens pages in this browser.
    pub(crate) fn new(browser: Browser, questions: Option<Questions>) -> Self {
        Self {
            browser,
            questions,
            turn: Arc::default(),
        }
    }
}

impl Elicitor for TerminalElicitor {
    fn elicit(
        &self,
        request: ElicitationRequest,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ElicitationAnswer> {
        let (questions, turn) = (self.questions.clone(), Arc::clone(&self.turn));
        let browser = self.browser.clone();
        Box::pin(async move {
            let (answered, answer) = oneshot::channel();
            let (token, server) = (cancel.clone(), request.server.clone());
            // A line that is being read cannot be called back. The task keeps the terminal until the line has come, so that it
            // is not taken for the answer to the next question.
            tokio::spawn(async move {
                let _turn = turn.lock().await;
                let _open = match &questions {
                    Some(questions) => Some(questions.open().await),
                    None => None,
                };
                if token.is_cancelled() {
                    return;
                }
                let answer = tokio::task::spawn_blocking(move || ask(&request, &token)).await;
                let answer = match answer {
                    Ok(Ok(answer)) => answer,
                    Ok(Err(_)) | Err(_) => Asked::plain(ElicitationAnswer::Cancel),
                };
                if let Some(url) = &answer.page {
                    visit(&browser, url);
                }
                // Nobody waits any more.
                let _late = answered.send(answer.answer);
            });
            tokio::select! {
                answer = answer => answer.unwrap_or(ElicitationAnswer::Cancel),
                () = cancel.cancelled() => {
                    give_up(&server);
                    ElicitationAnswer::Cancel
                }
            }
        })
    }
}

/// An answer, and the page to open because of it.
struct Asked {
    answer: ElicitationAnswer,
    page: Option<String>,
}

impl Asked {
    fn plain(answer: ElicitationAnswer) -> Self {
        Self { answer, page: None }
    }
}

fn ask(request: &ElicitationRequest, cancel: &CancellationToken) -> io::Result<Asked> {
    let mut tty = Tty::open()?;
    // The reset undoes whatever was shown before.
    tty.show(&format!(
        "\u{1b}[0mMCP server {} asks:\n{}",
        on_one_line(&request.server),
        message_lines(&request.message)
    ))?;
    match &request.kind {
        ElicitationKind::Form { schema } => match Form::parse(schema) {
            Ok(form) => {
                let answer = ask_form(&mut tty, request, &form, cancel)?;
                Ok(Asked::plain(answer))
            }
            Err(problem) => {
                tty.show(&format!("  It is put aside: {problem}.\n"))?;
                Ok(Asked::plain(ElicitationAnswer::Cancel))
            }
        },
        ElicitationKind::Url { url } => ask_visit(&mut tty, url),
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
    request: &ElicitationRequest,
    form: &Form,
    cancel: &CancellationToken,
) -> io::Result<ElicitationAnswer> {
    let server = on_one_line(&request.server);
    if !form.fields.is_empty() {
        tty.show("  The answers go to the server; Ctrl-D puts the question aside.\n")?;
    }
    loop {
        let mut values = Map::new();
        for field in &form.fields {
            match tty.choose(&field.prompt(), |typed| field.read(typed))? {
                Some(Some(value)) => values.insert(field.name.clone(), value),
                Some(None) => None,
                None => return Ok(ElicitationAnswer::Cancel),
            };
            if cancel.is_cancelled() {
                return Ok(ElicitationAnswer::Cancel);
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
            Some(Sending::Send) => ElicitationAnswer::Accept(Some(Value::Object(values))),
            Some(Sending::Decline) => ElicitationAnswer::Decline,
            Some(Sending::Cancel) | None => ElicitationAnswer::Cancel,
        });
    }
}

fn ask_visit(tty: &mut Tty, url: &str) -> io::Result<Asked> {
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
        return Ok(Asked::plain(ElicitationAnswer::Decline));
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
        "y" | "yes" => Ok(ElicitationAnswer::Accept(None)),
        "n" | "no" => Ok(ElicitationAnswer::Decline),
        "c" | "cancel" | "" => Ok(ElicitationAnswer::Cancel),
        _ => Err(String::new()),
    })?;
    let answer = answer.unwrap_or(ElicitationAnswer::Cancel);
    let is_accepted = answer == ElicitationAnswer::Accept(None);
    Ok(Asked {
        answer,
        page: is_accepted.then(|| page.to_string()),
    })
}

/// Opens a page; where that fails the user opens it, since its address is on the screen.
fn visit(browser: &Browser, url: &str) {
    if let Err(error) = browser.open(url) {
        let shown = Tty::open().and_then(|mut tty| {
            tty.show(&format!(
                "  The browser did not start ({error}); open the page yourself.\n"
            ))
        });
        // Without a terminal nobody said yes.
        drop(shown);
    }
}

fn give_up(server: &str) {
    let server = on_one_line(server);
    let shown = Tty::open().and_then(|mut tty| {
        tty.show(&format!(
            "\n  {server} waits no longer for the answer; Enter goes on.\n"
        ))
    });
    // Nobody is there to be told.
    drop(shown);
}
