//! Doing what a script says.

use std::io;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::channel::Channel;
use crate::log::{Log, Seen};
use crate::script::{Act, On, Rule, Script};
use crate::text::{self, Names};
use crate::usual;

/// How often a repeated text goes into one piece.
const REPEATED_AT_ONCE: usize = 10_000;

/// A script that is being played, with what it has to remember.
#[derive(Debug)]
pub(crate) struct Player {
    pub(crate) script: Script,
    pub(crate) log: Log,
    pub(crate) names: Names,
    /// How often each rule has applied.
    applied: Vec<AtomicUsize>,
    sessions: AtomicUsize,
    questions: AtomicUsize,
}

impl Player {
    pub(crate) fn new(script: Script, log: Log, names: Names) -> Self {
        Self {
            applied: script.rules.iter().map(|_| AtomicUsize::new(0)).collect(),
            script,
            log,
            names,
            sessions: AtomicUsize::new(0),
            questions: AtomicUsize::new(0),
        }
    }

    /// What the rules say about an HTTP request, whatever it carries.
    pub(crate) fn rule_for_request(&self, seen: &Seen) -> Option<Vec<Act>> {
        self.rule(|on| match on {
            On::Http(verb) => seen.verb == verb,
            On::Path(verb, path) => seen.verb == verb && seen.path == path,
            On::Having(verb, name) => seen.verb == verb && seen.header(name).is_some(),
            On::Post(method) => seen.verb == "POST" && seen.method == method,
            On::Method(_) | On::Tool(_) => false,
        })
    }

    /// What the rules say about a message.
    pub(crate) fn rule_for_message(&self, seen: &Seen) -> Option<Vec<Act>> {
        self.rule(|on| match on {
            On::Method(method) => seen.method == method,
            On::Tool(tool) => seen.tool() == Some(tool),
            On::Http(_) | On::Post(_) | On::Path(..) | On::Having(..) => false,
        })
    }

    /// What a healthy server does about a message.
    pub(crate) fn usual(&self, seen: &Seen) -> Vec<Act> {
        let session = if seen.method == "initialize" {
            self.sessions.fetch_add(1, Ordering::Relaxed) + 1
        } else {
            0
        };
        usual::answer(&self.script, seen, session)
    }

    /// Whether the session is one of those handed out.
    pub(crate) fn knows_session(&self, session: &str) -> bool {
        session
            .strip_prefix("session-")
            .and_then(|number| number.parse().ok())
            .is_some_and(|number: usize| number <= self.sessions.load(Ordering::Relaxed))
    }

    fn rule(&self, fits: impl Fn(On) -> bool) -> Option<Vec<Act>> {
        let applies = |(rule, count): &(&Rule, &AtomicUsize)| {
            fits(rule.on)
                && rule
                    .times
                    .is_none_or(|times| count.fetch_add(1, Ordering::Relaxed) < times)
        };
        self.script
            .rules
            .iter()
            .zip(&self.applied)
            .find(applies)
            .map(|(rule, _)| rule.acts.clone())
    }

    /// Fills placeholders in, for an answer to `seen`.
    pub(crate) fn fill(&self, text: &[u8], seen: &Seen) -> Vec<u8> {
        text::fill(text, seen, &self.names, &self.log)
    }

    /// Does `acts` about `seen`. Ends early where the client has hung up.
    pub(crate) async fn play(
        &self,
        channel: &mut Channel,
        seen: &Seen,
        acts: &[Act],
    ) -> io::Result<()> {
        for act in acts {
            self.act(channel, seen, act).await?;
        }
        channel.finish().await
    }

    async fn act(&self, channel: &mut Channel, seen: &Seen, act: &Act) -> io::Result<()> {
        match act {
            Act::Result(_) | Act::Error(..) | Act::Text(_) => {
                channel
                    .message(&self.fill(&message(act, seen), seen))
                    .await?;
            }
            Act::Bytes(bytes) => channel.bytes(&self.fill(bytes, seen)).await?,
            Act::Repeat(text, times) => {
                // In pieces, as a stream without an end would come.
                for start in (0..*times).step_by(REPEATED_AT_ONCE) {
                    let count = REPEATED_AT_ONCE.min(times - start);
                    channel.bytes(text.repeat(count).as_bytes()).await?;
                }
            }
            Act::Drip(bytes, gap) => {
                let bytes = self.fill(bytes, seen);
                channel.announce(bytes.len()).await?;
                for byte in bytes {
                    channel.bytes(&[byte]).await?;
                    pause(*gap).await;
                }
            }
            Act::Notify(method, params) => {
                let text =
                    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string();
                channel.stream().await?;
                channel.message(&self.fill(text.as_bytes(), seen)).await?;
            }
            Act::Progress(times, gap) => {
                channel.stream().await?;
                for step in 1..=*times {
                    let text = progress(step);
                    channel.message(&self.fill(text.as_bytes(), seen)).await?;
                    pause(*gap).await;
                }
            }
            Act::Ask(method, params) => self.ask(channel, method, params).await?,
            Act::WaitFor(method, count) => {
                self.log
                    .wait_for(*count, |seen| seen.method == *method)
                    .await;
            }
            Act::Pause(time) => tokio::time::sleep(*time).await,
            Act::Never => channel.never().await?,
            Act::Exit(code) => channel.exit(*code)?,
            Act::Flood(lines) => flood(*lines).await?,
            Act::Complain(line) => complain(line).await?,
            Act::CloseOutput => close_output()?,
            Act::Grandchild => start_grandchild()?,
            Act::Status(status) => channel.set_status(*status),
            Act::Header(name, value) => {
                let value = self.fill(value.as_bytes(), seen);
                channel.set_header(name, String::from_utf8_lossy(&value).into_owned());
            }
            Act::Stream => channel.stream().await?,
            Act::Field(name, value) => channel.set_field(name, value),
            Act::Cut => return Err(io::ErrorKind::ConnectionAborted.into()),
        }
        Ok(())
    }

    async fn ask(&self, channel: &mut Channel, method: &str, params: &Value) -> io::Result<()> {
        let id = format!(
            "question-{}",
            self.questions.fetch_add(1, Ordering::Relaxed) + 1
        );
        let text =
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        channel.stream().await?;
        channel.message(text.as_bytes()).await?;
        let is_answer = |seen: &Seen| {
            seen.method == "answer" && seen.message.get("id").and_then(Value::as_str) == Some(&id)
        };
        self.log.wait_for(1, is_answer).await;
        Ok(())
    }
}

/// The text of an answer, before placeholders.
fn message(act: &Act, seen: &Seen) -> Vec<u8> {
    let result = |result: Value| {
        json!({"jsonrpc": "2.0", "id": "$ID", "result": usual::complete(result, seen)})
            .to_string()
            .into_bytes()
    };
    match act {
        Act::Result(value) => result(value.clone()),
        Act::Error(code, text) => {
            json!({"jsonrpc": "2.0", "id": "$ID", "error": {"code": code, "message": text}})
                .to_string()
                .into_bytes()
        }
        Act::Text(text) => text.clone(),
        _ => Vec::new(),
    }
}

/// A sleep of no time would be one of a millisecond.
async fn pause(gap: Duration) {
    if !gap.is_zero() {
        tokio::time::sleep(gap).await;
    }
}

fn progress(step: u32) -> String {
    json!({
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": "$TOKEN", "progress": step, "message": format!("step {step}")},
    })
    .to_string()
}

async fn flood(lines: usize) -> io::Result<()> {
    let mut line = "x".repeat(1023);
    line.push('\n');
    let mut output = tokio::io::stderr();
    for _ in 0..lines {
        output.write_all(line.as_bytes()).await?;
    }
    output.flush().await
}

async fn complain(line: &str) -> io::Result<()> {
    let mut output = tokio::io::stderr();
    output.write_all(format!("{line}\n").as_bytes()).await?;
    output.flush().await
}

fn close_output() -> io::Result<()> {
    let nowhere = std::fs::File::options().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(nowhere)?)
}

/// A process in a session of its own, with this one's environment, by which it can be found.
fn start_grandchild() -> io::Result<()> {
    std::process::Command::new("setsid")
        .args(["sleep", "1000"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(())
}
