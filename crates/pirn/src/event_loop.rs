//! The event loop of a command.

use anyhow::Context as _;
use tokio::runtime::{Builder, Runtime};

/// Threads beside the main one: two, so that one slow answer does not hold up another.
const WORKER_THREADS: usize = 2;

/// An event loop on the main thread, for work that only waits: nothing else has to be woken for what happens.
pub(crate) fn on_main_thread() -> anyhow::Result<Runtime> {
    built(&mut Builder::new_current_thread())
}

/// An event loop with threads of its own, on which servers answer while the main thread is busy.
pub(crate) fn beside_main_thread() -> anyhow::Result<Runtime> {
    built(Builder::new_multi_thread().worker_threads(WORKER_THREADS))
}

fn built(builder: &mut Builder) -> anyhow::Result<Runtime> {
    builder
        .enable_all()
        .build()
        .context("the event loop cannot start")
}
