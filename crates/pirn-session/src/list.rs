//! The sessions in a folder, without reading every file again.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use pirn_file::{Access, replace};
use pirn_model::Message;
use serde::{Deserialize, Serialize};

use crate::entry::EntryBody;
use crate::error::{Error, ErrorKind};
use crate::read::load;

/// The file beside the projects' folders that keeps what the listing shows.
const INDEX_FILE: &str = "index.json";
/// Characters of the first message that a list shows.
const TITLE_CHARACTERS_MAX: usize = 200;
/// Grows with every change of what the index keeps, so that an old one is made anew.
const INDEX_VERSION: u32 = 1;

/// What a list shows of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    /// The file that the session is kept in.
    pub path: PathBuf,
    /// The id that names the session in flags.
    pub id: String,
    /// The folder it works in.
    pub cwd: String,
    /// The name that the user gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The beginning of the user's first message, on as many lines as it has.
    pub title: String,
    /// When it began, as ISO 8601.
    pub created: String,
    /// When its file was written last, in milliseconds since 1970.
    pub modified_ms: u64,
    /// How many messages it holds on all branches.
    pub message_count: usize,
    /// The file that it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
}

/// The sessions of a folder.
#[derive(Debug, Clone, Default)]
pub struct SessionList {
    /// Those that can be read, the one written last first.
    pub sessions: Vec<SessionSummary>,
    /// What cannot be read, for people.
    pub problems: Vec<String>,
}

/// What the index says of a file; it counts while size and time are those of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Row {
    size: u64,
    modified_ns: u64,
    summary: SessionSummary,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Index {
    version: u32,
    rows: BTreeMap<PathBuf, Row>,
}

/// Lists the sessions of all projects below a folder. Only files that changed since the last time are read; an index in the
/// folder keeps the rest, and a folder that cannot be written is listed all the same.
pub fn list_sessions(sessions: &Path) -> Result<SessionList, Error> {
    let cannot = |error: std::io::Error| {
        let message = format!("{}: the sessions cannot be listed", sessions.display());
        Error::new(ErrorKind::Io, message).because(error)
    };
    let projects = match std::fs::read_dir(sessions) {
        Ok(projects) => projects,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(SessionList::default());
        }
        Err(error) => return Err(cannot(error)),
    };
    let old = Index::read(sessions);
    let mut reading = Reading {
        changes: 0,
        found: Index {
            version: INDEX_VERSION,
            ..Index::default()
        },
        old,
        list: SessionList::default(),
    };
    for project in projects {
        let project = project.map_err(cannot)?;
        if project.file_type().is_ok_and(|kind| kind.is_dir()) {
            reading.folder(&project.path());
        }
    }
    Ok(reading.finish(sessions))
}

struct Reading {
    old: Index,
    found: Index,
    /// Files that the old index does not know as they are.
    changes: usize,
    list: SessionList,
}

impl Reading {
    fn folder(&mut self, folder: &Path) {
        let files = match std::fs::read_dir(folder) {
            Ok(files) => files,
            Err(error) => return self.problem(folder, &error),
        };
        for file in files {
            let file = match file {
                Ok(file) => file,
                Err(error) => return self.problem(folder, &error),
            };
            let path = file.path();
            if path
                .extension()
                .is_none_or(|extension| extension != "jsonl")
            {
                continue;
            }
            match file.metadata() {
                // A link or a device is nobody's session.
                Ok(metadata) if metadata.is_file() => self.file(path, &metadata),
                Ok(_) => {}
                Err(error) => self.problem(&path, &error),
            }
        }
    }

    fn file(&mut self, path: PathBuf, metadata: &Metadata) {
        let (size, modified_ns) = (metadata.len(), modified_ns(metadata));
        let known = self.old.rows.remove(&path);
        let row = match known {
            Some(row) if row.size == size && row.modified_ns == modified_ns => row,
            _ => {
                self.changes += 1;
                match summary(&path, modified_ns / 1_000_000) {
                    Ok(summary) => Row {
                        size,
                        modified_ns,
                        summary,
                    },
                    Err(error) => {
                        self.list.problems.push(error.to_string());
                        return;
                    }
                }
            }
        };
        self.found.rows.insert(path, row);
    }

    fn problem(&mut self, path: &Path, error: &std::io::Error) {
        self.list
            .problems
            .push(format!("{} cannot be read: {error}", path.display()));
    }

    fn finish(mut self, sessions: &Path) -> SessionList {
        // What is left of the old index is no longer there.
        if self.changes > 0 || !self.old.rows.is_empty() {
            self.found.write(sessions);
        }
        let rows = self.found.rows.into_values();
        self.list.sessions = rows.map(|row| row.summary).collect();
        self.list.sessions.sort_by(|left, right| {
            let latest_first = right.modified_ms.cmp(&left.modified_ms);
            latest_first.then_with(|| right.path.cmp(&left.path))
        });
        self.list
    }
}

impl Index {
    /// The index as it was kept. One that cannot be used is as good as none: it is made anew.
    fn read(sessions: &Path) -> Self {
        std::fs::read(sessions.join(INDEX_FILE))
            .ok()
            .and_then(|content| serde_json::from_slice::<Self>(&content).ok())
            .filter(|index| index.version == INDEX_VERSION)
            .unwrap_or_default()
    }

    /// Keeps the index. It only saves time, so a folder that cannot be written is no failure.
    fn write(&self, sessions: &Path) {
        if let Ok(content) = serde_json::to_vec(self) {
            drop(replace(
                &sessions.join(INDEX_FILE),
                &content,
                Access::Private,
            ));
        }
    }
}

fn modified_ns(metadata: &Metadata) -> u64 {
    let since = metadata
        .modified()
        .ok()
        .and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

fn summary(path: &Path, modified_ms: u64) -> Result<SessionSummary, Error> {
    let loaded = load(path)?;
    let messages = || {
        let entries = loaded.tree.entries().iter();
        entries.filter_map(|entry| match &entry.body {
            EntryBody::Message { message } => Some(message),
            _ => None,
        })
    };
    let first = messages().find_map(|message| match message {
        Message::User(user) => Some(user.content.joined_text()),
        _ => None,
    });
    let title = first.unwrap_or_default();
    Ok(SessionSummary {
        path: path.to_owned(),
        name: loaded.tree.name().map(str::to_owned),
        title: title.trim().chars().take(TITLE_CHARACTERS_MAX).collect(),
        modified_ms,
        message_count: messages().count(),
        id: loaded.header.id,
        cwd: loaded.header.cwd,
        created: loaded.header.timestamp,
        parent_session: loaded.header.parent_session,
    })
}
