//! The one place that starts child processes, and the promise that none of them outlives its owner.
//!
//! A [`Command`] says what to run, where, and with exactly which environment; [`Command::spawn`] gives a [`Child`]. Dropping
//! the [`Child`] kills everything it started, also daemons that left its process group or session, and the same happens when
//! the process that owns it is killed. [`Child::detach_to`] lets a child's background processes live until a token fires.
//!
//! On Linux a small supervisor process stands between owner and child: it adopts every orphan below it and ends when its
//! lifeline to the owner closes. On other Unix systems the child's process group is killed, so a process that leaves the
//! group escapes. On Windows [`Command::spawn`] reports [`ErrorKind::Unsupported`].
//!
//! A [`Sandbox`] confines children: it is prepared once from a [`SandboxPolicy`] and given to [`Command::sandbox`]. On Linux a
//! child gets namespaces, a file system in which only chosen places are writable, Landlock rules, a filter on system calls,
//! and limits; [`Sandbox::report`] says what of that this machine can give, and [`levels_here`] why the rest is missing.
//!
//! This crate does not decide what may run, reads no environment and keeps no output: reading is the caller's, with its own
//! limits.
//!
//! ```
//! # #[cfg(unix)]
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use pirn_sandbox::{Command, ExitStatus};
//!
//! let mut child = Command::new("/bin/sh").args(["-c", "echo out; echo err >&2; exit 3"]).spawn()?;
//! let mut output = child.take_output().ok_or("no output")?;
//! let captured = output.read_bounded(1024).await?;
//! assert_eq!(captured.bytes, b"out\nerr\n");
//! assert_eq!(child.wait().await, ExitStatus::Code(3));
//! # Ok(())
//! # }
//! # #[cfg(not(unix))] fn main() {}
//! ```

#![allow(
    clippy::disallowed_methods,
    reason = "this is the crate that starts processes, and it makes the files and folders that confine them"
)]

mod background;
#[cfg(target_os = "linux")]
mod cgroup;
mod child;
mod command;
mod computing;
mod error;
mod explain;
#[cfg(target_os = "linux")]
mod filter;
// Windows cannot start children yet; the bounds are ready for when it can.
mod child_supervisor;
#[cfg(test)]
mod job;
mod mode;
mod named;
mod network;
mod os_text;
mod output;
mod paths;
mod policy;
mod report;
#[cfg(target_os = "linux")]
mod rules;
mod sandbox;
#[cfg(any(test, target_os = "macos"))]
mod seatbelt;
mod secrets;
mod status;
#[cfg(unix)]
mod sys;

pub use background::BackgroundChildren;
pub use child::{Child, KILL_WAIT};
pub use command::{Command, OutputMode, Stdin};
pub use computing::{ComputeBounds, keep_only_computing};
pub use error::{Error, ErrorKind};
pub use explain::{Denial, DenialSubject, Evidence, SandboxFacts, StandIns, explain};
pub use mode::NetworkMode;
#[cfg(any(test, feature = "fuzzing"))]
pub use network::fuzz_proxy;
pub use network::{
    AddressKind, AlwaysSink, DecisionSink, HostRule, HostRuleError, NetworkAnswer, NetworkAsker,
    NetworkDecision, NetworkFuture, NetworkOptions, NetworkProxy, NetworkReason, NetworkRules,
    NetworkUplink, NetworkVerdict, SystemUplink,
};
pub use os_text::OsText;
pub use output::{CapturedOutput, ChildOutput};
pub use paths::{
    FileRefusal, FileRules, FolderRules, HOME_READABLE_DEFAULT, OtherProgram, UNWRITABLE_DEFAULT,
};
pub use policy::{
    Level, LevelChoice, Limits, Network, PolicySpec, Profile, Protection, Readable, SandboxPolicy,
    UNREADABLE_DEFAULT,
};
pub use report::{Layer, MissingLayer, SandboxReport};
pub use sandbox::{Sandbox, levels_here};
pub use secrets::{PROVIDER_VARIABLES, ProviderVariables, without_secrets};
pub use status::ExitStatus;
