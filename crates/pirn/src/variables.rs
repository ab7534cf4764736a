//! The environment variables that Pirn reads, one row each.

use std::ffi::OsString;

/// A variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Variable {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it does, for people.
    pub(crate) help: &'static str,
}

/// The folder of Pirn's own files.
pub(crate) const PIRN_HOME: Variable = Variable {
    name: "PIRN_HOME",
    help: "Folder of Pirn's own files instead of `~/.pirn`",
};
/// The shell of the tool `bash`.
pub(crate) const PIRN_SHELL: Variable = Variable {
    name: "PIRN_SHELL",
    help: "Shell that the tool `bash` runs instead of `/bin/bash`",
};
/// Turns colours off.
pub(crate) const NO_COLOR: Variable = Variable {
    name: "NO_COLOR",
    help: "No colours, when set to anything but nothing",
};
/// Says what the terminal can do.
pub(crate) const TERM: Variable = Variable {
    name: "TERM",
    help: "With `dumb`, no colours and no display that moves",
};

/// All of them, in the order of the reference.
#[cfg(test)]
pub(crate) const ALL: [Variable; 4] = [PIRN_HOME, PIRN_SHELL, NO_COLOR, TERM];

impl Variable {
    /// The value; an empty one counts as none.
    pub(crate) fn read(self) -> Option<OsString> {
        std::env::var_os(self.name).filter(|value| !value.is_empty())
    }
}
