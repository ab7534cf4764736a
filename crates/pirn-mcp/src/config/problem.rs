//! What is wrong in a configuration file.

use std::fmt;
use std::path::PathBuf;

/// Something wrong in a configuration file. It costs the entry it is in, or nothing where it is a [`Severity::Note`], and
/// never another entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// How bad it is.
    pub severity: Severity,
    /// The file that the problem is in.
    pub file: PathBuf,
    /// The line, from 1, where it is known.
    pub line: Option<u32>,
    /// The server it is about.
    pub server: Option<String>,
    /// The setting, as a path of keys: `oauth.callbackPort`.
    pub field: Option<String>,
    /// What is wrong, and what to write instead; a sentence in lower case without a full stop.
    pub message: String,
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// The entry, or the whole file, is left out.
    Error,
    /// The entry counts; something in it is ignored.
    Note,
}

impl fmt::Display for ConfigProblem {
    /// `FILE:LINE: MCP server "NAME": FIELD: MESSAGE`, without the parts that are not known.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(formatter, ":{line}")?;
        }
        formatter.write_str(": ")?;
        if let Some(server) = &self.server {
            write!(formatter, "MCP server \"{server}\": ")?;
        }
        if let Some(field) = &self.field {
            write!(formatter, "{field}: ")?;
        }
        formatter.write_str(&self.message)
    }
}
