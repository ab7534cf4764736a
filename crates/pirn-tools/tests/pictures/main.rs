//! Pictures, and the helper that decodes them. This program is also that helper, when it is started as such.

#![allow(
    clippy::disallowed_methods,
    reason = "tests prepare and inspect what they test"
)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failing test panics and says where; the lints only know tests of the built-in harness"
)]

#[cfg(target_os = "linux")]
mod linux;

/// Nothing is decoded there.
#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    linux::main()
}
