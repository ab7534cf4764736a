//! The user's text editor.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitStatus;

use pirn_sandbox::Command;

use crate::invocation::Invocation;
use crate::variables;

/// What opens a file where no variable names an editor.
const EDITOR: &str = "vi";

/// The program that `VISUAL` or `EDITOR` names.
#[derive(Debug, Clone)]
pub(crate) struct TextEditor {
    command: OsString,
    environment: Vec<(OsString, OsString)>,
}

impl TextEditor {
    /// The one that is set, or the one that every system has.
    pub(crate) fn new(invocation: &Invocation) -> Self {
        Self {
            command: [variables::VISUAL, variables::EDITOR]
                .into_iter()
                .find_map(variables::Variable::read)
                .unwrap_or_else(|| EDITOR.into()),
            environment: invocation.host.environment.clone(),
        }
    }

    /// Opens a file on the terminal, and waits until the editor is left.
    pub(crate) fn open(&self, path: &Path) -> Result<ExitStatus, pirn_sandbox::Error> {
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
