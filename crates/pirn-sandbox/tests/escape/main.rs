//! Attempts to get out of the confinement, each made at every level, as root and as an ordinary user.
//!
//! The rows are data, see `rows`. Every trial starts this program once more: with descriptors that are left open on purpose,
//! and as the user in question. As an ordinary user the tests cannot become root, so the rows of root exist only for root.
//! Each row is also made in a workspace that gets in the way, see `evil`; with `PIRN_SANDBOX_TEST_SOAK` in all of them.
//! `--table` prints the rows for the documentation.

#![allow(
    clippy::disallowed_methods,
    reason = "tests prepare and inspect what they test"
)]
#![cfg_attr(
    target_os = "linux",
    expect(
        clippy::print_stdout,
        clippy::print_stderr,
        clippy::too_many_lines,
        reason = "a program of its own, which talks to the one that started it; rows are data"
    )
)]

#[cfg(target_os = "linux")]
mod attempt;
#[cfg(target_os = "linux")]
mod evil;
#[cfg(target_os = "linux")]
mod prelude;
#[cfg(target_os = "linux")]
mod rows;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod stage;
#[cfg(target_os = "linux")]
mod trials;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    trials::main()
}

/// Nothing is confined there yet.
#[cfg(not(target_os = "linux"))]
fn main() {}
