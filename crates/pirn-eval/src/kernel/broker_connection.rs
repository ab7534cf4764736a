//! The host's end of a broker.

use std::io;
use std::time::Duration;

use pirn_sandbox::{Child, ChildOutput, Command, OsText, OutputMode, SandboxReport, Stdin};
use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;
use tokio::time::timeout;

use super::run::LostNamespace;
use crate::error::{Error, ErrorKind};
use crate::frame::{EngineName, LineReader, ORIGIN_MARK, Order, Report, Setup, encode_order};
use crate::limits::{BROKER_GRACE, BROKER_START};
use crate::options::{KernelOptions, PythonEngine};
use crate::request::Language;
use crate::tail::SharedTail;

/// How long an explanation is waited for: it is an extra.
const EXPLAIN_WAIT: Duration = Duration::from_secs(1);

/// A broker that runs, seen from the kernel: its pipes and the confinement of its workers.
pub(super) struct BrokerConnection {
    child: Child,
    pub(super) reader: LineReader<ChildOutput>,
    pub(super) outgoing: Outgoing,
    tail: SharedTail,
    /// The confinement of its workers.
    pub(super) sandbox: Option<SandboxReport>,
}

/// Lines on their way to the broker.
pub(super) struct Outgoing {
    stdin: ChildStdin,
    pending: Vec<u8>,
    written: usize,
}

impl Outgoing {
    /// Adds lines by whoever writes them. What waits is bounded by the calls in flight.
    pub(super) fn lines(&mut self) -> &mut Vec<u8> {
        &mut self.pending
    }

    pub(super) fn order(&mut self, order: &Order) {
        encode_order(&mut self.pending, order);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Writes some of what waits. Nothing is lost when it is dropped before it ends.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        let rest = self.pending.get(self.written..).unwrap_or_default();
        self.written += self.stdin.write(rest).await?;
        if self.written == self.pending.len() {
            self.pending.clear();
            self.written = 0;
        }
        Ok(())
    }
}

/// The engine of a language.
pub(super) fn engine_of(options: &KernelOptions, language: Language) -> EngineName {
    match (language, options.python_engine) {
        (Language::Python, PythonEngine::Persistent) => EngineName::Persistent,
        (Language::Python, PythonEngine::Fresh) | (Language::JavaScript, _) => EngineName::Fresh,
    }
}

fn setup_of(options: &KernelOptions, language: Language) -> Setup {
    let (interpreter, program) = match language {
        Language::Python => (
            options.python.as_ref().map(OsText::from),
            &options.workers.python,
        ),
        Language::JavaScript => (
            options.node.as_ref().map(OsText::from),
            &options.workers.javascript,
        ),
    };
    Setup {
        language: language.as_str().to_owned(),
        engine: engine_of(options, language),
        interpreter: interpreter.unwrap_or_else(|| {
            OsText::from(match language {
                Language::Python => "python3",
                Language::JavaScript => "node",
            })
        }),
        program: program.clone(),
        environment: options
            .environment
            .iter()
            .map(|(name, value)| (OsText::from(name), OsText::from(value)))
            .collect(),
        confinement: options.confinement.clone(),
        asks_about_hosts: options.network_asker.is_some(),
    }
}

impl BrokerConnection {
    /// Starts a broker and waits until it is ready.
    pub(super) async fn start(options: &KernelOptions, language: Language) -> Result<Self, Error> {
        let failed = |message: String| Error::new(ErrorKind::Broker, message);
        let mut child = Command::new(&options.broker.program)
            .args(&options.broker.arguments)
            .current_dir("/")
            .stdin(Stdin::Piped)
            .output_mode(OutputMode::Separate)
            .spawn()
            .map_err(|error| failed(format!("{error}.")).because(error))?;
        let (Some(stdin), Some(stdout)) = (child.take_stdin(), child.take_output()) else {
            return Err(failed("The broker has no pipes.".to_owned()));
        };
        let tail = SharedTail::default();
        tail.follow(child.take_error_output());
        let mut connection = Self {
            child,
            reader: LineReader::new(stdout),
            outgoing: Outgoing {
                stdin,
                pending: Vec::new(),
                written: 0,
            },
            tail,
            sandbox: None,
        };
        let setup = Box::new(setup_of(options, language));
        connection.outgoing.order(&Order::Configure(setup));
        let configured = connection.wait_for(|report| match report {
            Report::Configured { sandbox, refusal } => Some((sandbox, refusal)),
            _ => None,
        });
        match timeout(BROKER_START, configured).await {
            Ok(Some((_, Some(refusal)))) => Err(Error::new(ErrorKind::Confinement, refusal)),
            Ok(Some((sandbox, None))) => {
                connection.sandbox = sandbox;
                Ok(connection)
            }
            Ok(None) => Err(failed(connection.explain_end().await)),
            Err(_elapsed) => Err(failed(format!(
                "The broker was not ready within {} s.",
                BROKER_START.as_secs()
            ))),
        }
    }

    /// What the confinement refused to the last eval, as sentences; `text` is what it wrote in the end. Says nothing when the
    /// broker does not answer soon. Live namespaces that are lost meanwhile go to `lost`.
    pub(super) async fn explain_denials(
        &mut self,
        text: String,
        lost: &mut Vec<LostNamespace>,
    ) -> Vec<String> {
        self.outgoing.order(&Order::Explain { text });
        let explained = self.wait_for(|report| match report {
            Report::Explained { sentences } => Some(sentences),
            Report::BranchLost { branch, reason } => {
                lost.push((branch, reason));
                None
            }
            _ => None,
        });
        match timeout(EXPLAIN_WAIT, explained).await {
            Ok(Some(sentences)) => sentences,
            Ok(None) | Err(_) => Vec::new(),
        }
    }

    /// Ends the live namespace of a branch; whether it is gone. Others that are lost meanwhile go to `lost`.
    pub(super) async fn end_branch(&mut self, branch: &str, lost: &mut Vec<LostNamespace>) -> bool {
        self.outgoing.order(&Order::EndBranch {
            branch: branch.to_owned(),
        });
        let ended = self.wait_for(|report| match report {
            Report::BranchEnded { branch: ended } if ended == branch => Some(()),
            Report::BranchLost { branch, reason } => {
                lost.push((branch, reason));
                None
            }
            _ => None,
        });
        timeout(BROKER_GRACE, ended).await == Ok(Some(()))
    }

    /// Sends what waits, and waits for a report; `None` when the broker ended. Only while no eval runs.
    async fn wait_for<T>(&mut self, mut wanted: impl FnMut(Report) -> Option<T>) -> Option<T> {
        while !self.outgoing.is_empty() {
            self.outgoing.flush().await.ok()?;
        }
        loop {
            while let Some(line) = self.reader.next_line().ok()? {
                if let Some(found) = read_own_line(line).and_then(&mut wanted) {
                    return Some(found);
                }
            }
            self.reader.fill().await.ok()?;
        }
    }

    /// Kills it with everything it has started, and says how it ended.
    pub(super) async fn explain_end(&self) -> String {
        // Its own end explains more than our signal would.
        let _running = timeout(BROKER_GRACE, self.child.wait()).await;
        let status = self.child.kill_all().await;
        let tail = self.tail.text();
        if tail.is_empty() {
            format!("The broker ended: {status}.")
        } else {
            format!("The broker ended: {status}; it wrote: {tail}")
        }
    }

    /// Lets it end by itself, so that it removes the folders it has made; kills it where it does not.
    pub(super) async fn close(self) {
        let Self {
            child, outgoing, ..
        } = self;
        drop(outgoing);
        // What is late is killed.
        let _late = timeout(BROKER_GRACE, child.wait()).await;
        child.kill_all().await;
    }

    /// Kills it with everything it has started, and waits until all are gone.
    pub(super) async fn kill(&self) {
        self.child.kill_all().await;
    }
}

/// Reads a line that the broker wrote in its own name.
pub(super) fn read_own_line(line: &[u8]) -> Option<Report> {
    let json = line.strip_prefix(&[ORIGIN_MARK])?;
    serde_json::from_slice(json).ok()
}
