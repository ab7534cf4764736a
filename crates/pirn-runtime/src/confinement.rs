//! The confinement of what commands start: from settings to a sandbox, and what there is to tell about it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use pirn_sandbox::{
    ErrorKind as SandboxErrorKind, HOME_READABLE_DEFAULT, HostRule, Layer, Level, Limits, Network,
    NetworkAsker, NetworkDecision, NetworkMode, NetworkProxy, NetworkRules, NetworkVerdict,
    PolicySpec, Profile, Protection, Readable, Sandbox, SandboxReport, UNREADABLE_DEFAULT,
    UNWRITABLE_DEFAULT, without_secrets,
};
use pirn_settings::{HostEnv, ReadableMode, SandboxSettings, THE_DEFAULTS};

use crate::error::{Error, ErrorKind};

const BYTES_PER_MB: u64 = 1 << 20;

/// When a confinement is prepared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Preparation {
    /// While the runtime is built.
    AtStart,
    /// When a command needs it, if nothing is set about it: preparing takes longer than most scripts.
    #[default]
    OnFirstUse,
}

/// The confinement of the commands of one runtime.
#[derive(Debug)]
pub struct Confinement {
    /// What was asked for.
    profile: Profile,
    /// It is `None` with [`Profile::Off`].
    sandbox: Option<Sandbox>,
    proxy: Option<NetworkProxy>,
    /// Whether somebody decides about hosts that no rule names.
    has_asker: bool,
}

impl Confinement {
    /// Prepares a confinement for work in `folder`. Where it cannot be had, no command is run. Who has set something about it is
    /// told at once; else it is found out by the first command.
    pub(crate) fn prepare(
        settings: &SandboxSettings,
        folder: &Path,
        env: &HostEnv,
        preparation: Preparation,
        asker: Option<Arc<dyn NetworkAsker>>,
    ) -> Result<Self, Error> {
        let profile = settings.profile;
        if profile == Profile::Off {
            return Ok(Self {
                profile,
                sandbox: None,
                proxy: None,
                has_asker: false,
            });
        }
        let has_asker = asker.is_some() && settings.network == NetworkMode::AllowList;
        let policy = policy_spec(settings, folder, env)?.into_policy(asker);
        let proxy = match &policy.network {
            Network::AllowList(proxy) => Some(proxy.clone()),
            Network::Off | Network::On => None,
        };
        let sandbox = match preparation {
            Preparation::OnFirstUse if *settings == SandboxSettings::default() => {
                Sandbox::on_demand(policy)
            }
            Preparation::OnFirstUse | Preparation::AtStart => {
                Sandbox::prepare(policy).map_err(|error| unavailable(&error))?
            }
        };
        Ok(Self {
            profile,
            sandbox: Some(sandbox),
            proxy,
            has_asker,
        })
    }

    /// What was asked for.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// The sandbox, where there is one.
    pub fn sandbox(&self) -> Option<&Sandbox> {
        self.sandbox.as_ref()
    }

    /// Decides about hosts for programs whose proxy is another process's: by the same rules, answers and questions as for
    /// commands. `None` where nobody can be asked.
    pub(crate) fn network_asker(&self) -> Option<Arc<dyn NetworkAsker>> {
        let proxy = self.proxy.clone().filter(|_| self.has_asker)?;
        Some(Arc::new(proxy))
    }

    /// What was decided about hosts so far; `None` without an allow-list.
    pub fn network_decisions(&self) -> Option<Vec<NetworkDecision>> {
        Some(self.proxy.as_ref()?.decisions_since(0))
    }

    /// What is weaker than the settings say, for people; `None` where nothing is. It prepares what is not prepared yet.
    pub fn shortcoming(&self) -> Option<String> {
        shortcoming(self.sandbox.as_ref()?.report().ok()?)
    }

    /// What there is to tell that no command's result has told: what was set aside after an earlier Pirn was killed.
    pub fn take_notes(&self) -> Vec<String> {
        self.sandbox
            .as_ref()
            .map_or_else(Vec::new, Sandbox::take_notes)
    }

    /// That commands run without confinement because the user says so, for people; to be told before the first of them.
    pub fn warning(&self) -> Option<String> {
        match self.profile {
            Profile::Off => Some(
                "commands run without confinement, with all your rights: --sandbox off or the setting sandbox.profile says so"
                    .to_owned(),
            ),
            Profile::ReadOnly | Profile::WorkspaceWrite => None,
        }
    }

    /// Hosts that were refused, for people; `None` where none were.
    pub fn refused_hosts(&self) -> Option<String> {
        /// More would push everything else off the screen.
        const SHOWN_MAX: usize = 8;
        let mut refused: Vec<String> = self
            .network_decisions()?
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

/// What the settings say, as a policy for work in `folder`. Fails where a host in them is none.
pub fn policy_spec(
    settings: &SandboxSettings,
    folder: &Path,
    env: &HostEnv,
) -> Result<PolicySpec, Error> {
    let mut policy = PolicySpec::new(folder, &env.temp_dir);
    policy.profile = settings.profile;
    policy.network = settings.network;
    policy.network_rules = network_rules(settings)?;
    policy.private_networks = settings.private_networks;
    policy.write_roots.clone_from(&settings.write_roots);
    policy.readable = match settings.readable {
        ReadableMode::Everything => Readable::Everything,
        ReadableMode::Listed => Readable::Only(settings.read_roots.clone()),
    };
    policy.unreadable = listed(&settings.unreadable, UNREADABLE_DEFAULT);
    let unwritable: Vec<&str> = UNWRITABLE_DEFAULT.iter().map(|row| row.pattern).collect();
    policy.protection = Protection {
        unwritable: listed(&settings.unwritable, &unwritable),
        home_readable: listed(&settings.home_readable, HOME_READABLE_DEFAULT),
        pirn_home: env.pirn_home.clone(),
        pirn_home_readable: Vec::new(),
        files_max: settings.files_max,
        places_max: settings.places_max,
    };
    policy.home.clone_from(&env.home);
    policy.limits = Limits {
        memory_bytes: settings.memory_mb.map(|mb| mb.saturating_mul(BYTES_PER_MB)),
        processes: Some(settings.processes),
        ..Limits::default()
    };
    policy.require = settings.require;
    Ok(policy)
}

/// A list of the settings, with the default list in the place of its entry.
fn listed(entries: &[String], defaults: &[&str]) -> Vec<String> {
    let mut all = Vec::new();
    for entry in entries {
        if entry == THE_DEFAULTS {
            all.extend(defaults.iter().map(ToString::to_string));
        } else {
            all.push(entry.clone());
        }
    }
    all
}

/// What commands and programs get their variables from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChildEnvironment<'a> {
    pub(crate) env: &'a HostEnv,
    read_variables: &'a BTreeSet<String>,
}

impl<'a> ChildEnvironment<'a> {
    /// `read_variables` are those that servers' entries read by name, which count as secrets.
    pub(crate) fn new(env: &'a HostEnv, read_variables: &'a BTreeSet<String>) -> Self {
        Self {
            env,
            read_variables,
        }
    }

    /// The variables that they get.
    pub(crate) fn variables(&self, settings: &SandboxSettings) -> Vec<(OsString, OsString)> {
        let mut passed = without_secrets(&self.env.environment, &settings.environment);
        passed.retain(|(name, _)| {
            let is_named = |other: &String| **other == *name;
            !self.read_variables.iter().any(is_named) || settings.environment.iter().any(is_named)
        });
        passed
    }
}

/// The rules of an allow-list.
fn network_rules(settings: &SandboxSettings) -> Result<NetworkRules, Error> {
    let rules = |hosts: &[String]| {
        hosts
            .iter()
            .map(|host| host.parse::<HostRule>())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| Error::new(ErrorKind::Input, error.to_string()))
    };
    Ok(NetworkRules {
        allow: rules(&settings.allowed_hosts)?,
        deny: rules(&settings.denied_hosts)?,
    })
}

/// A confinement that cannot be had.
fn unavailable(error: &pirn_sandbox::Error) -> Error {
    if error.kind() == SandboxErrorKind::Confinement {
        Error::new(ErrorKind::Confinement, error.to_string()).hint(
            "`pirn doctor` tells what is missing and why; the setting sandbox.require asks for this level",
        )
    } else {
        Error::new(ErrorKind::Machine, error.to_string())
    }
}

#[cfg(test)]
mod tests;
