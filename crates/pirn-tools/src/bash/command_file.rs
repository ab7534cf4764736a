//! Commands that are too long for an argument.

use std::path::{Path, PathBuf};

use pirn_file::write_unique;

/// From this length on a command goes through a file: Linux takes no argument of 128 KiB, its last zero byte included.
const ARGUMENT_BYTES_MAX: usize = 128 * 1024 - 1;

/// A command as the shell's arguments give it.
#[derive(Debug)]
pub(super) struct CommandText {
    argument: String,
    file: Option<PathBuf>,
}

impl CommandText {
    /// Keeps a command that is too long in a file in `folder`. The error is a sentence.
    pub(super) fn new(command: String, folder: &Path) -> Result<Self, String> {
        if command.len() < ARGUMENT_BYTES_MAX {
            return Ok(Self {
                argument: command,
                file: None,
            });
        }
        let file = write_unique(folder, "pirn-command-", "sh", command.as_bytes()).map_err(|error| {
            format!(
                "The command is too long for an argument, and cannot be kept in a file: {}: {error}",
                folder.display()
            )
        })?;
        Ok(Self {
            // Read by the same shell, so that all else is as in a short command.
            argument: format!(". {}", quote(&file)),
            file: Some(file),
        })
    }

    /// What follows `-c` on the shell's command line.
    pub(super) fn argument(&self) -> &str {
        &self.argument
    }
}

impl Drop for CommandText {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            // It lies in a temporary folder, which is cleared anyway.
            let _left = std::fs::remove_file(file);
        }
    }
}

fn quote(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
