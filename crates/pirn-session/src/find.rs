//! A session by what the user calls it.

use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind};
use crate::list::{SessionSummary, list_sessions};

/// Ids that are listed where several fit.
const FITTING_NAMED_MAX: usize = 5;

/// A session that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundSession {
    /// A file was named; it may not be there.
    File(PathBuf),
    /// One of those in the folder of sessions was named.
    Kept(SessionSummary),
}

impl FoundSession {
    /// The file that the session is kept in.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Kept(summary) => &summary.path,
        }
    }
}

/// Where a session is looked for.
#[derive(Debug, Clone, Copy)]
pub struct SessionPlace<'a> {
    /// The folder of all sessions, where some are kept.
    pub sessions: Option<&'a Path>,
    /// Where relative paths begin.
    pub paths_from: &'a Path,
    /// The folder that is worked in; its sessions come first where several fit.
    pub cwd: &'a Path,
}

/// Finds a session: a file, or one below the folder of all sessions by its id, the beginning of its id, or its name.
pub fn find_session(place: SessionPlace<'_>, called: &str) -> Result<FoundSession, Error> {
    let path = Path::new(called);
    let file = place.paths_from.join(path);
    let is_path = path.components().nth(1).is_some()
        || path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        || file.is_file();
    if is_path {
        return Ok(FoundSession::File(file));
    }
    let list = match place.sessions {
        Some(sessions) => list_sessions(sessions)?.sessions,
        None => Vec::new(),
    };
    match fitting(list, place.cwd, called) {
        several if several.len() > 1 => {
            let ids: Vec<&str> = several
                .iter()
                .take(FITTING_NAMED_MAX)
                .map(|session| session.id.as_str())
                .collect();
            let message = format!(
                "{} sessions are meant by `{called}`, among them {}",
                several.len(),
                ids.join(", ")
            );
            Err(Error::new(ErrorKind::Format, message))
        }
        mut found => found.pop().map(FoundSession::Kept).ok_or_else(|| {
            let message = format!(
                "there is no session `{called}`: neither an id, the beginning of one, a name nor a file"
            );
            Error::new(ErrorKind::Format, message)
        }),
    }
}

fn fitting(list: Vec<SessionSummary>, cwd: &Path, called: &str) -> Vec<SessionSummary> {
    let (exact, others): (Vec<_>, Vec<_>) = list
        .into_iter()
        .partition(|session| session.id == called || session.name.as_deref() == Some(called));
    let begins = |session: &SessionSummary| !called.is_empty() && session.id.starts_with(called);
    let fitting = if exact.is_empty() {
        others.into_iter().filter(begins).collect()
    } else {
        exact
    };
    let (own, elsewhere): (Vec<_>, Vec<_>) = fitting
        .into_iter()
        .partition(|session| Path::new(&session.cwd) == cwd);
    if own.is_empty() { elsewhere } else { own }
}
