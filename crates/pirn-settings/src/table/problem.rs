//! What is wrong with a value, and where it was given.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where something was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// At a line of a file.
    File {
        /// Where the file is.
        path: PathBuf,
        /// The line, counted from 1, where it is known.
        line: Option<u32>,
    },
    /// As a flag of the command line, with its dashes.
    Flag(String),
    /// In a variable of the environment.
    Variable(String),
}

/// `FILE:LINE`, `FILE`, `--flag` or `VARIABLE`.
impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File {
                path,
                line: Some(line),
            } => write!(formatter, "{}:{line}", path.display()),
            Self::File { path, line: None } => write!(formatter, "{}", path.display()),
            Self::Flag(name) | Self::Variable(name) => formatter.write_str(name),
        }
    }
}

/// Something wrong in `settings.json` or `mcp.json`, or with a flag or a variable that stands for a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// Where the value was given.
    pub place: Place,
    /// The MCP server that it is about.
    pub server: Option<String>,
    /// The key, as a path: `sandbox.network`, `oauth.callbackPort`.
    pub key: Option<String>,
    /// What is wrong, and what to write instead; a sentence in lower case without a full stop.
    pub message: String,
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// What it is about does not count: a server is left out. Of settings, nothing should be run: what was meant to be safe may
    /// not be.
    Error,
    /// Something is ignored; the rest counts.
    Note,
}

impl Severity {
    /// The word for programs: `error` or `note`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Note => "note",
        }
    }
}

impl Problem {
    /// Whether what it is about does not count.
    pub fn is_error(&self) -> bool {
        match self.severity {
            Severity::Error => true,
            Severity::Note => false,
        }
    }

    /// The file it is in, where it is in one.
    pub fn file(&self) -> Option<&Path> {
        match &self.place {
            Place::File { path, .. } => Some(path),
            Place::Flag(_) | Place::Variable(_) => None,
        }
    }

    /// The line in the file, counted from 1, where it is known.
    pub fn line(&self) -> Option<u32> {
        match &self.place {
            Place::File { line, .. } => *line,
            Place::Flag(_) | Place::Variable(_) => None,
        }
    }

    /// The key and what is wrong with it, without the place.
    pub fn what(&self) -> String {
        match &self.key {
            Some(key) => format!("{key}: {}", self.message),
            None => self.message.clone(),
        }
    }
}

/// `PLACE: MCP server "NAME": KEY: MESSAGE`, without the parts that are not known.
impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: ", self.place)?;
        if let Some(server) = &self.server {
            write!(formatter, "MCP server \"{server}\": ")?;
        }
        formatter.write_str(&self.what())
    }
}
