//! JavaScript without node: the seam to an engine of the embedder's.

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::outcome::EvalFailure;
use crate::request::{Capability, CapabilityFailure};

/// What a program of a [`ScriptEngine`] reaches: the kernel, which bounds and records everything.
pub trait ScriptHost: Send + Sync {
    /// Runs one call; waits its turn.
    fn call(
        &self,
        name: String,
        input: Value,
    ) -> BoxFuture<'static, Result<Value, CapabilityFailure>>;

    /// Takes what the program printed to standard output.
    fn print(&self, text: &str);

    /// Takes what the program printed to standard error.
    fn print_error(&self, text: &str);
}

/// One program for a [`ScriptEngine`].
pub struct ScriptRun {
    /// The body of an async function with the globals `state` and `tool`.
    pub code: String,
    /// The committed state as JSON text, an object.
    pub state: String,
    /// What it may call.
    pub capabilities: Vec<Capability>,
    /// Its way to the kernel.
    pub host: std::sync::Arc<dyn ScriptHost>,
    /// Fires when the eval is over, by its deadline or otherwise. The engine must end soon after.
    pub cancel: CancellationToken,
}

impl std::fmt::Debug for ScriptRun {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ScriptRun").finish_non_exhaustive()
    }
}

/// What a program of a [`ScriptEngine`] left.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptEnd {
    /// The value, or why it failed.
    pub result: Result<Value, EvalFailure>,
    /// Places of the value that could not be given back whole.
    pub lossy: Vec<String>,
    /// The state it left, as JSON text; the kernel checks it.
    pub state: String,
}

/// Runs JavaScript in our own process, in a sandbox of its own.
pub trait ScriptEngine: Send + Sync {
    /// What results call it, such as `pirn-vm`.
    fn name(&self) -> &str;

    /// Runs one program.
    fn run(&self, run: ScriptRun) -> BoxFuture<'static, ScriptEnd>;
}
