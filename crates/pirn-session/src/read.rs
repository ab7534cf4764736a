//! Reading a file of entries, whatever happened to it.

use std::path::Path;

use serde_json::Value;

use crate::entry::{Entry, EntryBody, Header};
use crate::error::{Error, ErrorKind};
use crate::tree::Tree;

/// The version that is written.
pub(crate) const FORMAT_VERSION: u32 = 3;
/// The largest file that is read: far beyond what a model can say in a year.
pub(crate) const SESSION_BYTES_MAX: u64 = 1 << 30;
/// Lines that are named one by one when they cannot be read.
const PROBLEMS_NAMED_MAX: usize = 5;

/// A session as its file says.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The first line, which tells what the session is.
    pub header: Header,
    /// The entries of all branches.
    pub tree: Tree,
    /// What is wrong with the file, for people.
    pub problems: Vec<String>,
}

/// Reads a file without going on with it; somebody else may be writing to it.
pub fn load(path: &Path) -> Result<Loaded, Error> {
    let cannot = |error| {
        Error::new(
            ErrorKind::Io,
            format!("{}: the session cannot be read", path.display()),
        )
        .because(error)
    };
    let size = std::fs::metadata(path).map_err(cannot)?.len();
    if size > SESSION_BYTES_MAX {
        let message = format!(
            "{}: a session of more than 1 GiB is not read",
            path.display()
        );
        return Err(Error::new(ErrorKind::Format, message));
    }
    read(path, &std::fs::read(path).map_err(cannot)?)
}

/// Reads the content of a file. What is damaged costs itself and what hangs on it; all else is there.
pub(crate) fn read(path: &Path, content: &[u8]) -> Result<Loaded, Error> {
    let mut lines = content.split(|byte| *byte == b'\n').enumerate();
    let header = lines
        .next()
        .map(|(_, line)| line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line))
        .and_then(|line| serde_json::from_slice::<Header>(line).ok())
        .filter(|header| header.kind == "session");
    let Some(header) = header else {
        let message = format!(
            "{} is not a session: its first line is not a header",
            path.display()
        );
        return Err(Error::new(ErrorKind::Format, message));
    };
    if header.version > FORMAT_VERSION {
        let message = format!(
            "{} is of version {}, which a newer program writes; this one reads up to {FORMAT_VERSION}",
            path.display(),
            header.version
        );
        return Err(Error::new(ErrorKind::Format, message));
    }
    let mut reading = Reading {
        is_linear: header.version == 1,
        ..Reading::default()
    };
    for (index, line) in lines {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.trim_ascii().is_empty() {
            reading.line(index + 1, line);
        }
    }
    Ok(reading.finish(header, content.ends_with(b"\n")))
}

#[derive(Default)]
struct Reading {
    tree: Tree,
    /// The first version has no tree: each entry follows the one before it.
    is_linear: bool,
    unreadable: Vec<(usize, String)>,
    /// Entries whose parent is not there.
    lost: usize,
    last_line: usize,
}

impl Reading {
    fn line(&mut self, number: usize, line: &[u8]) {
        self.last_line = number;
        match self.entry(number, line) {
            Err(error) => self.unreadable.push((number, error)),
            Ok(entry) if self.tree.accepts(&entry) => self.tree.push(entry),
            Ok(_) => self.lost += 1,
        }
    }

    fn entry(&self, number: usize, line: &[u8]) -> Result<Entry, String> {
        let mut value: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        if let Some(members) = value.as_object_mut() {
            if self.is_linear {
                members.insert("id".into(), format!("{number:08x}").into());
                members.insert("parentId".into(), self.tree.leaf().into());
            }
            // The name before version 3.
            if let Some(role) = members
                .get_mut("message")
                .and_then(|message| message.get_mut("role"))
                && role == "hookMessage"
            {
                *role = "custom".into();
            }
        }
        let entry: Entry = serde_json::from_value(value).map_err(|error| error.to_string())?;
        match &entry.body {
            EntryBody::Other(members) => match members.get("type").and_then(Value::as_str) {
                Some(kind) if KNOWN.contains(&kind) => Err(format!("a {kind} of an unknown shape")),
                Some(_) => Ok(entry),
                None => Err("an entry without a type".to_owned()),
            },
            _ => Ok(entry),
        }
    }

    fn finish(mut self, header: Header, ends_well: bool) -> Loaded {
        let mut problems = Vec::new();
        // A last line without its end was being written when the process ended; nobody was told that it was kept.
        if let Some((number, _)) = self.unreadable.last()
            && *number == self.last_line
            && !ends_well
        {
            problems.push(format!(
                "line {number}, the last, is not complete and is left out"
            ));
            self.unreadable.pop();
        }
        for (number, error) in self.unreadable.iter().take(PROBLEMS_NAMED_MAX) {
            problems.push(format!(
                "line {number} cannot be read and is left out: {error}"
            ));
        }
        if self.unreadable.len() > PROBLEMS_NAMED_MAX {
            let more = self.unreadable.len() - PROBLEMS_NAMED_MAX;
            problems.push(format!("{more} more lines cannot be read and are left out"));
        }
        if self.lost > 0 {
            problems.push(format!(
                "{} entries are left out because the entry before them cannot be read",
                self.lost
            ));
        }
        Loaded {
            header,
            tree: self.tree,
            problems,
        }
    }
}

/// The types of entries that have a shape here.
const KNOWN: &[&str] = &[
    "message",
    "model_change",
    "thinking_level_change",
    "usage",
    "compaction",
    "context_edit",
    "branch_summary",
    "custom",
    "custom_message",
    "label",
    "session_info",
];
