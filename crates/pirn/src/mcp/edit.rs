//! `pirn mcp add`, `remove`, `enable` and `disable`: changes to one file, without connecting to anything.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use pirn_mcp::{
    ClientRegistration, ConfigFile, Edit, EditOutcome, ErrorKind, HttpEntry, HttpKind, McpExposure,
    NewServer, OAuthSettings, SandboxEntry, Scope, Secret, Setting, StartMode, StdioEntry,
    Timeouts, TransportEntry, WhenMissing, edit_config,
};

use super::arguments::{ExposureWord, KindWord, RegistrationWord, StartWord, TargetArguments};
use super::configuration::{project_file, user_file};
use super::servers::failure;
use super::{AddArguments, NamedArguments, pair};
use crate::confinement::chosen_network;
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::standard;
use crate::trust::current;
use pirn_settings::{ProjectFileKind, Trust};
use pirn_terminal::on_one_line;

/// A file that is changed.
pub(super) struct Target {
    pub(super) scope: Scope,
    pub(super) path: PathBuf,
}

impl Target {
    /// The file that the command line means.
    pub(super) fn new(
        arguments: &TargetArguments,
        invocation: &Invocation,
    ) -> Result<Self, Failure> {
        if arguments.local {
            let path = project_file(&invocation.host.cwd, invocation).ok_or_else(|| {
                Failure::usage("this is Pirn's own folder; it has no project's file")
                    .hint("leave --local out")
            })?;
            return Ok(Self {
                scope: Scope::Project,
                path,
            });
        }
        let path = user_file(invocation).ok_or_else(|| {
            Failure::usage("there is no home folder").hint("set HOME or PIRN_HOME")
        })?;
        Ok(Self {
            scope: Scope::User,
            path,
        })
    }

    /// The other of the two files, with what to do to reach it.
    fn other(&self, invocation: &Invocation) -> Option<(PathBuf, &'static str)> {
        match self.scope {
            Scope::Project => Some((user_file(invocation)?, "leave --local out")),
            Scope::User | Scope::Runtime | Scope::CommandLine => Some((
                project_file(&invocation.host.cwd, invocation)?,
                "add --local",
            )),
        }
    }

    /// The path for people.
    pub(super) fn shown(&self) -> String {
        on_one_line(&self.path.to_string_lossy())
    }

    /// Says so where the file does not count yet.
    pub(super) fn tell_trust(&self, invocation: &Invocation) {
        if self.scope == Scope::Project {
            let verdict = current(
                &invocation.host.cwd,
                &[ProjectFileKind::McpServers],
                invocation,
            );
            // What is wrong with the trust file is told by those who need it.
            if verdict.is_ok_and(|verdict| verdict.trust == Trust::Untrusted) {
                standard::note(
                    "the project's file counts when the project is trusted; `pirn trust` decides",
                );
            }
        }
    }
}

/// Runs `pirn mcp add`.
pub(super) fn add(arguments: &AddArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let server = new_server(arguments)?;
    let target = Target::new(&arguments.target, invocation)?;
    let name = &arguments.name;
    let edit = Edit::Put {
        name: name.clone(),
        server: Box::new(server),
    };
    try_out(&edit)?;
    let done = match apply(&target.path, &edit)? {
        EditOutcome::Replaced => "replaced in",
        EditOutcome::Unchanged => "as it was in",
        EditOutcome::Added | EditOutcome::Changed | EditOutcome::Removed => "added to",
    };
    standard::note(&format!(
        "{name} is {done} {}; run `pirn mcp list` to test it",
        target.shown()
    ));
    target.tell_trust(invocation);
    Ok(Exit::Success)
}

/// Writes the entry into a file of its own, to see whether it would count.
fn try_out(edit: &Edit) -> Result<(), Failure> {
    let folder = tempfile::tempdir().context("there is no place for temporary files")?;
    let path = folder.path().join("mcp.json");
    apply(&path, edit)?;
    let loaded = pirn_mcp::load(&[ConfigFile {
        scope: Scope::User,
        path,
    }]);
    match loaded.problems.into_iter().next() {
        None => Ok(()),
        Some(problem) => Err(Failure::usage(format!(
            "MCP server \"{}\": {}",
            edit.server(),
            problem.what()
        ))),
    }
}

/// Runs `pirn mcp remove`.
pub(super) fn remove(arguments: &NamedArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let edit = Edit::Remove {
        name: arguments.name.clone(),
    };
    change(arguments, &edit, "removed from", invocation)
}

/// Runs `pirn mcp enable` and `pirn mcp disable`.
pub(super) fn switch(
    arguments: &NamedArguments,
    setting: Setting,
    invocation: &Invocation,
) -> Result<Exit, Failure> {
    let done = match setting {
        Setting::Disable => "switched off in",
        Setting::Enable | Setting::Exposure(_) | Setting::ToolExposure { .. } => "switched on in",
    };
    let edit = Edit::Set {
        name: arguments.name.clone(),
        setting,
        missing: if is_users(arguments, invocation) {
            WhenMissing::Override
        } else {
            WhenMissing::Fail
        },
    };
    change(arguments, &edit, done, invocation)
}

/// Whether the project's file is to change a server of the user's.
fn is_users(arguments: &NamedArguments, invocation: &Invocation) -> bool {
    arguments.target.local
        && user_file(invocation).is_some_and(|path| holds(&path, Scope::User, &arguments.name))
}

fn holds(path: &Path, scope: Scope, name: &str) -> bool {
    let loaded = pirn_mcp::load(&[ConfigFile {
        scope,
        path: path.to_owned(),
    }]);
    loaded.server(name).is_some()
}

fn change(
    arguments: &NamedArguments,
    edit: &Edit,
    done: &str,
    invocation: &Invocation,
) -> Result<Exit, Failure> {
    let target = Target::new(&arguments.target, invocation)?;
    let name = &arguments.name;
    let outcome = edit_config(&target.path, edit).map_err(|error| {
        let is_unknown = *error.kind() == ErrorKind::UnknownServer;
        let failure = unusable(error);
        match target.other(invocation) {
            Some((path, advice)) if is_unknown && holds(&path, Scope::User, name) => {
                failure.hint(format!(
                    "it is in {}: {advice}",
                    on_one_line(&path.to_string_lossy())
                ))
            }
            Some(_) | None => failure,
        }
    })?;
    let shown = target.shown();
    standard::note(&match outcome {
        EditOutcome::Unchanged => format!("{name} was {done} {shown} already"),
        EditOutcome::Added
        | EditOutcome::Replaced
        | EditOutcome::Removed
        | EditOutcome::Changed => format!("{name} is {done} {shown}"),
    });
    Ok(Exit::Success)
}

pub(super) fn apply(path: &Path, edit: &Edit) -> Result<EditOutcome, Failure> {
    edit_config(path, edit).map_err(unusable)
}

/// A file or name that cannot be used: nothing was changed.
fn unusable(error: pirn_mcp::Error) -> Failure {
    failure(error, None).with_exit(Exit::Usage)
}

/// The server that was typed.
/// Whether a word can only be meant as the address of a server.
fn is_url(word: &str) -> bool {
    word.starts_with("http://") || word.starts_with("https://")
}

fn new_server(arguments: &AddArguments) -> Result<NewServer, Failure> {
    let command = arguments.command.as_slice();
    let (url, command) = match (&arguments.url, command) {
        // A URL is a URL, also without its flag.
        (None, [url]) if is_url(url) => (Some(url), &[][..]),
        (None, [url, first, ..]) if is_url(url) => {
            return Err(Failure::usage(format!(
                "`{}` after the URL is not understood",
                on_one_line(first)
            ))
            .hint(format!(
                "options come before the name: pirn mcp add [OPTIONS] {} URL",
                arguments.name
            )));
        }
        (url, command) => (url.as_ref(), command),
    };
    let transport = match (url, command) {
        (Some(_), [_, ..]) => {
            return Err(Failure::usage("a server has a program or a URL, not both"));
        }
        (None, []) => {
            return Err(Failure::usage("the server's program or URL is missing")
                .hint(format!("pirn mcp add {} -- CMD [ARGS]", arguments.name))
                .hint(format!("pirn mcp add {} URL", arguments.name)));
        }
        (Some(url), []) => {
            refuse_others("--url", &program_options(arguments))?;
            TransportEntry::Http(http_entry(url, arguments)?)
        }
        (None, [command, rest @ ..]) => {
            refuse_others("a program", &url_options(arguments))?;
            if command.starts_with('-') {
                return Err(Failure::usage(format!(
                    "there is no option `{}`",
                    on_one_line(command)
                ))
                .hint("the program and its arguments come after `--`"));
            }
            let mut env = Vec::new();
            for typed in &arguments.env {
                env.push(pair(typed, &['='], "NAME=VALUE")?);
            }
            TransportEntry::Stdio(StdioEntry {
                command: command.clone(),
                args: rest.to_vec(),
                env,
                cwd: arguments.cwd.clone(),
                inherit_env: arguments.inherit_env,
                sandbox: sandbox(arguments)?,
            })
        }
    };
    let mut server = NewServer::new(transport);
    server.description.clone_from(&arguments.description);
    if let Some(exposure) = arguments.exposure {
        server.exposure = match exposure {
            ExposureWord::Codemode => McpExposure::Codemode,
            ExposureWord::Deferred => McpExposure::Deferred,
            ExposureWord::Direct => McpExposure::Direct,
            ExposureWord::Hidden => McpExposure::Hidden,
        };
    }
    if let Some(start) = arguments.start {
        server.start = match start {
            StartWord::Eager => StartMode::Eager,
            StartWord::Lazy => StartMode::Lazy,
        };
    }
    if let Some(seconds) = arguments.timeout {
        let request = Duration::from_secs(seconds);
        let defaults = Timeouts::default();
        server.timeouts = Timeouts {
            request,
            total: defaults.total.max(request),
            ..defaults
        };
    }
    Ok(server)
}

/// The confinement that the command line asks for.
fn sandbox(arguments: &AddArguments) -> Result<Option<SandboxEntry>, Failure> {
    let Some(profile) = arguments.sandbox else {
        return Ok(None);
    };
    let network = chosen_network(arguments.network, &arguments.allow_host)?.unwrap_or_default();
    Ok(Some(SandboxEntry {
        profile,
        network,
        allowed_hosts: arguments.allow_host.clone(),
        ..SandboxEntry::default()
    }))
}

fn http_entry(url: &str, arguments: &AddArguments) -> Result<HttpEntry, Failure> {
    let mut headers = Vec::new();
    for typed in &arguments.header {
        let (name, value) = pair(typed, &['=', ':'], "NAME=VALUE")?;
        headers.push((name, value.trim_start().to_owned()));
    }
    if let Some(variable) = &arguments.bearer_token_env_var {
        headers.push((
            "Authorization".to_owned(),
            format!("Bearer ${{{variable}}}"),
        ));
    }
    let kind = match arguments.kind {
        None => HttpKind::Auto,
        Some(KindWord::Http) => HttpKind::Streamable,
        Some(KindWord::Sse) => HttpKind::Sse,
    };
    let registration = match arguments.oauth_client_registration {
        None | Some(RegistrationWord::Auto) => ClientRegistration::Auto,
        Some(RegistrationWord::Dcr) => ClientRegistration::Dynamic,
        Some(RegistrationWord::Cimd) => ClientRegistration::MetadataDocument,
    };
    Ok(HttpEntry {
        url: url.to_owned(),
        kind,
        headers,
        oauth: OAuthSettings {
            client_id: arguments.oauth_client_id.clone(),
            client_secret: arguments.oauth_client_secret.as_ref().map(Secret::new),
            scope: arguments.oauth_scope.clone(),
            client_name: arguments.oauth_client_name.clone(),
            callback_port: arguments.oauth_callback_port,
            client_registration: registration,
            ..OAuthSettings::default()
        },
    })
}

/// Fails on options that the other kind of server has.
fn refuse_others(what: &str, given: &[(&str, bool)]) -> Result<(), Failure> {
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Failure::usage(format!("{option} does not go with {what}"))),
        None => Ok(()),
    }
}

fn program_options(arguments: &AddArguments) -> [(&'static str, bool); 4] {
    [
        ("--sandbox", arguments.sandbox.is_some()),
        ("--env", !arguments.env.is_empty()),
        ("--cwd", arguments.cwd.is_some()),
        ("--inherit-env", arguments.inherit_env),
    ]
}

fn url_options(arguments: &AddArguments) -> [(&'static str, bool); 9] {
    [
        ("--type", arguments.kind.is_some()),
        ("--header", !arguments.header.is_empty()),
        (
            "--bearer-token-env-var",
            arguments.bearer_token_env_var.is_some(),
        ),
        ("--oauth-client-id", arguments.oauth_client_id.is_some()),
        (
            "--oauth-client-secret",
            arguments.oauth_client_secret.is_some(),
        ),
        ("--oauth-scope", arguments.oauth_scope.is_some()),
        ("--oauth-client-name", arguments.oauth_client_name.is_some()),
        (
            "--oauth-callback-port",
            arguments.oauth_callback_port.is_some(),
        ),
        (
            "--oauth-client-registration",
            arguments.oauth_client_registration.is_some(),
        ),
    ]
}
