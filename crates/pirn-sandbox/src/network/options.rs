//! What the proxy does beyond its rules, and its limits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::asking::NetworkAsker;
use super::decisions::NetworkDecision;
use super::rules::HostRule;
use super::uplink::{NetworkUplink, SystemUplink};

/// Package managers open dozens of connections; more than this only a flood does.
const CONNECTIONS_MAX: usize = 256;
/// Four times what common web servers take.
const HEADER_BYTES_MAX: usize = 32_768;
/// A client sends its request at once.
const HEADER_TIME: Duration = Duration::from_secs(10);
/// As long as the system's own resolvers and a few lost packets take.
const CONNECT_TIME: Duration = Duration::from_secs(20);
/// Servers that think or wait for events may be silent for minutes.
const IDLE_TIME: Duration = Duration::from_mins(10);
/// As long as somebody may be away for a coffee.
const ASK_TIME: Duration = Duration::from_mins(10);

/// Called with each decision; must not block.
pub type DecisionSink = Arc<dyn Fn(&NetworkDecision) + Send + Sync>;
/// Called with each rule that was allowed for always; must not block.
pub type AlwaysSink = Arc<dyn Fn(&HostRule) + Send + Sync>;

/// What the proxy does beyond its rules, and its limits.
#[derive(Clone)]
pub struct NetworkOptions {
    /// Whether names may resolve to addresses of private networks. Rules that are addresses need no such leave.
    pub private_networks: bool,
    /// Who is asked about hosts that no rule decides; without, they are refused.
    pub asker: Option<Arc<dyn NetworkAsker>>,
    /// Is told every decision as it is made.
    pub on_decision: Option<DecisionSink>,
    /// Told every rule that was answered with [`super::NetworkAnswer::Always`], so that the caller can keep it.
    pub on_always: Option<AlwaysSink>,
    /// How the proxy itself reaches the network.
    pub uplink: Arc<dyn NetworkUplink>,
    /// Connections at once on one listener; further ones wait to be accepted.
    pub connections_max: usize,
    /// The longest head of a request, in bytes.
    pub header_bytes_max: usize,
    /// How long a client may take for its request's head.
    pub header_time: Duration,
    /// How long resolving and connecting may take together.
    pub connect_time: Duration,
    /// How long nothing may move in either direction.
    pub idle_time: Duration,
    /// How long an answer about a host is waited for.
    pub ask_time: Duration,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        Self {
            private_networks: false,
            asker: None,
            on_decision: None,
            on_always: None,
            uplink: Arc::new(SystemUplink),
            connections_max: CONNECTIONS_MAX,
            header_bytes_max: HEADER_BYTES_MAX,
            header_time: HEADER_TIME,
            connect_time: CONNECT_TIME,
            idle_time: IDLE_TIME,
            ask_time: ASK_TIME,
        }
    }
}

impl fmt::Debug for NetworkOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("NetworkOptions")
            .field("private_networks", &self.private_networks)
            .field("asker", &self.asker)
            .field("uplink", &self.uplink)
            .field("connections_max", &self.connections_max)
            .field("header_bytes_max", &self.header_bytes_max)
            .field("header_time", &self.header_time)
            .field("connect_time", &self.connect_time)
            .field("idle_time", &self.idle_time)
            .field("ask_time", &self.ask_time)
            .finish_non_exhaustive()
    }
}
