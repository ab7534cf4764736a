//! `run_process`: runs a program without a shell, confined, and with it ends everything it started.

mod capture;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pirn_sandbox::{Child, Command, ExitStatus, Network, NetworkProxy, OutputMode, Sandbox};
use pirn_tool::{CallContext, Effects, Tool, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::frame::{VALUE_JSON_BYTES_MAX, cut_to_json_bytes, json_bytes};
use super::{ABORTED, AdapterOptions, Outcome, adapter, paths};
use capture::Captures;

/// How long a process may run when the call says nothing.
pub const PROCESS_TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);

/// How long a process may run, whatever the call says.
pub const PROCESS_TIMEOUT_MAX: Duration = Duration::from_mins(2);

/// Bytes kept of each output stream.
pub const PROCESS_STREAM_BYTES_MAX: usize = 1_000_000;

/// How long processes may take to end in order after a time-out or an abort.
const TERMINATE_GRACE: Duration = Duration::from_millis(750);

/// How long output is waited for after the program's own end, where something it started still holds the pipe. What it started
/// ends then.
const BACKGROUND_GRACE: Duration = Duration::from_millis(500);

/// Bytes of JSON that the arguments may take in the result; longer ones are left out of it.
const ARGUMENTS_JSON_BYTES_MAX: usize = 100_000;

/// Bytes of JSON left for the other members of the result: five sentences about what was refused, and what is short.
const MEMBERS_JSON_BYTES: usize = 20_000;

/// Bytes at the end of each stream in which complaints about refusals are looked for.
const EXPLAINED_BYTES_MAX: usize = 64 << 10;

/// Characters of a sentence about what was refused.
const SENTENCE_CHARS_MAX: usize = 500;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    command: String,
    #[serde(default)]
    args: Vec<String>,
    cwd: Option<String>,
    timeout_ms: Option<u64>,
}

/// `run_process {command, args?, cwd?, timeoutMs?}`.
pub(super) fn run_process(options: Arc<AdapterOptions>) -> Tool {
    let spec = ToolSpec::new(
        "run_process",
        format!(
            "Runs a program with arguments, without a shell, in the working folder; reads nothing from standard input. A non-zero \
             exit code and a time-out are results, not errors. Ends everything it started. Keeps {PROCESS_STREAM_BYTES_MAX} bytes \
             of each stream."
        ),
    )
    .input_schema(json!({
        "type": "object",
        "properties": {
            "command": {"type": "string", "minLength": 1, "description": "The program: a name on the PATH, or a path"},
            "args": {"type": "array", "items": {"type": "string"}, "description": "Its arguments"},
            "cwd": {"type": "string", "description": "Where it runs, within the working folder (default: that itself)"},
            "timeoutMs": {"type": "integer", "minimum": 1, "description": "Default 30000, at most 120000"}
        },
        "required": ["command"]
    }))
    .output_schema(json!({
        "type": "object",
        "properties": {
            "command": {"type": "string"},
            "args": {"type": "array", "items": {"type": "string"}, "description": "Left out when very long"},
            "exitCode": {"type": ["integer", "null"]},
            "signal": {"type": ["string", "null"], "description": "The signal that ended it, such as SIGTERM"},
            "timedOut": {"type": "boolean"},
            "stdout": {"type": "string"},
            "stderr": {"type": "string"},
            "stdoutTruncated": {"type": "boolean"},
            "stderrTruncated": {"type": "boolean"},
            "refused": {
                "type": "array",
                "items": {"type": "string"},
                "description": "What the sandbox refused to a process that failed, and what would allow it"
            }
        },
        "required": [
            "command", "exitCode", "signal", "timedOut", "stdout", "stderr", "stdoutTruncated", "stderrTruncated"
        ]
    }))
    .effects(Effects::PROCESS);
    adapter(spec, options, run)
}

async fn run(arguments: Arguments, options: Arc<AdapterOptions>, context: CallContext) -> Outcome {
    let folder = folder(&options, arguments.cwd.clone()).await?;
    if context.cancel.is_cancelled() {
        return Err(ABORTED.to_owned());
    }
    let timeout = arguments
        .timeout_ms
        .map_or(PROCESS_TIMEOUT_DEFAULT, Duration::from_millis)
        .min(PROCESS_TIMEOUT_MAX);
    let decisions_before =
        proxy_of(options.sandbox.as_ref()).map_or(0, NetworkProxy::decision_cursor);
    let mut child = confined(
        Command::new(&arguments.command)
            .args(&arguments.args)
            .current_dir(folder)
            .envs(options.environment.iter().cloned())
            .output_mode(OutputMode::Separate),
        options.sandbox.as_ref(),
    )
    .spawn()
    .map_err(|error| error.to_string())?;
    let mut captures = Captures::of(&mut child);
    let end = follow(&child, &mut captures, timeout, &context.cancel).await;
    let (status, timing) = match end {
        End::Aborted => return Err(ABORTED.to_owned()),
        End::Exited(status) => (status, Timing::InTime),
        End::TimedOut(status) => (status, Timing::TimedOut),
    };
    let (stdout, stderr) = captures.into_streams();
    let refused = match &options.sandbox {
        Some(sandbox) => refused(
            sandbox,
            &[&stdout.text, &stderr.text],
            status,
            decisions_before,
        ),
        None => Vec::new(),
    };
    let mut value = result(arguments, status, timing, stdout, stderr);
    if !refused.is_empty() {
        value["refused"] = refused.into();
    }
    Ok(value)
}

/// What the sandbox refused to a process, in sentences. A few short ones at most: they fit beside everything else.
fn refused(
    sandbox: &Sandbox,
    streams: &[&String],
    status: ExitStatus,
    decisions_before: u64,
) -> Vec<String> {
    let decisions = proxy_of(Some(sandbox))
        .map(|proxy| proxy.decisions_since(decisions_before))
        .unwrap_or_default();
    let text: Vec<&str> = streams
        .iter()
        .map(|text| {
            let start = text.len().saturating_sub(EXPLAINED_BYTES_MAX);
            text.get(text.ceil_char_boundary(start)..)
                .unwrap_or_default()
        })
        .collect();
    sandbox
        .explain(&text.join("\n"), status, &decisions)
        .into_iter()
        .map(|denial| denial.sentence.chars().take(SENTENCE_CHARS_MAX).collect())
        .collect()
}

/// The proxy that processes reach the network through.
fn proxy_of(sandbox: Option<&Sandbox>) -> Option<&NetworkProxy> {
    match &sandbox?.policy().network {
        Network::AllowList(proxy) => Some(proxy),
        Network::Off | Network::On => None,
    }
}

async fn folder(options: &Arc<AdapterOptions>, cwd: Option<String>) -> Result<PathBuf, String> {
    let options = Arc::clone(options);
    let shown = cwd.clone().unwrap_or_default();
    let resolved = tokio::task::spawn_blocking(move || {
        paths::open_folder(&options.root, cwd.as_deref().unwrap_or("."))
            .map(|folder| folder.path().to_owned())
    });
    resolved
        .await
        .unwrap_or_else(|error| Err(format!("{shown} cannot be looked at: {error}")))
}

fn confined(command: Command, sandbox: Option<&Sandbox>) -> Command {
    match sandbox {
        Some(sandbox) => command.sandbox(sandbox),
        None => command,
    }
}

/// How a process ended.
enum End {
    Exited(ExitStatus),
    TimedOut(ExitStatus),
    Aborted,
}

/// Reads the output until the process has ended or was stopped. Nothing of it is left then.
async fn follow(
    child: &Child,
    captures: &mut Captures,
    timeout: Duration,
    cancel: &CancellationToken,
) -> End {
    let deadline = Instant::now() + timeout;
    let ended = async {
        let status = captures.read_until(child.wait()).await;
        // What is in the pipes, and what things it started still write for a moment.
        let _cut = tokio::time::timeout(BACKGROUND_GRACE, captures.read()).await;
        status
    };
    let stop = tokio::select! {
        biased;
        () = cancel.cancelled() => Stop::Aborted,
        () = tokio::time::sleep_until(deadline) => Stop::TimedOut,
        status = ended => {
            child.kill_all().await;
            return End::Exited(status);
        }
    };
    let status = captures.read_until(child.terminate(TERMINATE_GRACE)).await;
    captures.read_rest().await;
    match stop {
        Stop::Aborted => End::Aborted,
        Stop::TimedOut => End::TimedOut(status),
    }
}

/// Why a process was stopped.
enum Stop {
    Aborted,
    TimedOut,
}

/// Whether a process ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Timing {
    InTime,
    TimedOut,
}

/// The value for the program, which fits into one message whatever the streams hold.
fn result(
    arguments: Arguments,
    status: ExitStatus,
    timing: Timing,
    stdout: Stream,
    stderr: Stream,
) -> Value {
    let (exit_code, signal) = match status {
        ExitStatus::Code(code) => (Some(code), None),
        ExitStatus::Signal(signal) => (None, Some(signal_name(signal))),
        ExitStatus::Lost => (None, None),
    };
    let mut value = json!({"command": arguments.command});
    if json_bytes(&arguments.args) <= ARGUMENTS_JSON_BYTES_MAX {
        value["args"] = arguments.args.into();
    }
    let room = VALUE_JSON_BYTES_MAX.saturating_sub(json_bytes(&value) + MEMBERS_JSON_BYTES);
    // What one stream does not need is the other's.
    let needed = (json_bytes(&stdout.text), json_bytes(&stderr.text));
    let half = room / 2;
    let stdout_room = room - needed.1.min(half);
    let stderr_room = room - needed.0.min(stdout_room);
    let stdout = stdout.cut(stdout_room);
    let stderr = stderr.cut(stderr_room);
    value["exitCode"] = exit_code.into();
    value["signal"] = signal.into();
    value["timedOut"] = (timing == Timing::TimedOut).into();
    value["stdoutTruncated"] = stdout.is_cut.into();
    value["stderrTruncated"] = stderr.is_cut.into();
    value["stdout"] = stdout.text.into();
    value["stderr"] = stderr.text.into();
    value
}

/// One stream as text.
struct Stream {
    text: String,
    is_cut: bool,
}

impl Stream {
    fn cut(mut self, json_bytes_max: usize) -> Self {
        self.is_cut |= cut_to_json_bytes(&mut self.text, json_bytes_max);
        self
    }
}

/// The names of signals that end processes, by the numbers that are the same on Linux and macOS.
fn signal_name(signal: i32) -> String {
    const NAMES: &[(i32, &str)] = &[
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (5, "SIGTRAP"),
        (6, "SIGABRT"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
    ];
    NAMES
        .iter()
        .find(|(number, _)| *number == signal)
        .map_or_else(|| format!("SIG{signal}"), |(_, name)| (*name).to_owned())
}
