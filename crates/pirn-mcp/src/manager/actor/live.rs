//! A connection in use: what happens on it, and when it is no longer needed.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::broadcast;
use tokio::time::Instant;

use crate::connection::Changed;
use crate::error::{Error, ErrorKind};
use crate::manager::debounce::Debounce;
use crate::manager::link::Link;
use crate::manager::uses::{Lease, Uses};

/// A connection in use.
pub(super) struct Live {
    link: Arc<dyn Link>,
    since: Instant,
    uses: Arc<Uses>,
    ended: BoxFuture<'static, Error>,
    /// `None` once the connection tells of no more changes.
    changes: Option<broadcast::Receiver<Changed>>,
    tools_changed: Debounce,
    listing: Option<BoxFuture<'static, Result<Vec<Value>, Error>>>,
}

/// What happened on a connection.
pub(super) enum LiveEvent {
    /// It ended by itself.
    Ended(Error),
    /// The server told of a change. Tools are listed again by this module.
    Changed(Changed),
    /// The tools were listed again.
    Listed(Result<Vec<Value>, Error>),
    /// Nobody has used it for long.
    Idle,
}

impl Live {
    pub(super) fn new(link: Arc<dyn Link>, changes: broadcast::Receiver<Changed>) -> Self {
        let now = Instant::now();
        let watched = Arc::clone(&link);
        Self {
            link,
            since: now,
            uses: Arc::new(Uses::new(now)),
            ended: Box::pin(async move { watched.closed().await }),
            changes: Some(changes),
            tools_changed: Debounce::default(),
            listing: None,
        }
    }

    pub(super) fn since(&self) -> Instant {
        self.since
    }

    pub(super) fn lease(&self) -> Lease {
        Lease::new(Arc::clone(&self.link), Arc::clone(&self.uses))
    }

    /// What was odd about the server's messages since the last look.
    pub(super) fn take_warnings(&self) -> Vec<String> {
        self.link.take_warnings()
    }

    pub(super) fn is_used_by(&self, uses: &Arc<Uses>) -> bool {
        Arc::ptr_eq(&self.uses, uses)
    }

    /// Why the connection has ended, where it has and nobody noticed yet.
    pub(super) fn take_end(&mut self, server: &str) -> Option<Error> {
        if !self.link.is_closed() {
            return None;
        }
        let mut context = Context::from_waker(Waker::noop());
        Some(match Pin::new(&mut self.ended).poll(&mut context) {
            Poll::Ready(error) => error,
            Poll::Pending => Error::new(ErrorKind::Closed, server, "the connection ended"),
        })
    }

    /// Waits for the next event. Dropping the future loses none.
    pub(super) async fn next(&mut self, idle_timeout: Option<Duration>) -> LiveEvent {
        loop {
            let idle_at = self.idle_at(idle_timeout);
            let list_at = self
                .tools_changed
                .due_at()
                .filter(|_| self.listing.is_none());
            tokio::select! {
                biased;
                error = &mut self.ended => return LiveEvent::Ended(error),
                changed = receive(&mut self.changes) => {
                    if changed == Changed::Tools {
                        self.tools_changed.notice(Instant::now());
                    }
                    return LiveEvent::Changed(changed);
                }
                tools = listed(&mut self.listing) => {
                    self.listing = None;
                    return LiveEvent::Listed(tools);
                }
                () = super::until(list_at) => {
                    if self.tools_changed.take_due(Instant::now()) {
                        let link = Arc::clone(&self.link);
                        self.listing = Some(Box::pin(async move { link.list_tools().await }));
                    }
                }
                () = super::until(idle_at) => {
                    let is_idle = idle_timeout.is_some_and(|timeout| {
                        self.uses.idle_since().is_some_and(|since| since + timeout <= Instant::now())
                    });
                    if is_idle && self.listing.is_none() {
                        return LiveEvent::Idle;
                    }
                }
            }
        }
    }

    /// Ends the connection and waits for that.
    pub(super) async fn close(self) {
        let link = Arc::clone(&self.link);
        // What still waits on the connection would keep it open.
        drop(self);
        link.close().await;
    }

    /// When to look whether the connection is idle.
    fn idle_at(&self, idle_timeout: Option<Duration>) -> Option<Instant> {
        let timeout = idle_timeout?;
        let from = match self.uses.idle_since() {
            Some(since) if self.listing.is_none() => since,
            // In use: not before a whole pause from now.
            Some(_) | None => Instant::now(),
        };
        Some(from + timeout)
    }
}

/// The next change. A receiver that lags may have missed one of the tools, so it counts as one.
async fn receive(changes: &mut Option<broadcast::Receiver<Changed>>) -> Changed {
    if let Some(receiver) = changes {
        match receiver.recv().await {
            Ok(changed) => return changed,
            Err(broadcast::error::RecvError::Lagged(_)) => return Changed::Tools,
            Err(broadcast::error::RecvError::Closed) => *changes = None,
        }
    }
    std::future::pending().await
}

async fn listed(
    listing: &mut Option<BoxFuture<'static, Result<Vec<Value>, Error>>>,
) -> Result<Vec<Value>, Error> {
    match listing {
        Some(listing) => listing.await,
        None => std::future::pending().await,
    }
}
