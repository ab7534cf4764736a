//! Which servers there are: the files that count in one run.

use std::path::{Path, PathBuf};

use pirn_mcp::{ConfigFile, LoadedConfig, Scope, ServerEntry};

use super::{ConfigurationArguments, FilesArguments, suggest};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::project::Project;
use crate::trust::current;
use pirn_settings::{
    FlagValues, Problem, ProjectFileKind, Settings, StoreError, Trust, project_folder,
};
use pirn_terminal::on_one_line;

/// The configuration's name, in Pirn's folder and in the project's.
const FILE_NAME: &str = "mcp.json";

/// The servers of one run.
#[derive(Debug)]
pub(crate) struct Configuration {
    /// What the files say.
    pub(crate) loaded: LoadedConfig,
    /// What else is set.
    pub(crate) settings: Settings,
}

impl Configuration {
    /// Reads the files that are there and count. `None` without any: then nothing of MCP is touched.
    pub(crate) fn load(
        arguments: &ConfigurationArguments,
        project: &Project,
        folder: &Path,
        invocation: &Invocation,
    ) -> Result<Option<Self>, Failure> {
        let mut files = Vec::new();
        if let Some(path) = user_file(invocation).filter(|file| file.exists()) {
            files.push(ConfigFile {
                scope: Scope::User,
                path,
            });
        }
        let project_file = project_file(folder, invocation).filter(|file| file.exists());
        if let Some(path) = project_file.filter(|_| project.trust == Trust::Trusted) {
            files.push(ConfigFile {
                scope: Scope::Project,
                path,
            });
        }
        if let Some(path) = &arguments.mcp_config {
            files.push(ConfigFile {
                scope: Scope::CommandLine,
                path: invocation.host.cwd.join(path),
            });
        }
        if files.is_empty() {
            return Ok(None);
        }
        let loaded = pirn_mcp::load(&files);
        if let Some(path) = &arguments.mcp_config {
            let path = invocation.host.cwd.join(path);
            let unusable = loaded
                .problems
                .iter()
                .find(|problem| costs_the_file(problem) && problem.file() == Some(&path));
            if let Some(problem) = unusable {
                return Err(Failure::usage(problem.to_string()));
            }
        }
        Ok(Some(Self {
            loaded,
            settings: project.settings.clone(),
        }))
    }

    /// The same for a command that works in the current folder.
    pub(super) fn in_current_folder(
        files: &FilesArguments,
        invocation: &Invocation,
    ) -> Result<Option<Self>, Failure> {
        let folder = &invocation.host.cwd;
        let gates = [ProjectFileKind::Settings, ProjectFileKind::McpServers];
        let project = Project::open(
            folder,
            &gates,
            &files.approval,
            &FlagValues::default(),
            invocation,
        )?;
        Self::load(&files.configuration, &project, folder, invocation)
    }

    /// The same for a command about the server of this name, which must be there.
    pub(super) fn with_server(
        name: &str,
        files: &FilesArguments,
        invocation: &Invocation,
    ) -> Result<Self, Failure> {
        let configuration =
            Self::in_current_folder(files, invocation)?.ok_or_else(|| unknown_server(name, &[]))?;
        configuration.server(name)?;
        Ok(configuration)
    }

    /// The server of this name; the failure offers others that are alike.
    pub(crate) fn server(&self, name: &str) -> Result<&ServerEntry, Failure> {
        if let Some(entry) = self.loaded.server(name) {
            return Ok(entry);
        }
        let problem = self
            .loaded
            .problems
            .iter()
            .find(|problem| problem.is_error() && problem.server.as_deref() == Some(name));
        if let Some(problem) = problem {
            return Err(Failure::usage(problem.to_string()));
        }
        let names: Vec<&str> = self
            .loaded
            .servers
            .iter()
            .map(|entry| entry.name.as_str())
            .collect();
        Err(unknown_server(name, &names))
    }

    /// Whether a server is to be connected, or something is to be told.
    pub(crate) fn matters(&self) -> bool {
        self.loaded.servers.iter().any(|entry| entry.enabled) || self.errors().next().is_some()
    }

    /// What costs an entry or a file.
    pub(crate) fn errors(&self) -> impl Iterator<Item = &Problem> {
        self.loaded
            .problems
            .iter()
            .filter(|problem| problem.is_error())
    }
}

/// What there is to say about the configuration without connecting to anything.
#[derive(Debug)]
pub(crate) struct Overview {
    /// Servers that are to be connected.
    pub(crate) enabled: usize,
    /// Servers that are switched off.
    pub(crate) disabled: usize,
    /// The first thing that costs an entry or a file.
    pub(crate) problem: Option<String>,
}

/// Looks at the files that count in the current folder, without asking about trust.
pub(crate) fn overview(invocation: &Invocation) -> Result<Overview, StoreError> {
    let mut files = Vec::new();
    if let Some(path) = user_file(invocation) {
        files.push(ConfigFile {
            scope: Scope::User,
            path,
        });
    }
    let folder = &invocation.host.cwd;
    if let Some(path) = project_file(folder, invocation).filter(|file| file.exists())
        && current(folder, &[ProjectFileKind::McpServers], invocation)?.trust == Trust::Trusted
    {
        files.push(ConfigFile {
            scope: Scope::Project,
            path,
        });
    }
    let loaded = pirn_mcp::load(&files);
    let enabled = loaded.servers.iter().filter(|entry| entry.enabled).count();
    Ok(Overview {
        enabled,
        disabled: loaded.servers.len() - enabled,
        problem: loaded
            .problems
            .iter()
            .find(|problem| problem.is_error())
            .map(ToString::to_string),
    })
}

/// No server of this name; `names` are those that there are.
pub(super) fn unknown_server(name: &str, names: &[&str]) -> Failure {
    let failure = Failure::usage(format!("there is no MCP server `{}`", on_one_line(name)));
    match names {
        [] => failure.hint("`pirn mcp add` adds one"),
        names => {
            suggest(failure, name, names).hint(format!("the servers are {}", names.join(", ")))
        }
    }
}

/// Whether a problem costs the whole file and not one entry.
pub(super) fn costs_the_file(problem: &Problem) -> bool {
    problem.is_error() && problem.server.is_none()
}

/// The user's file, whether it is there or not.
pub(super) fn user_file(invocation: &Invocation) -> Option<PathBuf> {
    Some(invocation.host.pirn_home.as_ref()?.join(FILE_NAME))
}

/// The project's file, whether it is there or not. In the user's own folder there is none.
pub(super) fn project_file(folder: &Path, invocation: &Invocation) -> Option<PathBuf> {
    let project = project_folder(folder, invocation.host.pirn_home.as_deref())?;
    Some(project.join(FILE_NAME))
}
