//! What the process was started in, read once.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::PathBuf;

use anyhow::Context as _;
use pirn_settings::HostEnv;
use pirn_terminal::{Style, Table, Tty, columns, is_error_terminal, is_output_terminal};
use pirn_tui::TextEditor;

use crate::consent::Asking;
use crate::failure::Failure;
use crate::variables::{
    EDITOR, HOME, NO_COLOR, PIRN_BROWSER, PIRN_HOME, TERM, TMPDIR, VISUAL, Variable, for_children,
};

/// Where a standard stream leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Terminal,
    /// To a file, a pipe or nowhere.
    Other,
}

/// What the terminal behind standard error can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Display {
    /// The cursor can be moved.
    Moving,
    Lines,
}

/// Columns of a table that is not on a terminal.
const COLUMNS_DEFAULT: usize = 160;

/// What the process was started in.
#[derive(Debug, Clone)]
pub(crate) struct Invocation {
    /// What libraries need of it.
    pub(crate) host: HostEnv,
    /// What opens pages, where the user wants something else.
    pub(crate) browser: Option<OsString>,
    pub(crate) stdin: Stream,
    pub(crate) stdout: Stream,
    pub(crate) stderr: Stream,
    /// What can be shown on standard error.
    pub(crate) display: Display,
}

impl Invocation {
    /// What the user writes texts with, as `VISUAL` or `EDITOR` says.
    pub(crate) fn text_editor(&self) -> TextEditor {
        let command = [VISUAL, EDITOR].into_iter().find_map(Variable::read);
        TextEditor::new(command, self.host.environment.clone())
    }

    /// Reads the process's environment, folders and streams.
    #[expect(
        clippy::disallowed_methods,
        reason = "here the binary reads what the libraries are given"
    )]
    pub(crate) fn read() -> Result<Self, Failure> {
        let cwd = std::env::current_dir()
            .context("the current folder cannot be read; it may have been deleted")?;
        let home = HOME.read().map(PathBuf::from).or_else(|| {
            // What the system says of the user.
            std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
        });
        let pirn_home = PIRN_HOME
            .read()
            .map(PathBuf::from)
            .or_else(|| home.as_ref().map(|home| home.join(".pirn")));
        let stderr = stream(is_error_terminal());
        Ok(Self {
            host: HostEnv {
                cwd,
                home,
                temp_dir: TMPDIR.read().map_or_else(std::env::temp_dir, PathBuf::from),
                pirn_home,
                // Where the system does not tell, pictures are left out with that reason.
                picture_program: std::env::current_exe().ok(),
                environment: for_children(),
            },
            browser: PIRN_BROWSER.read(),
            stdin: stream(std::io::stdin().is_terminal()),
            stdout: stream(is_output_terminal()),
            stderr,
            display: display(stderr),
        })
    }

    /// Whether the user can be asked. Who has sent the messages elsewhere is not looking.
    pub(crate) fn asking(&self) -> Asking {
        match self.stderr {
            Stream::Terminal if Tty::open().is_ok() => Asking::Possible,
            Stream::Terminal | Stream::Other => Asking::Impossible,
        }
    }

    /// An empty table for standard output.
    pub(crate) fn table(&self) -> Table {
        Table::new(match self.stdout {
            Stream::Terminal => columns().unwrap_or(COLUMNS_DEFAULT),
            Stream::Other => COLUMNS_DEFAULT,
        })
    }
}

fn stream(is_terminal: bool) -> Stream {
    if is_terminal {
        Stream::Terminal
    } else {
        Stream::Other
    }
}

fn display(stderr: Stream) -> Display {
    let is_dumb = TERM.read().is_some_and(|term| term == "dumb");
    match stderr {
        Stream::Terminal if !is_dumb => Display::Moving,
        Stream::Terminal | Stream::Other => Display::Lines,
    }
}

/// How messages on standard error look; asked also before anything else is known.
pub(crate) fn message_style() -> Style {
    match display(stream(is_error_terminal())) {
        Display::Moving if NO_COLOR.read().is_none() => Style::Coloured,
        Display::Moving | Display::Lines => Style::Plain,
    }
}
