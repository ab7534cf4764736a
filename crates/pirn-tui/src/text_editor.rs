//! The user's text editor.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitStatus;

use pirn_sandbox::Command;

/// What opens a file where no variable names an editor.
const EDITOR: &str = "vi";

/// A program that the user writes texts with.
#[derive(Debug, Clone)]
pub struct TextEditor {
    command: OsString,
    environment: Vec<(OsString, OsString)>,
}

impl TextEditor {
    /// The one that is started by this command line, or the one that every system has.
    pub fn new(command: Option<OsString>, environment: Vec<(OsString, OsString)>) -> Self {
        Self {
            command: command.unwrap_or_else(|| EDITOR.into()),
            environment,
        }
    }

    /// Opens a file on the terminal, and waits until the editor is left.
    ///
    /// # Errors
    ///
    /// When the editor cannot be started.
    pub fn open(&self, path: &Path) -> Result<ExitStatus, pirn_sandbox::Error> {
        let command = self.command.to_string_lossy();
        let mut words = command.split_whitespace();
        let program = words.next().unwrap_or(EDITOR);
        Command::new(program)
            .args(words)
            .arg(path)
            .envs(self.environment.iter().cloned())
            .in_foreground()
    }
}
