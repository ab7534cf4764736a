//! The clock of interruption: one thread per engine that advances its epoch every millisecond while a VM runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wasmtime::Engine;

use crate::error::{Error, ErrorKind};

/// How long a running guest goes before it looks at its limits.
pub(crate) const TICK: Duration = Duration::from_millis(1);
/// Ticks without a running VM before the thread sleeps; short pauses between calls must not cost a wake-up each.
const IDLE_TICKS_MAX: u32 = 50;

#[derive(Debug)]
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    running: AtomicUsize,
    is_parked: AtomicBool,
    stop: AtomicBool,
}

/// Keeps the ticker awake while a VM runs.
#[derive(Debug)]
pub(crate) struct Running<'a>(&'a Shared);

impl Ticker {
    pub(crate) fn start(engine: Engine) -> Result<Self, Error> {
        let shared = Arc::new(Shared::default());
        let state = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("pirn-vm-ticker".into())
            .stack_size(64 << 10)
            .spawn(move || tick(&engine, &state))
            .map_err(|error| {
                Error::new(ErrorKind::Engine, format!("the ticker thread: {error}"))
            })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    pub(crate) fn running(&self) -> Running<'_> {
        self.shared.running.fetch_add(1, Ordering::SeqCst);
        if self.shared.is_parked.load(Ordering::SeqCst)
            && let Some(thread) = &self.thread
        {
            thread.thread().unpark();
        }
        Running(&self.shared)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread cannot panic; there is nothing to report if it did.
            drop(thread.join());
        }
    }
}

fn tick(engine: &Engine, shared: &Shared) {
    let mut idle_ticks = 0;
    while !shared.stop.load(Ordering::SeqCst) {
        if shared.running.load(Ordering::SeqCst) > 0 {
            idle_ticks = 0;
        } else {
            idle_ticks += 1;
        }
        if idle_ticks > IDLE_TICKS_MAX {
            shared.is_parked.store(true, Ordering::SeqCst);
            // A VM that started between the two looks would otherwise wait for a tick that never comes.
            if shared.running.load(Ordering::SeqCst) == 0 && !shared.stop.load(Ordering::SeqCst) {
                thread::park();
            }
            shared.is_parked.store(false, Ordering::SeqCst);
            idle_ticks = 0;
        } else {
            thread::sleep(TICK);
            engine.increment_epoch();
        }
    }
}
