//! Ctrl-C: the first one ends the work in order, the second one ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;

use crate::event_loop;
use crate::failure::{Exit, Failure};

/// Tells the watching thread how far the work is.
#[derive(Debug)]
pub(crate) struct Interrupts {
    is_over: Arc<AtomicBool>,
}

impl Interrupts {
    /// From now on the first Ctrl-C ends the process.
    pub(crate) fn work_ended(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Does work that Ctrl-C stops. What is still waiting afterwards, like a question, is left behind.
pub(crate) fn interruptible<T>(
    work: impl AsyncFnOnce(CancellationToken) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let event_loop = event_loop::beside_main_thread()?;
    let stopped = CancellationToken::new();
    let interrupts = watch(stopped.clone(), || {})?;
    let result = event_loop.block_on(work(stopped.clone()));
    interrupts.work_ended();
    event_loop.shutdown_background();
    if stopped.is_cancelled() {
        return Err(Failure::new(Exit::Interrupted, "interrupted"));
    }
    result
}

/// Watches for Ctrl-C: the first one calls `end`, then fires `stopped`. A thread of its own does that, which answers whatever the
/// others are busy with. It lasts as long as the process: until then somebody may want out.
#[cfg(unix)]
pub(crate) fn watch(
    stopped: CancellationToken,
    end: impl Fn() + Send + 'static,
) -> anyhow::Result<Interrupts> {
    use tokio::signal::unix::{SignalKind, signal};

    let is_over = Arc::new(AtomicBool::new(false));
    let interrupts = Interrupts {
        is_over: Arc::clone(&is_over),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .context("the thread that watches for Ctrl-C cannot start")?;
    let mut signals = {
        let _entered = runtime.enter();
        signal(SignalKind::interrupt()).context("Ctrl-C cannot be watched for")?
    };
    let watch = async move {
        while signals.recv().await.is_some() {
            if stopped.is_cancelled() || is_over.load(Ordering::Relaxed) {
                leave();
            }
            end();
            stopped.cancel();
        }
    };
    std::thread::Builder::new()
        .name("interrupts".to_owned())
        .spawn(move || runtime.block_on(watch))
        .context("the thread that watches for Ctrl-C cannot start")?;
    Ok(interrupts)
}

/// Ctrl-C ends the process where it cannot be watched for.
#[cfg(not(unix))]
pub(crate) fn watch(
    _stopped: CancellationToken,
    _end: impl Fn() + Send + 'static,
) -> anyhow::Result<Interrupts> {
    Ok(Interrupts {
        is_over: Arc::new(AtomicBool::new(false)),
    })
}

/// Ends the process now. Supervisors kill its children.
#[cfg(unix)]
#[expect(
    clippy::exit,
    reason = "the user asked twice, and the main thread may be stuck"
)]
fn leave() {
    std::process::exit(i32::from(Exit::Interrupted.code()));
}
