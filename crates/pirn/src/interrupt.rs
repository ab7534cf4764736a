//! Ctrl-C: the first one ends the work in order, the second one ends the process. A request to end and a closed terminal end the
//! work in order, too, however often they come.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
#[cfg(unix)]
use std::time::Duration;

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;

use crate::event_loop;
use crate::failure::{Exit, Failure};

/// How long the work may take to end when nobody is there to press Ctrl-C again. What it has to do, ending commands and clearing
/// up after the sandbox, takes well under a second.
#[cfg(unix)]
const END_WAIT: Duration = Duration::from_secs(10);

/// Tells the watching thread how far the work is.
#[derive(Debug)]
pub(crate) struct Interrupts {
    is_over: Arc<AtomicBool>,
    /// The first signal, where it was not Ctrl-C.
    signal: Arc<OnceLock<Exit>>,
}

impl Interrupts {
    /// How the program ends that was stopped by a request to end or a closed terminal; `None` where neither came first.
    pub(crate) fn signal(&self) -> Option<Exit> {
        self.signal
            .get()
            .copied()
            .filter(|exit| *exit != Exit::Interrupted)
    }

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
    let signal_seen = Arc::new(OnceLock::new());
    let interrupts = Interrupts {
        is_over: Arc::clone(&is_over),
        signal: Arc::clone(&signal_seen),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .context("the thread that watches for Ctrl-C cannot start")?;
    let (mut interrupt, mut terminate, mut hang_up) = {
        let _entered = runtime.enter();
        let watched = |kind| signal(kind).context("Ctrl-C cannot be watched for");
        (
            watched(SignalKind::interrupt())?,
            watched(SignalKind::terminate())?,
            // Who started us with nohup wants us to go on without a terminal.
            (!ignores_hang_up())
                .then(|| watched(SignalKind::hangup()))
                .transpose()?,
        )
    };
    let watch = async move {
        let mut leave_at = None;
        loop {
            let late = async {
                match leave_at {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let closed = async {
                match &mut hang_up {
                    Some(hang_up) => hang_up.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(()) = interrupt.recv() => {
                    signal_seen.get_or_init(|| Exit::Interrupted);
                    if stopped.is_cancelled() || is_over.load(Ordering::Relaxed) {
                        leave();
                    }
                }
                Some(()) = terminate.recv() => {
                    signal_seen.get_or_init(|| Exit::Terminated);
                    leave_at.get_or_insert_with(|| tokio::time::Instant::now() + END_WAIT);
                }
                Some(()) = closed => {
                    signal_seen.get_or_init(|| Exit::HungUp);
                    leave_at.get_or_insert_with(|| tokio::time::Instant::now() + END_WAIT);
                }
                () = late => leave(),
                else => return,
            }
            if !stopped.is_cancelled() {
                end();
                stopped.cancel();
            }
        }
    };
    std::thread::Builder::new()
        .name("interrupts".to_owned())
        .spawn(move || runtime.block_on(watch))
        .context("the thread that watches for Ctrl-C cannot start")?;
    Ok(interrupts)
}

/// Whether the signal of a closed terminal is ignored.
#[cfg(target_os = "linux")]
fn ignores_hang_up() -> bool {
    let mask = |status: String| {
        let digits = status
            .lines()
            .find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(digits.trim(), 16).ok()
    };
    let ignored = std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(mask)
        .unwrap_or(0);
    // The first signal has the lowest bit.
    ignored & (1 << (rustix::process::Signal::HUP.as_raw() - 1)) != 0
}

#[cfg(all(unix, not(target_os = "linux")))]
fn ignores_hang_up() -> bool {
    false
}

/// Ctrl-C ends the process where it cannot be watched for.
#[cfg(not(unix))]
pub(crate) fn watch(
    _stopped: CancellationToken,
    _end: impl Fn() + Send + 'static,
) -> anyhow::Result<Interrupts> {
    Ok(Interrupts {
        is_over: Arc::new(AtomicBool::new(false)),
        signal: Arc::default(),
    })
}

/// Ends the process now. Supervisors kill its children.
#[cfg(unix)]
#[expect(
    clippy::exit,
    reason = "the user asked twice, or the main thread is stuck"
)]
fn leave() {
    std::process::exit(i32::from(Exit::Interrupted.code()));
}
