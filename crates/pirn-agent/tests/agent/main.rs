//! Runs against a model and tools that are scripts.

#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests prepare and inspect what they test"
)]

mod examples;
mod hooks;
mod runs;
