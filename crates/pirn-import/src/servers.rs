//! Taking servers over from the configuration of other programs.

mod codex;
mod objects;
mod opencode;
mod pi;
mod places;
mod summary;
mod template;

use std::path::{Path, PathBuf};
use std::{fmt, io};

use pirn_jsonc::{Node, read_bounded};
use serde_json::{Map, json};

pub use places::discover_imports;

use pirn_mcp::{
    HttpEntry, HttpKind, NewServer, Scope, ServerEntry, TransportEntry, names_clash, parse_config,
};
use pirn_settings::{Place, Problem, Severity};

/// Claude Code keeps more than its configuration in its file.
const IMPORT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A program whose servers can be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImportProgram {
    /// Claude Code, in `.claude.json` and `.mcp.json`.
    ClaudeCode,
    /// Claude Desktop, in `claude_desktop_config.json`.
    ClaudeDesktop,
    /// Cursor, in `.cursor/mcp.json` of home and project.
    Cursor,
    /// Visual Studio Code, in `mcp.json` of the user or `.vscode`.
    VsCode,
    /// Codex, in `.codex/config.toml` of home and project.
    Codex,
    /// opencode, in `opencode.json` and `opencode.jsonc`.
    OpenCode,
    /// pi, in `mcp.json` of its own folder.
    Pi,
    /// Gemini CLI, in `.gemini/settings.json`.
    Gemini,
}

impl ImportProgram {
    /// Every program, in the order in which they are looked at.
    pub const ALL: [Self; 8] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Cursor,
        Self::VsCode,
        Self::Codex,
        Self::OpenCode,
        Self::Pi,
        Self::Gemini,
    ];

    /// Its name on a command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
            Self::Pi => "pi",
            Self::Gemini => "gemini",
        }
    }
}

impl fmt::Display for ImportProgram {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A file of another program that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportSource {
    /// The program that the file belongs to.
    pub program: ImportProgram,
    /// The path of the program's file.
    pub file: PathBuf,
    /// Whether it is the user's or the project's. The user's file of Claude Code also holds servers of the project.
    pub scope: Scope,
}

/// What could be taken over.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImportPlan {
    /// The servers, in the order of the sources and of their files.
    pub rows: Vec<ImportRow>,
    /// Files that cannot be read and servers that cannot be converted.
    pub problems: Vec<Problem>,
}

/// One server that could be taken over.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportRow {
    /// The name that the server gets in `mcp.json`.
    pub name: String,
    /// Where it comes from.
    pub source: ImportProgram,
    /// The file it comes from.
    pub file: PathBuf,
    /// How it is reached, for people, without what may be secret.
    pub transport: String,
    /// What taking it over would mean.
    pub action: ImportAction,
    /// What could not be converted and what is to be done by hand.
    pub notes: Vec<String>,
    /// The converted server; secrets in it are as they were written.
    pub server: NewServer,
}

/// What taking a server over would mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportAction {
    /// There is none of this name.
    Add,
    /// There is one of this name that is reached in the same way.
    ExistsSame,
    /// There is one of this name that is reached in another way; it would be replaced.
    ExistsDifferent,
    /// There is none of this name, and it works only after the user has set what the notes say.
    NeedsValue,
}

impl ImportAction {
    /// How it is named in output for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::ExistsSame => "exists-same",
            Self::ExistsDifferent => "exists-different",
            Self::NeedsValue => "needs-value",
        }
    }
}

/// A server found in a file, converted.
#[derive(Debug, PartialEq)]
struct Found {
    name: String,
    line: u32,
    server: NewServer,
    /// What could not be converted.
    notes: Vec<String>,
    /// Values that the user has to give.
    needs: Vec<String>,
}

/// What a file holds, converted.
#[derive(Debug, Default)]
struct Converted {
    found: Vec<Found>,
    /// Servers that cannot be converted: line, name, reason.
    failed: Vec<(u32, String, String)>,
}

/// Converts the servers of these files and compares them with the existing ones and with each other. Of Claude Code's
/// servers of single projects, those of `project_directory` count; it also stands in for other programs' workspace folder.
pub fn plan_import(
    sources: &[ImportSource],
    project_directory: &Path,
    existing: &[ServerEntry],
) -> ImportPlan {
    let mut plan = ImportPlan::default();
    for source in sources {
        match convert(source, project_directory) {
            Ok(converted) => plan.add(source, converted, existing),
            Err((line, message)) => {
                plan.problems.push(problem(source, line, None, message));
            }
        }
    }
    plan
}

/// Converts one file; the error has a line where there is one.
fn convert(source: &ImportSource, project: &Path) -> Result<Converted, (Option<u32>, String)> {
    let text = read_bounded(&source.file, IMPORT_BYTES_MAX)
        .map_err(|error: io::Error| (None, format!("cannot be read: {error}")))?;
    match source.program {
        ImportProgram::Codex => codex::convert(&text, project),
        ImportProgram::Pi => Ok(pi::convert(&source.file, &text)),
        ImportProgram::OpenCode => Ok(opencode::convert(&parse(&text)?, project)),
        ImportProgram::ClaudeCode
        | ImportProgram::ClaudeDesktop
        | ImportProgram::Cursor
        | ImportProgram::VsCode
        | ImportProgram::Gemini => Ok(objects::convert(source.program, &parse(&text)?, project)),
    }
}

fn parse(text: &str) -> Result<Node, (Option<u32>, String)> {
    let fail = |line, message| (Some(line), format!("is not valid JSON: {message}"));
    match pirn_jsonc::parse(text) {
        Ok(Some(root)) => Ok(root),
        Ok(None) => Err(fail(1, "it is empty".to_owned())),
        Err(error) => Err(fail(error.line, error.message)),
    }
}

impl ImportPlan {
    fn add(&mut self, source: &ImportSource, converted: Converted, existing: &[ServerEntry]) {
        for (line, name, message) in converted.failed {
            let problem = problem(source, Some(line), Some(name), message);
            self.problems.push(problem);
        }
        for mut found in converted.found {
            let name = valid_name(&found.name);
            if name != found.name {
                let note = format!("is called \"{}\" there", found.name);
                found.notes.insert(0, note);
            }
            if let Some(message) = refused(&name, &found.server) {
                let problem = problem(source, Some(found.line), Some(found.name), message);
                self.problems.push(problem);
                continue;
            }
            let action = self.action(&name, &found, existing);
            found.notes.append(&mut found.needs);
            self.rows.push(ImportRow {
                transport: summary::of(&found.server.transport),
                name,
                source: source.program,
                file: source.file.clone(),
                action,
                notes: found.notes,
                server: found.server,
            });
        }
    }

    /// Compares with the servers that exist and with those of earlier rows, which are there by the time this one is added.
    fn action(&self, name: &str, found: &Found, existing: &[ServerEntry]) -> ImportAction {
        let rows = self
            .rows
            .iter()
            .map(|row| (&row.name, &row.server.transport));
        let existing = existing.iter().map(|entry| (&entry.name, &entry.transport));
        let other = rows
            .chain(existing)
            .find(|(other, _)| names_clash(other, name));
        match other {
            Some((other, transport))
                if other == name && is_same(transport, &found.server.transport) =>
            {
                ImportAction::ExistsSame
            }
            Some(_) => ImportAction::ExistsDifferent,
            None if found.needs.is_empty() => ImportAction::Add,
            None => ImportAction::NeedsValue,
        }
    }
}

/// Whether two servers are reached in the same way: which of the HTTP transports it is depends on what a program can name.
fn is_same(one: &TransportEntry, other: &TransportEntry) -> bool {
    match (one, other) {
        (TransportEntry::Stdio(one), TransportEntry::Stdio(other)) => one == other,
        (TransportEntry::Http(one), TransportEntry::Http(other)) => {
            let plain = |entry: &HttpEntry| HttpEntry {
                kind: HttpKind::Auto,
                ..entry.clone()
            };
            plain(one) == plain(other)
        }
        (TransportEntry::Stdio(_), TransportEntry::Http(_))
        | (TransportEntry::Http(_), TransportEntry::Stdio(_)) => false,
    }
}

/// Why the parser of `mcp.json` would not take this server.
fn refused(name: &str, server: &NewServer) -> Option<String> {
    let mut servers = Map::new();
    servers.insert(name.to_owned(), server.to_json());
    let text = json!({ "mcpServers": servers }).to_string();
    let parsed = parse_config(Scope::User, Path::new(""), &text);
    let error = parsed.problems.iter().find(|problem| problem.is_error())?;
    Some(error.what())
}

/// A name that a server can have here.
fn valid_name(name: &str) -> String {
    let valid = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    name.trim()
        .chars()
        .map(|character| if valid(character) { character } else { '-' })
        .collect()
}

fn problem(
    source: &ImportSource,
    line: Option<u32>,
    server: Option<String>,
    message: String,
) -> Problem {
    Problem {
        severity: Severity::Error,
        place: Place::File {
            path: source.file.clone(),
            line,
        },
        server,
        key: None,
        message,
    }
}

#[cfg(test)]
mod tests;
