//! Which hosts may be reached.

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::addresses::AddressScope;
use super::host::{Host, HostError, split_port};

/// One line of an allow or deny list.
///
/// `example.com` is that host alone, `*.example.com` every host below it but not itself, `*` everything; each with or without
/// a port (`example.com:443`). Addresses stand for themselves: `192.0.2.7`, `[2001:db8::7]:8080`. Letter case and a final dot
/// do not matter. Names in other scripts are given in their `xn--` form, and so are the hosts they are compared with.
///
/// What a name or `*` allows never includes this machine and its surroundings, whatever the name resolves to. An address
/// allows itself also in a private network, and with a port even on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostRule {
    pattern: Pattern,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Pattern {
    Everything,
    Below(String),
    Exactly(Host),
}

impl HostRule {
    /// The rule for one host at one port.
    pub(crate) fn exactly(host: Host, port: u16) -> Self {
        Self {
            pattern: Pattern::Exactly(host),
            port: Some(port),
        }
    }

    /// Whether it speaks of this host at this port.
    pub(crate) fn matches(&self, host: &Host, port: u16) -> bool {
        let fits = match (&self.pattern, host) {
            (Pattern::Everything, _) => true,
            (Pattern::Below(parent), Host::Name(name)) => name
                .strip_suffix(parent.as_str())
                .is_some_and(|front| front.len() > 1 && front.ends_with('.')),
            (Pattern::Below(_), Host::Address(_)) => false,
            (Pattern::Exactly(wanted), _) => wanted == host,
        };
        fits && self.port.is_none_or(|wanted| wanted == port)
    }

    /// What addresses it lets through, where names and `*` are given `general`.
    fn scope(&self, general: AddressScope) -> AddressScope {
        match (&self.pattern, self.port) {
            (Pattern::Exactly(Host::Address(_)), Some(_)) => AddressScope::Anything,
            (Pattern::Exactly(Host::Address(_)), None) => AddressScope::PublicAndPrivate,
            (Pattern::Exactly(Host::Name(_)) | Pattern::Below(_) | Pattern::Everything, _) => {
                general
            }
        }
    }
}

impl FromStr for HostRule {
    type Err = HostRuleError;

    fn from_str(text: &str) -> Result<Self, HostRuleError> {
        let failed = |reason: HostError| HostRuleError {
            rule: text.escape_debug().to_string(),
            reason: reason.to_string(),
        };
        let trimmed = text.trim();
        if trimmed.contains('/') {
            return Err(HostRuleError {
                rule: text.escape_debug().to_string(),
                reason: "it is a host with an optional port, without scheme and path".to_owned(),
            });
        }
        let (host, port) = split_port(trimmed).map_err(failed)?;
        let pattern = match (host, host.strip_prefix("*.")) {
            ("*", _) => Pattern::Everything,
            (_, Some(parent)) => match Host::parse(parent).map_err(failed)? {
                Host::Name(parent) => Pattern::Below(parent),
                Host::Address(_) => return Err(failed(HostError::DisguisedAddress)),
            },
            (_, None) => Pattern::Exactly(Host::parse(host).map_err(failed)?),
        };
        Ok(Self { pattern, port })
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            Pattern::Everything => formatter.write_str("*")?,
            Pattern::Below(parent) => write!(formatter, "*.{parent}")?,
            Pattern::Exactly(host) => write!(formatter, "{host}")?,
        }
        match self.port {
            Some(port) => write!(formatter, ":{port}"),
            None => Ok(()),
        }
    }
}

impl Serialize for HostRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HostRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// A text that is not a rule for hosts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{rule}` is not a rule for hosts: {reason}")]
pub struct HostRuleError {
    rule: String,
    reason: String,
}

/// Which hosts may be reached: what a rule of `deny` matches is refused, else what a rule of `allow` matches is let through,
/// else it is asked about or refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkRules {
    /// What may be reached.
    pub allow: Vec<HostRule>,
    /// What may not, even so.
    pub deny: Vec<HostRule>,
}

/// What rules say about a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RuleVerdict {
    Allowed(HostRule, AddressScope),
    Denied(HostRule),
    Undecided,
}

impl NetworkRules {
    /// What the rules say about a host as the child names it. `general` is what names may resolve to.
    pub(crate) fn verdict(&self, host: &Host, port: u16, general: AddressScope) -> RuleVerdict {
        if let Some(rule) = self.deny.iter().find(|rule| rule.matches(host, port)) {
            return RuleVerdict::Denied(rule.clone());
        }
        // Of several rules the one that allows most counts: an address may be named beside a `*`.
        self.allow
            .iter()
            .filter(|rule| rule.matches(host, port))
            .map(|rule| (rule, rule.scope(general)))
            .max_by_key(|(_, scope)| *scope)
            .map_or(RuleVerdict::Undecided, |(rule, scope)| {
                RuleVerdict::Allowed(rule.clone(), scope)
            })
    }

    /// The rule that refuses an address which a name resolved to.
    pub(crate) fn denied_address(&self, address: IpAddr, port: u16) -> Option<&HostRule> {
        let host = Host::from(address);
        self.deny.iter().find(|rule| rule.matches(&host, port))
    }
}
