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
/// What opens pages.
pub(crate) const PIRN_BROWSER: Variable = Variable {
    name: "PIRN_BROWSER",
    help: "Command that opens pages, which gets the address as its last argument, instead of `xdg-open` or `open`",
};
/// Keeps traces.
pub(crate) const PIRN_MCP_TRACE: Variable = Variable {
    name: "PIRN_MCP_TRACE",
    help: "When set, other commands than `pirn mcp` write a trace of MCP servers, too",
};
/// Where programs keep their configuration.
pub(crate) const XDG_CONFIG_HOME: Variable = Variable {
    name: "XDG_CONFIG_HOME",
    help: "Where `pirn mcp import` looks for other programs' configuration instead of `~/.config`",
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
pub(crate) const ALL: [Variable; 6] = [
    PIRN_HOME,
    PIRN_SHELL,
    PIRN_BROWSER,
    PIRN_MCP_TRACE,
    NO_COLOR,
    TERM,
];

impl Variable {
    /// The value; an empty one counts as none.
    #[expect(
        clippy::disallowed_methods,
        reason = "here the binary reads its variables"
    )]
    pub(crate) fn read(self) -> Option<OsString> {
        std::env::var_os(self.name).filter(|value| !value.is_empty())
    }
}
