//! `pirn --mode rpc`: another program drives a conversation, with commands on standard input and events on standard output, one
//! JSON object a line.

mod answer;
mod commands;
mod questions;
mod session;
mod state;

use std::io::{self, BufRead as _, Read as _};
use std::path::PathBuf;

use pirn_agent::{Agent, AgentEvent, AgentEvents, End};
use pirn_runtime::Attendance;
use pirn_tool::ApprovalQueue;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::failure::{Exit, Failure};
use crate::standard;
use commands::Outcome;
use questions::Questions;

/// Bytes of a command: a prompt with its pictures.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// Commands that were read and not yet looked at.
const LINES_MAX: usize = 16;

/// All commands. What is not among them is unknown.
pub(crate) const COMMANDS: &[&str] = &[
    "initialize",
    "prompt",
    "steer",
    "follow_up",
    "abort",
    "clear_queue",
    "get_state",
    "get_messages",
    "get_entries",
    "get_tree",
    "get_session_stats",
    "get_last_assistant_text",
    "get_commands",
    "get_available_models",
    "set_model",
    "cycle_model",
    "set_thinking_level",
    "cycle_thinking_level",
    "get_available_thinking_levels",
    "set_steering_mode",
    "set_follow_up_mode",
    "compact",
    "set_auto_compaction",
    "set_auto_retry",
    "abort_retry",
    "bash",
    "abort_bash",
    "set_session_name",
    "get_fork_messages",
    "fork",
    "clone",
    "switch_session",
    "new_session",
    "export_html",
];

/// What a conversation is driven with.
pub(crate) struct Server {
    pub(crate) agent: Agent,
    pub(crate) events: AgentEvents,
    pub(crate) approvals: ApprovalQueue,
    pub(crate) attendance: Attendance,
    /// The folder of all sessions; `None` where none are kept.
    pub(crate) sessions: Option<PathBuf>,
    pub(crate) cwd: PathBuf,
}

/// A command whose work has ended; it is answered when all events of that work are told.
struct Ended {
    command: Value,
    outcome: Outcome,
}

impl Ended {
    fn new(command: Value, outcome: Outcome) -> Self {
        Self { command, outcome }
    }
}

/// Something to react to.
enum Next {
    Line(Option<Result<String, String>>),
    Event(Option<Box<AgentEvent>>),
    Question(Value),
    Ended(Option<Ended>),
    Stopped,
}

impl Server {
    /// Serves until standard input ends or the process is to end.
    pub(crate) async fn serve(mut self, stopped: &CancellationToken) -> Result<Exit, Failure> {
        let mut lines = read_lines();
        let mut questions = Questions::new(self.approvals.clone());
        let mut work = JoinSet::new();
        loop {
            let next = tokio::select! {
                biased;
                () = stopped.cancelled() => Next::Stopped,
                event = self.events.next() => Next::Event(event.map(Box::new)),
                question = questions.next() => Next::Question(question),
                line = lines.recv() => Next::Line(line),
                Some(ended) = work.join_next() => Next::Ended(ended.ok()),
            };
            match next {
                Next::Event(Some(event)) => tell(&event)?,
                Next::Question(request) => write(&request)?,
                Next::Ended(ended) => {
                    while let Some(event) = self.events.take() {
                        tell(&event)?;
                    }
                    if let Some(Ended { command, outcome }) = ended {
                        answer::told(&command, outcome)?;
                    }
                }
                Next::Line(Some(Ok(line))) => {
                    let line = line.trim();
                    if line.is_empty() {
                        continue;
                    }
                    match serde_json::from_str::<Value>(line) {
                        Ok(command) if command["type"] == "extension_ui_response" => {
                            questions.answer(&command);
                        }
                        Ok(command) => {
                            if command["type"] == "initialize" {
                                self.initialize(&command, &mut questions)?;
                            } else {
                                self.command(command, &mut work)?;
                            }
                        }
                        Err(error) => answer::failed(None, "parse", &error.to_string())?,
                    }
                }
                Next::Line(Some(Err(why))) => answer::failed(None, "parse", &why)?,
                Next::Line(None) | Next::Event(None) | Next::Stopped => break,
            }
        }
        drop(questions);
        self.end(&mut work).await
    }

    /// What the other program says of itself.
    fn initialize(&self, command: &Value, questions: &mut Questions) -> Result<(), Failure> {
        let capabilities = command["capabilities"].as_array();
        let shows_questions = capabilities
            .into_iter()
            .flatten()
            .any(|capability| capability == "ui");
        if shows_questions {
            self.attendance.declare();
            questions.attend();
        }
        let data = json!({"name": "pirn", "version": env!("CARGO_PKG_VERSION")});
        answer::succeeded(command, Some(data))
    }

    /// Stops what goes on, and tells its end.
    async fn end(mut self, work: &mut JoinSet<Ended>) -> Result<Exit, Failure> {
        self.agent.abort();
        self.agent.abort_command();
        let settled = {
            let agent = self.agent.clone();
            async move { agent.settled().await }
        };
        let mut settled = std::pin::pin!(settled);
        let end = loop {
            tokio::select! {
                biased;
                event = self.events.next() => match event {
                    Some(event) => tell(&event)?,
                    None => break None,
                },
                end = &mut settled => break end,
            }
        };
        while let Some(event) = self.events.take() {
            tell(&event)?;
        }
        self.agent.close().await;
        work.shutdown().await;
        match end {
            Some(End::NotKept { message }) => Err(Failure::new(Exit::Failed, message)),
            _ => Ok(Exit::Success),
        }
    }
}

/// Tells an event. Questions are told as requests to the user interface.
fn tell(event: &AgentEvent) -> Result<(), Failure> {
    match event {
        AgentEvent::Question { .. } | AgentEvent::QuestionEnd { .. } => Ok(()),
        event => write(event),
    }
}

/// Writes one line of JSON to standard output.
fn write(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(anyhow::Error::new)?;
    standard::write_out(&format!("{text}\n"))
}

/// Reads commands on a thread of its own, which is left behind at the end.
fn read_lines() -> mpsc::Receiver<Result<String, String>> {
    let (sender, receiver) = mpsc::channel(LINES_MAX);
    std::thread::spawn(move || {
        let mut input = io::BufReader::new(io::stdin());
        loop {
            let mut bytes = Vec::new();
            let read = io::Read::by_ref(&mut input)
                .take(LINE_BYTES_MAX)
                .read_until(b'\n', &mut bytes);
            let line = match read {
                Ok(0) => return,
                Ok(_) if bytes.len() as u64 >= LINE_BYTES_MAX => {
                    Err("a command is larger than 64 MiB".to_owned())
                }
                Ok(_) => String::from_utf8(bytes).map_err(|_| "not valid UTF-8".to_owned()),
                Err(error) => Err(format!("standard input cannot be read: {error}")),
            };
            let ends = matches!(&line, Err(why) if why.starts_with("standard input"));
            if sender.blocking_send(line).is_err() || ends {
                return;
            }
        }
    });
    receiver
}
