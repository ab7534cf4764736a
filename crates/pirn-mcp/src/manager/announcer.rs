//! What happens to servers, for whoever follows the manager and for the stream of events of a runtime.

use pirn_tool::{EventBus, RuntimeEvent};
use tokio::sync::broadcast;

use super::status::{Problem, ServerEvent};

/// Events that a slow listener may be behind before it loses the oldest.
const EVENTS_MAX: usize = 256;

/// Tells what happens to servers. Clones tell the same listeners.
#[derive(Clone)]
pub(super) struct Announcer {
    channel: broadcast::Sender<ServerEvent>,
    pub(super) events: EventBus,
}

impl Announcer {
    pub(super) fn new() -> Self {
        Self {
            channel: broadcast::channel(EVENTS_MAX).0,
            events: EventBus::new(),
        }
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<ServerEvent> {
        self.channel.subscribe()
    }

    /// Tells an event; `problem` is why a server is in its state.
    pub(super) fn tell(&self, event: ServerEvent, problem: Option<&Problem>) {
        match &event {
            ServerEvent::StateChanged { server, state } => {
                let detail = problem.map(|problem| problem.message.clone());
                let told = RuntimeEvent::server(server.as_str(), state.as_str(), detail);
                self.events.send(told);
            }
            ServerEvent::Warning { server, message } => {
                let told = RuntimeEvent::note(format!("MCP server {server}: {message}"));
                self.events.send(told);
            }
            ServerEvent::ToolsChanged { .. }
            | ServerEvent::ResourcesChanged { .. }
            | ServerEvent::PromptsChanged { .. }
            | ServerEvent::ConfigurationChanged
            | ServerEvent::RegistrationsChanged => {}
        }
        // Nobody has to listen.
        let _unheard = self.channel.send(event);
    }
}
