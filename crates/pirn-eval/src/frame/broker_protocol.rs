//! What host and broker say to each other in their own name. Both are the same build, so this is no stable format.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pirn_sandbox::{
    HostRule, Level, LevelChoice, Limits, Network, NetworkAnswer, NetworkAsker, NetworkOptions,
    NetworkProxy, NetworkRules, Profile, Readable, SandboxPolicy,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::ORIGIN_MARK;
use crate::options::{WorkerConfinement, WorkerNetwork};
use crate::outcome::HostDecision;

/// What the host tells the broker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub(crate) enum Order {
    /// Once, first.
    Configure(Box<Setup>),
    /// Gives the next line, an `eval` frame, to a worker.
    Start {
        id: String,
        branch: String,
        engine: EngineName,
        output_bytes_max: usize,
    },
    /// Ends the eval that runs.
    Stop { id: String, how: StopHow },
    /// Keeps the worker of the eval that has completed.
    Release { id: String },
    /// Ends the live namespace of a branch.
    EndBranch { branch: String },
    /// The answer to [`Report::HostAsked`].
    AnswerHost { number: u64, answer: NetworkAnswer },
    /// Asks what the confinement refused to the last eval, which has failed and wrote this in the end.
    Explain { text: String },
}

/// How to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StopHow {
    /// Interrupt, then terminate, then kill.
    Interrupt,
    /// Kill at once.
    Kill,
}

/// Which engine an eval wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EngineName {
    Fresh,
    Persistent,
}

/// What a broker is for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    /// `python` or `javascript`.
    pub(crate) language: String,
    /// The engine of its evals.
    pub(crate) engine: EngineName,
    /// The interpreter.
    pub(crate) interpreter: WireText,
    /// A program for the interpreter in place of Pirn's own.
    pub(crate) program: Option<String>,
    pub(crate) environment: Vec<(WireText, WireText)>,
    pub(crate) working_folder: WireText,
    pub(crate) confinement: WireConfinement,
    /// Whether there is somebody to ask about network hosts.
    pub(crate) asks_about_hosts: bool,
}

/// What the broker tells the host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub(crate) enum Report {
    /// The answer to [`Order::Configure`].
    Configured {
        /// As [`pirn_sandbox::SandboxReport`] is written.
        sandbox: Option<Value>,
        /// Why nothing can be started.
        refusal: Option<String>,
    },
    /// The worker has the program.
    Started {
        id: String,
        /// Such as `python 3.11.7`.
        interpreter: String,
        /// Whether it is a live namespace that ran an eval before.
        is_reused: bool,
    },
    /// The program printed.
    Output {
        id: String,
        stream: Stream,
        text: String,
    },
    /// The program wants to reach a host that no rule decides; [`Order::AnswerHost`] answers, or the end of the eval.
    HostAsked {
        number: u64,
        host: String,
        port: u16,
    },
    /// The worker broke the protocol and is being killed; [`Report::Ended`] follows.
    Fault { id: String, message: String },
    /// The eval is over: its worker is gone, or kept.
    Ended(Ended),
    /// A live namespace is gone, though no eval ran in it.
    BranchLost { branch: String, reason: String },
    /// The answer to [`Order::EndBranch`]: its worker is gone.
    BranchEnded { branch: String },
    /// The answer to [`Order::Explain`].
    Explained { sentences: Vec<String> },
}

/// How an eval was over for the broker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ended {
    pub(crate) id: String,
    pub(crate) cause: Cause,
    /// For people: how the worker ended.
    pub(crate) detail: String,
    /// Whether output was cut.
    pub(crate) is_cut: bool,
    /// What its network proxy decided meanwhile.
    pub(crate) decisions: Vec<HostDecision>,
}

/// Why an eval was over for the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cause {
    /// There is no interpreter.
    NoInterpreter,
    /// The worker could not be started.
    NotStarted,
    /// The worker ended with code 0.
    Finished,
    /// The worker ended otherwise, or was killed.
    Died,
    /// The worker is kept.
    Kept,
}

/// An output of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// Appends an order as a line.
pub(crate) fn encode_order(out: &mut Vec<u8>, order: &Order) {
    push(out, order);
}

/// Appends a report as a line.
pub(crate) fn encode_report(out: &mut Vec<u8>, report: &Report) {
    push(out, report);
}

fn push(out: &mut Vec<u8>, message: &impl Serialize) {
    out.push(ORIGIN_MARK);
    // Neither our messages nor a vector can fail: keys are strings, and memory is there or the process is not.
    let _infallible = serde_json::to_writer(&mut *out, message);
    out.push(b'\n');
}

/// Text of the operating system, which need not be UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WireText(pub(crate) OsString);

impl WireText {
    pub(crate) fn path(self) -> PathBuf {
        self.0.into()
    }
}

impl<T: AsRef<OsStr> + ?Sized> From<&T> for WireText {
    fn from(text: &T) -> Self {
        Self(text.as_ref().to_owned())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum TextOrBytes {
    Text(String),
    Bytes(Vec<u8>),
}

impl Serialize for WireText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => serializer.collect_seq(self.0.as_encoded_bytes()),
        }
    }
}

impl<'de> Deserialize<'de> for WireText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match TextOrBytes::deserialize(deserializer)? {
            TextOrBytes::Text(text) => Ok(Self(text.into())),
            #[cfg(unix)]
            TextOrBytes::Bytes(bytes) => {
                use std::os::unix::ffi::OsStringExt as _;
                Ok(Self(OsString::from_vec(bytes)))
            }
            #[cfg(not(unix))]
            TextOrBytes::Bytes(bytes) => {
                Ok(Self(String::from_utf8_lossy(&bytes).into_owned().into()))
            }
        }
    }
}

/// [`WorkerConfinement`] on its way.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireConfinement {
    profile: String,
    network: WireNetwork,
    private_networks: bool,
    write_roots: Vec<WireText>,
    readable_only: Option<Vec<WireText>>,
    unreadable: Vec<String>,
    home: Option<WireText>,
    temp_dir: WireText,
    limits: WireLimits,
    level_at_most: Option<String>,
    require: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WireNetwork {
    Off,
    AllowList {
        allow: Vec<String>,
        deny: Vec<String>,
    },
    On,
}

/// [`Limits`] on their way.
#[derive(Debug, Serialize, Deserialize)]
struct WireLimits {
    memory_bytes: Option<u64>,
    processes: Option<u64>,
    file_bytes: Option<u64>,
    open_files: Option<u64>,
    cpu_ms: Option<u64>,
}

fn texts(paths: &[PathBuf]) -> Vec<WireText> {
    paths.iter().map(WireText::from).collect()
}

impl From<&WorkerConfinement> for WireConfinement {
    fn from(confinement: &WorkerConfinement) -> Self {
        let limits = confinement.limits;
        Self {
            profile: confinement.profile.as_str().to_owned(),
            network: match &confinement.network {
                WorkerNetwork::Off => WireNetwork::Off,
                WorkerNetwork::AllowList(rules) => WireNetwork::AllowList {
                    allow: rules.allow.iter().map(ToString::to_string).collect(),
                    deny: rules.deny.iter().map(ToString::to_string).collect(),
                },
                WorkerNetwork::On => WireNetwork::On,
            },
            private_networks: confinement.private_networks,
            write_roots: texts(&confinement.write_roots),
            readable_only: match &confinement.readable {
                Readable::Everything => None,
                Readable::Only(paths) => Some(texts(paths)),
            },
            unreadable: confinement.unreadable.clone(),
            home: confinement.home.as_ref().map(WireText::from),
            temp_dir: WireText::from(&confinement.temp_dir),
            limits: WireLimits {
                memory_bytes: limits.memory_bytes,
                processes: limits.processes,
                file_bytes: limits.file_bytes,
                open_files: limits.open_files,
                cpu_ms: limits
                    .cpu
                    .map(|cpu| u64::try_from(cpu.as_millis()).unwrap_or(u64::MAX)),
            },
            level_at_most: match confinement.level {
                LevelChoice::Strongest => None,
                LevelChoice::AtMost(level) => Some(level.as_str().to_owned()),
            },
            require: confinement.require.map(|level| level.as_str().to_owned()),
        }
    }
}

impl WireConfinement {
    /// The policy it stands for, for work in `working_folder`, with somebody to ask about network hosts. Must be called inside a
    /// runtime.
    pub(crate) fn into_policy(
        self,
        working_folder: PathBuf,
        asker: Option<Arc<dyn NetworkAsker>>,
    ) -> Result<SandboxPolicy, String> {
        let network = match self.network {
            WireNetwork::Off => Network::Off,
            WireNetwork::AllowList { allow, deny } => {
                let rules = NetworkRules {
                    allow: parse_rules(&allow)?,
                    deny: parse_rules(&deny)?,
                };
                let options = NetworkOptions {
                    private_networks: self.private_networks,
                    asker,
                    ..NetworkOptions::default()
                };
                Network::AllowList(NetworkProxy::new(rules, options))
            }
            WireNetwork::On => Network::On,
        };
        let profile = match Profile::from_name(&self.profile) {
            // Workers are always confined.
            None | Some(Profile::Off) => Profile::WorkspaceWrite,
            Some(profile) => profile,
        };
        Ok(SandboxPolicy {
            profile,
            network,
            working_folder,
            write_roots: self.write_roots.into_iter().map(WireText::path).collect(),
            readable: match self.readable_only {
                None => Readable::Everything,
                Some(paths) => Readable::Only(paths.into_iter().map(WireText::path).collect()),
            },
            unreadable: self.unreadable,
            home: self.home.map(WireText::path),
            temp_dir: self.temp_dir.path(),
            limits: Limits {
                memory_bytes: self.limits.memory_bytes,
                processes: self.limits.processes,
                file_bytes: self.limits.file_bytes,
                open_files: self.limits.open_files,
                cpu: self.limits.cpu_ms.map(Duration::from_millis),
            },
            level: match self.level_at_most.as_deref().and_then(Level::from_name) {
                None => LevelChoice::Strongest,
                Some(level) => LevelChoice::AtMost(level),
            },
            require: self.require.as_deref().and_then(Level::from_name),
        })
    }
}

fn parse_rules(rules: &[String]) -> Result<Vec<HostRule>, String> {
    rules
        .iter()
        .map(|rule| rule.parse().map_err(|error| format!("{error}.")))
        .collect()
}
