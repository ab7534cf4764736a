//! The runtime as its embedders use it.

#![allow(
    clippy::disallowed_methods,
    reason = "tests prepare and inspect what they test"
)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod clients;
mod clocks;
mod embedding;
mod ends;
mod events;
mod place;
mod scripts;
mod servers;
