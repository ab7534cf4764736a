//! What a server's task tells the others: its state, its tools, its warnings.

use super::Actor;
use crate::error::Error;
use crate::manager::backoff::may_pass;
use crate::manager::publisher::Publication;
use crate::manager::status::{Problem, ServerEvent, ServerState, Snapshot};

impl Actor {
    /// Registers the server's tools as they are to be seen now.
    pub(super) fn publish(&self, publication: Publication) {
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
        self.warn(published.warnings);
    }

    pub(super) fn warn(&self, messages: Vec<String>) {
        for message in messages {
            let server = self.name().to_owned();
            self.tell(ServerEvent::Warning { server, message });
        }
    }

    pub(super) fn list_failed(&self, error: &Error) -> Problem {
        let mut problem = Problem::from(error);
        problem.message = format!("its tools could not be listed: {}", problem.message);
        self.warn(vec![problem.message.clone()]);
        problem
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
        // Nobody has to listen.
        let _unheard = self.context.events.send(event);
    }
}
