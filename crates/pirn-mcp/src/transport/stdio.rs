//! A child process that reads and writes one message per line.

mod input;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pirn_sandbox::{Child, ChildOutput, Command, ExitStatus, OutputMode, Sandbox, Stdin};
use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::input::InputGauge;
use crate::config::StdioServer;
use crate::wire::{Frame, FrameDecoder, Wire};

pub(crate) use self::input::InputUse;

/// Bytes read from the child at a time: the size of a Linux pipe.
const CHUNK_BYTES: usize = 64 * 1024;
/// Messages that may wait for a child that does not read. Each belongs to a call with a limit of its own.
const OUTGOING_MESSAGES_MAX: usize = 64;
/// After the end of its input a well-behaved server is gone at once.
const EXIT_AFTER_INPUT: Duration = Duration::from_millis(500);
/// What is left then gets SIGTERM, and this long until SIGKILL.
const EXIT_AFTER_TERMINATE: Duration = Duration::from_secs(2);
/// How long output may still arrive after the program itself is gone: a descendant can hold the pipe open for ever.
const OUTPUT_AFTER_EXIT: Duration = Duration::from_millis(200);
/// How long a server that is awake may leave `server/discover` without an answer before it counts as one of the older protocol.
const PROBE_SILENCE: Duration = Duration::from_secs(3);
/// How long a descendant that goes on writing is listened to after that.
const OUTPUT_AFTER_EXIT_MAX: Duration = Duration::from_secs(1);
/// The same for a server of which nothing at all was heard: it may still be starting.
const PROBE_SILENCE_ASLEEP: Duration = Duration::from_secs(5);
/// A longer line of standard error is cut: it is for people.
const ERROR_LINE_BYTES_MAX: usize = 8 * 1024;

/// Receives lines of a child's standard error.
pub(crate) type LineSink = Arc<dyn Fn(&str) + Send + Sync>;

/// How the child ended, for whoever has to explain a lost connection. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    status: watch::Receiver<Option<ExitStatus>>,
    /// Whether the output has ended, with or without the process.
    is_silent: Arc<AtomicBool>,
    input: InputGauge,
}

impl Ending {
    /// That of a child that ended like this.
    #[cfg(test)]
    pub(crate) fn with(status: ExitStatus) -> Self {
        Self {
            status: watch::channel(Some(status)).1,
            is_silent: Arc::default(),
            input: InputGauge::default(),
        }
    }

    /// How it ended, once it has.
    pub(crate) fn status(&self) -> Option<ExitStatus> {
        *self.status.borrow()
    }

    /// Whether it read anything of what was written to it.
    pub(crate) fn input_use(&self) -> InputUse {
        self.input.input_use()
    }

    /// Whether nothing more can come from it.
    pub(crate) fn is_over(&self) -> bool {
        self.status().is_some() || self.is_silent.load(Ordering::Relaxed)
    }

    /// How it ended, with some time for a child that is just ending.
    pub(crate) async fn soon(&mut self) -> Option<ExitStatus> {
        let ended = self.status.wait_for(Option::is_some);
        match tokio::time::timeout(OUTPUT_AFTER_EXIT, ended).await {
            Ok(Ok(status)) => *status,
            Ok(Err(_)) | Err(_) => None,
        }
    }
}

/// One message on its way to the child, and who waits for it to be written.
struct Outgoing {
    line: String,
    written: oneshot::Sender<std::io::Result<()>>,
}

/// A child's pipes. Dropping it kills the child and everything the child started.
pub(crate) struct StdioTransport {
    wire: Wire,
    child: Arc<Child>,
    output: Option<ChildOutput>,
    frames: FrameDecoder,
    chunk: Vec<u8>,
    ready: VecDeque<ServerJsonRpcMessage>,
    outgoing: Option<mpsc::Sender<Outgoing>>,
    writer: JoinHandle<()>,
    errors: JoinHandle<()>,
    watcher: JoinHandle<()>,
    ending: Ending,
    heard: watch::Sender<bool>,
    /// Whether the child has written anything at all: from then on it is awake.
    awake: watch::Receiver<bool>,
    silence: Silence,
    probe: Option<Probe>,
    /// Set when the program itself is gone.
    output_deadline: Option<Instant>,
    is_ended: bool,
    /// The private temporary folder lives as long as this.
    _sandbox: Option<Sandbox>,
}

/// What the silence of a server after `server/discover` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Silence {
    /// It may speak the older protocol, and is asked in that way next.
    Older,
    /// It is known to speak the newer one, so it is still starting; only the limit for the start counts.
    Starting,
}

/// A `server/discover` that has no answer yet: servers of the older protocol may keep silent.
struct Probe {
    request: RequestId,
    sent: Instant,
    deadline: Option<Instant>,
}

impl StdioTransport {
    /// Starts the child, confined where there is a sandbox.
    pub(crate) fn start(
        server: &StdioServer,
        sandbox: Option<Sandbox>,
        wire: Wire,
        standard_error: LineSink,
        silence: Silence,
    ) -> Result<Self, pirn_sandbox::Error> {
        let mut command = Command::new(&server.program)
            .args(&server.arguments)
            .current_dir(&server.directory)
            .envs(server.environment.iter().cloned())
            .stdin(Stdin::Piped)
            .output_mode(OutputMode::Separate);
        if let Some(sandbox) = &sandbox {
            command = command.sandbox(sandbox);
        }
        let mut child = command.spawn()?;
        let stdin = child.take_stdin();
        let input = InputGauge::of(stdin.as_ref());
        let error_output = child.take_error_output();
        let output = child.take_output();
        let (outgoing, queue) = mpsc::channel(OUTGOING_MESSAGES_MAX);
        let (heard, awake) = watch::channel(false);
        let child = Arc::new(child);
        let (ended, ending) = watch::channel(None);
        Ok(Self {
            wire,
            watcher: tokio::spawn(watch_end(Arc::clone(&child), ended)),
            child,
            output,
            frames: FrameDecoder::new(),
            chunk: vec![0; CHUNK_BYTES],
            ready: VecDeque::new(),
            outgoing: Some(outgoing),
            writer: tokio::spawn(write_lines(stdin, queue, input.clone())),
            errors: tokio::spawn(read_lines(error_output, standard_error, heard.clone())),
            heard,
            ending: Ending {
                status: ending,
                is_silent: Arc::default(),
                input,
            },
            awake,
            silence,
            probe: None,
            output_deadline: None,
            is_ended: false,
            _sandbox: sandbox,
        })
    }

    /// How the child ended, to be asked after the transport is given away.
    pub(crate) fn ending(&self) -> Ending {
        self.ending.clone()
    }

    /// Says in the server's place that it does not know `server/discover`.
    fn give_up_probe(&mut self) {
        if let Some(probe) = self.probe.take() {
            let message = "the server did not answer server/discover";
            self.wire.trace().note(message);
            self.ready
                .push_back(self.wire.failure(&probe.request, message));
        }
    }

    /// Takes everything that is complete in what was read.
    fn take_frames(&mut self) {
        while let Some(frame) = self.frames.pop() {
            match frame {
                Frame::Message(text) => {
                    for message in self.wire.incoming(&text, None) {
                        if self
                            .probe
                            .as_ref()
                            .is_some_and(|probe| answers(&message, &probe.request))
                        {
                            self.probe = None;
                        }
                        self.ready.push_back(message);
                    }
                }
                Frame::Noise(text) => {
                    let trace = self.wire.trace();
                    if trace.is_on() {
                        trace.note(&format!("no message: {}", String::from_utf8_lossy(&text)));
                    }
                }
                Frame::TooLong { id, bytes } => {
                    // Where the id was not seen, only a single open request can be meant.
                    let id = id.or_else(|| match self.wire.open_requests().as_slice() {
                        [only] => Some(only.clone()),
                        _ => None,
                    });
                    self.ready.extend(self.wire.too_long(id.as_ref(), bytes));
                }
            }
        }
    }

    /// The end of the child's output: whoever still waits gets an error. Safe to drop and call again.
    async fn end(&mut self) {
        self.ending.is_silent.store(true, Ordering::Relaxed);
        let status = self.ending.soon().await;
        self.is_ended = true;
        self.frames.finish();
        self.take_frames();
        let message = match status {
            Some(status) => format!("the server's process ended ({status}) before it answered"),
            None => "the server closed its output before it answered".to_owned(),
        };
        for request in self.wire.open_requests() {
            self.ready.push_back(self.wire.failure(&request, &message));
        }
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if self.silence == Silence::Older
            && let ClientJsonRpcMessage::Request(request) = &message
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
        {
            self.probe = Some(Probe {
                request: request.id.clone(),
                sent: Instant::now(),
                deadline: None,
            });
        }
        let line = self.wire.outgoing(&message);
        let outgoing = self.outgoing.clone();
        let mut ending = self.ending.clone();
        async move {
            let mut line = line?;
            line.push('\n');
            let result = write_line(outgoing, line).await;
            if result.is_err() {
                // So that whoever explains the failure knows how the process ended.
                ending.soon().await;
            }
            result
        }
    }

    /// Safe to drop and call again: everything read is kept in `self`.
    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            if self.is_ended {
                return None;
            }
            let Some(output) = &mut self.output else {
                self.end().await;
                continue;
            };
            if let Some(deadline) = self.output_deadline
                && Instant::now() > deadline + OUTPUT_AFTER_EXIT_MAX
            {
                self.end().await;
                continue;
            }
            let read = tokio::select! {
                // What was written before the end counts, also where nobody got round to reading it.
                biased;
                read = output.read(&mut self.chunk) => read,
                () = after_exit(&self.child, &mut self.output_deadline) => Ok(0),
                () = silence(&mut self.probe, &mut self.awake) => {
                    self.give_up_probe();
                    continue;
                }
            };
            match read {
                Ok(0) | Err(_) => self.end().await,
                Ok(count) => {
                    let _unwatched = self.heard.send_replace(true);
                    self.frames
                        .push(self.chunk.get(..count).unwrap_or_default());
                    self.take_frames();
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // The writer ends, and with it the child's input.
        self.outgoing = None;
        self.ending.input.release();
        let stopped = tokio::time::timeout(EXIT_AFTER_INPUT, async {
            tokio::join!(self.child.wait_all(), async {
                // A full pipe would keep it from ending.
                if let Some(output) = &mut self.output {
                    while !matches!(output.read(&mut self.chunk).await, Ok(0) | Err(_)) {}
                }
            });
        })
        .await;
        if stopped.is_err() {
            self.writer.abort();
            self.child.terminate(EXIT_AFTER_TERMINATE).await;
        }
        Ok(())
    }
}

impl Drop for StdioTransport {
    fn drop(&mut self) {
        self.ending.input.release();
        self.writer.abort();
        self.errors.abort();
        self.watcher.abort();
    }
}

/// Whether a message answers a request.
fn answers(message: &ServerJsonRpcMessage, request: &RequestId) -> bool {
    match message {
        JsonRpcMessage::Response(response) => response.id == *request,
        JsonRpcMessage::Error(error) => error.id.as_ref() == Some(request),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => false,
    }
}

/// Ends some time after the program itself is gone. Safe to drop and call again.
async fn after_exit(child: &Child, deadline: &mut Option<Instant>) {
    let at = if let Some(at) = deadline {
        *at
    } else {
        child.wait().await;
        *deadline.insert(Instant::now() + OUTPUT_AFTER_EXIT)
    };
    tokio::time::sleep_until(at).await;
}

/// Ends when the probe has been without an answer for too long. Safe to drop and call again.
async fn silence(probe: &mut Option<Probe>, awake: &mut watch::Receiver<bool>) {
    let Some(probe) = probe else {
        return std::future::pending().await;
    };
    let at = if let Some(at) = probe.deadline {
        at
    } else {
        let woken = awake.wait_for(|awake| *awake);
        let remaining =
            (probe.sent + PROBE_SILENCE_ASLEEP).saturating_duration_since(Instant::now());
        match tokio::time::timeout(remaining, woken).await {
            Ok(Ok(_)) => *probe.deadline.insert(Instant::now() + PROBE_SILENCE),
            Ok(Err(_)) | Err(_) => return,
        }
    };
    tokio::time::sleep_until(at).await;
}

/// Holds the child only until the transport lets go of it.
async fn watch_end(child: Arc<Child>, ended: watch::Sender<Option<ExitStatus>>) {
    let status = child.wait().await;
    let _nobody_asks = ended.send(Some(status));
}

/// Hands a line to the writer and waits until it is written.
async fn write_line(outgoing: Option<mpsc::Sender<Outgoing>>, line: String) -> std::io::Result<()> {
    let gone = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
    let (written, done) = oneshot::channel();
    let outgoing = outgoing.ok_or_else(gone)?;
    outgoing
        .send(Outgoing { line, written })
        .await
        .map_err(|_| gone())?;
    done.await.map_err(|_| gone())?
}

async fn write_lines(
    stdin: Option<ChildStdin>,
    mut queue: mpsc::Receiver<Outgoing>,
    input: InputGauge,
) {
    let Some(mut stdin) = stdin else { return };
    while let Some(Outgoing { line, written }) = queue.recv().await {
        let result = async {
            stdin.write_all(line.as_bytes()).await?;
            stdin.flush().await?;
            input.wrote(line.len());
            Ok(())
        }
        .await;
        let is_broken = result.is_err();
        let _nobody_waits = written.send(result);
        if is_broken {
            return;
        }
    }
}

/// Reads standard error to its end, line by line, so that a chatty server never blocks on a full pipe.
async fn read_lines(output: Option<ChildOutput>, sink: LineSink, heard: watch::Sender<bool>) {
    let Some(mut output) = output else { return };
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut line: Vec<u8> = Vec::new();
    loop {
        let count = match output.read(&mut chunk).await {
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        let _unwatched = heard.send_replace(true);
        for byte in chunk.iter().take(count) {
            if *byte == b'\n' {
                sink(String::from_utf8_lossy(&line).trim_end_matches('\r'));
                line.clear();
            } else if line.len() < ERROR_LINE_BYTES_MAX {
                line.push(*byte);
            }
        }
    }
    if !line.is_empty() {
        sink(&String::from_utf8_lossy(&line));
    }
}
