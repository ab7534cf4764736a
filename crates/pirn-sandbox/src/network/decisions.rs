//! What the proxy let through and what it refused.

use std::collections::VecDeque;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize, Serializer};

use super::addresses::AddressKind;
use super::host::Host;
use super::rules::HostRule;

/// So many decisions are kept; of one command they are few, and a child that makes more has made its point.
const DECISIONS_KEPT: usize = 1_000;

/// Whether a host was let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkVerdict {
    /// It may be reached.
    Allowed,
    /// It may not; nothing was sent to it.
    Refused,
}

/// Why a decision is as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkReason {
    /// A rule allows it.
    AllowedByRule(HostRule),
    /// Somebody was asked and allowed it.
    AllowedByAnswer,
    /// A rule denies it.
    DeniedByRule(HostRule),
    /// Somebody was asked and denied it, now or before.
    DeniedByAnswer,
    /// No rule names it, and nobody was there to be asked or answered in time.
    NoRule,
    /// The address, or every address that the name resolved to, is of a kind that the rules do not include.
    Address(IpAddr, AddressKind),
    /// It is no host name or address, or one in disguise; why.
    BadHost(String),
    /// The proxy does not do what was asked for; what.
    Unsupported(&'static str),
}

impl fmt::Display for NetworkReason {
    /// A clause that goes on from "… was refused: ".
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllowedByRule(rule) => write!(formatter, "the rule `{rule}` allows it"),
            Self::AllowedByAnswer => formatter.write_str("it was allowed when asked about"),
            Self::DeniedByRule(rule) => write!(formatter, "the rule `{rule}` denies it"),
            Self::DeniedByAnswer => formatter.write_str("it was denied when asked about"),
            Self::NoRule => formatter.write_str("it is not among the allowed hosts"),
            Self::Address(address, kind) => write!(formatter, "{address} is {}", kind.as_str()),
            Self::BadHost(reason) => formatter.write_str(reason),
            Self::Unsupported(what) => write!(formatter, "the proxy does not offer {what}"),
        }
    }
}

impl NetworkReason {
    /// The setting that would change a refusal, and what to add to it or to take out of it.
    pub(crate) fn remedy(&self, host: &str, port: u16) -> Option<Remedy> {
        let (setting, value, change) = match self {
            Self::AllowedByRule(_)
            | Self::AllowedByAnswer
            | Self::BadHost(_)
            | Self::Unsupported(_) => return None,
            Self::NoRule | Self::DeniedByAnswer => {
                (ALLOWED_HOSTS, host.to_owned(), "would allow it")
            }
            Self::DeniedByRule(rule) => (DENIED_HOSTS, rule.to_string(), "has that rule"),
            Self::Address(_, AddressKind::Private) => {
                (PRIVATE_NETWORKS, "true".to_owned(), "would allow it")
            }
            Self::Address(address, _) => (
                ALLOWED_HOSTS,
                format!("{}:{port}", Host::from(*address)),
                "would have to name this address with its port",
            ),
        };
        Some(Remedy {
            setting,
            value,
            change,
        })
    }
}

/// A setting that bears on a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remedy {
    pub(crate) setting: &'static str,
    pub(crate) value: String,
    /// Goes on from "the setting … ".
    pub(crate) change: &'static str,
}

const ALLOWED_HOSTS: &str = "sandbox.allowedHosts";
const DENIED_HOSTS: &str = "sandbox.deniedHosts";
const PRIVATE_NETWORKS: &str = "sandbox.privateNetworks";

/// The sentence about a refusal, for whoever wanted to reach the host.
pub(crate) fn refusal_sentence(host: &str, port: u16, reason: &NetworkReason) -> String {
    let remedy = reason
        .remedy(host, port)
        .map_or_else(String::new, |remedy| {
            format!("; the setting {} {}", remedy.setting, remedy.change)
        });
    format!("the network proxy refused {host}:{port}: {reason}{remedy}.")
}

impl Serialize for NetworkReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One decision about one request of a child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NetworkDecision {
    /// The host, by the name that the child used, escaped where it is no host at all.
    pub host: String,
    /// The port; 0 where there was none to be read.
    pub port: u16,
    /// Whether it was let through.
    pub verdict: NetworkVerdict,
    /// Why it was let through or refused.
    pub reason: NetworkReason,
    /// Counts the decisions of one proxy, from 1.
    pub at: u64,
}

/// The last decisions, oldest first.
#[derive(Debug, Default)]
pub(crate) struct DecisionLog {
    kept: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    last: u64,
    decisions: VecDeque<NetworkDecision>,
}

impl DecisionLog {
    fn kept(&self) -> MutexGuard<'_, Entries> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(
        &self,
        host: String,
        port: u16,
        verdict: NetworkVerdict,
        reason: NetworkReason,
    ) -> NetworkDecision {
        let mut kept = self.kept();
        kept.last += 1;
        let decision = NetworkDecision {
            host,
            port,
            verdict,
            reason,
            at: kept.last,
        };
        if kept.decisions.len() == DECISIONS_KEPT {
            kept.decisions.pop_front();
        }
        kept.decisions.push_back(decision.clone());
        decision
    }

    pub(crate) fn last(&self) -> u64 {
        self.kept().last
    }

    pub(crate) fn since(&self, cursor: u64) -> Vec<NetworkDecision> {
        let kept = self.kept();
        let newer = kept
            .decisions
            .iter()
            .filter(|decision| decision.at > cursor);
        newer.cloned().collect()
    }
}
