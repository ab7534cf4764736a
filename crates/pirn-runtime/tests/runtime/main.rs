//! The runtime as its embedders use it.

#![allow(
    clippy::disallowed_methods,
    reason = "tests prepare and inspect what they test"
)]

mod embedding;
