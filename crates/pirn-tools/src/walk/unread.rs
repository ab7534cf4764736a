//! What a walk could not read.

use std::io;
use std::sync::{Mutex, PoisonError};

use crate::paths;

/// Places named in the note; more are counted.
const NAMED_MAX: usize = 5;

/// The folders and files that a walk could not read. They are told beside the result, which does not know what is in them.
#[derive(Debug, Default)]
pub(crate) struct Unread(Mutex<Places>);

#[derive(Debug, Default)]
struct Places {
    count: usize,
    /// The first in order of their names, each with the reason.
    named: Vec<(String, String)>,
}

impl Unread {
    /// Notes a place, unless it has gone meanwhile.
    pub(crate) fn add(&self, shown: impl FnOnce() -> String, error: &io::Error) {
        if error.kind() == io::ErrorKind::NotFound {
            return;
        }
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.count += 1;
        let place = (shown(), paths::describe(error));
        let at = places.named.partition_point(|named| *named < place);
        places.named.insert(at, place);
        places.named.truncate(NAMED_MAX);
    }

    /// A sentence about them; `None` where everything was read.
    pub(crate) fn note(&self) -> Option<String> {
        let places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, reason) = places.named.first()?;
        let mut names = places
            .named
            .iter()
            .map(|(name, _)| name.as_str())
            .collect::<Vec<_>>()
            .join(", ");
        if places.count > places.named.len() {
            names.push_str(", ...");
        }
        let subject = match places.count {
            1 => "1 place could not be read and is".to_owned(),
            count => format!("{count} places could not be read and are"),
        };
        Some(format!("{subject} left out: {names} ({reason})"))
    }
}
