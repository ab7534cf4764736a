//! Conversations that other programs kept: found, and converted into entries of Pirn's sessions.

mod claude_code;
mod codex;
mod entries;

use std::fmt;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use pirn_session::Entry;
use serde_json::Value;

/// Files that are looked at; whoever has more names those that are meant.
const FILES_MAX: usize = 20_000;
/// Folders below the one that a program keeps its conversations in.
const FOLDER_DEPTH_MAX: usize = 6;
/// Bytes of a file of another program.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// Bytes of one line, with its pictures.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// Lines that cannot be read and are named; of further ones the number is told.
const PROBLEMS_NAMED_MAX: usize = 5;
/// Lines at the beginning of a file in which its folder is looked for.
const HEAD_LINES_MAX: usize = 20;

/// A program whose conversations can be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionProgram {
    /// pi, whose format is Pirn's own.
    Pi,
    /// Codex, with a file for each run.
    Codex,
    /// Claude Code, with a folder for each project.
    ClaudeCode,
}

impl SessionProgram {
    /// The folder below the user's home in which it keeps conversations.
    fn folder(self) -> &'static str {
        match self {
            Self::Pi => ".pi/agent/sessions",
            Self::Codex => ".codex/sessions",
            Self::ClaudeCode => ".claude/projects",
        }
    }
}

/// A conversation of another program, in Pirn's form.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignSession {
    /// Its id in the other program; empty where it named none.
    pub id: String,
    /// The folder that it worked in.
    pub cwd: PathBuf,
    /// The entries, the first one first; each hangs on one before it.
    pub entries: Vec<Entry>,
    /// What could not be read of it, for people.
    pub problems: Vec<String>,
}

/// Why a conversation cannot be taken over.
#[derive(Debug)]
pub enum ForeignError {
    /// The file cannot be read.
    Unreadable(PathBuf, std::io::Error),
    /// It is larger than anything that is taken over: its path and its size in bytes.
    TooLarge(PathBuf, u64),
    /// It is no conversation of that program.
    Unknown(PathBuf),
    /// It is one of pi's, and damaged.
    Damaged(pirn_session::Error),
}

impl fmt::Display for ForeignError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, _) => write!(formatter, "{} cannot be read", path.display()),
            Self::TooLarge(path, bytes) => write!(
                formatter,
                "{} has {bytes} bytes; at most {FILE_BYTES_MAX} are taken over",
                path.display()
            ),
            Self::Unknown(path) => write!(
                formatter,
                "{} is no conversation of that program",
                path.display()
            ),
            Self::Damaged(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for ForeignError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable(_, error) => Some(error),
            Self::Damaged(error) => error.source(),
            Self::TooLarge(..) | Self::Unknown(_) => None,
        }
    }
}

/// The files of a program's conversations below the user's home, in the order of their paths. Links are not followed.
pub fn discover_sessions(program: SessionProgram, home: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&home.join(program.folder()), FOLDER_DEPTH_MAX, &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if found.len() >= FILES_MAX {
            return;
        }
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else {
            continue;
        };
        let is_lines = path
            .extension()
            .is_some_and(|extension| extension == "jsonl");
        if kind.is_dir() && depth > 0 {
            collect(&path, depth - 1, found);
        } else if kind.is_file() && is_lines {
            found.push(path);
        }
    }
}

/// The folder that a conversation worked in, from the beginning of its file; `None` where nothing is said of it.
pub fn session_folder(path: &Path) -> Option<PathBuf> {
    let (lines, _) = lines(path, HEAD_LINES_MAX).ok()?;
    lines.iter().find_map(|line| {
        let cwd = line.get("cwd").or_else(|| line.pointer("/payload/cwd"))?;
        cwd.as_str().map(PathBuf::from)
    })
}

/// Reads a conversation. Nothing is written and nothing in it is carried out.
pub fn convert_session(
    program: SessionProgram,
    path: &Path,
) -> Result<ForeignSession, ForeignError> {
    if program == SessionProgram::Pi {
        let loaded = pirn_session::load(path).map_err(ForeignError::Damaged)?;
        return Ok(ForeignSession {
            id: loaded.header.id,
            cwd: PathBuf::from(loaded.header.cwd),
            entries: loaded.tree.entries().to_vec(),
            problems: loaded.problems,
        });
    }
    let (lines, problems) = lines(path, usize::MAX)?;
    let converted = match program {
        SessionProgram::Codex => codex::convert(&lines),
        SessionProgram::ClaudeCode => claude_code::convert(&lines),
        SessionProgram::Pi => None,
    };
    let mut session = converted.ok_or_else(|| ForeignError::Unknown(path.to_owned()))?;
    session.problems.extend(problems);
    Ok(session)
}

/// The lines that are JSON objects, and what is wrong with the others.
fn lines(path: &Path, lines_max: usize) -> Result<(Vec<Value>, Vec<String>), ForeignError> {
    let unreadable = |error| ForeignError::Unreadable(path.to_owned(), error);
    let metadata = std::fs::symlink_metadata(path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(ForeignError::Unknown(path.to_owned()));
    }
    if metadata.len() > FILE_BYTES_MAX {
        return Err(ForeignError::TooLarge(path.to_owned(), metadata.len()));
    }
    let mut reader = BufReader::new(std::fs::File::open(path).map_err(unreadable)?);
    let (mut lines, mut bad) = (Vec::new(), Vec::new());
    for number in 1..=lines_max {
        let mut line = Vec::new();
        let read = reader
            .by_ref()
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut line)
            .map_err(unreadable)?;
        if read == 0 {
            break;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match serde_json::from_slice::<Value>(&line) {
            Ok(value) if value.is_object() => lines.push(value),
            Ok(_) | Err(_) => bad.push(number),
        }
    }
    let mut problems: Vec<String> = bad
        .iter()
        .take(PROBLEMS_NAMED_MAX)
        .map(|number| format!("{}: line {number} cannot be read", path.display()))
        .collect();
    if bad.len() > PROBLEMS_NAMED_MAX {
        let more = bad.len() - PROBLEMS_NAMED_MAX;
        problems.push(format!(
            "{}: {more} further lines cannot be read",
            path.display()
        ));
    }
    Ok((lines, problems))
}
