//! Replaces files as a whole: a reader, and a process that comes after a crash, finds the old content or the new. Locks
//! between processes go with it, new files that only their owner can use, files of lines with one writer, and logs of bounded
//! size.
//!
//! A [`HeldFolder`] is a folder that stays the same whatever becomes of its name; what is opened beneath it is not somewhere else.
//!
//! [`replace`] is all that most callers need. Who has to decide in the last moment makes a [`Draft`] and publishes it or drops
//! it. Who changes what is there takes a [`FileLock`] first, reads, and replaces.
//!
//! On Linux the new content starts as a file without a name, so a process that is killed while writing leaves nothing behind.
//! Giving it a name over an existing one takes two steps, a temporary name and a rename, and only a kill between the two leaves
//! a temporary file; the next draft in the folder removes it. Elsewhere the temporary name exists from the start.
//!
//! ```
//! use pirn_file::{Access, replace};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("state.json");
//! replace(&path, b"{}", Access::Private)?;
//! replace(&path, b"{\"n\":1}", Access::Private)?;
//! assert_eq!(std::fs::read(&path)?, b"{\"n\":1}");
//! # Ok::<(), std::io::Error>(())
//! ```

#![allow(
    clippy::disallowed_methods,
    reason = "this is the crate that writes files"
)]

mod append;
mod draft;
mod held_folder;
mod lock;
mod new;
mod rotating_log;
mod spill;
mod target;

pub use append::{AppendError, AppendFile};
pub use draft::{Access, Draft, replace};
#[cfg(target_os = "linux")]
pub use held_folder::real_path;
pub use held_folder::{Entry, EntryKind, HeldFolder, open_readable, opened_path};
pub use lock::FileLock;
pub use new::{create_new, create_unique, make_private_folder, write_unique};
pub use rotating_log::RotatingLog;
pub use spill::{SPILL_BYTES_MAX, SpillFile, SpillFolder};
pub use target::real_target;
