//! Confinement of what commands start: from settings and flags to a sandbox, and what is told about it.

mod asker;
mod flags;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pirn_mcp::ServerConfinement;
use pirn_sandbox::{
    ErrorKind, HostRule, Layer, Level, Limits, Network, NetworkAsker, NetworkMode, NetworkOptions,
    NetworkProxy, NetworkRules, NetworkVerdict, Profile, Readable, Sandbox, SandboxPolicy,
    SandboxReport, UNREADABLE_DEFAULT,
};
use serde_json::{Value, json};

use crate::consent::Asking;
use crate::exec::Questions;
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use asker::HostAsker;
use pirn_settings::{ReadableMode, SandboxSettings, THE_DEFAULTS};

pub(crate) use flags::{ConfinementArguments, chosen_network, network_parser};

const BYTES_PER_MB: u64 = 1 << 20;
/// Files of credentials in Pirn's folder, wherever that is.
const CREDENTIALS: [&str; 2] = ["auth.json", "mcp-auth.json"];

/// When a confinement is prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// At once.
    Now,
    /// When a command needs it, if the run is to go on without: preparing takes longer than most scripts.
    FirstUse,
}

/// The confinement of one run.
#[derive(Debug)]
pub(crate) struct Confinement {
    /// What was asked for.
    profile: Profile,
    /// `None` with [`Profile::Off`], and where there is none to be had.
    sandbox: Option<Sandbox>,
    proxy: Option<NetworkProxy>,
    asker: Option<Arc<HostAsker>>,
    /// Why there is none, though there should be.
    refusal: Option<String>,
}

impl Confinement {
    /// Prepares a confinement for work in `folder`. Where the machine can give none, commands run without, unless that is more
    /// than the default asks for: then it fails.
    pub(crate) fn prepare(
        settings: &SandboxSettings,
        folder: &Path,
        invocation: &Invocation,
        moment: Moment,
    ) -> Result<Self, Failure> {
        let profile = settings.profile;
        let none = |refusal| Self {
            profile,
            sandbox: None,
            proxy: None,
            asker: None,
            refusal,
        };
        if profile == Profile::Off {
            return Ok(none(None));
        }
        let mut asker = None;
        let (network, proxy) = match settings.network {
            NetworkMode::Off => (Network::Off, None),
            NetworkMode::On => (Network::On, None),
            NetworkMode::AllowList => {
                asker = match invocation.asking() {
                    Asking::Possible => Some(Arc::new(HostAsker::new(invocation.clone()))),
                    Asking::Impossible => None,
                };
                let proxy = proxy(settings, asker.clone())?;
                (Network::AllowList(proxy.clone()), Some(proxy))
            }
        };
        let policy = policy(settings, network, folder, invocation);
        let sandbox = match moment {
            // What the defaults ask for stops no run, so nobody has to know beforehand whether it can be had.
            Moment::FirstUse if is_default(settings) => Sandbox::on_demand(policy),
            Moment::FirstUse | Moment::Now => match Sandbox::prepare(policy) {
                Ok(sandbox) => sandbox,
                Err(error) if is_default(settings) => return Ok(none(Some(error.to_string()))),
                Err(error) => return Err(unavailable(error)),
            },
        };
        Ok(Self {
            profile,
            sandbox: Some(sandbox),
            proxy,
            asker,
            refusal: None,
        })
    }

    /// The sandbox, where there is one.
    pub(crate) fn sandbox(&self) -> Option<&Sandbox> {
        self.sandbox.as_ref()
    }

    /// From now on questions are announced there, as what `who` wants.
    pub(crate) fn announce_at(&self, questions: Questions, who: &'static str) {
        if let Some(asker) = &self.asker {
            asker.announce_at(questions, who);
        }
    }

    /// Decides about hosts for programs whose proxy is another process's: by the same rules, answers and questions as for
    /// commands. `None` where nobody can be asked.
    pub(crate) fn network_asker(&self) -> Option<Arc<dyn NetworkAsker>> {
        self.asker.as_ref()?;
        Some(Arc::new(self.proxy.clone()?))
    }

    /// All there is to say, for programs.
    pub(crate) fn to_json(&self) -> Value {
        let Some(sandbox) = &self.sandbox else {
            let mut value = json!({
                "profile": self.profile.as_str(),
                "network": NetworkMode::On.as_str(),
                "layers": [],
            });
            if let Some(reason) = &self.refusal {
                value["reason"] = json!(reason);
            }
            return value;
        };
        if !sandbox.is_prepared() {
            return json!({
                "profile": self.profile.as_str(),
                "network": sandbox.policy().network.as_str(),
                "prepared": false,
                "layers": [],
            });
        }
        let mut value = json!(sandbox.report());
        if let Some(reason) = sandbox.refusal() {
            value["reason"] = json!(reason);
        }
        if let Some(proxy) = &self.proxy {
            value["decisions"] = json!(proxy.decisions_since(0));
        }
        value
    }

    /// What is weaker than the settings say, for people; `None` where nothing is. It prepares what is not prepared yet.
    pub(crate) fn shortcoming(&self) -> Option<String> {
        shortcoming(self.sandbox.as_ref()?.report())
    }

    /// That commands are not confined though they should be. Before the first use it is not known.
    pub(crate) fn warning(&self) -> Option<String> {
        let reason = self
            .refusal
            .as_deref()
            .or_else(|| self.sandbox.as_ref()?.refusal())?;
        Some(format!(
            "commands are not confined here: {}; `pirn doctor` tells more, and the setting sandbox.require forbids to run them",
            reason.trim_end_matches('.')
        ))
    }

    /// Hosts that were refused, for people; `None` where none were.
    pub(crate) fn refused_hosts(&self) -> Option<String> {
        /// More would push everything else off the screen.
        const SHOWN_MAX: usize = 8;
        let mut refused: Vec<String> = self
            .proxy
            .as_ref()?
            .decisions_since(0)
            .into_iter()
            .filter(|decision| decision.verdict == NetworkVerdict::Refused)
            .map(|decision| format!("{}:{}", decision.host, decision.port))
            .collect();
        refused.sort_unstable();
        refused.dedup();
        if refused.is_empty() {
            return None;
        }
        let count = refused.len();
        refused.truncate(SHOWN_MAX);
        let more = match count - refused.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "hosts that commands could not reach: {}{more}; --allow-host or the setting sandbox.allowedHosts allows them",
            refused.join(", ")
        ))
    }
}

/// Whether the settings ask for no more than what holds when nothing is set.
fn is_default(settings: &SandboxSettings) -> bool {
    let default = SandboxSettings::default();
    settings.profile == default.profile
        && settings.network == default.network
        && settings.require.is_none()
}

/// What confinement lacks. Bounds on resources are told by `pirn doctor` alone: without them nothing is open.
fn shortcoming(report: &SandboxReport) -> Option<String> {
    let missing: Vec<&_> = report
        .missing
        .iter()
        .filter(|missing| !is_bound(missing.layer))
        .collect();
    let first = missing.first()?;
    let level = report.level.map_or("none", Level::as_str);
    let names: Vec<&str> = missing
        .iter()
        .map(|missing| missing.layer.as_str())
        .collect();
    let remedy = first
        .remedy
        .as_ref()
        .map(|remedy| format!("; {remedy}"))
        .unwrap_or_default();
    Some(format!(
        "commands are confined at the level {level}, without {}: {}{remedy}; `pirn doctor` tells more",
        names.join(", "),
        first.reason.trim_end_matches('.')
    ))
}

fn is_bound(layer: Layer) -> bool {
    matches!(
        layer,
        Layer::CgroupMemory | Layer::CgroupProcesses | Layer::ResourceLimits
    )
}

/// What the settings say, as a policy. The network is given apart: an allow-list needs a proxy that somebody owns.
pub(crate) fn policy(
    settings: &SandboxSettings,
    network: Network,
    folder: &Path,
    invocation: &Invocation,
) -> SandboxPolicy {
    let mut policy = SandboxPolicy::new(folder, &invocation.host.temp_dir);
    policy.profile = settings.profile;
    policy.network = network;
    policy.write_roots.clone_from(&settings.write_roots);
    policy.readable = match settings.readable {
        ReadableMode::Everything => Readable::Everything,
        ReadableMode::Listed => Readable::Only(settings.read_roots.clone()),
    };
    policy.unreadable = unreadable(settings, invocation.host.pirn_home.as_ref());
    policy.home.clone_from(&invocation.host.home);
    policy.limits = Limits {
        memory_bytes: settings.memory_mb.map(|mb| mb.saturating_mul(BYTES_PER_MB)),
        processes: Some(settings.processes),
        ..Limits::default()
    };
    policy.require = settings.require;
    policy
}

fn unreadable(settings: &SandboxSettings, pirn_home: Option<&PathBuf>) -> Vec<String> {
    let mut patterns = Vec::new();
    for entry in &settings.unreadable {
        if entry == THE_DEFAULTS {
            patterns.extend(UNREADABLE_DEFAULT.iter().map(ToString::to_string));
            // It may be elsewhere than the default list says.
            let own = pirn_home.into_iter().flat_map(|home| {
                CREDENTIALS.map(|name| home.join(name).to_string_lossy().into_owned())
            });
            patterns.extend(own);
        } else {
            patterns.push(entry.clone());
        }
    }
    patterns
}

/// What the settings say about servers that their entries confine.
pub(crate) fn server_confinement(
    settings: &SandboxSettings,
    invocation: &Invocation,
) -> ServerConfinement {
    let policy = policy(settings, Network::Off, Path::new("/"), invocation);
    ServerConfinement {
        unreadable: policy.unreadable,
        // They were checked when they were read.
        denied_hosts: settings
            .denied_hosts
            .iter()
            .filter_map(|host| host.parse().ok())
            .collect(),
        private_networks: settings.private_networks,
        temp_dir: policy.temp_dir,
        limits: policy.limits,
        require: policy.require,
    }
}

/// The proxy of an allow-list.
pub(crate) fn proxy(
    settings: &SandboxSettings,
    asker: Option<Arc<HostAsker>>,
) -> Result<NetworkProxy, Failure> {
    let options = NetworkOptions {
        private_networks: settings.private_networks,
        asker: asker.map(|asker| asker as Arc<_>),
        ..NetworkOptions::default()
    };
    Ok(NetworkProxy::new(network_rules(settings)?, options))
}

/// The rules of an allow-list.
pub(crate) fn network_rules(settings: &SandboxSettings) -> Result<NetworkRules, Failure> {
    let rules = |hosts: &[String]| {
        hosts
            .iter()
            .map(|host| host.parse::<HostRule>())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| Failure::usage(error.to_string()))
    };
    Ok(NetworkRules {
        allow: rules(&settings.allowed_hosts)?,
        deny: rules(&settings.denied_hosts)?,
    })
}

/// A confinement that cannot be had.
pub(crate) fn unavailable(error: pirn_sandbox::Error) -> Failure {
    let is_requirement = error.kind() == ErrorKind::Confinement;
    let failure = Failure::from(anyhow::Error::from(error)).with_exit(Exit::Failed);
    if is_requirement {
        failure.hint("`pirn doctor` tells what is missing and why; the setting sandbox.require asks for this level")
    } else {
        failure
    }
}

#[cfg(test)]
mod tests;
