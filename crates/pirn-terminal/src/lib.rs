//! The user's terminal: questions and answers, pages of text, tables, and text of strangers that a terminal must not obey.
//!
//! What is asked, and what an answer means, is the caller's. [`Tty`] is the terminal itself, whatever the standard streams are;
//! [`Foreign`], [`on_one_line`] and [`without_controls`] make text of strangers harmless; [`Table`] sets rows of cells.
//!
//! ```
//! use pirn_terminal::on_one_line;
//!
//! assert_eq!(on_one_line("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\\n");
//! ```

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests prepare and inspect what they test"
    )
)]

mod pager;
mod table;
mod tty;
mod visible;

pub use pager::{Seen, show_pages};
pub use table::Table;
pub use tty::{Answer, Key, Keys, Tty, columns};
pub use visible::{Foreign, cut, ends, on_one_line, without_controls};
