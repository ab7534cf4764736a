//! Sessions as their users see them: files that grow, break, and are read again.

#![allow(
    clippy::disallowed_methods,
    clippy::format_collect,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests prepare and inspect what they test"
)]

mod damage;
mod lists;
mod trees;
