//! The environment variables that Pirn reads. A variable that is not in this table cannot be read: the reference is made of it,
//! and a test finds every other place that would read the environment.

use std::ffi::OsString;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    /// What it does, for people.
    pub(crate) help: &'static str,
}

macro_rules! variables {
    ($($name:ident: $help:literal,)*) => {
        $(
            #[doc = $help]
            pub(crate) const $name: Variable = Variable {
                name: stringify!($name),
                help: $help,
            };
        )*

        /// All of them, in the order of the reference.
        #[cfg(test)]
        pub(crate) const ALL: &[Variable] = &[$($name),*];
    };
}

variables! {
    PIRN_HOME: "Folder of Pirn's own files instead of `~/.pirn`",
    PIRN_BROWSER: "Command that opens pages, which gets the address as its last argument, instead of `xdg-open` or `open`",
    PIRN_MCP_TRACE: "When set, other commands than `pirn mcp` write a trace of MCP servers, too",
    HOME: "The user's home folder; without it, the one that the system knows",
    PATH: "Where programs are looked for, such as interpreters, git and the commands of MCP servers",
    TMPDIR: "Folder of files that need not stay, instead of `/tmp`",
    XDG_CONFIG_HOME: "Where `pirn mcp import` looks for other programs' configuration instead of `~/.config`",
    OLLAMA_HOST: "Where Ollama listens, for `pirn -p`, instead of `127.0.0.1:11434`",
    LLAMA_BASE_URL: "Where llama.cpp's server listens, for `pirn -p`, instead of ports 9931 and 8080",
    VISUAL: "Editor that `pirn config edit` and the interface open",
    EDITOR: "The same where `VISUAL` is not set; without both `vi`",
    NO_COLOR: "No colours, when not empty",
    COLORTERM: "With `truecolor`, the interface shows all colours",
    SSH_CONNECTION: "When set, the bytes of a key may come slowly",
    TERM: "With `dumb`, no colours and no display that moves; the interface shows lines only",
    ACCESSIBLE: "When set, the interface shows lines that a screen reader reads, as with `tui.mode` plain",
}

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

/// All that the process was given, for children. What Pirn itself goes by is read one by one.
#[expect(
    clippy::disallowed_methods,
    reason = "here the binary reads what children are given"
)]
pub(crate) fn for_children() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

#[cfg(test)]
mod tests;
