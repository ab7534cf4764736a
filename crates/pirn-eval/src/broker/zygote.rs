//! A warm Python that forks one worker per eval, in its own sandbox.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::{UnixDatagram as StdUnixDatagram, UnixStream as StdUnixStream};
use std::sync::Arc;

use pirn_sandbox::{Child, ExitStatus};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use serde::{Deserialize, Serialize};
use tokio::net::UnixDatagram;
use tokio::net::unix::pipe;
use tokio::sync::mpsc::UnboundedSender;

use super::event::{ProcessEvent, WorkerExit};
use super::worker_pipes::WorkerPipes;
use crate::tail::SharedTail;

/// The longest message of a zygote, in bytes; they hold an id and a number.
const MESSAGE_BYTES_MAX: usize = 4 * 1024;

/// What a fork of the zygote can be sent.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum ForkSignal {
    Int,
    Term,
    Kill,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ToZygote<'a> {
    Fork { id: &'a str },
    Signal { id: &'a str, signal: ForkSignal },
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum FromZygote {
    Forked {},
    Ended { id: String, status: i32 },
}

/// A warm Python in its own sandbox.
pub(super) struct Zygote {
    /// Tells zygotes apart: events of one that was replaced are of no interest.
    pub(super) key: u64,
    child: Arc<Child>,
    control: Arc<UnixDatagram>,
    /// How many processes of it the kernel had killed for its bound on memory when somebody last looked.
    memory_kills: u64,
}

/// Both ends of a socket that keeps messages apart: ours does not block.
pub(super) fn control_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((ours, theirs))
}

impl Zygote {
    /// Follows a zygote that was started with the other end of `control`; `events` hears of its forks and of its end.
    pub(super) fn follow(
        key: u64,
        child: Child,
        control: OwnedFd,
        tail: SharedTail,
        events: UnboundedSender<ProcessEvent>,
    ) -> io::Result<Self> {
        let child = Arc::new(child);
        // Its messages are kept apart as those of a datagram socket; besides, it has an end.
        let control = StdUnixDatagram::from(control);
        let control = Arc::new(UnixDatagram::from_std(control)?);
        let watched = Arc::clone(&child);
        let source = Arc::clone(&control);
        // Ends with the zygote, which ends at the latest when the broker does.
        tokio::spawn(async move {
            let listen = async {
                while let Some(message) = receive(&source).await {
                    if let FromZygote::Ended { id, status } = message {
                        // The broker may be ending.
                        let _closed = events.send(ProcessEvent::ForkEnded { id, status });
                    }
                }
            };
            let status = tokio::select! {
                status = watched.wait() => status,
                // It broke the protocol or closed its end, so it is of no use.
                () = listen => watched.kill_all().await,
            };
            watched.kill_all().await;
            let _closed = events.send(ProcessEvent::ZygoteGone {
                key,
                exit: WorkerExit::of_child(&watched, status, &tail.text()),
            });
        });
        Ok(Self {
            key,
            child,
            control,
            memory_kills: 0,
        })
    }

    /// Has it fork a worker for an eval.
    pub(super) fn fork(&self, id: &str) -> io::Result<WorkerPipes> {
        let (ours, theirs) = StdUnixStream::pair()?;
        let (output, output_writer) = io::pipe()?;
        let (errors, errors_writer) = io::pipe()?;
        let descriptors = [theirs.as_fd(), output_writer.as_fd(), errors_writer.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
            return Err(io::Error::other("no room for descriptors"));
        }
        let message = serde_json::to_vec(&ToZygote::Fork { id })?;
        rustix::net::sendmsg(
            &*self.control,
            &[IoSlice::new(&message)],
            &mut ancillary,
            SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
        )?;
        let output = pipe::Receiver::from_owned_fd(output.into())?;
        let errors = pipe::Receiver::from_owned_fd(errors.into())?;
        WorkerPipes::new(ours, Some(Box::new(output)), Some(Box::new(errors)))
    }

    /// Signals the worker of an eval. A zygote that does not listen is found out by whoever waits for the effect.
    pub(super) fn signal(&self, id: &str, signal: ForkSignal) {
        let message = serde_json::to_vec(&ToZygote::Signal { id, signal }).unwrap_or_default();
        let _deaf = rustix::net::send(
            &*self.control,
            &message,
            SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
        );
    }

    /// Its process, which there is where zygotes are.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "other systems have no zygotes, see the other file"
    )]
    pub(super) fn child(&self) -> Option<&Arc<Child>> {
        Some(&self.child)
    }

    /// Whether the kernel has killed something in its sandbox for its bound on memory since this was asked before.
    pub(super) fn was_out_of_memory(&mut self) -> bool {
        let before = self.memory_kills;
        self.memory_kills = self.child.memory_kills().unwrap_or(before);
        self.memory_kills > before
    }

    /// Kills it with everything in its sandbox; [`ProcessEvent::ZygoteGone`] follows.
    pub(super) fn kill(&self) {
        let child = Arc::clone(&self.child);
        tokio::spawn(async move {
            let _status: ExitStatus = child.kill_all().await;
        });
    }
}

/// The next message; `None` when it is not one, or there are no more.
async fn receive(control: &UnixDatagram) -> Option<FromZygote> {
    let mut buffer = [0; MESSAGE_BYTES_MAX];
    let count = control.recv(&mut buffer).await.ok()?;
    serde_json::from_slice(buffer.get(..count)?).ok()
}
