//! What is shown: the answer or every event on standard output, and on a terminal what goes on meanwhile.

use std::sync::{Mutex, PoisonError};

use pirn_agent::{Agent, AgentEvent};
use pirn_model::{Block, Message};
use pirn_terminal::{Text, cut, on_one_line, without_controls};

use super::arguments::Mode;
use crate::failure::Failure;
use crate::invocation::{Invocation, Stream};
use crate::standard;

/// Columns of a line about a call.
const CALL_COLUMNS_MAX: usize = 120;

#[derive(Debug)]
pub(super) struct Output {
    mode: Mode,
    stdout: Stream,
    stderr: Stream,
    /// Why standard output could not be written; told at the end.
    failure: Mutex<Option<Failure>>,
}

impl Output {
    pub(super) fn new(mode: Mode, invocation: &Invocation) -> Self {
        Self {
            mode,
            stdout: invocation.stdout,
            stderr: invocation.stderr,
            failure: Mutex::default(),
        }
    }

    /// The first line of JSON mode.
    pub(super) fn begin(&self, agent: &Agent) -> Result<(), Failure> {
        match self.mode {
            Mode::Text | Mode::Rpc => Ok(()),
            Mode::Json => {
                let header = agent.with_session(|session| session.header().clone());
                standard::write_out(&json_line(&header)?)
            }
        }
    }

    pub(super) fn event(&self, event: &AgentEvent) {
        if self.mode == Mode::Json {
            let written = json_line(event).and_then(|line| standard::write_out(&line));
            if let Err(failure) = written {
                let mut first = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(failure);
            }
        }
        if self.stderr == Stream::Terminal
            && let Some(line) = progress(event)
        {
            pirn_terminal::write_error(&Text::line(cut(&line, CALL_COLUMNS_MAX)));
        }
    }

    /// The answer, and what it cost.
    pub(super) fn finish(&self, agent: &Agent) -> Result<(), Failure> {
        let failure = self
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(failure) = failure {
            return Err(failure);
        }
        if self.mode == Mode::Text {
            for text in texts(&agent.state().messages) {
                // A terminal does not obey what a model writes.
                let shown = match self.stdout {
                    Stream::Terminal => without_controls(&text),
                    Stream::Other => text,
                };
                standard::write_out(&format!("{shown}\n"))?;
            }
        }
        if self.stderr == Stream::Terminal {
            let usage = agent.state().usage;
            let cost = if usage.cost > 0.0 {
                format!(", {:.4} USD", usage.cost)
            } else {
                String::new()
            };
            let read = usage.input + usage.cache_read + usage.cache_write;
            standard::note(&format!(
                "{read} tokens read, {} written{cost}",
                usage.output
            ));
        }
        Ok(())
    }
}

/// The last reply, as one text.
pub(super) fn answer(agent: &Agent) -> String {
    texts(&agent.state().messages).concat()
}

/// The texts of the last reply.
fn texts(messages: &[Message]) -> Vec<String> {
    let last = messages.iter().rev().find_map(|message| match message {
        Message::Assistant(reply) => Some(reply),
        _ => None,
    });
    last.map(|reply| {
        reply
            .content
            .iter()
            .filter_map(Block::as_text)
            .map(str::to_owned)
            .collect()
    })
    .unwrap_or_default()
}

/// What goes on, on one line; nothing of it obeys what a model or a tool says.
fn progress(event: &AgentEvent) -> Option<String> {
    match event {
        AgentEvent::ToolStart { call } => Some(format!(
            "{} {}",
            on_one_line(&call.name),
            on_one_line(&call.arguments.to_string())
        )),
        AgentEvent::ToolEnd { result } if result.is_error => Some(format!(
            "{} failed: {}",
            on_one_line(&result.tool_name),
            on_one_line(&pirn_model::joined_text(&result.content))
        )),
        AgentEvent::NestedStart { call } => Some(format!(
            "  {} {}",
            on_one_line(&call.tool_name),
            on_one_line(&call.arguments.to_string())
        )),
        AgentEvent::CompactionStart { .. } => {
            Some("the conversation becomes shorter: a summary is made of its beginning".to_owned())
        }
        AgentEvent::Note { text } => Some(on_one_line(text)),
        AgentEvent::RetryStart {
            attempt,
            attempts_max,
            delay_ms,
            error,
        } => Some(format!(
            "try {attempt} of {attempts_max} in {delay_ms} ms: {}",
            on_one_line(error)
        )),
        _ => None,
    }
}

fn json_line(value: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value).map_err(anyhow::Error::new)?;
    Ok(format!("{text}\n"))
}
