//! The one task of a conversation: it carries out what was asked for, one thing after the other, and passes on what happens.

use std::sync::Arc;

use pirn_session::now_ms;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::agent::{Shared, lock};
use crate::error::AgentError;
use crate::event::{AgentEvent, CompactionReason, CompactionReport};
use crate::machine::End;
use crate::options::Wakes;
use crate::run::Run;

/// Something that was asked for.
pub(crate) enum Job {
    /// Carry out what the machine wants.
    Run,
    /// Make the conversation shorter.
    Compact {
        focus: Option<String>,
        answer: oneshot::Sender<Result<CompactionReport, AgentError>>,
    },
}

/// Carries out jobs until the conversation is closed.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    jobs: mpsc::Receiver<Job>,
    lifetime: CancellationToken,
}

/// What ends a rest.
enum Next {
    Job(Option<Job>),
    ScriptEnd(String),
    Closed,
}

impl Worker {
    pub(crate) fn new(
        shared: Arc<Shared>,
        jobs: mpsc::Receiver<Job>,
        lifetime: CancellationToken,
    ) -> Self {
        Self {
            shared,
            jobs,
            lifetime,
        }
    }

    pub(crate) async fn live(mut self) {
        loop {
            match self.next().await {
                Next::Job(Some(Job::Run)) => self.run().await,
                Next::Job(Some(Job::Compact { focus, answer })) => {
                    let mut run = Run::new(&self.shared);
                    let report = run
                        .compact(CompactionReason::Manual, focus.as_deref())
                        .await;
                    // Whoever asked may be gone.
                    drop(answer.send(report));
                }
                Next::ScriptEnd(text) => {
                    let woken = {
                        let mut machine = lock(&self.shared.machine);
                        let begins = machine.is_idle();
                        let woken = machine.wake(text, now_ms());
                        woken.is_ok() && begins
                    };
                    if woken {
                        *lock(&self.shared.cancel) = CancellationToken::new();
                        self.shared.status.send_modify(|status| status.runs += 1);
                        self.run().await;
                    }
                }
                Next::Job(None) | Next::Closed => return,
            }
        }
    }

    /// Passes on what happens until there is something to do.
    async fn next(&mut self) -> Next {
        let stays = lock(&self.shared.options).wakes == Wakes::AfterSettling;
        let is_awake = stays && lock(&self.shared.machine).may_wake();
        let cancel = CancellationToken::new();
        let scripts = async {
            let ended = if is_awake {
                self.shared.tools.script_end(&cancel).await
            } else {
                None
            };
            match ended {
                Some(text) => text,
                None => std::future::pending().await,
            }
        };
        let mut scripts = std::pin::pin!(scripts);
        let waiting = async {
            tokio::select! {
                biased;
                () = self.lifetime.cancelled() => Next::Closed,
                job = self.jobs.recv() => Next::Job(job),
                text = &mut scripts => Next::ScriptEnd(text),
            }
        };
        pass_on(&self.shared, waiting).await
    }

    async fn run(&mut self) {
        let mut run = Run::new(&self.shared);
        let end = run.carry_out().await.unwrap_or_else(|error| {
            lock(&self.shared.machine).give_up();
            End::NotKept {
                message: error_text(&error),
            }
        });
        if matches!(end, End::NotKept { .. }) {
            let settled = AgentEvent::AgentSettled { aborted: false };
            self.shared.send(settled).await;
        }
        self.shared.status.send_modify(|status| {
            status.runs = status.runs.saturating_sub(1);
            status.last = Some(end);
        });
    }
}

/// An error with its causes, in one line.
fn error_text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// Does work, and meanwhile passes on what the runtime tells, in order.
pub(crate) async fn pass_on<T>(shared: &Shared, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            event = shared.feed.next() => {
                shared.send(event).await;
            }
            done = &mut work => {
                while let Some(event) = shared.feed.take() {
                    shared.send(event).await;
                }
                return done;
            }
        }
    }
}
