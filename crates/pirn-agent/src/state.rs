//! How a conversation stands, for front ends.

use std::path::PathBuf;

use pirn_model::{ContextUsage, Message, SessionUsage};

use crate::agent::{Shared, lock};
use crate::estimate::context_tokens;
use crate::machine::QueueMode;
use crate::ports::ModelChoice;

/// How a conversation stands.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts to be shown, each on its own"
)]
pub struct AgentState {
    /// The model that is asked next.
    pub choice: ModelChoice,
    /// Whether a run goes on.
    pub is_running: bool,
    /// Whether the conversation is being made shorter.
    pub is_compacting: bool,
    /// How steering messages are said.
    pub steering: QueueMode,
    /// How messages that follow are said.
    pub follow_up: QueueMode,
    /// Whether the conversation becomes shorter by itself.
    pub compacts_automatically: bool,
    /// Whether replies that failed are asked for again.
    pub retries_automatically: bool,
    /// Where the session is kept, once it is.
    pub session_file: Option<PathBuf>,
    /// The id that names the session in lists and flags.
    pub session_id: String,
    /// The name that people gave the session.
    pub session_name: Option<String>,
    /// The folder the session works in.
    pub cwd: String,
    /// The messages that the model reads, those about its work included.
    pub messages: Vec<Message>,
    /// Messages that wait to be said.
    pub queued: usize,
    /// What the session used so far.
    pub usage: SessionUsage,
    /// How full the model's window is.
    pub context: ContextUsage,
}

impl AgentState {
    pub(crate) fn of(shared: &Shared) -> Self {
        let status = shared.status.borrow().clone();
        let choice = lock(&shared.choice).clone();
        let (options, queued) = {
            let machine = lock(&shared.machine);
            let (steering, follow_up) = machine.queued();
            (machine.options(), steering.len() + follow_up.len())
        };
        let compaction = lock(&shared.options).compaction;
        let session = lock(&shared.session);
        let context = session.tree().context();
        Self {
            is_running: status.runs > 0,
            is_compacting: status.is_compacting,
            steering: options.steering,
            follow_up: options.follow_up,
            compacts_automatically: compaction.is_automatic,
            retries_automatically: options.retry.retries_max > 0,
            session_file: session.path().map(ToOwned::to_owned),
            session_id: session.header().id.clone(),
            session_name: session.tree().name().map(str::to_owned),
            cwd: session.header().cwd.clone(),
            queued,
            usage: session.tree().usage(),
            context: ContextUsage {
                tokens: context_tokens(session.tree()).measured,
                window: choice.model.context_window,
            },
            messages: context.messages,
            choice,
        }
    }
}
