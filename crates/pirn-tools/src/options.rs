//! What the tools are told about their surroundings.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use pirn_file::SpillFolder;
use pirn_sandbox::{BackgroundChildren, Sandbox};
use pirn_tool::ImageLimits;

/// After what time a command is stopped whose call says nothing about it: longer than builds and tests usually take, and short
/// enough that a command which waits for ever is noticed the same hour.
pub const COMMAND_TIMEOUT_DEFAULT: Duration = Duration::from_mins(10);

/// What the tools are told about their surroundings; they read neither the process environment nor the home directory.
#[derive(Debug, Clone)]
pub struct ToolsOptions {
    /// Where relative paths start and commands run.
    pub cwd: PathBuf,
    /// The whole environment of commands.
    pub environment: Vec<(OsString, OsString)>,
    /// The shell of `bash`; without one `/bin/bash`, then `bash` and `sh` on the `PATH` of `environment`.
    pub shell: Option<PathBuf>,
    /// After what time a command is stopped whose call says nothing about it; `None` for never.
    pub command_timeout: Option<Duration>,
    /// A line that runs before every command.
    pub shell_command_prefix: Option<String>,
    /// Where commands are kept that are too long for a command line.
    pub temp_dir: PathBuf,
    /// Where whole outputs of commands are kept. Where confined commands have a temporary folder of their own, the files lie in
    /// that one, so that commands can read them, too; the bounds are the same.
    pub spill: SpillFolder,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
    /// How large images may be.
    pub image_limits: ImageLimits,
    /// The program that decodes pictures: one that calls [`crate::picture_helper`] when [`crate::PICTURE_HELPER_ARGUMENT`] is its
    /// first argument, such as the running one's own file. Without one no picture is shown.
    pub picture_program: Option<PathBuf>,
    /// The confinement of commands. Where they have a `/tmp` of their own in it, paths below `/tmp` mean that one for the other
    /// tools as well, which find a file there before one outside. What it keeps commands from reading or writing, the other tools
    /// refuse.
    pub sandbox: Option<Sandbox>,
    /// Where processes are found that commands leave running.
    pub background: BackgroundChildren,
}

impl ToolsOptions {
    /// Options for working in `cwd`, with an empty environment, no home directory, and `temp_dir` for whole outputs, which stay
    /// there.
    pub fn new(cwd: impl Into<PathBuf>, temp_dir: impl Into<PathBuf>) -> Self {
        let temp_dir = temp_dir.into();
        Self {
            spill: SpillFolder::new(&temp_dir),
            cwd: cwd.into(),
            environment: Vec::new(),
            shell: None,
            command_timeout: Some(COMMAND_TIMEOUT_DEFAULT),
            shell_command_prefix: None,
            temp_dir,
            home: None,
            image_limits: ImageLimits::default(),
            picture_program: None,
            sandbox: None,
            background: BackgroundChildren::new(),
        }
    }

    /// The value of a variable of the commands' environment.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.environment
            .iter()
            .rev()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_os_str())
    }
}
