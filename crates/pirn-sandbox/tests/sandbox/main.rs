//! Tests with real processes.
#![allow(clippy::unwrap_used, clippy::format_collect, reason = "tests")]

#[cfg(unix)]
mod running;
#[cfg(unix)]
mod support;
#[cfg(target_os = "linux")]
mod survivors;
