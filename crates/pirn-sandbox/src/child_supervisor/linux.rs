//! Linux: a supervisor process between us and the child, see [`crate::sys`].

use std::fs::File;
use std::io::{self, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStdin;
use tokio::sync::watch;

use super::{ChildState, Request, SpawnError, SpawnRequest, StateReceiver};
use crate::cgroup;
use crate::error::Error;
use crate::sandbox::{ChildPresence, Purpose, Sandbox, explain_failure};
use crate::status::ExitStatus;
use crate::sys::{self, Launch, MESSAGE_BYTES, Message, SupervisorOrder};

/// Our end of the lifeline. Dropping it closes the lifeline, and the supervisor then kills everything.
#[derive(Debug)]
pub(crate) struct ChildSupervisor {
    /// Not tokio's: that one refuses to write before it has heard from the system that it can, and an order must never be
    /// lost. The few bytes of all orders always fit the socket's buffer.
    lifeline: UnixStream,
    states: StateReceiver,
    /// A file with a line `oom_kill N`, where memory is bounded.
    memory_events: Option<Arc<File>>,
    /// What was set aside of what the child has made, as sentences.
    set_aside: Arc<Mutex<Vec<String>>>,
}

impl ChildSupervisor {
    pub(crate) fn spawn(start: SpawnRequest) -> Result<(Self, Option<ChildStdin>), SpawnError> {
        let SpawnRequest {
            mut command,
            descriptors,
            sandbox,
            directory,
        } = start;
        let reserved = reserve_numbers(descriptors.len())?;
        let confined = match &sandbox {
            Some(sandbox) => sandbox
                .confined()
                .map_err(SpawnError::Explained)?
                .map(|confined| (sandbox, confined)),
            None => None,
        };
        let launch = match confined {
            Some((sandbox, confined)) => confined
                .serve_network()
                .map_err(|source| Error::preparing(&source))
                .and_then(|()| {
                    confined
                        .launch(
                            sandbox.policy(),
                            directory.as_deref(),
                            descriptors,
                            Purpose::Run,
                        )
                        .map_err(|source| Error::preparing(&source))
                })
                .map_err(SpawnError::Explained)?,
            None => Launch {
                descriptors,
                lock: None,
                confinement: None,
            },
        };
        let steps = launch.mounts();
        let memory_events = launch
            .confinement
            .as_ref()
            .and_then(|confinement| confinement.cgroups.events.clone());
        let lifeline = sys::attach_supervisor(&mut command, launch)?;
        let reports = tokio::net::UnixStream::from_std(lifeline.try_clone()?)?;
        // Counted until it is gone, also when it does not start.
        let presence = sandbox.as_ref().map(Sandbox::child_starts);
        let started = command.spawn();
        // Also drops our copies of the child's pipes and of the supervisor's end of the lifeline.
        drop(command);
        drop(reserved);
        // Says why, also where the first process itself could be started.
        if let Some(failure) = sys::failure(&lifeline) {
            let source = io::Error::from_raw_os_error(failure.errno);
            return Err(explain_failure(
                failure,
                steps.as_deref(),
                directory.as_deref(),
                source,
            ));
        }
        let mut supervisor = started?;
        let stdin = supervisor.stdin.take();
        let (sender, states) = StateReceiver::new();
        // Ends with the supervisor, which ends at the latest when the lifeline closes.
        let set_aside: Arc<Mutex<Vec<String>>> = Arc::default();
        let findings = Arc::clone(&set_aside);
        tokio::spawn(async move {
            let watcher = presence.map(|presence| Watcher { presence, findings });
            let are_others_left = follow(reports, &sender, watcher.as_ref()).await;
            // Only collects the exit status, so that no zombie is left.
            let _status = supervisor.wait().await;
            // Also when nobody said how it ended.
            if let Some(watcher) = watcher.filter(|_| are_others_left) {
                watcher.look().await;
            }
            sender.send_modify(|state| {
                state.main.get_or_insert(ExitStatus::Lost);
                state.all_gone = true;
            });
        });
        let supervisor = Self {
            lifeline,
            states,
            memory_events,
            set_aside,
        };
        Ok((supervisor, stdin))
    }

    pub(crate) fn states(&self) -> &StateReceiver {
        &self.states
    }

    /// What was set aside so far of what the child has made, as sentences.
    pub(crate) fn set_aside(&self) -> Vec<String> {
        self.set_aside
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn memory_kills(&self) -> Option<u64> {
        cgroup::memory_kills(self.memory_events.as_ref()?)
    }

    pub(crate) fn request(&self, request: Request) {
        let order = match request {
            Request::Terminate => SupervisorOrder::Terminate,
            Request::Kill => SupervisorOrder::Kill,
            Request::Interrupt => SupervisorOrder::Interrupt,
            Request::Freeze => SupervisorOrder::Freeze,
            Request::Thaw => SupervisorOrder::Thaw,
        };
        // Fails only when the supervisor is gone, and then everything is.
        let _gone = (&self.lifeline).write(&[order as u8]);
    }
}

impl Drop for ChildSupervisor {
    fn drop(&mut self) {
        // The task that reads the reports holds the same socket, so closing our descriptor would not do. Fails only when the
        // supervisor is gone.
        let _gone = self.lifeline.shutdown(Shutdown::Write);
    }
}

/// Looks at what a confined child has made. Its sandbox's folders are there for as long as it is.
struct Watcher {
    presence: ChildPresence,
    findings: Arc<Mutex<Vec<String>>>,
}

impl Watcher {
    async fn look(&self) {
        let sandbox = self.presence.sandbox().clone();
        let ended = Instant::now();
        // Fails when the runtime is shutting down; then the sandbox looks when it is dropped.
        let looked = tokio::task::spawn_blocking(move || sandbox.look(ended)).await;
        if let Ok(found) = looked {
            let mut findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
            findings.extend(found);
        }
    }
}

/// Copies the supervisor's reports into the state, to the end. That the program has ended is told when it was looked at what it
/// has made. Says whether somebody may have gone on after that look.
async fn follow(
    mut lifeline: tokio::net::UnixStream,
    sender: &watch::Sender<ChildState>,
    watcher: Option<&Watcher>,
) -> bool {
    let mut are_others_left = true;
    let mut frame = [0; MESSAGE_BYTES];
    while lifeline.read_exact(&mut frame).await.is_ok() {
        let Some(Message::Ended(report)) = Message::decode(frame) else {
            continue;
        };
        if let Some(watcher) = watcher {
            watcher.look().await;
        }
        sender.send_modify(|state| {
            state.main = Some(ExitStatus::from_wait_status(report.wait_status));
            state.all_gone = !report.others_left;
            state.out_of_memory = report.out_of_memory;
        });
        are_others_left = report.others_left;
    }
    are_others_left
}

/// Occupies the numbers that the child's descriptors are to have, so that the lifeline, on which a failed exec is told, gets a
/// higher one: it would be overwritten. Only another thread that closes such a number in this very moment could bring that about,
/// and then a failed exec would look like a program that ended at once.
fn reserve_numbers(count: usize) -> io::Result<Vec<File>> {
    let mut reserved = Vec::new();
    if count == 0 {
        return Ok(reserved);
    }
    let end = RawFd::try_from(count).map_or(RawFd::MAX, |count| count + 3);
    loop {
        let file = File::open("/dev/null")?;
        if file.as_raw_fd() >= end {
            return Ok(reserved);
        }
        reserved.push(file);
    }
}
