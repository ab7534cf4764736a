//! Tests of the VM from outside.

#![allow(
    clippy::disallowed_methods,
    reason = "tests prepare and inspect what they test"
)]
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "in a test the panic is the report"
)]

mod attacks;
mod boundary;
mod calls;
mod contract;
mod interrupt;
mod order;
mod room;
mod snapshot;
mod support;
mod tools;
