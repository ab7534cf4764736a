//! The filtering proxy: the only way out for children with an allow-list.

mod addresses;
mod asking;
mod client;
mod connector;
mod decisions;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzzing;
mod host;
mod http;
mod options;
mod relay;
mod rules;
mod socks;
mod uplink;

use std::io;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

pub use addresses::AddressKind;
pub use asking::{NetworkAnswer, NetworkAsker};

pub(crate) use decisions::refusal_sentence;
pub use decisions::{NetworkDecision, NetworkReason, NetworkVerdict};
#[cfg(any(test, feature = "fuzzing"))]
pub use fuzzing::fuzz_proxy;
pub(crate) use host::Host;
pub use options::{AlwaysSink, DecisionSink, NetworkOptions};
pub use rules::{HostRule, HostRuleError, NetworkRules};
pub use uplink::{NetworkFuture, NetworkUplink, SystemUplink};

use client::Client;
use connector::Connector;

/// After a failed `accept`, which means that the machine is short of descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The filtering proxy of children with an allow-list. Cheap to clone; the last handle ends its connections.
///
/// It speaks HTTP (`CONNECT` and plain requests) and SOCKS5 (`CONNECT`) on the same listener. A host that the rules do not
/// allow gets not a byte, and its name is not looked up. A name is looked up once; the address is checked, and that very
/// address is connected to. This machine, its link and metadata services are never reached by name, whatever the name
/// resolves to.
#[derive(Debug, Clone)]
pub struct NetworkProxy {
    connector: Arc<Connector>,
    end: Arc<DropGuard>,
}

impl NetworkProxy {
    /// A proxy with these rules, which serves nobody yet.
    pub fn new(rules: NetworkRules, options: NetworkOptions) -> Self {
        Self {
            connector: Arc::new(Connector::new(rules, options)),
            end: Arc::new(CancellationToken::new().drop_guard()),
        }
    }

    /// Serves what connects to `listener` until `gone` fires or the last handle is dropped; then its connections end too.
    /// Must be called inside a tokio runtime with I/O and time enabled.
    pub fn serve(&self, listener: StdListener, gone: CancellationToken) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let connector = Arc::clone(&self.connector);
        let end = self.end.token().clone();
        // Owned by the two tokens: it ends with the first that fires, and its connections with it.
        tokio::spawn(async move {
            tokio::select! {
                () = end.cancelled() => {}
                () = gone.cancelled() => {}
                () = accept_all(listener, connector) => {}
            }
        });
        Ok(())
    }

    /// The rules, with what was allowed since.
    pub fn rules(&self) -> NetworkRules {
        self.connector.rules().clone()
    }

    /// Allows something for as long as this proxy lives. Rules that deny still come first.
    pub fn allow(&self, rule: HostRule) {
        self.connector.allow(rule);
    }

    /// The number of the last decision: what [`Self::decisions_since`] takes to give only later ones.
    pub fn decision_cursor(&self) -> u64 {
        self.connector.log.last()
    }

    /// The decisions after this one, oldest first. Only the last thousand are kept.
    pub fn decisions_since(&self, cursor: u64) -> Vec<NetworkDecision> {
        self.connector.log.since(cursor)
    }
}

/// For another proxy with the same rules, whose children another process owns: what was answered here counts there too.
impl NetworkAsker for NetworkProxy {
    fn ask<'a>(&'a self, host: &'a str, port: u16) -> NetworkFuture<'a, NetworkAnswer> {
        Box::pin(self.connector.answer(host, port))
    }
}

/// Accepts connections for ever. Dropping it ends them.
async fn accept_all(listener: TcpListener, connector: Arc<Connector>) {
    let room = Arc::new(Semaphore::new(connector.options.connections_max));
    let mut connections = JoinSet::new();
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        // What has ended is forgotten.
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                let connector = Arc::clone(&connector);
                connections.spawn(async move {
                    // A connection that breaks off has nobody left to be told.
                    let _ended = serve_connection(stream, &connector).await;
                    drop(permit);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// The first byte says which protocol it is: 5 begins SOCKS5, and no method of HTTP.
async fn serve_connection(stream: TcpStream, connector: &Connector) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let deadline = Instant::now() + connector.options.header_time;
    let mut first = [0];
    let read = timeout_at(deadline, stream.peek(&mut first)).await??;
    let client = Client::new(stream);
    match first {
        _ if read == 0 => Ok(()),
        [socks::VERSION] => socks::serve(client, connector, deadline).await,
        [byte] if byte.is_ascii_alphabetic() => http::serve(client, connector, deadline).await,
        // Something else: a reset would leave its sender wondering.
        _ => client.close_with(b"").await,
    }
}
