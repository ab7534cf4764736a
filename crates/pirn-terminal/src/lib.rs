//! The user's terminal: questions and answers, output while something runs, tables, and text of strangers that a terminal must not
//! obey. No other crate writes to standard error or to the terminal.
//!
//! What is asked, and what an answer means, is the caller's. [`Tty`] is the terminal itself, whatever the standard streams are;
//! [`Question`] is how everything is asked; [`Screen`] owns the standard streams while something runs. [`Text`] is all that a
//! terminal is given: no way to make one lets a stranger's text, which is [`Foreign`], do anything there.
//!
//! ```
//! use pirn_terminal::{Foreign, on_one_line};
//!
//! assert_eq!(on_one_line("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\\n");
//! assert_eq!(format!("{}", Foreign::new("\u{202e}x")), "\\u{202e}x");
//! ```

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests prepare and inspect what they test"
    )
)]

mod alternate;
mod block;
mod clipboard;
#[cfg(unix)]
mod device;
mod editor;
mod foreign;
mod form;
mod inline;
mod input;
mod keys;
mod markdown;
mod pager;
mod plain;
mod question;
mod row;
mod row_index;
mod screen;
mod streams;
mod table;
mod text;
mod theme;
mod tty;
mod width;

pub use alternate::{ALTERNATE_OFF, AlternatePainter};
pub use block::Block;
pub use clipboard::clipboard_sequence;
#[cfg(unix)]
pub use device::{Device, DeviceModes, MODES_OFF, Waker, Woken, restore};
pub use editor::{Editor, EditorAction, EditorLayout};
pub use foreign::{Foreign, cut, on_one_line, visible_code, without_controls};
pub use form::{Field, Form, typed_value};
pub use inline::{Frame, InlinePainter, Palette};
pub use input::{Connection, Decoder, Focus, Input, Scheme, TerminalColor, TerminalReply};
pub use keys::{KeyCode, KeyPress, Modifiers, UnknownKey};
pub use markdown::{MarkdownStream, markdown_rows};
pub use plain::PlainPainter;
pub use question::{Question, Reading, Typed};
pub use row::{Attribute, Row, Span, TextStyle, Wrap, wrap};
pub use row_index::RowIndex;
pub use screen::{LateText, RowText, Screen, ScreenWire, Target};
pub use streams::{Hold, is_error_terminal, is_output_terminal, note, write_error, write_output};
pub use table::Table;
pub use text::{Emphasis, Style, Text};
pub use theme::{Color, ColorDepth, Role, Theme, ThemeError};
pub use tty::{Key, Keys, Tty, columns};
pub use width::{Cluster, clusters, prefix, width};
