//! Ctrl-C: the first one ends the script in order, the second one ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use pirn_codemode::Abort;

use crate::failure::Exit;

/// Tells the watching thread how far the script is.
#[derive(Debug)]
pub(super) struct Interrupts {
    is_script_over: Arc<AtomicBool>,
}

impl Interrupts {
    /// From now on the first Ctrl-C ends the process.
    pub(super) fn script_ended(&self) {
        self.is_script_over.store(true, Ordering::Relaxed);
    }
}

/// Watches for Ctrl-C in a thread of its own, which answers whatever the others are busy with. It lasts as long as the process:
/// until then somebody may want out.
#[cfg(unix)]
pub(super) fn watch(abort: Abort) -> anyhow::Result<Interrupts> {
    use tokio::signal::unix::{SignalKind, signal};

    let is_script_over = Arc::new(AtomicBool::new(false));
    let interrupts = Interrupts {
        is_script_over: Arc::clone(&is_script_over),
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
            if abort.is_aborted() || is_script_over.load(Ordering::Relaxed) {
                leave();
            }
            abort.abort("Interrupted");
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
pub(super) fn watch(_abort: Abort) -> anyhow::Result<Interrupts> {
    Ok(Interrupts {
        is_script_over: Arc::new(AtomicBool::new(false)),
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
