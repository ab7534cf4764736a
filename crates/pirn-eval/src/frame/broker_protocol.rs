//! What host and broker say to each other in their own name. Both are the same build, so this is no stable format.

use pirn_sandbox::{NetworkAnswer, OsText, PolicySpec, SandboxReport};
use serde::{Deserialize, Serialize};

use super::ORIGIN_MARK;
use crate::outcome::HostDecision;

/// What the host tells the broker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub(crate) enum Order {
    /// What the broker is for; sent once, before everything else.
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
    /// Stops the processes of the eval that runs where they are: it waits for a person.
    Freeze { id: String },
    /// Lets them go on.
    Thaw { id: String },
    /// Keeps the worker of the eval that has completed.
    Release { id: String },
    /// Ends the live namespace of a branch.
    EndBranch { branch: String },
    /// The answer to [`Report::HostAsked`].
    AnswerHost { number: u64, answer: NetworkAnswer },
    /// Asks what the confinement refused to the last eval, which has failed and wrote this in the end.
    Explain { text: String },
}

/// How an eval that runs is brought to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StopHow {
    /// Interrupt, then terminate, then kill.
    Interrupt,
    /// Kill at once, as for a worker that broke the protocol.
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
    /// The name of the language: `python` or `javascript`.
    pub(crate) language: String,
    /// The engine of its evals.
    pub(crate) engine: EngineName,
    /// The interpreter, as a path or a name on the `PATH`.
    pub(crate) interpreter: OsText,
    /// A program for the interpreter in place of Pirn's own.
    pub(crate) program: Option<String>,
    pub(crate) environment: Vec<(OsText, OsText)>,
    /// How workers are confined, and where they run.
    pub(crate) confinement: PolicySpec,
    /// Whether there is somebody to ask about network hosts.
    pub(crate) asks_about_hosts: bool,
}

/// What the broker tells the host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub(crate) enum Report {
    /// The answer to [`Order::Configure`].
    Configured {
        /// The confinement of workers.
        sandbox: Option<SandboxReport>,
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
    /// The program printed this much since the last report.
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
    /// What was set aside of what it had made, as sentences.
    pub(crate) set_aside: Vec<String>,
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
