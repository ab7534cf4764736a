//! Reading a file of JSON with comments as far as every such file is alike.

use std::io;
use std::path::Path;

use pirn_jsonc::{Node, parse, read_bounded};

/// Why a file gives nothing.
#[derive(Debug)]
pub enum FileError {
    /// It cannot be read.
    Unreadable(io::Error),
    /// It can be read, and is wrong as a whole.
    Wrong {
        /// Where reading stopped, counted from 1.
        line: u32,
        /// What is wrong, to be written after the place.
        message: String,
    },
}

impl FileError {
    /// Whether there is no such file.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Unreadable(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// The line that is known, and what is wrong, to be written after the place.
    pub fn into_parts(self) -> (Option<u32>, String) {
        match self {
            Self::Unreadable(error) => (None, format!("cannot be read: {error}")),
            Self::Wrong { line, message } => (Some(line), message),
        }
    }
}

/// The object that the file at `path` holds, of `bytes_max` at most; `None` where nothing is in it: somebody is about to fill
/// it. `example` is shown to whoever wrote something else.
pub fn read_file_root(
    path: &Path,
    bytes_max: u64,
    example: &str,
) -> Result<Option<Node>, FileError> {
    let text = read_bounded(path, bytes_max).map_err(FileError::Unreadable)?;
    read_root(&text, example)
}

/// The object that a text holds, as [`read_file_root`] has it.
pub fn read_root(text: &str, example: &str) -> Result<Option<Node>, FileError> {
    let root = parse(text).map_err(|error| FileError::Wrong {
        line: error.line,
        message: format!("is not valid JSON: {}", error.message),
    })?;
    match root {
        Some(root) if !root.is_object() => Err(FileError::Wrong {
            line: root.line,
            message: format!("must hold an object: {example}"),
        }),
        root => Ok(root),
    }
}
