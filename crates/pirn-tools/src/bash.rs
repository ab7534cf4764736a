//! `bash`: runs a command and everything it starts, within bounds.

mod capture;
mod command_file;
mod confinement;
mod folder;
mod holders;
mod report;
mod shell;
mod unattended;

use std::sync::Arc;
use std::time::{Duration, Instant};

use pirn_sandbox::{Child, ChildOutput, Command, ErrorKind, ExitStatus};
use pirn_tool::{Annotations, CallContext, Effects, Tool, ToolSpec, Update};
use serde::Deserialize;
use serde_json::json;
use tokio::io::AsyncReadExt as _;

use crate::arguments::{Outcome, typed_tool};
use crate::options::ToolsOptions;
use crate::reader::Reader;

use capture::Capture;
use command_file::CommandText;
use confinement::Confinement;
use report::{End, Limit, Report, Rest};

/// How long background processes may keep a call waiting by writing after the shell has ended. Their output goes on being
/// read, so they do not block, but is thrown away.
pub const BACKGROUND_READ_MAX: Duration = Duration::from_secs(5);

/// After the shell's end, output that pauses this long counts as complete although somebody may still write: what the last
/// programs of a pipeline or a process substitution have to say comes within it.
const QUIET_HELD_OPEN: Duration = Duration::from_secs(1);

/// How long to wait for the rest of the output when everything was killed.
const QUIET: Duration = Duration::from_millis(100);

/// How long processes may take to end in order after a time-out or an abort; well below the time a pipeline waits for a
/// cancelled call.
const TERMINATE_GRACE: Duration = Duration::from_millis(500);

/// The pause between updates: people see no difference below, and front ends are not flooded.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// The longest time-out that a call may give. Who writes a larger number means milliseconds; what really takes longer goes to the
/// background.
const TIMEOUT_SECONDS_MAX: f64 = 3_600.0;

/// Bytes read at a time: what a Linux pipe holds.
const CHUNK_BYTES: usize = 64 * 1024;

#[derive(Debug, Deserialize)]
struct Arguments {
    command: String,
    cwd: Option<String>,
    timeout: Option<f64>,
}

/// `bash {command, cwd?, timeout?}`: runs a shell command.
pub fn bash(options: Arc<ToolsOptions>) -> Tool {
    let default = match options.command_timeout {
        Some(timeout) => timeout.as_secs_f64().to_string(),
        None => "none".to_owned(),
    };
    let timeout = format!("Seconds until the command is stopped (default: {default})");
    let spec = ToolSpec::new(
        "bash",
        "Run a bash command in the working directory, or in cwd. Returns stdout and stderr together, cut to the last 2000 \
         lines or 50KB; the whole output is then kept in a file that is named. Scripts get the whole, up to 16MB. There is no terminal: editors, pagers and prompts fail. \
         Background processes live until the session ends; redirect their output to a file.",
    )
    .input_schema(json!({
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command"},
            "cwd": {"type": "string", "description": "The folder to run in (default: the working directory)"},
            "timeout": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": TIMEOUT_SECONDS_MAX,
                "description": timeout
            }
        },
        "required": ["command"],
        "additionalProperties": false
    }))
    .output_schema(report::output_schema())
    .effects(Effects::READ | Effects::WRITE | Effects::PROCESS | Effects::NETWORK)
    .annotations(Annotations {
        read_only_hint: Some(false),
        destructive_hint: Some(true),
        idempotent_hint: Some(false),
        open_world_hint: Some(true),
    });
    let spec = match options.sandbox.as_ref().and_then(confinement::guideline) {
        Some(guideline) => spec.guideline(guideline),
        None => spec,
    };
    typed_tool(spec, options, run)
}

async fn run(arguments: Arguments, options: Arc<ToolsOptions>, context: CallContext) -> Outcome {
    let reader = Reader::of(context.origin);
    let limit = match arguments.timeout {
        // The schema has refused what is no duration.
        Some(seconds) => Some(Limit::Given(Duration::from_secs_f64(
            seconds.clamp(0.0, TIMEOUT_SECONDS_MAX),
        ))),
        None => options.command_timeout.map(Limit::Default),
    };
    let folder = folder::locate(&context, arguments.cwd, Arc::clone(&options)).await?;
    let command = match &options.shell_command_prefix {
        Some(prefix) => format!("{prefix}\n{}", arguments.command),
        None => arguments.command,
    };
    let started_at = Instant::now();
    let confinement = Confinement::of(options.sandbox.as_ref());
    let source = command.clone();
    let text = CommandText::new(command, confinement.temp_dir(&options))?;
    let more_environment = context
        .settings()
        .map_or(&[][..], |settings| &settings.environment);
    let command = Command::new(shell::find(&options))
        .args(["-c", text.argument()])
        .current_dir(&folder)
        .envs(unattended::environment(&options.environment))
        .envs(more_environment.iter().cloned());
    let mut child = confinement
        .apply(command)
        .spawn()
        .map_err(|error| match error.kind() {
            ErrorKind::WorkingDirectory => {
                format!("{error}\nCommands cannot run until it is back.")
            }
            _ => error.to_string(),
        })?;
    let Some(mut output) = child.take_output() else {
        return Err("The command has no output, which is a bug".to_owned());
    };
    let mut session = Session {
        context: &context,
        capture: Capture::new(reader, confinement.spill(&options)),
        started_at,
        limit,
        unreported: false,
        rest: Rest::Complete,
    };
    let end = session.follow(&child, &mut output).await;
    let wall_time = started_at.elapsed();
    let findings = confinement.findings(
        session.capture.tail().text,
        (&source, &folder),
        &child,
        &end,
    );
    let (rest, output) = session.rest.named(output).await;
    if let Some(output) = output {
        child.give_back_output(output);
    }
    let report = Report {
        capture: session.capture,
        end,
        rest,
        wall_time,
        findings,
    };
    let result = report.into_result(reader).await;
    options.background.keep(child, context.lifetime.clone());
    Ok(result)
}

/// One command while it runs.
struct Session<'a> {
    context: &'a CallContext,
    capture: Capture,
    started_at: Instant,
    limit: Option<Limit>,
    /// Whether output came since the last update.
    unreported: bool,
    rest: Rest,
}

/// Why the reading of output stopped.
enum Stopped {
    Ended,
    TimedOut,
    Aborted,
}

impl Session<'_> {
    /// Reads the output until the command has ended, or was stopped.
    async fn follow(&mut self, child: &Child, output: &mut ChildOutput) -> End {
        let deadline = self
            .limit
            .and_then(|limit| self.started_at.checked_add(limit.after()));
        let expired = async {
            match deadline {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        let cancelled = self.context.cancel.clone();
        let stopped = tokio::select! {
            biased;
            () = cancelled.cancelled() => Stopped::Aborted,
            () = expired => Stopped::TimedOut,
            () = self.read_to_end(child, output) => Stopped::Ended,
        };
        match stopped {
            Stopped::Ended => End::Exited(child.wait().await),
            Stopped::Aborted => {
                self.terminate(child, output).await;
                End::Aborted
            }
            Stopped::TimedOut => {
                let shell_had_ended = child.status().is_some();
                self.terminate(child, output).await;
                let limit = self.limit.unwrap_or(Limit::Given(Duration::ZERO));
                if shell_had_ended {
                    End::TimedOutInBackground(limit)
                } else {
                    End::TimedOut(limit)
                }
            }
        }
    }

    /// Stops everything and keeps what is written meanwhile, since a full pipe could keep a program from ending.
    async fn terminate(&mut self, child: &Child, output: &mut ChildOutput) {
        let stopping = child.terminate(TERMINATE_GRACE);
        tokio::pin!(stopping);
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut at_end = false;
        loop {
            tokio::select! {
                _status = &mut stopping => break,
                read = output.read(&mut chunk), if !at_end => {
                    at_end = !self.take(read, &chunk).await;
                }
            }
        }
        // What is still in the pipe. Everything is dead, so the end comes at once, unless something could not be killed.
        while !at_end && let Ok(read) = tokio::time::timeout(QUIET, output.read(&mut chunk)).await {
            at_end = !self.take(read, &chunk).await;
        }
    }

    /// Reads to the end of the output, or until it is quiet after the shell's end.
    async fn read_to_end(&mut self, child: &Child, output: &mut ChildOutput) {
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut ticks = tokio::time::interval(UPDATE_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut ended_at = child.status().map(|_| Instant::now());
        loop {
            let quiet = async {
                match ended_at {
                    Some(_) => tokio::time::sleep(QUIET_HELD_OPEN).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                read = output.read(&mut chunk) => {
                    if !self.take(read, &chunk).await {
                        // The program may have closed its output and still run.
                        child.wait().await;
                        return;
                    }
                    if ended_at.is_some_and(|at| at.elapsed() > BACKGROUND_READ_MAX) {
                        self.rest = Rest::HeldOpen(Vec::new());
                        return;
                    }
                }
                _status = child.wait(), if ended_at.is_none() => ended_at = Some(Instant::now()),
                () = quiet => {
                    self.rest = Rest::HeldOpen(Vec::new());
                    return;
                }
                _tick = ticks.tick(), if self.unreported && ended_at.is_none() => self.report(),
            }
        }
    }

    /// Keeps what was read; false at the end.
    async fn take(&mut self, read: std::io::Result<usize>, chunk: &[u8]) -> bool {
        match read {
            Ok(0) | Err(_) => false,
            Ok(count) => {
                self.capture
                    .push(chunk.get(..count).unwrap_or_default())
                    .await;
                self.unreported = self.context.wants_updates();
                true
            }
        }
    }

    fn report(&mut self) {
        self.unreported = false;
        let text = String::from_utf8_lossy(self.capture.tail().text).into_owned();
        self.context.update(Update {
            text,
            details: None,
        });
    }
}

impl End {
    fn status(&self) -> Option<ExitStatus> {
        match self {
            Self::Exited(status) => Some(*status),
            Self::TimedOut(_) | Self::TimedOutInBackground(_) | Self::Aborted => None,
        }
    }
}
