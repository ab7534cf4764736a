//! Values that are the output of a shell command.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_sandbox::{Command, ExitStatus, OutputMode};

/// How long a command may take: a password manager that asks its user needs longer, and then would hang every start.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);
/// More than any token; a command that writes more is the wrong one.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;

/// Runs the commands of values that start with `!`.
pub trait CommandRunner: fmt::Debug + Send + Sync {
    /// Runs `command` in `directory` with exactly `variables` and gives its standard output without the line's end at its
    /// end. The error completes the sentence "the command …" and holds neither command nor output: both may be secret.
    fn run<'a>(
        &'a self,
        command: &'a str,
        directory: &'a Path,
        variables: &'a [(OsString, OsString)],
    ) -> BoxFuture<'a, Result<String, String>>;
}

/// The shell: `sh -c`, 10 s, 64 KiB of output, standard error ignored. What the command leaves running is killed.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShellRunner;

impl CommandRunner for ShellRunner {
    fn run<'a>(
        &'a self,
        command: &'a str,
        directory: &'a Path,
        variables: &'a [(OsString, OsString)],
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let run = run(command, directory, variables);
            tokio::time::timeout(COMMAND_TIMEOUT, run)
                .await
                .unwrap_or_else(|_| {
                    let seconds = COMMAND_TIMEOUT.as_secs();
                    Err(format!("did not end within {seconds} s"))
                })
        })
    }
}

async fn run(
    command: &str,
    directory: &Path,
    variables: &[(OsString, OsString)],
) -> Result<String, String> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .current_dir(directory)
        .envs(variables.iter().cloned())
        .output_mode(OutputMode::Separate)
        .spawn()
        .map_err(|error| format!("could not be started: {error}"))?;
    let output = child.take_output();
    let errors = child.take_error_output();
    let read = async {
        match output {
            // A byte more than allowed, to tell what just fits from what does not.
            Some(mut output) => output.read_bounded(OUTPUT_BYTES_MAX + 1).await,
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        }
    };
    let drain = async {
        if let Some(mut errors) = errors {
            // Nobody sees it, and an unread pipe would block the command.
            let _ignored = errors.read_bounded(0).await;
        }
        // It does not decide when the output ends.
        std::future::pending().await
    };
    let captured = tokio::select! {
        captured = read => captured,
        captured = drain => captured,
    };
    let captured = captured.map_err(|error| format!("could not be read: {error}"))?;
    match child.wait().await {
        ExitStatus::Code(0) => {}
        ExitStatus::Code(code) => return Err(format!("failed with exit code {code}")),
        ExitStatus::Signal(signal) => return Err(format!("was ended by signal {signal}")),
        ExitStatus::Lost => return Err("was lost".to_owned()),
    }
    if captured.bytes.len() > OUTPUT_BYTES_MAX {
        return Err(format!("wrote more than {OUTPUT_BYTES_MAX} bytes"));
    }
    let text = String::from_utf8(captured.bytes).map_err(|_| "wrote no Unicode".to_owned())?;
    let text = text.trim_end_matches(['\n', '\r']);
    if text.is_empty() {
        return Err("wrote nothing".to_owned());
    }
    Ok(text.to_owned())
}
