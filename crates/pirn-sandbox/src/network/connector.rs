//! The way from a host that a child names to a connection, or to a refusal.

use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

use super::addresses::{AddressScope, kind_by_number, kind_here};
use super::asking::{NetworkAnswer, Questions};
use super::decisions::{DecisionLog, NetworkReason, NetworkVerdict};
use super::host::{Host, HostError};
use super::options::NetworkOptions;
use super::rules::{HostRule, NetworkRules, RuleVerdict};

/// So many addresses of one name are tried.
const ADDRESSES_TRIED_MAX: usize = 8;
/// After this time the next address is tried, if there is one: the first may be in a network that leads nowhere.
const ADDRESS_TIME: Duration = Duration::from_secs(5);

/// People answer less often than this in a session; an asker that is a program may be asked without end.
const ANSWERS_KEPT_MAX: usize = 10_000;

/// What a request gets instead of a connection.
#[derive(Debug)]
pub(crate) enum ConnectError {
    /// The rules or somebody refused it. Nothing was sent to the host.
    Refused(NetworkReason),
    /// The name has no address.
    NotResolved(io::Error),
    /// No address could be connected to.
    NotConnected(io::Error),
    /// It took too long.
    TimedOut,
}

/// Decides about hosts and connects to those that may be reached. One for all connections of a proxy.
#[derive(Debug)]
pub(crate) struct Connector {
    pub(crate) options: NetworkOptions,
    pub(crate) log: DecisionLog,
    rules: Mutex<NetworkRules>,
    denied: Mutex<HashSet<(Host, u16)>>,
    questions: Questions,
}

impl Connector {
    pub(crate) fn new(rules: NetworkRules, options: NetworkOptions) -> Self {
        Self {
            options,
            log: DecisionLog::default(),
            rules: Mutex::new(rules),
            denied: Mutex::default(),
            questions: Questions::default(),
        }
    }

    pub(crate) fn rules(&self) -> MutexGuard<'_, NetworkRules> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn denied(&self) -> MutexGuard<'_, HashSet<(Host, u16)>> {
        self.denied.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a rule that allows, and forgets where the opposite was answered.
    pub(crate) fn allow(&self, rule: HostRule) {
        self.denied()
            .retain(|(host, port)| !rule.matches(host, *port));
        let mut rules = self.rules();
        if !rules.allow.contains(&rule) {
            rules.allow.push(rule);
        }
    }

    /// Connects to a host if it may be reached.
    pub(crate) async fn connect(&self, host: &Host, port: u16) -> Result<TcpStream, ConnectError> {
        let (reason, scope) = match self.admit(host, port).await {
            Ok(admitted) => admitted,
            Err(reason) => return Err(self.refuse(host.to_string(), port, reason)),
        };
        let deadline = Instant::now() + self.options.connect_time;
        let found = match self.addresses(host, deadline).await {
            Ok(found) => found,
            Err(failure) => {
                self.note(host.to_string(), port, NetworkVerdict::Allowed, reason);
                return Err(failure);
            }
        };
        let addresses = match self.checked(&found, port, scope) {
            Ok(addresses) => addresses,
            Err(reason) => return Err(self.refuse(host.to_string(), port, reason)),
        };
        self.note(host.to_string(), port, NetworkVerdict::Allowed, reason);
        self.connect_to_one(&addresses, deadline).await
    }

    /// Refuses a request that names no host.
    pub(crate) fn refuse_bad_host(&self, text: &str, port: u16, error: HostError) -> ConnectError {
        let host = text.escape_debug().to_string();
        self.refuse(host, port, NetworkReason::BadHost(error.to_string()))
    }

    /// Refuses a request whatever its host is.
    pub(crate) fn refuse(&self, host: String, port: u16, reason: NetworkReason) -> ConnectError {
        self.note(host, port, NetworkVerdict::Refused, reason.clone());
        ConnectError::Refused(reason)
    }

    fn note(&self, host: String, port: u16, verdict: NetworkVerdict, reason: NetworkReason) {
        let decision = self.log.add(host, port, verdict, reason);
        if let Some(sink) = &self.options.on_decision {
            sink(&decision);
        }
    }

    /// What names may resolve to.
    fn general_scope(&self) -> AddressScope {
        if self.options.private_networks {
            AddressScope::PublicAndPrivate
        } else {
            AddressScope::Public
        }
    }

    /// Decides by the name alone: a name that is refused is not even looked up, since a look-up tells its server something.
    async fn admit(
        &self,
        host: &Host,
        port: u16,
    ) -> Result<(NetworkReason, AddressScope), NetworkReason> {
        let general = self.general_scope();
        let verdict = self.rules().verdict(host, port, general);
        match verdict {
            RuleVerdict::Allowed(rule, scope) => Ok((NetworkReason::AllowedByRule(rule), scope)),
            RuleVerdict::Denied(rule) => Err(NetworkReason::DeniedByRule(rule)),
            RuleVerdict::Undecided => self.ask(host, port).await.map(|()| {
                let scope = match host {
                    Host::Name(_) => general,
                    Host::Address(_) => AddressScope::PublicAndPrivate,
                };
                (NetworkReason::AllowedByAnswer, scope)
            }),
        }
    }

    async fn ask(&self, host: &Host, port: u16) -> Result<(), NetworkReason> {
        // A question that is answered in passing must not open this machine.
        if let Host::Address(address) = host
            && let kind = kind_here(*address)
            && !AddressScope::PublicAndPrivate.includes(kind)
        {
            return Err(NetworkReason::Address(*address, kind));
        }
        let Some(asker) = &self.options.asker else {
            return Err(NetworkReason::NoRule);
        };
        if self.denied().contains(&(host.clone(), port)) {
            return Err(NetworkReason::DeniedByAnswer);
        }
        let question = self.questions.ask(asker.as_ref(), host, port);
        let Ok(answer) = timeout(self.options.ask_time, question).await else {
            return Err(NetworkReason::NoRule);
        };
        match answer {
            NetworkAnswer::Once => Ok(()),
            NetworkAnswer::Session => {
                self.keep(HostRule::exactly(host.clone(), port));
                Ok(())
            }
            NetworkAnswer::Always => {
                let rule = HostRule::exactly(host.clone(), port);
                if self.keep(rule.clone())
                    && let Some(sink) = &self.options.on_always
                {
                    sink(&rule);
                }
                Ok(())
            }
            NetworkAnswer::Deny => {
                let mut denied = self.denied();
                if denied.len() < ANSWERS_KEPT_MAX {
                    denied.insert((host.clone(), port));
                }
                Err(NetworkReason::DeniedByAnswer)
            }
            NetworkAnswer::Unanswered => Err(NetworkReason::NoRule),
        }
    }

    /// Answers a proxy that has children of its own but the same rules: as for a child of ours, but without a connection.
    pub(crate) async fn answer(&self, host: &str, port: u16) -> NetworkAnswer {
        let Ok(host) = Host::parse(host) else {
            return NetworkAnswer::Deny;
        };
        match self.admit(&host, port).await {
            // What counts for longer is kept here, and asked for each time.
            Ok(_) => NetworkAnswer::Once,
            Err(NetworkReason::NoRule) => NetworkAnswer::Unanswered,
            Err(_) => NetworkAnswer::Deny,
        }
    }

    /// Whether the rule is new: all that waited for one answer come here.
    fn keep(&self, rule: HostRule) -> bool {
        let mut rules = self.rules();
        let new = !rules.allow.contains(&rule);
        if new && rules.allow.len() < ANSWERS_KEPT_MAX {
            rules.allow.push(rule);
        }
        new
    }

    /// The addresses of a host, found once: what is checked is what is connected to.
    async fn addresses(&self, host: &Host, deadline: Instant) -> Result<Vec<IpAddr>, ConnectError> {
        let name = match host {
            Host::Address(address) => return Ok(vec![*address]),
            Host::Name(name) => name,
        };
        let found = timeout_at(deadline, self.options.uplink.resolve(name))
            .await
            .map_err(|_| ConnectError::TimedOut)?
            .map_err(ConnectError::NotResolved)?;
        if found.is_empty() {
            let error = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
            return Err(ConnectError::NotResolved(error));
        }
        Ok(found)
    }

    /// Leaves out what may not be reached; if nothing is left, says why for the first.
    fn checked(
        &self,
        found: &[IpAddr],
        port: u16,
        scope: AddressScope,
    ) -> Result<Vec<SocketAddr>, NetworkReason> {
        let mut addresses = Vec::new();
        let mut refusal = None;
        for address in found.iter().take(ADDRESSES_TRIED_MAX) {
            let address = address.to_canonical();
            match self.check_address(address, port, scope) {
                Ok(()) => addresses.push(SocketAddr::new(address, port)),
                Err(reason) => refusal = refusal.or(Some(reason)),
            }
        }
        match refusal {
            Some(reason) if addresses.is_empty() => Err(reason),
            Some(_) | None => Ok(addresses),
        }
    }

    fn check_address(
        &self,
        address: IpAddr,
        port: u16,
        scope: AddressScope,
    ) -> Result<(), NetworkReason> {
        if let Some(rule) = self.rules().denied_address(address, port) {
            return Err(NetworkReason::DeniedByRule(rule.clone()));
        }
        let kind = match scope {
            // Nothing to find out.
            AddressScope::Anything => kind_by_number(address),
            AddressScope::Public | AddressScope::PublicAndPrivate => kind_here(address),
        };
        if scope.includes(kind) {
            Ok(())
        } else {
            Err(NetworkReason::Address(address, kind))
        }
    }

    async fn connect_to_one(
        &self,
        addresses: &[SocketAddr],
        deadline: Instant,
    ) -> Result<TcpStream, ConnectError> {
        let mut failure = ConnectError::TimedOut;
        for (index, address) in addresses.iter().enumerate() {
            let is_last = index + 1 == addresses.len();
            let until = if is_last {
                deadline
            } else {
                deadline.min(Instant::now() + ADDRESS_TIME)
            };
            match timeout_at(until, self.options.uplink.connect(*address)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => failure = ConnectError::NotConnected(error),
                Err(_) => failure = ConnectError::TimedOut,
            }
            if Instant::now() >= deadline {
                break;
            }
        }
        Err(failure)
    }
}
