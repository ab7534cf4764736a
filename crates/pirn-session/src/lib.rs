//! Sessions: conversations kept as an append-only tree of entries, in files that pi 1.6 reads and writes too.
//!
//! A [`Session`] is one that goes on: every entry is in its file before it counts, one process at a time writes to it, and a line
//! that was torn by a crash costs itself only. [`load`] reads one without going on. [`Tree::context`] is what a model reads at a
//! place of the tree, after compactions and edits. [`list_sessions`] knows all sessions of a folder from an index, [`find_session`] one
//! by the beginning of its id, and [`Session::fork`] copies one or a branch of it. This crate knows no model's wire and runs no turns.
//!
//! ```
//! use pirn_model::{Message, UserMessage};
//! use pirn_session::{NewSession, Session, load};
//!
//! let sessions = tempfile::tempdir()?;
//! let new = NewSession { cwd: "/srv/project".into(), sessions: Some(sessions.path().into()), ..NewSession::default() };
//! let mut session = Session::create(new)?;
//! assert_eq!(session.path(), None, "nothing was said yet");
//! session.append_message(Message::User(UserMessage::text("Hello", 0)))?;
//! let path = session.path().ok_or("kept")?;
//! assert_eq!(load(path)?.tree.context().messages.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests prepare and inspect what they test"
    )
)]

mod entry;
mod error;
mod find;
mod fork;
mod html;
mod list;
mod moment;
mod read;
mod session;
mod tree;

pub use entry::{Entry, EntryBody, Header, Replacement};
pub use error::{Error, ErrorKind};
pub use find::{FoundSession, SessionPlace, find_session};
pub use fork::{ForkPart, delete_session};
pub use html::{PrivateParts, html_page, private_parts, write_html_page};
pub use list::{SessionList, SessionSummary, list_sessions};
pub use moment::{iso_time, moment_ms, now_ms};
pub use read::{Loaded, load};
pub use session::{NewSession, Session};
pub use tree::{Context, Tree};
