//! The eval that runs: its worker, its order of frames, and the way to its end.

use std::sync::Arc;

use pirn_sandbox::{Child, KILL_WAIT};
use tokio::time::Instant;

use super::event::WorkerExit;
use super::output::Output;
use super::worker_factory::{ProcessWorker, Refused, WorkerFactory};
use super::worker_pipes::WorkerPipes;
use super::zygote::{ForkSignal, Zygote};
use crate::frame::{EngineName, StopHow, WorkerFrame, parse_worker_frame};
use crate::limits::{
    DRAIN_WAIT, FRAMES_MAX, FRESH_GRACE, LIVE_INTERRUPT_GRACE, LIVE_TERMINATE_GRACE, WORKER_START,
};

/// The eval that runs.
pub(super) struct Active {
    pub(super) id: String,
    pub(super) branch: String,
    pub(super) engine: EngineName,
    pub(super) runner: Runner,
    pub(super) pipes: WorkerPipes,
    pub(super) output: Output,
    /// What results call the interpreter, when the worker is ready.
    pub(super) interpreter: Option<String>,
    pub(super) is_reused: bool,
    frames: u32,
    /// Why the worker's frames are not read any more.
    pub(super) fault: Option<Fault>,
    is_frozen: bool,
    stage: Stage,
    /// When the stage is over.
    stage_ends: Option<Instant>,
    pub(super) exit: Option<WorkerExit>,
    /// What the worker was given, where it may be given to another one: to a worker that was started ahead, until it is ready.
    pub(super) unread: Option<Unread>,
}

/// An eval that nobody has read.
pub(super) struct Unread {
    pub(super) start: Start,
    pub(super) eval_line: Vec<u8>,
}

/// Who runs the program.
pub(super) enum Runner {
    /// A fork of the zygote with this key.
    Fork { zygote_key: u64 },
    /// A process of its own.
    Process { key: u64, child: Arc<Child> },
}

/// What is wrong with a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// It broke the protocol.
    Protocol(String),
    /// It cannot run programs.
    Unfit(String),
}

/// How far the eval is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Starting,
    Running,
    Interrupted,
    Terminated,
    Killed,
    /// The worker is gone; what is left in its pipes is read.
    Draining,
}

/// What to do with a line of the worker.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineUse {
    /// The worker is ready.
    Ready,
    /// Passed on to the host as it is.
    Forward,
    /// For the host, after everything that was printed before.
    ForwardAfterOutput,
    /// The worker is done for.
    Fault(Fault),
}

impl Active {
    pub(super) fn new(start: Start, runner: Runner, pipes: WorkerPipes) -> Self {
        let Start {
            id,
            branch,
            engine,
            output_bytes_max,
        } = start;
        Self {
            id,
            branch,
            engine,
            runner,
            pipes,
            output: Output::new(output_bytes_max),
            interpreter: None,
            is_reused: false,
            frames: 0,
            fault: None,
            is_frozen: false,
            stage: Stage::Starting,
            stage_ends: Some(Instant::now() + WORKER_START),
            exit: None,
            unread: None,
        }
    }

    /// The worker has said that it is ready, or was so before.
    pub(super) fn begin(&mut self, interpreter: String) {
        self.interpreter = Some(interpreter);
        self.unread = None;
        if self.stage == Stage::Starting {
            self.stage = Stage::Running;
            self.stage_ends = None;
        }
    }

    /// When there is something to do: the end of a stage, or output that is due.
    pub(super) fn wakes_at(&self) -> Option<Instant> {
        // Once the pipes have had their time, the end waits for the host alone.
        let stage = self
            .stage_ends
            .filter(|ends| self.stage != Stage::Draining || *ends > Instant::now());
        // Before the start nobody is shown anything.
        let flush = self
            .output
            .flush_at()
            .filter(|_| self.interpreter.is_some());
        match (stage, flush) {
            (Some(stage), Some(flush)) => Some(stage.min(flush)),
            (stage, flush) => stage.or(flush),
        }
    }

    /// Decides about one line, without its newline.
    pub(super) fn judge(
        frames: &mut u32,
        interpreter: &mut Option<String>,
        factory: &WorkerFactory,
        line: &[u8],
    ) -> LineUse {
        *frames += 1;
        if *frames > FRAMES_MAX {
            return LineUse::protocol(format!(
                "it sent more than {FRAMES_MAX} frames in one eval, which is the limit"
            ));
        }
        match parse_worker_frame(line) {
            Err(problem) => LineUse::protocol(format!("it sent a bad frame: {problem}")),
            Ok(WorkerFrame::Ready { runtime, version }) => {
                if interpreter.is_some() {
                    return LineUse::protocol("it was ready twice".to_owned());
                }
                match factory.check_ready(&runtime, &version) {
                    Ok(name) => {
                        *interpreter = Some(name);
                        LineUse::Ready
                    }
                    Err(Refused::Protocol(problem)) => LineUse::protocol(problem),
                    Err(Refused::Unfit(problem)) => LineUse::Fault(Fault::Unfit(problem)),
                }
            }
            Ok(_) if interpreter.is_none() => {
                LineUse::protocol("it sent a frame before it was ready".to_owned())
            }
            Ok(WorkerFrame::CapabilityCall { .. }) => LineUse::Forward,
            Ok(
                WorkerFrame::Display { .. }
                | WorkerFrame::EvalResult(_)
                | WorkerFrame::EvalComplete { .. },
            ) => LineUse::ForwardAfterOutput,
        }
    }

    /// Parts of it that are used together while a line is borrowed.
    pub(super) fn parts(&mut self) -> Parts<'_> {
        Parts {
            pipes: &mut self.pipes,
            frames: &mut self.frames,
            interpreter: &mut self.interpreter,
        }
    }

    /// The child that everything of the eval runs below.
    fn child<'a>(&'a self, zygote: Option<&'a Zygote>) -> Option<&'a Arc<Child>> {
        match &self.runner {
            Runner::Fork { zygote_key } => zygote
                .filter(|zygote| zygote.key == *zygote_key)
                .and_then(Zygote::child),
            Runner::Process { child, .. } => Some(child),
        }
    }

    /// Stops its processes where they are, while the program runs. If we die meanwhile, they are killed as always.
    pub(super) fn freeze(&mut self, zygote: Option<&Zygote>) {
        if self.stage == Stage::Running
            && let Some(child) = self.child(zygote)
        {
            child.freeze();
            self.is_frozen = true;
        }
    }

    /// Lets its processes go on.
    pub(super) fn thaw(&mut self, zygote: Option<&Zygote>) {
        if std::mem::take(&mut self.is_frozen)
            && let Some(child) = self.child(zygote)
        {
            child.thaw();
        }
    }

    /// Starts to stop it.
    pub(super) fn stop(&mut self, how: StopHow, zygote: Option<&Zygote>) {
        // Whoever is frozen hears nothing.
        self.thaw(zygote);
        self.unread = None;
        match (how, self.stage) {
            (_, Stage::Killed | Stage::Draining)
            | (StopHow::Interrupt, Stage::Interrupted | Stage::Terminated) => {}
            (StopHow::Kill, _) | (StopHow::Interrupt, Stage::Starting) => self.kill(zygote),
            (StopHow::Interrupt, Stage::Running) => self.interrupt(zygote),
        }
    }

    fn enter(&mut self, stage: Stage, lasts: std::time::Duration) {
        self.stage = stage;
        self.stage_ends = Some(Instant::now() + lasts);
    }

    fn interrupt(&mut self, zygote: Option<&Zygote>) {
        match &self.runner {
            Runner::Fork { .. } => {
                if let Some(zygote) = zygote {
                    zygote.signal(&self.id, ForkSignal::Int);
                }
            }
            Runner::Process { child, .. } => child.interrupt(),
        }
        let grace = match self.engine {
            EngineName::Fresh => FRESH_GRACE,
            EngineName::Persistent => LIVE_INTERRUPT_GRACE,
        };
        self.enter(Stage::Interrupted, grace);
    }

    fn terminate(&mut self, zygote: Option<&Zygote>) {
        match &self.runner {
            Runner::Fork { .. } => {
                if let Some(zygote) = zygote {
                    zygote.signal(&self.id, ForkSignal::Term);
                }
                self.enter(Stage::Terminated, FRESH_GRACE);
            }
            Runner::Process { child, .. } => {
                let grace = match self.engine {
                    EngineName::Fresh => FRESH_GRACE,
                    EngineName::Persistent => LIVE_TERMINATE_GRACE,
                };
                let child = Arc::clone(child);
                tokio::spawn(async move { child.terminate(grace).await });
                self.enter(Stage::Killed, grace + 2 * KILL_WAIT);
            }
        }
    }

    /// Kills the worker: first the fork alone, which leaves a warm zygote, then the whole sandbox.
    fn kill(&mut self, zygote: Option<&Zygote>) {
        match &self.runner {
            Runner::Fork { .. } if self.stage != Stage::Terminated => {
                if let Some(zygote) = zygote {
                    zygote.signal(&self.id, ForkSignal::Kill);
                }
                self.enter(Stage::Terminated, FRESH_GRACE);
            }
            Runner::Fork { .. } => {
                if let Some(zygote) = zygote {
                    zygote.kill();
                }
                self.enter(Stage::Killed, 2 * KILL_WAIT);
            }
            Runner::Process { child, .. } => {
                let child = Arc::clone(child);
                tokio::spawn(async move { child.kill_all().await });
                self.enter(Stage::Killed, 2 * KILL_WAIT);
            }
        }
    }

    /// Does what is due.
    pub(super) fn on_time(&mut self, zygote: Option<&Zygote>) {
        if self.stage_ends.is_none_or(|ends| Instant::now() < ends) {
            return;
        }
        match self.stage {
            Stage::Running => self.stage_ends = None,
            Stage::Starting => {
                self.unread = None;
                self.fault = Some(Fault::Unfit(format!(
                    "The interpreter did not answer within {} s.",
                    WORKER_START.as_secs()
                )));
                self.kill(zygote);
            }
            Stage::Interrupted => self.terminate(zygote),
            Stage::Terminated => self.kill(zygote),
            Stage::Killed => {
                // Something hangs inside the kernel; its supervisor goes on trying.
                self.exit.get_or_insert(WorkerExit {
                    is_success: false,
                    detail: "it could not be killed in time".to_owned(),
                    was_out_of_memory: false,
                });
                self.stage = Stage::Draining;
                self.stage_ends = Some(Instant::now());
            }
            Stage::Draining => self.stage_ends = Some(Instant::now()),
        }
    }

    /// The worker is gone.
    pub(super) fn on_exit(&mut self, exit: WorkerExit) {
        if self.exit.is_none() {
            self.exit = Some(exit);
            self.enter(Stage::Draining, DRAIN_WAIT);
        }
    }

    /// Whether the worker is gone and its pipes are empty, or have had their time.
    pub(super) fn is_over(&self) -> bool {
        self.stage == Stage::Draining
            && (self.pipes.have_ended()
                || self.stage_ends.is_some_and(|ends| Instant::now() >= ends))
    }

    /// Its worker process, for the pool.
    pub(super) fn into_worker(self) -> Option<(String, ProcessWorker, String)> {
        let Runner::Process { key, child } = self.runner else {
            return None;
        };
        let worker = ProcessWorker {
            key,
            child,
            pipes: self.pipes,
        };
        Some((self.branch, worker, self.interpreter.unwrap_or_default()))
    }
}

/// The fields that are used while a line of the worker is borrowed; see [`Active::parts`].
pub(super) struct Parts<'a> {
    pub(super) pipes: &'a mut WorkerPipes,
    pub(super) frames: &'a mut u32,
    pub(super) interpreter: &'a mut Option<String>,
}

impl LineUse {
    fn protocol(problem: String) -> Self {
        Self::Fault(Fault::Protocol(problem))
    }
}

/// The fields of [`crate::frame::Order::Start`], kept until the line with the program follows.
#[derive(Clone)]
pub(super) struct Start {
    pub(super) id: String,
    pub(super) branch: String,
    pub(super) engine: EngineName,
    pub(super) output_bytes_max: usize,
}
