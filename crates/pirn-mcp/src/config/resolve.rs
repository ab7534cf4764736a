//! Filling in what an entry leaves open: variables, commands, the home folder, the environment.

mod environment;
mod read_variables;
mod shell;
mod template;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::HeaderValue;
use pirn_sandbox::{PolicySpec, Readable, without_secrets};

pub use environment::{ALLOWED_VARIABLES, ALLOWED_VARIABLES_WINDOWS};
pub use shell::{CommandRunner, ShellRunner};
use template::{Missing, Syntax};

use super::document::check_url;
use super::{
    HttpEntry, HttpServer, OAuthSettings, ResolvedServer, SandboxEntry, ServerEntry, StdioEntry,
    StdioServer, Transport, TransportEntry,
};
use crate::error::{Error, ErrorKind};
use crate::secret::Secret;

/// What entries are filled in from. This crate reads neither the environment nor the home folder itself.
#[derive(Clone)]
pub struct ConfigEnvironment {
    /// The environment: for variables in entries, and for what servers and commands get of it.
    pub variables: Vec<(OsString, OsString)>,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
    /// The folder of the session: where servers and commands run, and what `cwd` is relative to.
    pub session_directory: PathBuf,
    /// Runs the commands of values that start with `!`.
    pub run_command: Arc<dyn CommandRunner>,
    /// What holds for every confined server; without it, servers that are to be confined are not started.
    pub confinement: Option<PolicySpec>,
    /// Names of variables that confined servers inherit though they hold secrets.
    pub secrets_passed: Vec<String>,
    /// Names of variables that servers' entries read; confined servers inherit them no more than other secrets.
    pub read_variables: BTreeSet<String>,
}

impl ConfigEnvironment {
    /// One whose commands are run by the shell, without confinement.
    pub fn new(
        variables: Vec<(OsString, OsString)>,
        home: Option<PathBuf>,
        session_directory: PathBuf,
    ) -> Self {
        Self {
            variables,
            home,
            session_directory,
            run_command: Arc::new(ShellRunner),
            confinement: None,
            secrets_passed: Vec::new(),
            read_variables: BTreeSet::new(),
        }
    }

    /// The value of a variable; an empty one counts as unset.
    fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .iter()
            .rev()
            .find(|(other, _)| environment::same_name(other, OsStr::new(name)))
            .map(|(_, value)| value.as_os_str())
            .filter(|value| !value.is_empty())
    }
}

impl fmt::Debug for ConfigEnvironment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The variables hold secrets.
        formatter
            .debug_struct("ConfigEnvironment")
            .field("home", &self.home)
            .field("session_directory", &self.session_directory)
            .finish_non_exhaustive()
    }
}

impl ServerEntry {
    /// Fills everything in: the server is then ready to be connected. Runs the commands of values that start with `!`, one
    /// after the other, each at most 10 s. Fails with [`ErrorKind::Config`] on variables that are neither set nor have a
    /// default, all of them named, on commands that fail, and on what is no address or header after filling in. Not cached:
    /// a later call sees changed commands' output.
    pub async fn resolve(&self, environment: &ConfigEnvironment) -> Result<ResolvedServer, Error> {
        let mut resolver = Resolver {
            entry: self,
            environment,
            missing: Vec::new(),
        };
        let transport = match &self.transport {
            TransportEntry::Stdio(entry) => Transport::Stdio(resolver.stdio(entry).await?),
            TransportEntry::Http(entry) => Transport::Http(resolver.http(entry).await?),
        };
        Ok(ResolvedServer {
            name: self.name.clone(),
            transport,
            timeouts: self.timeouts,
        })
    }
}

/// Resolves one entry and collects the variables that are missing.
struct Resolver<'a> {
    entry: &'a ServerEntry,
    environment: &'a ConfigEnvironment,
    missing: Vec<(String, Missing)>,
}

impl Resolver<'_> {
    async fn stdio(&mut self, entry: &StdioEntry) -> Result<StdioServer, Error> {
        let program = self.path("command", &entry.command)?;
        let mut arguments = Vec::new();
        for (index, argument) in entry.args.iter().enumerate() {
            arguments.push(self.path(&format!("args[{index}]"), argument)?);
        }
        let directory = match &entry.cwd {
            // An absolute path replaces the session's.
            Some(cwd) => self
                .environment
                .session_directory
                .join(self.path("cwd", cwd)?),
            None => self.environment.session_directory.clone(),
        };
        let sandbox = match &entry.sandbox {
            Some(entry) => Some(self.sandbox(entry, &directory)?),
            None => None,
        };
        let values = self.values(named("env", &entry.env)).await?;
        let names = entry.env.iter().map(|(name, _)| name.clone());
        let own = names.zip(values).collect();
        let variables = &self.environment.variables;
        let inherited = match &sandbox {
            // What its entry names it gets all the same.
            Some(_) => {
                let mut passed = without_secrets(variables, &self.environment.secrets_passed);
                passed.retain(|(name, _)| {
                    let is_named = |other: &String| **other == *name;
                    !self.environment.read_variables.iter().any(is_named)
                        || self.environment.secrets_passed.iter().any(is_named)
                });
                environment::inherited(&passed, entry.inherit_env.into())
            }
            None => environment::inherited(variables, entry.inherit_env.into()),
        };
        Ok(StdioServer {
            program,
            arguments,
            directory,
            environment: environment::with_own(inherited, own),
            sandbox,
        })
    }

    fn sandbox(&mut self, entry: &SandboxEntry, directory: &Path) -> Result<PolicySpec, Error> {
        let environment = self.environment;
        let Some(shared) = &environment.confinement else {
            let message = "servers cannot be confined in this program";
            return Err(self.error("sandbox", message));
        };
        let mut roots = |field: &str, templates: &[String]| {
            let paths = templates.iter().enumerate().map(|(index, template)| {
                let path = self.path(&format!("sandbox.{field}[{index}]"), template)?;
                Ok(directory.join(path))
            });
            paths.collect::<Result<Vec<PathBuf>, Error>>()
        };
        let mut policy = shared.clone().in_folder(directory);
        policy.profile = entry.profile;
        policy.network = entry.network;
        policy.network_rules.allow.clone_from(&entry.allowed_hosts);
        policy.write_roots = roots("writeRoots", &entry.write_roots)?;
        policy.readable = match &entry.read_roots {
            Some(templates) => Readable::Only(roots("readRoots", templates)?),
            None => Readable::Everything,
        };
        policy.home.clone_from(&environment.home);
        Ok(policy)
    }

    async fn http(&mut self, entry: &HttpEntry) -> Result<HttpServer, Error> {
        let url = self.filled("url", Syntax::Braces, &entry.url);
        let mut fields = named("headers", &entry.headers);
        if let Some(secret) = &entry.oauth.client_secret {
            fields.push(("oauth.clientSecret".to_owned(), secret.expose()));
        }
        let mut values = self.values(fields).await?.into_iter();
        let headers: Vec<(String, String)> = entry
            .headers
            .iter()
            .map(|(name, _)| name.clone())
            .zip(values.by_ref())
            .collect();
        let mut url = check_url(&url).map_err(|message| self.error("url", &message))?;
        // Never sent, and two addresses that differ in it are one server.
        url.set_fragment(None);
        for (name, value) in &headers {
            if HeaderValue::from_str(value).is_err() {
                let message = "has characters that a header cannot hold, such as a line's end";
                return Err(self.error(&format!("headers.{name}"), message));
            }
        }
        Ok(HttpServer {
            url,
            kind: entry.kind,
            headers: headers
                .into_iter()
                .map(|(name, value)| (name, Secret::new(value)))
                .collect(),
            oauth: OAuthSettings {
                client_secret: values.next().map(Secret::new),
                ..entry.oauth.clone()
            },
        })
    }

    /// Values that may be commands, in their order. Commands run only when no variable is missing anywhere: asking a password
    /// manager for a call that fails anyhow would only annoy.
    async fn values(&mut self, fields: Vec<(String, &str)>) -> Result<Vec<String>, Error> {
        let mut values = Vec::new();
        for (field, template) in &fields {
            values.push(if template.starts_with('!') {
                String::new()
            } else {
                self.filled(field, Syntax::Dollar, template)
            });
        }
        self.finish()?;
        for ((field, template), value) in fields.iter().zip(&mut values) {
            if let Some(command) = template.strip_prefix('!') {
                *value = self.output(field, command).await?;
            }
        }
        Ok(values)
    }

    /// What a command writes.
    async fn output(&self, field: &str, command: &str) -> Result<String, Error> {
        let ConfigEnvironment {
            run_command,
            session_directory,
            variables,
            ..
        } = self.environment;
        run_command
            .run(command, session_directory, variables)
            .await
            .map_err(|message| self.error(field, &format!("the command {message}")))
    }

    /// A value that may begin with the home folder.
    fn path(&mut self, field: &str, template: &str) -> Result<OsString, Error> {
        let Some(rest) = after_tilde(template) else {
            return Ok(self.filled(field, Syntax::Braces, template).into());
        };
        let Some(home) = &self.environment.home else {
            return Err(self.error(field, "begins with ~, but the home folder is not known"));
        };
        let mut path = home.clone().into_os_string();
        path.push(self.filled(field, Syntax::Braces, rest));
        Ok(path)
    }

    /// The text with its variables; what is missing is remembered.
    fn filled(&mut self, field: &str, syntax: Syntax, template: &str) -> String {
        let lookup = |name: &str| self.environment.variable(name);
        let (text, missing) = template::fill(template, syntax, lookup);
        let missing = missing.into_iter().map(|name| (field.to_owned(), name));
        self.missing.extend(missing);
        text
    }

    fn finish(&self) -> Result<(), Error> {
        let Some((field, first)) = self.missing.first() else {
            return Ok(());
        };
        let all: Vec<String> = self
            .missing
            .iter()
            .map(|(field, missing)| format!("{missing} ({field})"))
            .collect();
        let message = match all.as_slice() {
            [_] => format!("the variable {first} is not set or empty"),
            _ => format!("variables are not set or empty: {}", all.join(", ")),
        };
        let error = match all.as_slice() {
            [_] => self.error(field, &message),
            _ => self.error("", &message),
        };
        let name = first.name();
        Err(error.with_hint(format!(
            "Set {name} before starting Pirn, or write a default: ${{{name}:-VALUE}}. A literal ${{{name}}} is written $${{{name}}}."
        )))
    }

    fn error(&self, field: &str, message: &str) -> Error {
        let field = match field {
            "" => String::new(),
            field => format!("{field}: "),
        };
        let place = match (&self.entry.origin.file, self.entry.origin.line) {
            (Some(file), Some(line)) => format!(" ({}:{line})", file.display()),
            (Some(file), None) => format!(" ({})", file.display()),
            (None, _) => String::new(),
        };
        let message = format!("{field}{message}{place}");
        Error::new(ErrorKind::Config, &self.entry.name, message)
    }
}

/// The values of an object of strings, with the names of their fields.
fn named<'v>(field: &str, values: &'v [(String, String)]) -> Vec<(String, &'v str)> {
    values
        .iter()
        .map(|(name, value)| (format!("{field}.{name}"), value.as_str()))
        .collect()
}

/// What follows `~` where the text is `~` or begins with `~/`.
fn after_tilde(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('~')?;
    let path = Path::new(rest);
    // On Windows also `~\`.
    (rest.is_empty() || path.has_root()).then_some(rest)
}

#[cfg(test)]
mod tests;
