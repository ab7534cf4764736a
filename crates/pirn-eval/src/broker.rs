//! The broker: a process between host and workers that starts, confines, bounds and ends them, and dies with the host.
//!
//! Its program calls [`run`] in a hidden mode. Everything runs on one thread; what has to wait is a source of events.

#[cfg(unix)]
mod active;
#[cfg(unix)]
mod asker;
#[cfg(unix)]
mod event;
#[cfg(unix)]
mod line_writer;
#[cfg(unix)]
mod output;
#[cfg(unix)]
mod pool;
#[cfg(unix)]
mod service;
#[cfg(unix)]
mod worker_factory;
#[cfg(unix)]
mod worker_pipes;
#[cfg(target_os = "linux")]
mod zygote;
#[cfg(all(unix, not(target_os = "linux")))]
#[path = "broker/without_zygote.rs"]
mod zygote;

/// Serves one host: reads orders from `stdin`, writes reports to `stdout`, until `stdin` ends. Gives the process's exit code.
/// The caller has no runtime running on this thread, and writes nothing to `stdout` itself.
#[cfg(unix)]
pub fn run(stdin: std::os::fd::OwnedFd, stdout: std::os::fd::OwnedFd) -> u8 {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        return EXIT_FAILED;
    };
    match runtime.block_on(service::serve(stdin, stdout)) {
        Ok(()) => 0,
        Err(_) => EXIT_FAILED,
    }
}

/// The exit code when the broker could not work.
#[cfg(unix)]
const EXIT_FAILED: u8 = 1;
