//! Tests with real processes.

#[cfg(unix)]
mod running;
#[cfg(unix)]
mod support;
#[cfg(target_os = "linux")]
mod survivors;
