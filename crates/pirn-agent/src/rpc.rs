//! Another program drives a conversation: it gives commands and is told events, one JSON object a line.

mod answer;
mod commands;
mod questions;
mod session;
mod state;

use std::fmt;
use std::io::{self, BufRead as _, Read as _};
use std::path::PathBuf;

use pirn_runtime::Attendance;
use pirn_tool::ApprovalQueue;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{Agent, AgentEvent, AgentEvents, End};
use commands::Outcome;
use questions::Questions;

/// Bytes of a command: a prompt with its pictures.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// Commands that were read and not yet looked at.
const LINES_MAX: usize = 16;

/// All commands of [`RpcServer`], by the `type` of their line. What is not among them is unknown.
pub const RPC_COMMANDS: &[&str] = &[
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

/// Writes a text, whole or not at all.
type Write = dyn Fn(&str) -> io::Result<()> + Send + Sync;

/// A conversation that another program drives.
pub struct RpcServer {
    /// The conversation that is driven.
    pub agent: Agent,
    /// What happens in it, from its beginning.
    pub events: AgentEvents,
    /// The questions, which are told once the other program says that it shows them.
    pub approvals: ApprovalQueue,
    /// Declared when the other program says so.
    pub attendance: Attendance,
    /// The folder of all sessions; `None` where none are kept.
    pub sessions: Option<PathBuf>,
    /// The folder that is worked in.
    pub cwd: PathBuf,
    /// Writes a text to the other program.
    pub output: Box<Write>,
}

impl fmt::Debug for RpcServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RpcServer")
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

/// Why serving another program ended too early.
#[derive(Debug)]
#[non_exhaustive]
pub enum RpcError {
    /// The other program cannot be told anything.
    Output(io::Error),
    /// The session cannot be written, as the message says.
    NotKept(String),
}

impl fmt::Display for RpcError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output(_) => formatter.write_str("the other program cannot be told anything"),
            Self::NotKept(message) => formatter.write_str(message),
        }
    }
}

impl std::error::Error for RpcError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Output(error) => Some(error),
            Self::NotKept(_) => None,
        }
    }
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

impl RpcServer {
    /// Serves until `input` ends or it is stopped.
    pub async fn serve(
        mut self,
        input: impl io::Read + Send + 'static,
        stopped: &CancellationToken,
    ) -> Result<(), RpcError> {
        let mut lines = read_lines(input);
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
                Next::Event(Some(event)) => self.tell(&event)?,
                Next::Question(request) => self.write(&request)?,
                Next::Ended(ended) => {
                    while let Some(event) = self.events.take() {
                        self.tell(&event)?;
                    }
                    if let Some(Ended { command, outcome }) = ended {
                        self.write(&answer::told(&command, outcome))?;
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
                        Err(error) => {
                            let why = error.to_string();
                            self.write(&answer::failed(None, "parse", &why))?;
                        }
                    }
                }
                Next::Line(Some(Err(why))) => {
                    self.write(&answer::failed(None, "parse", &why))?;
                }
                Next::Line(None) | Next::Event(None) | Next::Stopped => break,
            }
        }
        drop(questions);
        self.end(&mut work).await
    }

    /// What the other program says of itself.
    fn initialize(&self, command: &Value, questions: &mut Questions) -> Result<(), RpcError> {
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
        self.write(&answer::succeeded(command, Some(data)))
    }

    /// Stops what goes on, and tells its end.
    async fn end(mut self, work: &mut JoinSet<Ended>) -> Result<(), RpcError> {
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
                    Some(event) => self.tell(&event)?,
                    None => break None,
                },
                end = &mut settled => break end,
            }
        };
        while let Some(event) = self.events.take() {
            self.tell(&event)?;
        }
        self.agent.close().await;
        work.shutdown().await;
        match end {
            Some(End::NotKept { message }) => Err(RpcError::NotKept(message)),
            _ => Ok(()),
        }
    }

    /// Tells an event. Questions are told as requests to the user interface.
    fn tell(&self, event: &AgentEvent) -> Result<(), RpcError> {
        match event {
            AgentEvent::Question { .. } | AgentEvent::QuestionEnd { .. } => Ok(()),
            event => self.write(event),
        }
    }

    /// Writes one line of JSON.
    fn write(&self, value: &impl serde::Serialize) -> Result<(), RpcError> {
        let text = serde_json::to_string(value).map_err(|error| RpcError::Output(error.into()))?;
        (self.output)(&format!("{text}\n")).map_err(RpcError::Output)
    }
}

/// Reads commands on a thread of its own, which is left behind at the end.
fn read_lines(input: impl io::Read + Send + 'static) -> mpsc::Receiver<Result<String, String>> {
    let (sender, receiver) = mpsc::channel(LINES_MAX);
    std::thread::spawn(move || {
        let mut input = io::BufReader::new(input);
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
                Err(error) => Err(format!("the input cannot be read: {error}")),
            };
            let ends = matches!(&line, Err(why) if why.starts_with("the input"));
            if sender.blocking_send(line).is_err() || ends {
                return;
            }
        }
    });
    receiver
}
