//! How a conversation behaves.

use crate::machine::MachineOptions;

/// When a conversation becomes shorter by itself, and by how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionOptions {
    /// Whether it does so by itself at all.
    pub is_automatic: bool,
    /// Tokens of the model's window that stay free: it happens when less is left.
    pub reserve_tokens: u64,
    /// Tokens at the end of the conversation that stay word for word.
    pub keep_recent_tokens: u64,
}

impl Default for CompactionOptions {
    fn default() -> Self {
        Self {
            is_automatic: true,
            reserve_tokens: 16_384,
            keep_recent_tokens: 20_000,
        }
    }
}

/// What becomes of scripts that go on after the model has answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Wakes {
    /// A run ends when they have ended, and the model is told of each. For front ends that end with the run.
    BeforeSettling,
    /// The run ends, and the end of a script begins the next one. For front ends that stay.
    #[default]
    AfterSettling,
}

/// How a conversation behaves.
#[derive(Debug, Clone, Copy)]
pub struct AgentOptions {
    /// Tries, queues and turns of a run.
    pub machine: MachineOptions,
    /// When it becomes shorter.
    pub compaction: CompactionOptions,
    /// Scripts that outlive the answer.
    pub wakes: Wakes,
    /// US dollars that it may cost from now on; `None` without a bound.
    pub cost_max: Option<f64>,
    /// Events that may wait to be read; then the conversation waits.
    pub events_max: usize,
}

/// Events that may wait to be read: a screen that draws sixty times a second is never this far behind.
const EVENTS_MAX_DEFAULT: usize = 256;

impl Default for AgentOptions {
    fn default() -> Self {
        Self {
            machine: MachineOptions::default(),
            compaction: CompactionOptions::default(),
            wakes: Wakes::default(),
            cost_max: None,
            events_max: EVENTS_MAX_DEFAULT,
        }
    }
}
