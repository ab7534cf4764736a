//! The terminal interface: a conversation, what its programs do, and what they ask.
//!
//! [`App`] is a state without a clock or a terminal: inputs and [`UiEvent`] go in, rows and [`Order`]s come out. [`run`] gives it a
//! terminal, on one thread that sleeps until something comes. They know neither models nor sessions: [`Conversation`] carries the
//! orders out over an agent and tells what happens.
//!
//! ```
//! use std::time::Duration;
//! use pirn_terminal::{Input, KeyCode, KeyPress};
//! use pirn_tui::{App, AppOptions, Order};
//!
//! let mut app = App::new(AppOptions::default());
//! let keys = [KeyCode::Char('h'), KeyCode::Char('i'), KeyCode::Enter];
//! app.inputs(&keys.map(|key| Input::Key(KeyPress::plain(key))), Duration::ZERO);
//! assert_eq!(app.take_orders(), [Order::Say("hi".to_owned())]);
//! ```

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests prepare and inspect what they test"
    )
)]

mod app;
mod call;
mod commands;
mod completion;
#[cfg(unix)]
mod conversation;
mod event;
mod fuzzy;
#[cfg(unix)]
mod guardian;
mod keys;
mod line_questions;
mod picker;
mod question;
#[cfg(test)]
mod reference;
#[cfg(unix)]
mod run;
mod script;
mod scroll;
#[cfg(unix)]
mod storage;
mod text_editor;
mod transcript;
mod viewer;

pub use app::{App, AppOptions, Cursor, PlainFrame, Request};
pub use commands::{COMMANDS, CommandRow};
#[cfg(unix)]
pub use conversation::{Conversation, ConversationParts};
pub use event::{
    Activity, Audience, CallOutcome, Choices, Draft, Figures, OpenQuestions, Order, Presentation,
    Purpose, UiEvent,
};
#[cfg(unix)]
pub use guardian::Guardian;
pub use keys::{ACTIONS, Action, ActionRow, Keymap};
pub use line_questions::{Asker, LineQuestions, Reactions, ScreenTurns};
#[cfg(unix)]
pub use run::{EventSender, Outside, RunOptions, run};
#[cfg(unix)]
pub use storage::{Left, Storage};
pub use text_editor::TextEditor;
