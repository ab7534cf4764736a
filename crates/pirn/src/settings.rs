//! Settings: `settings.json` in Pirn's folder, and the project's `.pirn/settings.json` where the project is trusted.
//!
//! [`rows`] is the table of all settings; reading, messages, `docs/settings.md` and `docs/settings.schema.json` come from it.
//! A project can make confinement stricter, never weaker: what it asks for beyond the user's own settings is left out, and a
//! note says so.

mod document;
mod project;
#[cfg(test)]
mod reference;
mod rows;

use std::path::{Path, PathBuf};

use pirn_sandbox::{Level, NetworkMode, Profile};
use pirn_tool::Effects;
use serde_json::Value;

use crate::failure::Failure;
use crate::standard;
use crate::surroundings::Surroundings;
use crate::trust::{Gate, Trust, current, project_folder};
use crate::visible::on_one_line;

/// The name of the file, in Pirn's folder and in the project's.
const FILE_NAME: &str = "settings.json";
/// Far beyond what anybody writes by hand; a device given by mistake is not read for ever.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Stands for the default list in `sandbox.unreadable`.
pub(crate) const THE_DEFAULTS: &str = "...";

/// What counts in one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Confinement of commands.
    pub(crate) sandbox: SandboxSettings,
    /// Python and JavaScript.
    pub(crate) eval: EvalSettings,
}

/// Confinement of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SandboxSettings {
    /// What they may write.
    pub(crate) profile: Profile,
    /// What they may reach.
    pub(crate) network: NetworkMode,
    /// Where the machine cannot give at least this level, nothing is run.
    pub(crate) require: Option<Level>,
    /// Further places that may be written.
    pub(crate) write_roots: Vec<PathBuf>,
    /// What is readable.
    pub(crate) readable: ReadableMode,
    /// Further places that may be read with [`ReadableMode::Listed`].
    pub(crate) read_roots: Vec<PathBuf>,
    /// Places that cannot be read; [`THE_DEFAULTS`] stands for the default list.
    pub(crate) unreadable: Vec<String>,
    /// Hosts of an allow-list.
    pub(crate) allowed_hosts: Vec<String>,
    /// Hosts that are refused even so.
    pub(crate) denied_hosts: Vec<String>,
    /// Whether an allow-list may lead to private addresses.
    pub(crate) private_networks: bool,
    /// Memory of all processes of a command, in MiB.
    pub(crate) memory_mb: Option<u64>,
    /// Processes of a command at once.
    pub(crate) processes: u64,
}

/// What is readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadableMode {
    /// All but what is unreadable.
    Everything,
    /// The system's programs, the working folder, and what is listed.
    Listed,
}

/// Python and JavaScript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EvalSettings {
    /// The interpreter, instead of the project's or the first one on the `PATH`.
    pub(crate) python: Option<String>,
    /// The same for JavaScript.
    pub(crate) node: Option<String>,
    /// What is kept between calls.
    pub(crate) engine: EvalEngine,
    /// Whether code runs where nobody can be asked.
    pub(crate) allow_non_interactive: bool,
    /// Whether every piece of code is shown and asked about.
    pub(crate) require_confirmation: bool,
    /// Whether the same code with the same effects is asked about once per session.
    pub(crate) remember_approvals: bool,
    /// Effects of the tools that code may call, by name.
    pub(crate) effects: Vec<String>,
    /// What code may reach.
    pub(crate) network: NetworkMode,
    /// Time-out of a call that names none, in seconds.
    pub(crate) timeout_seconds: u64,
}

/// What is kept between calls of `eval`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EvalEngine {
    /// A state of JSON values; each call has a process of its own.
    Fresh,
    /// Everything; one process answers all calls.
    Persistent,
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
    pub(crate) fn effects(&self) -> Effects {
        self.effects
            .iter()
            .filter_map(|name| Effects::from_name(name))
            .fold(Effects::NONE, |sum, effect| sum | effect)
    }
}

/// Something about a file of settings.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Problem {
    severity: Severity,
    /// `FILE`, or `FILE:LINE`.
    place: String,
    message: String,
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Severity {
    /// Nothing is run: what was meant to be safe may not be.
    Error,
    /// Something is ignored.
    Note,
}

impl Settings {
    /// Reads the user's file, and the project's where it is there and `trust` says so. What is ignored is told in notes; what is
    /// wrong is a failure, since a run with other settings than those meant may be less safe.
    pub(crate) fn load(
        folder: &Path,
        trust: Trust,
        surroundings: &Surroundings,
    ) -> Result<Self, Failure> {
        let (settings, problems) = Self::found(folder, trust, surroundings);
        let mut failure: Option<Failure> = None;
        for problem in problems {
            let text = on_one_line(&format!("{}: {}", problem.place, problem.message));
            match (problem.severity, failure.take()) {
                (Severity::Note, so_far) => {
                    standard::note(&text);
                    failure = so_far;
                }
                (Severity::Error, None) => failure = Some(Failure::usage(text)),
                (Severity::Error, Some(so_far)) => failure = Some(so_far.detail(text)),
            }
        }
        match failure {
            None => Ok(settings),
            Some(failure) => {
                Err(failure.hint("docs/settings.md lists all settings with their values"))
            }
        }
    }
}

impl Settings {
    /// The same without notes; the error is the first thing that is wrong.
    pub(crate) fn load_quietly(
        folder: &Path,
        trust: Trust,
        surroundings: &Surroundings,
    ) -> Result<Self, String> {
        let (settings, problems) = Self::found(folder, trust, surroundings);
        match problems
            .into_iter()
            .find(|problem| problem.severity == Severity::Error)
        {
            None => Ok(settings),
            Some(problem) => Err(format!("{}: {}", problem.place, problem.message)),
        }
    }

    fn found(folder: &Path, trust: Trust, surroundings: &Surroundings) -> (Self, Vec<Problem>) {
        let project = project_file(folder, surroundings).filter(|_| trust == Trust::Trusted);
        let paths = Paths {
            home: surroundings.home.as_deref(),
            folder,
        };
        read(
            user_file(surroundings).as_deref(),
            project.as_deref(),
            &paths,
        )
    }
}

/// What counts in the current folder, in a few words, without asking about trust.
pub(crate) fn summary(surroundings: &Surroundings) -> Result<String, String> {
    let folder = &surroundings.cwd;
    // What is wrong with the trust file has a line of its own.
    let trust = current(folder, &[Gate::Settings], surroundings)
        .map_or(Trust::Untrusted, |verdict| verdict.trust);
    let settings = Settings::load_quietly(folder, trust, surroundings)?;
    let sandbox = &settings.sandbox;
    let files = [
        user_file(surroundings).filter(|file| file.exists()),
        project_file(folder, surroundings).filter(|file| file.exists() && trust == Trust::Trusted),
    ];
    let files: Vec<String> = files
        .into_iter()
        .flatten()
        .map(|file| on_one_line(&file.to_string_lossy()))
        .collect();
    let source = if files.is_empty() {
        "there is no file, all is as by default".to_owned()
    } else {
        format!("from {}", files.join(" and "))
    };
    Ok(format!(
        "sandbox {}, network {}; {source}",
        sandbox.profile.as_str(),
        sandbox.network.as_str()
    ))
}

/// What paths in files stand for.
#[derive(Debug, Clone, Copy)]
struct Paths<'a> {
    /// The user's home.
    home: Option<&'a Path>,
    /// The project.
    folder: &'a Path,
}

/// What both files say together. Pure but for reading them.
fn read(
    user: Option<&Path>,
    project: Option<&Path>,
    paths: &Paths<'_>,
) -> (Settings, Vec<Problem>) {
    let mut settings = Settings::default();
    let mut problems = Vec::new();
    if let Some(path) = user {
        let given = document::read(path, &mut problems);
        document::apply(&given, paths, &mut settings, &mut problems);
    }
    if let Some(path) = project {
        let given = document::read(path, &mut problems);
        settings = project::stricter(&settings, &given, paths, &mut problems);
    }
    (settings, problems)
}

/// The user's file, whether it is there or not.
pub(crate) fn user_file(surroundings: &Surroundings) -> Option<PathBuf> {
    Some(surroundings.pirn_home.as_ref()?.join(FILE_NAME))
}

/// The project's file, whether it is there or not. In the user's own folder there is none.
pub(crate) fn project_file(folder: &Path, surroundings: &Surroundings) -> Option<PathBuf> {
    Some(project_folder(folder, surroundings.pirn_home.as_deref())?.join(FILE_NAME))
}

/// Adds an entry to a list of the user's file, and keeps everything else that is in it.
pub(crate) fn add_to_list(
    key: &str,
    entry: &str,
    surroundings: &Surroundings,
) -> Result<(), Failure> {
    let Some(path) = user_file(surroundings) else {
        return Err(
            Failure::usage("there is no home folder to keep settings in")
                .hint("set HOME or PIRN_HOME"),
        );
    };
    let keys: Vec<&str> = key.split('.').collect();
    pirn_jsonc::set_value(&path, FILE_BYTES_MAX, &keys, |old| {
        let old = old.map_or(&[][..], pirn_jsonc::Node::items);
        let mut entries: Vec<Value> = old.iter().map(pirn_jsonc::Node::to_json).collect();
        if !entries.iter().any(|known| known.as_str() == Some(entry)) {
            entries.push(entry.into());
        }
        Value::Array(entries)
    })
    .map_err(|error| Failure::usage(error.to_string()))
}

#[cfg(test)]
mod tests;
