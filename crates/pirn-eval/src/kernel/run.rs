//! One eval over a broker, from its start to its end.

use std::fmt::Write as _;
use std::time::Duration;

use pirn_codemode::imports_as_calls;
use pirn_sandbox::ChildOutput;
use pirn_tool::{Deadline, WaitClock};
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep_until};

use super::broker_connection::{BrokerConnection, Outgoing, read_own_line};
use super::calls::Calls;
use super::protocol::{EvalProtocol, Step};
use super::questions::Questions;
use super::queue::Job;
use crate::frame::{
    Ended, EngineName, EvalContent, LineReader, ORIGIN_MARK, Order, Report, StopHow, Stream,
    TooLarge, parse_worker_frame, push_eval, push_finalize,
};
use crate::limits::{
    BROKER_GRACE, FINISH_GRACE, FRAME_BYTES_MAX, FRESH_GRACE, LIVE_INTERRUPT_GRACE,
    LIVE_TERMINATE_GRACE, WORKER_START,
};
use crate::outcome::{EvalFailure, EvalFailureKind};
use crate::request::{EvalUpdate, Language};
use crate::text::cut;

/// What one eval left, before it is judged.
pub(super) struct Transcript {
    pub(super) protocol: EvalProtocol,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// Why it was stopped, if it was.
    pub(super) forced: Option<EvalFailure>,
    pub(super) interpreter: String,
    pub(super) is_reused: bool,
    pub(super) started: Option<Instant>,
}

/// How an eval was over for the kernel.
pub(super) enum End {
    /// As the broker says.
    Ended(Ended),
    /// The broker is gone.
    BrokerGone,
    /// The broker has not done its part in time.
    BrokerSilent,
    /// The broker writes what is not understood.
    BrokerUnreadable,
    /// The eval was not given to the broker; says why.
    NotSent(String),
}

/// What an eval is started with.
pub(super) struct RunSetup<'a> {
    pub(super) id: &'a str,
    pub(super) engine: EngineName,
    pub(super) cwd: &'a str,
    pub(super) output_bytes_max: usize,
    pub(super) timeout: Duration,
    pub(super) state: Option<&'a RawValue>,
}

/// A live namespace that was lost: its branch, and why.
pub(super) type LostNamespace = (String, String);

/// One eval that runs.
struct Run<'a> {
    job: &'a Job,
    setup: RunSetup<'a>,
    transcript: Transcript,
    calls: Calls,
    questions: Questions,
    /// How long the program may go on; set when it starts.
    deadline: Option<Deadline>,
    /// Whether the broker was told to freeze it.
    is_frozen: bool,
    guard: Guard,
    end: Option<End>,
    lost: Vec<LostNamespace>,
}

/// What is awaited besides the program, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guard {
    Nothing,
    /// The broker has its own time-outs; when even these have passed, it is killed.
    Broker(Instant),
    /// The worker has a result and is killed when it does not finish.
    Finish(Instant),
}

impl Guard {
    fn broker_within(time: Duration) -> Self {
        Self::Broker(Instant::now() + time + BROKER_GRACE)
    }

    fn at(self) -> Option<Instant> {
        match self {
            Self::Nothing => None,
            Self::Broker(at) | Self::Finish(at) => Some(at),
        }
    }
}

/// Runs one eval; also gives the live namespaces that were lost meanwhile.
pub(super) async fn run(
    connection: &mut BrokerConnection,
    job: &Job,
    setup: RunSetup<'_>,
    questions: Questions,
) -> (Transcript, Calls, End, Vec<LostNamespace>) {
    let mut run = Run::new(job, setup, questions);
    let BrokerConnection {
        reader, outgoing, ..
    } = connection;
    run.send_start(outgoing);
    loop {
        if let Some(end) = run.end.take() {
            return (run.transcript, run.calls, end, run.lost);
        }
        let may_stop = run.transcript.forced.is_none();
        let was_still = run.is_frozen;
        let is_timed = may_stop && run.deadline.is_some();
        let guard = run.guard.at();
        tokio::select! {
            // In this order, so that no flood of frames puts off the end.
            biased;
            () = over(run.deadline.as_ref()), if is_timed => run.on_deadline(outgoing),
            () = sleep_until_some(guard), if guard.is_some() => run.on_guard(outgoing),
            () = job.ticket.handle().invalidated.cancelled(), if may_stop => {
                run.on_invalidated(outgoing);
            }
            () = job.request.cancel.cancelled(), if may_stop => run.on_abort(outgoing),
            () = job.abandoned.cancelled(), if may_stop => run.on_abort(outgoing),
            flushed = outgoing.flush(), if !outgoing.is_empty() => {
                if flushed.is_err() {
                    run.end = Some(End::BrokerGone);
                }
            }
            ended = run.calls.next() => {
                run.calls.settle(ended, outgoing.lines());
                run.finalize_if_settled(outgoing);
            }
            Some((number, answer)) = run.questions.next(), if run.questions.are_open() => {
                outgoing.order(&Order::AnswerHost { number, answer });
            }
            // After calls and questions, so that what is answered at once freezes nothing.
            () = turned(&job.request.clock, was_still), if is_timed => run.on_clock(outgoing),
            filled = reader.fill() => {
                if filled.is_err() {
                    run.end = Some(End::BrokerGone);
                }
                run.on_lines(reader, outgoing);
            }
        }
    }
}

/// Waits until the clock stops, or runs again where it stood still.
async fn turned(clock: &WaitClock, was_still: bool) {
    if was_still {
        clock.running().await;
    } else {
        clock.still().await;
    }
}

async fn over(deadline: Option<&Deadline>) {
    match deadline {
        Some(deadline) => deadline.over().await,
        None => std::future::pending().await,
    }
}

async fn sleep_until_some(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

impl<'a> Run<'a> {
    fn new(job: &'a Job, setup: RunSetup<'a>, questions: Questions) -> Self {
        Self {
            transcript: Transcript {
                protocol: EvalProtocol::new(setup.id.to_owned()),
                stdout: String::new(),
                stderr: String::new(),
                forced: None,
                interpreter: String::new(),
                is_reused: false,
                started: None,
            },
            calls: Calls::new(&job.request),
            questions,
            job,
            setup,
            deadline: None,
            is_frozen: false,
            guard: Guard::broker_within(WORKER_START),
            end: None,
            lost: Vec::new(),
        }
    }

    fn send_start(&mut self, outgoing: &mut Outgoing) {
        let RunSetup {
            id,
            engine,
            output_bytes_max,
            ..
        } = self.setup;
        let request = &self.job.request;
        let before = outgoing.lines().len();
        outgoing.order(&Order::Start {
            id: id.to_owned(),
            branch: request.branch.clone(),
            engine,
            output_bytes_max,
        });
        let code = match request.language {
            Language::JavaScript => imports_as_calls(&self.job.code),
            Language::Python => None,
        };
        let content = EvalContent {
            id,
            code: code.as_deref().unwrap_or(&self.job.code),
            cwd: self.setup.cwd,
            engine,
            capabilities: &request.capabilities,
            output_limit_bytes: output_bytes_max,
            state: self.setup.state,
        };
        if let Err(TooLarge { bytes }) = push_eval(outgoing.lines(), &content) {
            outgoing.lines().truncate(before);
            let text = format!(
                "The program, its state and the descriptions of what it may call have {bytes} bytes together; {FRAME_BYTES_MAX} is the limit."
            );
            self.end = Some(End::NotSent(text));
        }
    }

    fn update(&self, update: EvalUpdate) {
        if let Some(updates) = &self.job.request.updates {
            updates(update);
        }
    }

    /// Stops the eval. The first reason counts.
    fn force(
        &mut self,
        kind: EvalFailureKind,
        message: String,
        how: StopHow,
        outgoing: &mut Outgoing,
    ) {
        if self.transcript.forced.is_some() {
            return;
        }
        self.transcript.forced = Some(EvalFailure {
            kind,
            message,
            trace: None,
        });
        self.calls.cancel();
        self.questions.close();
        // Whoever is frozen could not finish.
        self.set_frozen(false, outgoing);
        let may_finish = self.transcript.protocol.result().is_some() && how == StopHow::Interrupt;
        if may_finish && self.setup.engine == EngineName::Persistent {
            // The program is over, so there is nothing to interrupt.
            self.guard = Guard::Finish(Instant::now() + FINISH_GRACE);
            self.finalize_if_settled(outgoing);
        } else if may_finish {
            self.stop(StopHow::Kill, outgoing);
        } else {
            self.stop(how, outgoing);
        }
    }

    fn stop(&mut self, how: StopHow, outgoing: &mut Outgoing) {
        outgoing.order(&Order::Stop {
            id: self.setup.id.to_owned(),
            how,
        });
        self.guard = Guard::broker_within(match self.setup.engine {
            EngineName::Fresh => 2 * FRESH_GRACE,
            EngineName::Persistent => LIVE_INTERRUPT_GRACE + LIVE_TERMINATE_GRACE,
        });
    }

    fn on_clock(&mut self, outgoing: &mut Outgoing) {
        self.set_frozen(self.job.request.clock.is_still(), outgoing);
    }

    fn set_frozen(&mut self, is_frozen: bool, outgoing: &mut Outgoing) {
        if self.is_frozen == is_frozen {
            return;
        }
        self.is_frozen = is_frozen;
        let id = self.setup.id.to_owned();
        outgoing.order(&if is_frozen {
            Order::Freeze { id }
        } else {
            Order::Thaw { id }
        });
    }

    fn on_deadline(&mut self, outgoing: &mut Outgoing) {
        let text = format!("It timed out after {} s.", self.setup.timeout.as_secs_f64());
        self.force(EvalFailureKind::Timeout, text, StopHow::Interrupt, outgoing);
    }

    fn on_abort(&mut self, outgoing: &mut Outgoing) {
        let text = "It was aborted.".to_owned();
        self.force(EvalFailureKind::Aborted, text, StopHow::Interrupt, outgoing);
    }

    fn on_invalidated(&mut self, outgoing: &mut Outgoing) {
        let text = "It was invalidated: the kernel was reset or closed.".to_owned();
        self.force(EvalFailureKind::Invalidated, text, StopHow::Kill, outgoing);
    }

    fn on_guard(&mut self, outgoing: &mut Outgoing) {
        match self.guard {
            Guard::Nothing => {}
            Guard::Finish(_) => self.stop(StopHow::Kill, outgoing),
            Guard::Broker(_) => self.end = Some(End::BrokerSilent),
        }
    }

    fn fault(&mut self, problem: &str, outgoing: &mut Outgoing) {
        let text = format!("The worker broke the protocol (invalid protocol message): {problem}.");
        self.force(EvalFailureKind::Protocol, text, StopHow::Kill, outgoing);
    }

    fn on_lines(&mut self, reader: &mut LineReader<ChildOutput>, outgoing: &mut Outgoing) {
        loop {
            match reader.next_line() {
                Ok(Some(line)) => self.on_line(line, outgoing),
                Ok(None) => return,
                // The broker keeps to the limit, so this is none.
                Err(_too_long) => {
                    self.end = Some(End::BrokerUnreadable);
                    return;
                }
            }
        }
    }

    fn on_line(&mut self, line: &[u8], outgoing: &mut Outgoing) {
        if line.first() == Some(&ORIGIN_MARK) {
            match read_own_line(line) {
                Some(report) => self.on_report(report, outgoing),
                None => self.end = Some(End::BrokerUnreadable),
            }
            return;
        }
        if matches!(&self.transcript.forced, Some(failure) if failure.kind == EvalFailureKind::Protocol)
        {
            // Nothing that it says counts any more.
            return;
        }
        match parse_worker_frame(line).and_then(|frame| self.transcript.protocol.on_frame(frame)) {
            Ok(Step::None) => {}
            Ok(Step::Call {
                call_id,
                name,
                input,
            }) => {
                let out = outgoing.lines();
                if self.calls.request(&call_id, &name, input, out).is_err() {
                    self.fault("it used a callId twice", outgoing);
                }
            }
            Ok(Step::Settle) => self.finalize_if_settled(outgoing),
            Ok(Step::Complete) => self.on_complete(outgoing),
            Err(problem) => self.fault(&problem, outgoing),
        }
    }

    fn on_report(&mut self, report: Report, outgoing: &mut Outgoing) {
        match report {
            Report::Started {
                id,
                interpreter,
                is_reused,
            } if id == self.setup.id => {
                let now = Instant::now();
                self.transcript.protocol.start();
                self.transcript.interpreter = interpreter;
                self.transcript.is_reused = is_reused;
                self.transcript.started = Some(now);
                self.deadline = Some(self.job.request.clock.deadline(self.setup.timeout));
                if self.transcript.forced.is_none() {
                    self.guard = Guard::Nothing;
                }
                self.update(EvalUpdate::Started);
            }
            Report::Output { id, stream, text } if id == self.setup.id => {
                self.on_output(stream, text);
            }
            Report::HostAsked { number, host, port } => self.questions.ask(number, host, port),
            Report::Fault { id, message } if id == self.setup.id => {
                self.fault(&message, outgoing);
            }
            Report::Ended(ended) if ended.id == self.setup.id => {
                self.end = Some(End::Ended(ended));
            }
            Report::BranchLost { branch, reason } => self.lost.push((branch, reason)),
            // Of an eval before, or of an order that nobody waits for any more.
            Report::Started { .. }
            | Report::Output { .. }
            | Report::Fault { .. }
            | Report::Ended(_)
            | Report::Configured { .. }
            | Report::Explained { .. }
            | Report::BranchEnded { .. } => {}
        }
    }

    fn on_output(&mut self, stream: Stream, text: String) {
        let kept = match stream {
            Stream::Stdout => &mut self.transcript.stdout,
            Stream::Stderr => &mut self.transcript.stderr,
        };
        // The broker has cut it already.
        let room = self.setup.output_bytes_max.saturating_sub(kept.len());
        kept.push_str(cut(&text, room));
        self.update(match stream {
            Stream::Stdout => EvalUpdate::Stdout(text),
            Stream::Stderr => EvalUpdate::Stderr(text),
        });
    }

    /// Sends the token as soon as there is a result and no call is open. After a stop, open calls interest nobody.
    fn finalize_if_settled(&mut self, outgoing: &mut Outgoing) {
        let may_settle = self.calls.open() == 0 || self.transcript.forced.is_some();
        if !self.transcript.protocol.is_settling() || !may_settle {
            return;
        }
        match fresh_token() {
            Some(token) => {
                // Both are short.
                let _short = push_finalize(outgoing.lines(), self.setup.id, &token);
                self.transcript.protocol.finalize(token);
            }
            None => self.fault("there is no randomness for a token", outgoing),
        }
    }

    fn on_complete(&mut self, outgoing: &mut Outgoing) {
        if self.setup.engine == EngineName::Fresh {
            // It ends by itself, within the time that is left.
            return;
        }
        let is_handled = self
            .transcript
            .protocol
            .result()
            .is_some_and(|result| result.is_interrupt_handled);
        let was_finishing = matches!(self.guard, Guard::Finish(_));
        if self.transcript.forced.is_none() || is_handled || was_finishing {
            let id = self.setup.id.to_owned();
            outgoing.order(&Order::Release { id });
            self.guard = Guard::broker_within(Duration::ZERO);
        } else {
            self.stop(StopHow::Kill, outgoing);
        }
    }
}

/// Sixteen random bytes, so that nobody but the worker's loop, which is told it, can know it.
fn fresh_token() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().fold(String::new(), |mut token, byte| {
        // Writing to a string cannot fail.
        let _infallible = write!(token, "{byte:02x}");
        token
    }))
}
