//! Signing in against a scripted resource and authorization server on the loopback.

#![allow(
    clippy::disallowed_methods,
    reason = "tests prepare and inspect what they test"
)]
#![expect(
    clippy::unwrap_used,
    clippy::string_slice,
    reason = "helpers of tests fail like tests"
)]

mod discovery;
mod peer;
mod refresh;
mod sign_in;
mod sign_out;
mod step_up;
mod world;
