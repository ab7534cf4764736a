//! A list that comes in pages, and how much of it is taken.

use std::collections::HashSet;
use std::io::{self, Write};

use serde_json::Value;

/// Pages taken of one list; a server that has more is taken to never end. The number is pi's.
const PAGES_MAX: usize = 1_000;

/// Entries taken of one list, in whole pages.
const ENTRIES_MAX: usize = 10_000;

/// Bytes of JSON taken of one list, in whole pages: more than thousands of entries with long schemas have. Each page is bounded as
/// every message is.
const BYTES_MAX: usize = 32 << 20;

/// The pages of one list so far.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    items: Vec<Value>,
    count: usize,
    bytes: usize,
    /// The cursors so far.
    seen: HashSet<String>,
}

/// What comes after a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// The page with this cursor.
    Page(String),
    /// Nothing: the list is complete.
    End,
    /// Nothing, though there is more; says why, as the end of a sentence about the server.
    Stopped(&'static str),
}

impl Pages {
    /// Takes a page with the cursor of the next one.
    pub(crate) fn add(&mut self, items: Vec<Value>, next_cursor: Option<String>) -> After {
        self.count += 1;
        let bytes: usize = items.iter().map(json_bytes).sum();
        self.bytes = self.bytes.saturating_add(bytes);
        self.items.extend(items);
        let Some(next) = next_cursor.filter(|next| !next.is_empty()) else {
            return After::End;
        };
        self.bytes = self.bytes.saturating_add(next.len());
        if self.seen.contains(&next) {
            After::Stopped("it repeats a cursor")
        } else if self.items.len() >= ENTRIES_MAX {
            After::Stopped("it has too many entries")
        } else if self.bytes >= BYTES_MAX {
            After::Stopped("its entries are too large together")
        } else if self.count >= PAGES_MAX {
            After::Stopped("it has too many pages")
        } else {
            self.seen.insert(next.clone());
            After::Page(next)
        }
    }

    /// The entries of all pages.
    pub(crate) fn into_items(self) -> Vec<Value> {
        self.items
    }
}

/// The length of a value as JSON.
fn json_bytes(value: &Value) -> usize {
    struct Count(usize);
    impl Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        // What cannot be counted is too much.
        Err(_) => usize::MAX,
    }
}

#[cfg(test)]
mod tests;
