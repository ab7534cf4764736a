//! All configuration files together: which servers there are.

use std::io;
use std::path::{Path, PathBuf};

use pirn_jsonc::read_bounded;
use pirn_settings::table::{Place, Problem, Severity};

use super::document::{self, Document, Override, Written, parse_document};
use super::{Scope, ServerEntry};

/// Far beyond what anybody writes by hand; a device or a log given by mistake is not read for ever.
pub(crate) const CONFIG_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// Whose file it was written in.
    pub scope: Scope,
    /// Where it is. Missing is fine for the user's and the project's.
    pub path: PathBuf,
}

/// What the configuration files say together.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedConfig {
    /// The servers that count, sorted by name, disabled ones included.
    pub servers: Vec<ServerEntry>,
    /// Entries that another one of the same name replaces, sorted by name.
    pub shadowed: Vec<ServerEntry>,
    /// What is wrong, in the order of the files.
    pub problems: Vec<Problem>,
    /// Whether a server that scripts see switches codemode on. True unless a file says otherwise; the last file wins.
    pub auto_enable_codemode: bool,
}

impl Default for LoadedConfig {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            shadowed: Vec::new(),
            problems: Vec::new(),
            auto_enable_codemode: true,
        }
    }
}

/// Reads the files and merges them by scope, whatever order they are given in: an entry of the command line's file wins over
/// the project's, and that over the user's. The project's file must be passed only when the project is trusted.
pub fn load(files: &[ConfigFile]) -> LoadedConfig {
    let mut files: Vec<&ConfigFile> = files.iter().collect();
    files.sort_by_key(|file| file.scope);
    let mut loaded = LoadedConfig::default();
    for file in files {
        match read(&file.path) {
            Ok(text) => {
                let document = parse_document(file.scope, &file.path, &text);
                loaded.add(&file.path, document);
            }
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    // Whoever names a file wants it read.
                    && file.scope != Scope::CommandLine => {}
            Err(error) => loaded.problems.push(Problem {
                severity: Severity::Error,
                place: Place::File {
                    path: file.path.clone(),
                    line: None,
                },
                server: None,
                key: None,
                message: format!("cannot be read: {error}"),
            }),
        }
    }
    loaded
}

/// The text of a configuration file.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    read_bounded(path, CONFIG_BYTES_MAX)
}

impl LoadedConfig {
    /// The server of this name that counts.
    pub fn server(&self, name: &str) -> Option<&ServerEntry> {
        self.servers.iter().find(|entry| entry.name == name)
    }

    /// Adds what one file says; files come in the order of their scopes.
    fn add(&mut self, file: &Path, document: Document) {
        if let Some(wanted) = document.auto_enable_codemode {
            self.auto_enable_codemode = wanted;
        }
        let rejected_before = self.rejected_names();
        self.problems.extend(document.problems);
        for written in document.servers {
            match written {
                Written::Server(entry) => self.add_server(file, *entry),
                Written::Override(change) => self.change(file, change, &rejected_before),
            }
        }
        self.sort();
    }

    fn add_server(&mut self, file: &Path, entry: ServerEntry) {
        if let Some(index) = self.servers.iter().position(|old| old.name == entry.name) {
            let old = std::mem::replace(&mut self.servers[index], entry);
            self.shadowed.push(old);
            return;
        }
        let clashing = self
            .servers
            .iter()
            .find(|old| document::names_clash(&old.name, &entry.name));
        if let Some(old) = clashing {
            let message = document::clash_message(&old.name, &entry.name);
            self.report(file, entry.origin.line, &entry.name, message);
        } else {
            self.servers.push(entry);
        }
    }

    fn change(&mut self, file: &Path, change: Override, rejected: &[String]) {
        let Override {
            name,
            line,
            enabled,
            exposure,
            tool_exposures,
        } = change;
        let Some(entry) = self.servers.iter_mut().find(|entry| entry.name == name) else {
            if !rejected.contains(&name) {
                let message = "changes a server that the user's mcp.json does not have: it needs \"command\" or \"url\" to be \
                               one of its own";
                self.report(file, Some(line), &name, message.to_owned());
            }
            return;
        };
        entry.enabled = enabled.unwrap_or(entry.enabled);
        entry.exposure = exposure.unwrap_or(entry.exposure);
        if let Some(tool_exposures) = tool_exposures {
            entry.tool_exposures = tool_exposures;
        }
        entry.origin.overridden_in = Some(file.to_path_buf());
    }

    /// Servers whose entries were left out: what changes them needs no complaint of its own.
    fn rejected_names(&self) -> Vec<String> {
        let errors = self
            .problems
            .iter()
            .filter(|problem| problem.severity == Severity::Error);
        errors
            .filter_map(|problem| problem.server.clone())
            .collect()
    }

    fn report(&mut self, file: &Path, line: Option<u32>, server: &str, message: String) {
        self.problems.push(Problem {
            severity: Severity::Error,
            place: Place::File {
                path: file.to_path_buf(),
                line,
            },
            server: Some(server.to_owned()),
            key: None,
            message,
        });
    }

    fn sort(&mut self) {
        self.servers.sort_by(|one, other| one.name.cmp(&other.name));
        self.shadowed
            .sort_by(|one, other| one.name.cmp(&other.name));
    }
}

#[cfg(test)]
mod tests;
