//! Work on files, which blocks, away from the async threads.

use pirn_tool::CallContext;
use tokio_util::sync::CancellationToken;

use crate::arguments::ABORTED;

/// Tells blocking work whether to go on.
#[derive(Debug, Clone)]
pub(crate) struct Stop(CancellationToken);

impl Stop {
    /// Fails when the call was stopped.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.is_set() {
            Err(ABORTED.to_owned())
        } else {
            Ok(())
        }
    }

    /// Whether the call was stopped.
    pub(crate) fn is_set(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// Runs `work` on a thread for blocking work and waits for it. The work is responsible for looking at [`Stop`] often enough;
/// it is never left behind, so that a caller knows that nothing happens after the answer.
pub(crate) async fn run<T, F>(context: &CallContext, work: F) -> Result<T, String>
where
    T: Send + 'static,
    F: FnOnce(&Stop) -> Result<T, String> + Send + 'static,
{
    let stop = Stop(context.cancel.clone());
    stop.check()?;
    match tokio::task::spawn_blocking(move || work(&stop)).await {
        Ok(outcome) => outcome,
        Err(error) => Err(format!(
            "The tool stopped early, which is a bug in it: {error}"
        )),
    }
}

/// Runs short work on files off the async threads. The error is a text.
pub(crate) async fn off_thread<T: Send + 'static>(
    context: &CallContext,
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    if context.cancel.is_cancelled() {
        return Err(ABORTED.to_owned());
    }
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| {
            Err(format!(
                "The tool stopped early, which is a bug in it: {error}"
            ))
        })
}
