//! Wires at the boundary of the crate: what they send and what they make of what comes back.

#![allow(
    clippy::disallowed_methods,
    clippy::format_push_string,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests prepare and inspect what they test"
)]

mod client;
mod replies;
mod requests;
mod tasks;
