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

mod child;
mod command;
mod error;
mod keeper;
mod output;
mod status;
#[cfg(unix)]
mod sys;

pub use child::{Child, KILL_WAIT};
pub use command::{Command, OutputMode, Stdin};
pub use error::{Error, ErrorKind};
pub use output::{Captured, ChildOutput};
pub use status::ExitStatus;
