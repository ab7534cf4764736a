//! The process that a kernel starts of this program.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Context as _;
use pirn_eval::BrokerProgram;

/// The first argument that makes this program a kernel's broker. Nobody types it.
pub(crate) const BROKER_ARGUMENT: &str = "--eval-broker";
/// Serves the kernel that started this process, over the standard streams.
#[cfg(unix)]
#[expect(
    clippy::disallowed_methods,
    reason = "the standard streams of a broker are its way to the kernel; it shows nothing"
)]
pub(crate) fn broker() -> ExitCode {
    use std::os::fd::AsFd as _;
    let streams = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .and_then(|stdin| Ok((stdin, std::io::stdout().as_fd().try_clone_to_owned()?)));
    match streams {
        Ok((stdin, stdout)) => pirn_eval::broker::run(stdin, stdout).into(),
        Err(_) => ExitCode::FAILURE,
    }
}

/// There are no brokers on this system yet.
#[cfg(not(unix))]
pub(crate) fn broker() -> ExitCode {
    ExitCode::FAILURE
}

/// This program as a kernel's broker.
#[expect(
    clippy::disallowed_methods,
    reason = "the binary is what starts itself as a broker"
)]
pub(super) fn broker_program() -> anyhow::Result<BrokerProgram> {
    Ok(BrokerProgram {
        program: std::env::current_exe().context("the path of this program cannot be found")?,
        arguments: vec![OsString::from(BROKER_ARGUMENT)],
    })
}
