//! Live namespaces between evals: their outputs are read, and one that speaks out of turn ends.

use std::sync::Arc;

use pirn_sandbox::Child;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::event::ProcessEvent;
use super::worker_factory::ProcessWorker;
use super::worker_pipes::{PipeEvent, Reads, WorkerPipes};
use crate::limits::LIVE_NAMESPACES_MAX;

/// A live namespace that runs nothing.
struct IdleNamespace {
    branch: String,
    key: u64,
    child: Arc<Child>,
    interpreter: String,
    watch: JoinHandle<WorkerPipes>,
    stop: DropGuard,
}

/// A live namespace that was taken for an eval.
pub(super) struct TakenNamespace {
    pub(super) worker: ProcessWorker,
    pub(super) interpreter: String,
}

/// The live namespaces that run nothing; the one not used for longest is first.
pub(super) struct NamespacePool {
    idle: Vec<IdleNamespace>,
    events: UnboundedSender<ProcessEvent>,
}

impl NamespacePool {
    pub(super) fn new(events: UnboundedSender<ProcessEvent>) -> Self {
        Self {
            idle: Vec::new(),
            events,
        }
    }

    /// Puts the namespace of a branch back.
    pub(super) fn put(&mut self, branch: String, worker: ProcessWorker, interpreter: String) {
        let ProcessWorker { key, child, pipes } = worker;
        let stop = CancellationToken::new();
        let events = self.events.clone();
        let watch = tokio::spawn(watch(pipes, key, Arc::clone(&child), stop.clone(), events));
        self.idle.push(IdleNamespace {
            branch,
            key,
            child,
            interpreter,
            watch,
            stop: stop.drop_guard(),
        });
    }

    /// Takes the namespace of a branch for an eval.
    pub(super) async fn take(&mut self, branch: &str) -> Option<TakenNamespace> {
        let position = self.idle.iter().position(|idle| idle.branch == branch)?;
        let idle = self.idle.remove(position);
        drop(idle.stop);
        let mut pipes = idle.watch.await.ok()?;
        if !pipes.are_frames_open {
            // It is ending; its event has gone out or will.
            return None;
        }
        // What its threads printed in the meantime belongs to no eval.
        for pipe in [&mut pipes.stdout, &mut pipes.stderr] {
            pipe.fill_now();
            pipe.take(|_unheard| {});
        }
        Some(TakenNamespace {
            worker: ProcessWorker {
                key: idle.key,
                child: idle.child,
                pipes,
            },
            interpreter: idle.interpreter,
        })
    }

    /// Ends the one not used for longest where there is no room for one more; gives its branch.
    pub(super) fn make_room(&mut self) -> Option<String> {
        if self.idle.len() < LIVE_NAMESPACES_MAX {
            return None;
        }
        let oldest = self.idle.remove(0);
        let branch = oldest.branch.clone();
        tokio::spawn(async move {
            oldest.child.kill_all().await;
        });
        Some(branch)
    }

    /// The processes of all namespaces that run nothing, for ending them.
    pub(super) fn children(&self) -> impl Iterator<Item = &Arc<Child>> {
        self.idle.iter().map(|idle| &idle.child)
    }

    /// Forgets one that is gone; gives its branch.
    pub(super) fn forget(&mut self, key: u64) -> Option<String> {
        let position = self.idle.iter().position(|idle| idle.key == key)?;
        Some(self.idle.remove(position).branch)
    }

    /// Ends the namespace of a branch; [`ProcessEvent::BranchEnded`] follows when it is gone.
    pub(super) fn end(&mut self, branch: String) {
        let position = self.idle.iter().position(|idle| idle.branch == branch);
        let idle = position.map(|position| self.idle.remove(position));
        let events = self.events.clone();
        tokio::spawn(async move {
            if let Some(idle) = idle {
                idle.child.kill_all().await;
            }
            // The broker may be ending.
            let _closed = events.send(ProcessEvent::BranchEnded { branch });
        });
    }
}

/// Reads the outputs of a namespace that runs nothing, until `stop`. Ends it when it says anything.
async fn watch(
    mut pipes: WorkerPipes,
    key: u64,
    child: Arc<Child>,
    stop: CancellationToken,
    events: UnboundedSender<ProcessEvent>,
) -> WorkerPipes {
    loop {
        let event = tokio::select! {
            biased;
            () = stop.cancelled() => return pipes,
            event = pipes.event(Reads::Running) => event,
        };
        match event {
            Some(PipeEvent::Output(_)) => {
                pipes.stdout.take(|_unheard| {});
                pipes.stderr.take(|_unheard| {});
            }
            Some(PipeEvent::Frames) => {
                let reason = if pipes.are_frames_open {
                    "it broke the protocol between two calls"
                } else {
                    "its process ended between two calls"
                };
                pipes.are_frames_open = false;
                child.kill_all().await;
                let reason = reason.to_owned();
                // The broker may be ending.
                let _closed = events.send(ProcessEvent::NamespaceLost { key, reason });
                return pipes;
            }
            None => {}
        }
    }
}
