//! Tests of the crate through its public surface.

#![allow(
    clippy::disallowed_methods,
    reason = "tests prepare and inspect what they test"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed expectation of a helper fails the test, as one of the test itself does"
)]

mod approval;
mod cancel;
mod clock;
mod events;
mod hooks;
mod hostile;
mod nesting;
mod pipeline;
mod policy;
mod receipts;
mod registry;
mod schema;
mod search;
mod support;
