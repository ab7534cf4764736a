//! Whether the project's files count: the question on the terminal, and `pirn trust`.

mod command;
mod question;

pub(crate) use command::{run, summary};
pub(crate) use question::{TrustQuestion, current, decide};
