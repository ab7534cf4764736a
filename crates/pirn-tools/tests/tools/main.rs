//! The tools as the pipeline calls them.

#![allow(
    clippy::disallowed_methods,
    reason = "tests prepare and inspect what they test"
)]
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::format_collect,
    reason = "tests"
)]

mod attributes;
mod bash;
mod edit;
mod encodings;
mod find;
mod grep;
#[cfg(target_os = "linux")]
mod kill;
#[cfg(target_os = "linux")]
mod kinds;
mod ls;
mod paths;
mod programs;
mod read;
#[cfg(target_os = "linux")]
mod sandbox;
mod shapes;
mod support;
#[cfg(target_os = "linux")]
mod swaps;
#[cfg(target_os = "linux")]
mod system;
mod write;
mod written;
