//! What a server's task tells the others: its state, its tools, its warnings.

use std::sync::Arc;

use super::Actor;
use crate::error::Error;
use crate::manager::backoff::may_pass;
use crate::manager::publisher::Publication;
use crate::manager::status::{Problem, ServerEvent, ServerState, Snapshot};

/// Warnings of one server that are kept for lists. A server that gets more wrong gets the same thing wrong each time.
const WARNINGS_KEPT_MAX: usize = 100;

impl Actor {
    /// Registers the server's tools as they are to be seen now. Returns what is wrong with them.
    pub(super) fn publish(&self, publication: Publication) -> Vec<String> {
        let facts = self.channels.snapshot.borrow().facts.clone();
        let entry = &self.current.entry;
        let ending = &self.channels.ending;
        let published =
            self.context
                .publisher
                .publish(entry, facts.as_deref(), publication, ending);
        let has_changed = *self.channels.snapshot.borrow().tools != published.tools[..];
        self.change_quietly(|snapshot| snapshot.tools = published.tools.into());
        if has_changed {
            self.tell(ServerEvent::ToolsChanged {
                server: self.name().to_owned(),
            });
        }
        published.warnings
    }

    /// Keeps warnings about a new connection in place of those about the one before, and tells those that are new.
    pub(super) fn replace_warnings(&self, messages: Vec<String>) {
        let before = Arc::clone(&self.channels.snapshot.borrow().warnings);
        self.change_quietly(|snapshot| snapshot.warnings = Arc::default());
        self.keep_warnings(messages, &before);
    }

    /// Keeps warnings beside those before, and tells those that are new.
    pub(super) fn warn(&self, messages: Vec<String>) {
        let before = Arc::clone(&self.channels.snapshot.borrow().warnings);
        self.keep_warnings(messages, &before);
    }

    fn keep_warnings(&self, messages: Vec<String>, told: &[String]) {
        if messages.is_empty() {
            return;
        }
        let mut kept = self.channels.snapshot.borrow().warnings.to_vec();
        for message in messages {
            if kept.len() < WARNINGS_KEPT_MAX && !kept.contains(&message) {
                kept.push(message.clone());
            }
            if !told.contains(&message) {
                let server = self.name().to_owned();
                self.tell(ServerEvent::Warning { server, message });
            }
        }
        self.change_quietly(|snapshot| snapshot.warnings = kept.into());
    }

    pub(super) fn set_resting(&self, state: ServerState, problem: Option<Problem>) {
        let may_retry = problem
            .as_ref()
            .is_some_and(|problem| may_pass(&problem.kind));
        let retry_at = self
            .backoff
            .retry_at()
            .filter(|_| may_retry && self.starts_by_itself());
        self.change(|snapshot| {
            snapshot.state = state;
            snapshot.problem = problem;
            snapshot.retry_at = retry_at;
        });
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Snapshot)) {
        let before = self.channels.snapshot.borrow().state;
        self.change_quietly(change);
        let state = self.channels.snapshot.borrow().state;
        if state != before {
            self.tell(ServerEvent::StateChanged {
                server: self.name().to_owned(),
                state,
            });
        }
    }

    pub(super) fn change_quietly(&self, change: impl FnOnce(&mut Snapshot)) {
        self.channels.snapshot.send_modify(change);
    }

    pub(super) fn tell(&self, event: ServerEvent) {
        // Listeners may look at the state.
        let problem = self.channels.snapshot.borrow().problem.clone();
        self.context.announcer.tell(event, problem.as_ref());
    }
}

/// Why the tools of a server that is connected are not known.
pub(super) fn list_problem(error: &Error) -> Problem {
    let mut problem = Problem::from(error);
    problem.message = format!("its tools could not be listed: {}", problem.message);
    problem
}
