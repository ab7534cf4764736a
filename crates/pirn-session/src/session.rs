//! A session: its tree, and the file behind it.

use std::path::{Path, PathBuf};

use pirn_file::{AppendError, AppendFile};
use pirn_model::{Message, StopReason};

use crate::entry::{Entry, EntryBody, Header};
use crate::error::{Error, ErrorKind};
use crate::moment::{entry_id, iso_time, now_ms, session_id};
use crate::read::{FORMAT_VERSION, Loaded, SESSION_BYTES_MAX, read};
use crate::tree::Tree;

/// Another id is tried this often; one in four thousand million is taken.
const ID_TRIES_MAX: usize = 16;

/// A session that can go on. Every entry is in the file when it is in the tree.
#[derive(Debug)]
pub struct Session {
    header: Header,
    tree: Tree,
    place: Place,
    problems: Vec<String>,
}

/// Where a session is kept.
#[derive(Debug)]
enum Place {
    /// Nowhere: it ends with the process.
    Memory,
    /// In a file that is made when the conversation begins, so that no empty files stay behind.
    Planned(PathBuf),
    /// In this file, which nobody else writes to.
    File(PathBuf, AppendFile),
}

/// What a new session is made of.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    /// The folder it works in.
    pub cwd: PathBuf,
    /// The folder of all sessions; `None` keeps it in memory only.
    pub sessions: Option<PathBuf>,
    /// Its id, where it was given.
    pub id: Option<String>,
    /// The file that it was forked from.
    pub parent: Option<PathBuf>,
}

impl Session {
    /// Begins a session. Its file is made with the first message of the user.
    pub fn create(new: NewSession) -> Result<Self, Error> {
        let now = now_ms();
        let id = match new.id {
            Some(id) => id,
            None => session_id(now)
                .map_err(|error| Error::new(ErrorKind::Io, "no random numbers").because(error))?,
        };
        let timestamp = iso_time(now);
        let cwd = new.cwd.to_string_lossy().into_owned();
        let place = match new.sessions {
            None => Place::Memory,
            Some(sessions) => {
                let name = format!("{}_{id}.jsonl", timestamp.replace([':', '.'], "-"));
                Place::Planned(project_sessions(&sessions, &cwd).join(name))
            }
        };
        Ok(Self {
            header: Header {
                kind: "session".to_owned(),
                version: FORMAT_VERSION,
                id,
                timestamp,
                cwd,
                parent_session: new.parent.map(|path| path.to_string_lossy().into_owned()),
                other: serde_json::Map::new(),
            },
            tree: Tree::default(),
            place,
            problems: Vec::new(),
        })
    }

    /// Begins a session with entries that are there already, each of which hangs on one before it. Its file is made at once,
    /// unless nothing was said so far.
    pub fn with_entries(new: NewSession, entries: Vec<Entry>) -> Result<Self, Error> {
        let mut session = Self::create(new)?;
        for entry in entries {
            if !session.tree.accepts(&entry) {
                let message = format!("entry `{}` has no place in the new session", entry.id);
                return Err(Error::new(ErrorKind::Format, message));
            }
            session.tree.push(entry);
        }
        let has_begun = |entry: &Entry| entry.body.begins_session();
        if session.tree.entries().iter().any(has_begun) {
            session.make_file(None)?;
        }
        Ok(session)
    }

    /// Makes the planned file with all entries, and with one more where there is one.
    fn make_file(&mut self, last: Option<&Entry>) -> Result<(), Error> {
        let Place::Planned(path) = &self.place else {
            return Ok(());
        };
        let mut text = vec![json_line(&self.header)?];
        for entry in self.tree.entries().iter().chain(last) {
            text.push(json_line(entry)?);
        }
        let file = create(path, &text).map_err(|error| {
            let message = format!("{}: the session cannot be kept", path.display());
            Error::new(ErrorKind::Io, message).because(error)
        })?;
        self.place = Place::File(path.clone(), file);
        Ok(())
    }

    /// Opens a session to go on with it. Whoever has it open already is named in the error.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let (file, content) = AppendFile::open(path, SESSION_BYTES_MAX).map_err(|error| {
            let (kind, hint) = match &error {
                AppendError::Busy { .. } => (ErrorKind::Busy, "the session is in use"),
                AppendError::Io(_) => (ErrorKind::Io, "the session cannot be opened"),
            };
            Error::new(kind, format!("{}: {hint}", path.display())).because(error)
        })?;
        let Loaded {
            header,
            tree,
            problems,
        } = read(path, &content)?;
        let mut session = Self {
            header,
            tree,
            place: Place::File(path.to_owned(), file),
            problems,
        };
        if session.header.version < FORMAT_VERSION {
            session.problems.push(format!(
                "the file is of version {}; what is added is of version {FORMAT_VERSION}",
                session.header.version
            ));
        }
        Ok(session)
    }

    /// The first line of the file.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The entries that were read and added.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Where it is kept, once it is.
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::Memory | Place::Planned(_) => None,
            Place::File(path, _) => Some(path),
        }
    }

    /// What was wrong with the file.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Goes on after another entry. Says whether there is one of this id.
    pub fn set_leaf(&mut self, id: Option<&str>) -> bool {
        self.tree.set_leaf(id)
    }

    /// Adds an entry after the leaf, and gives its id. When this returns the entry survives the end of the process; when it
    /// fails nothing was added.
    pub fn append(&mut self, body: EntryBody) -> Result<String, Error> {
        debug_assert!(is_consistent(&body), "only what has ended is kept");
        let entry = Entry {
            id: self.new_id()?,
            parent_id: self.tree.leaf().map(str::to_owned),
            timestamp: iso_time(now_ms()),
            body,
        };
        let begins = entry.body.begins_session();
        match &mut self.place {
            Place::Memory => {}
            Place::Planned(_) if !begins => {}
            Place::Planned(_) => self.make_file(Some(&entry))?,
            Place::File(path, file) => {
                let line = json_line(&entry)?;
                file.append([line.as_str()]).map_err(|error| {
                    let message = format!("{}: the session cannot be written", path.display());
                    Error::new(ErrorKind::Io, message).because(error)
                })?;
            }
        }
        let id = entry.id.clone();
        self.tree.push(entry);
        Ok(id)
    }

    /// Adds a message at the end of the branch; returns its entry's id.
    pub fn append_message(&mut self, message: Message) -> Result<String, Error> {
        self.append(EntryBody::Message { message })
    }

    fn new_id(&self) -> Result<String, Error> {
        let no_random = |error| Error::new(ErrorKind::Io, "no random numbers").because(error);
        for _ in 0..ID_TRIES_MAX {
            let id = entry_id().map_err(no_random)?;
            if self.tree.get(&id).is_none() {
                return Ok(id);
            }
        }
        session_id(now_ms()).map_err(no_random)
    }
}

/// What is kept has ended: a reply that still comes is never stored.
fn is_consistent(body: &EntryBody) -> bool {
    match body {
        EntryBody::Message {
            message: Message::Assistant(message),
        } => message.stop_reason != StopReason::Pending,
        _ => true,
    }
}

fn create(path: &Path, lines: &[String]) -> Result<AppendFile, AppendError> {
    if let Some(folder) = path.parent() {
        create_private_folders(folder)?;
    }
    let mut file = AppendFile::create(path)?;
    if let Err(error) = file.append(lines.iter().map(String::as_str)) {
        // Half a beginning would pass for a damaged session.
        drop(std::fs::remove_file(path));
        return Err(error.into());
    }
    Ok(file)
}

fn create_private_folders(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn json_line(value: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| {
        Error::new(ErrorKind::Format, "an entry cannot be written as JSON").because(error)
    })
}

/// The folder of a project's sessions: its path, with signs that no name may hold replaced.
fn project_sessions(sessions: &Path, cwd: &str) -> PathBuf {
    let trimmed = cwd.strip_prefix(['/', '\\']).unwrap_or(cwd);
    sessions.join(format!("--{}--", trimmed.replace(['/', '\\', ':'], "-")))
}
