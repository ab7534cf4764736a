//! Tests with real processes.

#![allow(
    clippy::disallowed_methods,
    reason = "tests prepare and inspect what they test"
)]
#![allow(clippy::unwrap_used, clippy::format_collect, reason = "tests")]

#[cfg(target_os = "linux")]
mod confined;
#[cfg(target_os = "linux")]
mod explained;
#[cfg(target_os = "linux")]
mod frozen;
#[cfg(target_os = "linux")]
mod proxied;
#[cfg(unix)]
mod proxy;
#[cfg(unix)]
mod running;
#[cfg(unix)]
mod support;
#[cfg(target_os = "linux")]
mod survivors;
