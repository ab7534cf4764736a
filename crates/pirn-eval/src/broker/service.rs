//! The loop of the broker.

mod starting;

use std::io;
use std::os::fd::OwnedFd;

use pirn_sandbox::NetworkAnswer;
use tokio::net::unix::pipe;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, sleep_until};

use super::active::{Active, Fault, LineUse, Parts, Runner, Start};
use super::event::{ProcessEvent, WorkerExit};
use super::line_writer::{Closed, LineWriter};
use super::pool::NamespacePool;
use super::worker_factory::{ProcessWorker, WorkerFactory};
use super::worker_pipes::{PipeEvent, Reads};
use super::zygote::Zygote;
use crate::frame::{
    Cause, Ended, EngineName, LineReader, ORIGIN_MARK, Order, Report, Setup, StopHow, encode_report,
};
use crate::limits::FRAME_BYTES_MAX;
use crate::outcome::HostDecision;

/// Serves until the host is gone.
pub(super) async fn serve(stdin: OwnedFd, stdout: OwnedFd) -> io::Result<()> {
    let host = LineReader::new(pipe::Receiver::from_owned_fd(stdin)?);
    let writer = LineWriter::new(pipe::Sender::from_owned_fd(stdout)?);
    let (sender, events) = unbounded_channel();
    let mut service = Service {
        host,
        writer,
        events,
        pool: NamespacePool::new(sender.clone()),
        sender,
        factory: Err("The broker was not configured.".to_owned()),
        engine: EngineName::Fresh,
        zygote: None,
        spare: None,
        awaits_eval: None,
        active: None,
    };
    // The only error is that the host is gone, which is the usual end.
    while service.turn().await.is_ok() {}
    service.end_workers().await;
    Ok(())
}

struct Service {
    host: LineReader<pipe::Receiver>,
    writer: LineWriter<pipe::Sender>,
    events: UnboundedReceiver<ProcessEvent>,
    sender: tokio::sync::mpsc::UnboundedSender<ProcessEvent>,
    factory: Result<WorkerFactory, String>,
    engine: EngineName,
    zygote: Option<Zygote>,
    spare: Option<ProcessWorker>,
    /// The next line of the host is the `eval` frame of this.
    awaits_eval: Option<Start>,
    active: Option<Active>,
    pool: NamespacePool,
}

enum Turn {
    Host(bool),
    Pipe,
    Process(ProcessEvent),
    Flushed(Result<(), Closed>),
    Time,
}

impl Service {
    /// Waits for one thing and does what follows from it.
    async fn turn(&mut self) -> Result<(), Closed> {
        match self.wait().await {
            Turn::Host(true) => self.on_host_lines().await?,
            Turn::Host(false) => return Err(Closed),
            Turn::Pipe => {}
            Turn::Process(event) => self.on_process(event)?,
            Turn::Flushed(flushed) => flushed?,
            Turn::Time => {
                if let Some(active) = &mut self.active {
                    active.on_time(self.zygote.as_ref());
                }
            }
        }
        self.on_worker()?;
        self.end_if_over()
    }

    async fn wait(&mut self) -> Turn {
        let is_clogged = self.writer.is_clogged();
        let wakes_at = self.active.as_ref().and_then(Active::wakes_at);
        let reads = if is_clogged {
            Reads::Paused
        } else {
            Reads::Running
        };
        let Self {
            host,
            writer,
            events,
            active,
            ..
        } = self;
        let event = async {
            match active {
                Some(active) => active.pipes.event(reads).await,
                None => std::future::pending::<Option<PipeEvent>>().await,
            }
        };
        tokio::select! {
            filled = host.fill() => Turn::Host(filled.is_ok()),
            _event = event => Turn::Pipe,
            Some(event) = events.recv() => Turn::Process(event),
            flushed = writer.flush(), if is_clogged => Turn::Flushed(flushed),
            () = sleep_until(wakes_at.unwrap_or_else(Instant::now)), if wakes_at.is_some() => Turn::Time,
        }
    }

    /// Ends all workers and waits for that, so that nobody writes to the folders that are removed then.
    async fn end_workers(&self) {
        let runs = self
            .active
            .as_ref()
            .and_then(|active| match &active.runner {
                Runner::Fork { .. } => None,
                Runner::Process { child, .. } => Some(child),
            });
        let children = self
            .pool
            .children()
            .chain(self.zygote.as_ref().and_then(Zygote::child))
            .chain(self.spare.as_ref().map(|spare| &spare.child))
            .chain(runs)
            .map(|child| child.kill_all());
        futures_util::future::join_all(children).await;
    }

    fn report(&mut self, report: &Report) -> Result<(), Closed> {
        let mut line = Vec::new();
        encode_report(&mut line, report);
        self.writer.send(&line)
    }

    async fn on_host_lines(&mut self) -> Result<(), Closed> {
        loop {
            // The host keeps to the limit; a line beyond it means that it is no host.
            let Some(line) = self.host.next_line().map_err(|_| Closed)? else {
                return Ok(());
            };
            if let Some(start) = self.awaits_eval.take() {
                let line = line.to_vec();
                self.start(start, &line).await?;
            } else if line.first() == Some(&ORIGIN_MARK) {
                let order = line
                    .get(1..)
                    .and_then(|json| serde_json::from_slice(json).ok())
                    .ok_or(Closed)?;
                self.obey(order)?;
            } else if let Some(active) = &mut self.active {
                // A worker that does not read any more ends in another way.
                let _gone = active.pipes.inbox.send(line);
            }
        }
    }

    fn obey(&mut self, order: Order) -> Result<(), Closed> {
        match order {
            Order::Configure(setup) => self.configure(*setup),
            Order::Start {
                id,
                branch,
                engine,
                output_bytes_max,
            } => {
                self.awaits_eval = Some(Start {
                    id,
                    branch,
                    engine,
                    output_bytes_max,
                });
                Ok(())
            }
            Order::Stop { id, how } => {
                if let Some(active) = self.active.as_mut().filter(|active| active.id == id) {
                    active.stop(how, self.zygote.as_ref());
                }
                Ok(())
            }
            Order::Freeze { id } => {
                if let Some(active) = self.active.as_mut().filter(|active| active.id == id) {
                    active.freeze(self.zygote.as_ref());
                }
                Ok(())
            }
            Order::Thaw { id } => {
                if let Some(active) = self.active.as_mut().filter(|active| active.id == id) {
                    active.thaw(self.zygote.as_ref());
                }
                Ok(())
            }
            Order::Release { id } => self.release(&id),
            Order::EndBranch { branch } => {
                self.pool.end(branch);
                Ok(())
            }
            Order::AnswerHost { number, answer } => {
                if let Ok(factory) = &self.factory {
                    factory.answer_host(number, answer);
                }
                Ok(())
            }
            Order::Explain { text } => {
                let sentences = match &self.factory {
                    Ok(factory) => factory.explain_denials(&text),
                    Err(_) => Vec::new(),
                };
                self.report(&Report::Explained { sentences })
            }
        }
    }

    fn configure(&mut self, setup: Setup) -> Result<(), Closed> {
        self.engine = setup.engine;
        self.factory = WorkerFactory::new(setup, self.sender.clone());
        let (sandbox, refusal) = match &self.factory {
            Ok(factory) => (factory.sandbox().report().ok().cloned(), None),
            Err(refusal) => (None, Some(refusal.clone())),
        };
        self.report(&Report::Configured { sandbox, refusal })?;
        self.warm_up();
        Ok(())
    }

    fn report_started(&mut self) -> Result<(), Closed> {
        let Some(active) = &self.active else {
            return Ok(());
        };
        let report = Report::Started {
            id: active.id.clone(),
            interpreter: active.interpreter.clone().unwrap_or_default(),
            is_reused: active.is_reused,
        };
        self.report(&report)
    }

    fn on_process(&mut self, event: ProcessEvent) -> Result<(), Closed> {
        match event {
            ProcessEvent::ForkEnded { id, status } => {
                let was_out_of_memory = self.zygote.as_mut().is_some_and(Zygote::was_out_of_memory);
                if let Some(active) = self.active.as_mut().filter(|active| active.id == id) {
                    active.on_exit(WorkerExit::of_fork(status, was_out_of_memory));
                }
            }
            ProcessEvent::ZygoteGone { key, exit } => {
                self.zygote.take_if(|zygote| zygote.key == key);
                let runs_in_it = |active: &&mut Active| matches!(active.runner, Runner::Fork { zygote_key } if zygote_key == key);
                if let Some(active) = self.active.as_mut().filter(runs_in_it) {
                    active.on_exit(WorkerExit {
                        is_success: false,
                        ..exit
                    });
                }
            }
            ProcessEvent::ProcessGone { key, exit } => {
                self.spare.take_if(|spare| spare.key == key);
                let is_its = |active: &&mut Active| matches!(active.runner, Runner::Process { key: own, .. } if own == key);
                if let Some(active) = self.active.as_mut().filter(is_its) {
                    active.on_exit(exit);
                }
            }
            ProcessEvent::NamespaceLost { key, reason } => {
                if let Some(branch) = self.pool.forget(key) {
                    self.report(&Report::BranchLost { branch, reason })?;
                }
            }
            ProcessEvent::HostAsked { number, host, port } => match (&self.active, &self.factory) {
                (Some(_), _) => self.report(&Report::HostAsked { number, host, port })?,
                // Nobody follows what runs on between two evals.
                (None, Ok(factory)) => factory.answer_host(number, NetworkAnswer::Unanswered),
                (None, Err(_)) => {}
            },
            ProcessEvent::BranchEnded { branch } => {
                self.report(&Report::BranchEnded { branch })?;
            }
        }
        Ok(())
    }

    /// Passes on what the worker has sent and printed, as far as the host takes it.
    fn on_worker(&mut self) -> Result<(), Closed> {
        if let Some(active) = &mut self.active {
            active.output.take(&mut active.pipes);
        }
        while let Some(line_use) = self.pass_line()? {
            match line_use {
                LineUse::Forward | LineUse::ForwardAfterOutput => {}
                LineUse::Ready => {
                    if let Some(active) = &mut self.active {
                        active.begin(active.interpreter.clone().unwrap_or_default());
                    }
                    self.report_started()?;
                }
                LineUse::Fault(fault) => self.on_fault(fault)?,
            }
        }
        let is_due = |active: &&mut Active| {
            active.interpreter.is_some()
                && active
                    .output
                    .flush_at()
                    .is_some_and(|at| at <= Instant::now())
        };
        if let Some(active) = self.active.as_mut().filter(is_due) {
            let mut lines = Vec::new();
            active.output.flush(&active.id, &mut lines);
            self.writer.send(&lines)?;
        }
        Ok(())
    }

    /// Looks at the next line of the worker and forwards it if it is good; `None` when there is none or the host is busy.
    fn pass_line(&mut self) -> Result<Option<LineUse>, Closed> {
        let (Some(active), Ok(factory)) = (&mut self.active, &self.factory) else {
            return Ok(None);
        };
        if self.writer.is_clogged() || active.fault.is_some() {
            return Ok(None);
        }
        let Parts {
            pipes,
            frames,
            interpreter,
        } = active.parts();
        let line = match pipes.frames.next_line() {
            Ok(None) => return Ok(None),
            Ok(Some(line)) => line,
            Err(_too_long) => {
                let text = format!("it sent a frame above the limit of {FRAME_BYTES_MAX} bytes");
                return Ok(Some(LineUse::Fault(Fault::Protocol(text))));
            }
        };
        let payload = line.strip_suffix(b"\n").unwrap_or(line);
        let line_use = Active::judge(frames, interpreter, factory, payload);
        match line_use {
            LineUse::Forward => self.writer.send(line)?,
            LineUse::ForwardAfterOutput => {
                // Copied, since reading the outputs needs the pipes.
                let line = line.to_vec();
                active.output.take_now(&mut active.pipes);
                let mut lines = Vec::new();
                active.output.flush(&active.id, &mut lines);
                lines.extend_from_slice(&line);
                self.writer.send(&lines)?;
            }
            LineUse::Ready | LineUse::Fault(_) => {}
        }
        Ok(Some(line_use))
    }

    /// The worker is done for.
    fn on_fault(&mut self, fault: Fault) -> Result<(), Closed> {
        let Some(active) = &mut self.active else {
            return Ok(());
        };
        let id = active.id.clone();
        let report = match &fault {
            Fault::Protocol(message) => Some(Report::Fault {
                id,
                message: message.clone(),
            }),
            Fault::Unfit(_) => None,
        };
        active.fault = Some(fault);
        active.pipes.are_frames_open = false;
        active.stop(StopHow::Kill, self.zygote.as_ref());
        report.map_or(Ok(()), |report| self.report(&report))
    }

    /// The eval has completed and its live namespace stays.
    fn release(&mut self, id: &str) -> Result<(), Closed> {
        let Some(mut active) = self.active.take_if(|active| active.id == id) else {
            return Ok(());
        };
        if active.exit.is_some() || active.engine == EngineName::Fresh {
            self.active = Some(active);
            return Ok(());
        }
        active.thaw(self.zygote.as_ref());
        active.output.take_now(&mut active.pipes);
        active.output.finish();
        let mut lines = Vec::new();
        active.output.flush(&active.id, &mut lines);
        let report = Report::Ended(Ended {
            id: active.id.clone(),
            cause: Cause::Kept,
            detail: String::new(),
            is_cut: active.output.is_cut(),
            decisions: self.end_network(),
            set_aside: self.set_aside(&active.runner),
        });
        encode_report(&mut lines, &report);
        if let Some((branch, worker, interpreter)) = active.into_worker() {
            self.pool.put(branch, worker, interpreter);
        }
        self.writer.send(&lines)
    }

    fn end_if_over(&mut self) -> Result<(), Closed> {
        if self.writer.is_clogged() {
            return Ok(());
        }
        let Some(mut active) = self.active.take_if(|active| active.is_over()) else {
            return Ok(());
        };
        if let Some(unread) = active.unread.take() {
            return self.start_anew(unread);
        }
        // A fork ended; its zygote has to serve the next eval.
        active.thaw(self.zygote.as_ref());
        active.output.take_now(&mut active.pipes);
        active.output.finish();
        let mut lines = Vec::new();
        let unsent = if active.interpreter.is_none() {
            active.output.unsent_errors()
        } else {
            active.output.flush(&active.id, &mut lines);
            String::new()
        };
        let exit = active.exit.take().unwrap_or_else(|| WorkerExit {
            is_success: false,
            detail: "unknown end".to_owned(),
            was_out_of_memory: false,
        });
        if let Ok(factory) = &mut self.factory {
            factory.was_out_of_memory = exit.was_out_of_memory;
        }
        let (cause, detail) = match (active.fault.take(), &active.interpreter) {
            (Some(Fault::Unfit(problem)), _) => (Cause::NotStarted, problem),
            (None, None) => (Cause::NotStarted, self.explain(&exit, &unsent)),
            (None, Some(_)) if exit.is_success => (Cause::Finished, exit.detail),
            (Some(Fault::Protocol(_)), _) | (None, Some(_)) => (Cause::Died, exit.detail),
        };
        let report = Report::Ended(Ended {
            id: active.id.clone(),
            cause,
            detail,
            is_cut: active.output.is_cut(),
            decisions: self.end_network(),
            set_aside: self.set_aside(&active.runner),
        });
        encode_report(&mut lines, &report);
        self.writer.send(&lines)?;
        self.warm_up();
        Ok(())
    }

    /// The eval is over: its questions have no answer any more. Gives what the network proxy decided.
    fn end_network(&self) -> Vec<HostDecision> {
        let Ok(factory) = &self.factory else {
            return Vec::new();
        };
        factory.give_up_questions();
        factory.decisions()
    }

    /// Looks at what programs have made, before anybody is told of the end of one: processes that it left may go on.
    fn set_aside(&self, runner: &Runner) -> Vec<String> {
        let mut found = match runner {
            // Looked at when it ended.
            Runner::Process { child, .. } => child.set_aside(),
            Runner::Fork { .. } => Vec::new(),
        };
        if let Ok(factory) = &self.factory {
            found.extend(factory.sandbox().look_meanwhile());
        }
        found
    }

    /// Why a worker ended before it was ready.
    fn explain(&self, exit: &WorkerExit, printed: &str) -> String {
        match &self.factory {
            Ok(factory) => factory.explain_early_exit(&exit.detail, printed.trim()),
            Err(refusal) => refusal.clone(),
        }
    }
}
