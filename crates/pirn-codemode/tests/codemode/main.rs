//! Tests of the crate through its public surface. Recorded cases of other systems are in `tests/conformance`.

#![allow(
    clippy::disallowed_methods,
    reason = "tests prepare and inspect what they test"
)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation of a helper fails the test, as one of the test itself does"
)]

mod board;
mod calls;
mod cells;
mod checks;
mod discovery;
mod embedding;
mod errors;
mod exec_tool;
mod layout;
mod limits;
mod mistakes;
mod models;
mod names;
mod parallel;
mod positions;
mod property;
mod store;
mod support;
mod suspend;
mod the_end;
mod values;
