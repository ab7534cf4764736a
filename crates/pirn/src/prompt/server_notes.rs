//! Notes about servers that are not there, each said once.

use std::collections::BTreeSet;

use pirn_agent::AgentEvent;
use pirn_mcp::{ServerSelection, ServerState};
use pirn_runtime::Servers;

use crate::mcp::missing_note;
use crate::standard;

/// Says which servers are not there, as soon as that is known.
pub(super) struct ServerNotes<'a> {
    servers: Option<&'a Servers>,
    told: BTreeSet<String>,
}

impl<'a> ServerNotes<'a> {
    pub(super) fn new(servers: Option<&'a Servers>) -> Self {
        Self {
            servers,
            told: BTreeSet::new(),
        }
    }

    pub(super) fn event(&mut self, event: &AgentEvent) {
        let (AgentEvent::Server { name, .. }, Some(servers)) = (event, self.servers) else {
            return;
        };
        let missing = servers.missing(ServerSelection::Server(name));
        let failed = missing.iter().filter(|server| match server.state {
            ServerState::Failed | ServerState::NeedsAuth => true,
            ServerState::Connecting
            | ServerState::Disconnected
            | ServerState::Connected
            | ServerState::Disabled => false,
        });
        for server in failed {
            if self.told.insert(server.name.clone()) {
                standard::note(&missing_note(server));
            }
        }
    }
}
