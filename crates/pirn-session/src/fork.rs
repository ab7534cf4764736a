//! Copies of sessions and their ends.

use std::collections::BTreeSet;
use std::path::Path;

use crate::entry::{Entry, EntryBody};
use crate::error::{Error, ErrorKind};
use crate::session::{NewSession, Session};
use crate::tree::Tree;

/// How much of a session a fork takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkPart<'a> {
    /// All branches, as they are.
    Whole,
    /// The way from the first entry to this one, with the labels on it; nothing where there is none.
    UpTo(Option<&'a str>),
}

impl Session {
    /// Begins a session with the entries of another one, which stays as it is. Its file is made at once, unless nothing was said
    /// so far.
    pub fn fork(source: &Tree, part: ForkPart<'_>, new: NewSession) -> Result<Self, Error> {
        let entries = match part {
            ForkPart::Whole => source.entries().to_vec(),
            ForkPart::UpTo(id) => branch(source, id)?,
        };
        Self::with_entries(new, entries)
    }
}

/// The entries up to one of them, and the labels that they have.
fn branch(source: &Tree, leaf: Option<&str>) -> Result<Vec<Entry>, Error> {
    let mut tree = source.clone();
    if !tree.set_leaf(leaf) {
        let id = leaf.unwrap_or_default();
        let message = format!("the session has no entry `{id}`");
        return Err(Error::new(ErrorKind::Format, message));
    }
    let mut entries: Vec<Entry> = tree.path().into_iter().cloned().collect();
    let taken: BTreeSet<String> = entries.iter().map(|entry| entry.id.clone()).collect();
    let labels = source.entries().iter().filter(|entry| {
        let EntryBody::Label { target_id, .. } = &entry.body else {
            return false;
        };
        taken.contains(target_id) && !taken.contains(&entry.id)
    });
    for label in labels {
        let mut label = label.clone();
        label.parent_id = entries.last().map(|entry| entry.id.clone());
        entries.push(label);
    }
    Ok(entries)
}

/// Deletes a session's file. One that somebody goes on with is refused.
pub fn delete_session(path: &Path) -> Result<(), Error> {
    // Opened first: the writer keeps others out, and what is no session is not deleted.
    let session = Session::open(path)?;
    let deleted = std::fs::remove_file(path);
    drop(session);
    deleted.map_err(|error| {
        let message = format!("{}: the session cannot be deleted", path.display());
        Error::new(ErrorKind::Io, message).because(error)
    })
}
