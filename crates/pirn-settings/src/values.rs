//! What can be set.

use std::path::PathBuf;

use pirn_sandbox::{Level, NetworkMode, Profile, Protection};
use pirn_tool::Effects;

use crate::trust::DefaultTrust;

/// Stands for the default list in `sandbox.unreadable`.
pub const THE_DEFAULTS: &str = "...";

/// What counts in one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// What happens to a project that nobody decided about.
    pub default_project_trust: DefaultTrust,
    /// The group `sandbox`: how commands are confined.
    pub sandbox: SandboxSettings,
    /// The group `bash`: commands of that tool.
    pub bash: BashSettings,
    /// The group `codemode`: bounds of scripts.
    pub codemode: CodemodeSettings,
    /// The group `eval`: programs for the user's interpreters.
    pub eval: EvalSettings,
    /// The group `tui`: the terminal interface.
    pub tui: TuiSettings,
}

/// The settings of the group `tui`: the terminal interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TuiSettings {
    /// How the conversation is shown at first.
    pub mode: TuiMode,
}

/// The settings of the group `bash`: commands of that tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BashSettings {
    /// The shell, instead of the one that is found.
    pub shell: Option<String>,
    /// After how many seconds a command is stopped whose call names no time.
    pub timeout_seconds: u64,
}

impl Default for BashSettings {
    fn default() -> Self {
        Self {
            shell: None,
            timeout_seconds: 600,
        }
    }
}

/// The settings of the group `codemode`: bounds of scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodemodeSettings {
    /// Whether a model that works by itself writes scripts.
    pub mode: CodemodeMode,
    /// Estimated tokens that tools may take in the description of `exec`.
    pub inline_budget: u64,
    /// Memory of one script, in MiB.
    pub memory_mb: u64,
    /// Memory of all scripts together, in MiB.
    pub memory_total_mb: u64,
    /// Processor time of one script, in seconds.
    pub cpu_seconds: u64,
    /// Time that a script may take in all, in seconds.
    pub timeout_seconds: u64,
    /// Calls of one script that run at the same time.
    pub calls_in_flight: u64,
    /// Calls that one script may make.
    pub calls_max: u64,
    /// Text of one script, in KiB.
    pub source_kb: u64,
    /// Stack of one script, in KiB.
    pub stack_kb: u64,
    /// Characters that one script may show.
    pub output_characters: u64,
    /// Items that one script may show.
    pub output_items: u64,
    /// JSON of one call's argument, and of its result, in MiB.
    pub call_mb: u64,
    /// Results that wait for a script that computes, in MiB.
    pub results_mb: u64,
    /// Characters of JSON of one stored value.
    pub store_value_characters: u64,
    /// Characters of JSON of all stored values together.
    pub store_characters: u64,
    /// Scripts at the same time, and ended ones whose end nobody has seen.
    pub cells_max: u64,
}

impl Default for CodemodeSettings {
    fn default() -> Self {
        Self {
            mode: CodemodeMode::On,
            inline_budget: 3_000,
            memory_mb: 256,
            memory_total_mb: 1_024,
            cpu_seconds: 60,
            timeout_seconds: 1_800,
            calls_in_flight: 64,
            calls_max: 100_000,
            source_kb: 1_024,
            stack_kb: 1_024,
            output_characters: 16_777_216,
            output_items: 100_000,
            call_mb: 16,
            results_mb: 256,
            store_value_characters: 262_144,
            store_characters: 1_048_576,
            cells_max: 128,
        }
    }
}

/// Whether a model that works by itself writes scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodemodeMode {
    /// It does not: there is no tool `exec`.
    Off,
    /// It may, and calls tools itself, too.
    On,
    /// It calls tools by scripts only.
    Only,
}

/// The settings of the group `sandbox`: how commands are confined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSettings {
    /// What they may write.
    pub profile: Profile,
    /// What they may reach.
    pub network: NetworkMode,
    /// Where the machine cannot give at least this level, nothing is run.
    pub require: Option<Level>,
    /// Further places that may be written.
    pub write_roots: Vec<PathBuf>,
    /// How much of the machine a command can read.
    pub readable: ReadableMode,
    /// Further places that may be read with [`ReadableMode::Listed`].
    pub read_roots: Vec<PathBuf>,
    /// Places that cannot be read; [`THE_DEFAULTS`] stands for the default list.
    pub unreadable: Vec<String>,
    /// What cannot be written inside writable places; [`THE_DEFAULTS`] stands for the default list.
    pub unwritable: Vec<String>,
    /// Dotfiles of the home folder that can be read; [`THE_DEFAULTS`] stands for the default list.
    pub home_readable: Vec<String>,
    /// Variables that are passed on though they hold secrets.
    pub environment: Vec<String>,
    /// How many files are looked through for what must be protected.
    pub files_max: u64,
    /// How many places can be protected, and how many hidden.
    pub places_max: u64,
    /// Hosts of an allow-list.
    pub allowed_hosts: Vec<String>,
    /// Hosts that are refused even so.
    pub denied_hosts: Vec<String>,
    /// Whether an allow-list may lead to private addresses.
    pub private_networks: bool,
    /// Memory of all processes of a command, in MiB.
    pub memory_mb: Option<u64>,
    /// Processes of a command at once.
    pub processes: u64,
}

/// How much of the machine a command can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadableMode {
    /// All but what is unreadable.
    Everything,
    /// The system's programs, the working folder, and what is listed.
    Listed,
}

/// The settings of the group `eval`: programs for the user's interpreters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvalSettings {
    /// The interpreter, instead of the project's or the first one on the `PATH`.
    pub python: Option<String>,
    /// The same for JavaScript.
    pub node: Option<String>,
    /// What is kept between calls.
    pub engine: EvalEngine,
    /// Whether code runs where nobody can be asked.
    pub allow_non_interactive: bool,
    /// Whether every piece of code is shown and asked about.
    pub require_confirmation: bool,
    /// Whether the same code with the same effects is asked about once per session.
    pub remember_approvals: bool,
    /// Effects of the tools that code may call, by name.
    pub effects: Vec<String>,
    /// What code may reach.
    pub network: NetworkMode,
    /// Time-out of a call that names none, in seconds.
    pub timeout_seconds: u64,
}

/// How the terminal interface shows the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TuiMode {
    /// Below the shell's history, into which goes what is finished.
    #[default]
    Inline,
    /// On a screen of its own.
    FullScreen,
    /// As lines only, which nothing changes once they are written.
    Plain,
}

/// What is kept between calls of `eval`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvalEngine {
    /// A state of JSON values; each call has a process of its own.
    Fresh,
    /// Everything; one process answers all calls.
    Persistent,
}

impl CodemodeMode {
    /// The mode of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "off" => Some(Self::Off),
            "on" => Some(Self::On),
            "only" => Some(Self::Only),
            _ => None,
        }
    }

    /// The name in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
            Self::Only => "only",
        }
    }
}

impl ReadableMode {
    /// The mode of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "everything" => Some(Self::Everything),
            "listed" => Some(Self::Listed),
            _ => None,
        }
    }

    /// The name in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Everything => "everything",
            Self::Listed => "listed",
        }
    }
}

impl TuiMode {
    /// The mode of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "inline" => Some(Self::Inline),
            "fullscreen" => Some(Self::FullScreen),
            "plain" => Some(Self::Plain),
            _ => None,
        }
    }

    /// The name in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::FullScreen => "fullscreen",
            Self::Plain => "plain",
        }
    }
}

impl EvalEngine {
    /// The engine of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "fresh" => Some(Self::Fresh),
            "persistent" => Some(Self::Persistent),
            _ => None,
        }
    }

    /// The name in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Persistent => "persistent",
        }
    }
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self {
            profile: Profile::WorkspaceWrite,
            network: NetworkMode::On,
            require: None,
            write_roots: Vec::new(),
            readable: ReadableMode::Everything,
            read_roots: Vec::new(),
            unreadable: vec![THE_DEFAULTS.to_owned()],
            unwritable: vec![THE_DEFAULTS.to_owned()],
            home_readable: vec![THE_DEFAULTS.to_owned()],
            environment: Vec::new(),
            files_max: Protection::FILES_MAX,
            places_max: Protection::PLACES_MAX,
            allowed_hosts: Vec::new(),
            denied_hosts: Vec::new(),
            private_networks: false,
            memory_mb: None,
            processes: 4_096,
        }
    }
}

impl Default for EvalSettings {
    fn default() -> Self {
        Self {
            python: None,
            node: None,
            engine: EvalEngine::Fresh,
            allow_non_interactive: false,
            require_confirmation: true,
            remember_approvals: false,
            effects: vec!["read".to_owned(), "process".to_owned()],
            network: NetworkMode::Off,
            timeout_seconds: 30,
        }
    }
}

impl EvalSettings {
    /// Effects of the tools that code may call.
    pub fn effects(&self) -> Effects {
        self.effects
            .iter()
            .filter_map(|name| Effects::from_name(name))
            .fold(Effects::NONE, |sum, effect| sum | effect)
    }
}
