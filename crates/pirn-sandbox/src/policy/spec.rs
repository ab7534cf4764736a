//! A policy as data: the one form in which it is kept, compared and sent to the process that applies it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Level, LevelChoice, Limits, Network, Profile, Protection, Readable, SandboxPolicy};
use crate::mode::NetworkMode;
use crate::network::{NetworkAsker, NetworkOptions, NetworkProxy, NetworkRules};
use crate::os_text;

/// A [`SandboxPolicy`] without its proxy, so that it can be compared and sent to another process. In JSON the fields have their
/// names here; a path that is not UTF-8 keeps its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicySpec {
    /// What children may write.
    pub profile: Profile,
    /// What they may reach.
    pub network: NetworkMode,
    /// Which hosts they may reach where [`Self::network`] is an allow-list.
    pub network_rules: NetworkRules,
    /// Whether names of allowed hosts may resolve to addresses of private networks.
    pub private_networks: bool,
    /// The folder that work happens in; an absolute path.
    #[serde(with = "os_text::path")]
    pub working_folder: PathBuf,
    /// Further places that they may write; see [`SandboxPolicy::write_roots`].
    #[serde(with = "os_text::paths")]
    pub write_roots: Vec<PathBuf>,
    /// What children may read.
    pub readable: Readable,
    /// What is not, even so; see [`SandboxPolicy::unreadable`].
    pub unreadable: Vec<String>,
    /// The user's home, for `~` and for start-up files of shells.
    #[serde(with = "os_text::optional_path")]
    pub home: Option<PathBuf>,
    /// What is protected besides.
    pub protection: Protection,
    /// Where the private temporary folder is created.
    #[serde(with = "os_text::path")]
    pub temp_dir: PathBuf,
    /// Bounds on what children use together.
    pub limits: Limits,
    /// Which level to use.
    pub level: LevelChoice,
    /// Where the machine cannot give at least this level, nothing starts.
    pub require: Option<Level>,
}

impl PolicySpec {
    /// The default profile for work in `working_folder`, with the network on and the default list of unreadable places.
    pub fn new(working_folder: impl Into<PathBuf>, temp_dir: impl Into<PathBuf>) -> Self {
        let SandboxPolicy {
            profile,
            network: _,
            working_folder,
            write_roots,
            readable,
            unreadable,
            home,
            protection,
            temp_dir,
            limits,
            level,
            require,
        } = SandboxPolicy::new(working_folder, temp_dir);
        Self {
            profile,
            network: NetworkMode::default(),
            network_rules: NetworkRules::default(),
            private_networks: false,
            working_folder,
            write_roots,
            readable,
            unreadable,
            home,
            protection,
            temp_dir,
            limits,
            level,
            require,
        }
    }

    /// What a policy says about files. Its network is off: no proxy is data.
    #[cfg(target_os = "linux")]
    pub(crate) fn of_files(policy: &SandboxPolicy) -> Self {
        let policy = policy.clone();
        Self {
            profile: policy.profile,
            network: NetworkMode::Off,
            network_rules: NetworkRules::default(),
            private_networks: false,
            working_folder: policy.working_folder,
            write_roots: policy.write_roots,
            readable: policy.readable,
            unreadable: policy.unreadable,
            home: policy.home,
            protection: policy.protection,
            temp_dir: policy.temp_dir,
            limits: policy.limits,
            level: policy.level,
            require: policy.require,
        }
    }

    /// The same for work in another folder.
    #[must_use]
    pub fn in_folder(mut self, working_folder: &Path) -> Self {
        working_folder.clone_into(&mut self.working_folder);
        self
    }

    /// A proxy by its rules; `asker` decides about hosts that no rule decides, and without one they are refused.
    pub fn proxy(&self, asker: Option<Arc<dyn NetworkAsker>>) -> NetworkProxy {
        let options = NetworkOptions {
            private_networks: self.private_networks,
            asker,
            ..NetworkOptions::default()
        };
        NetworkProxy::new(self.network_rules.clone(), options)
    }

    /// The policy. An allow-list gets a proxy of its own; see [`Self::proxy`].
    pub fn into_policy(self, asker: Option<Arc<dyn NetworkAsker>>) -> SandboxPolicy {
        let network = match self.network {
            NetworkMode::Off => Network::Off,
            NetworkMode::AllowList => Network::AllowList(self.proxy(asker)),
            NetworkMode::On => Network::On,
        };
        self.with_network(network)
    }

    /// The policy with a network that the caller owns, in place of [`Self::network`].
    pub fn with_network(self, network: Network) -> SandboxPolicy {
        SandboxPolicy {
            profile: self.profile,
            network,
            working_folder: self.working_folder,
            write_roots: self.write_roots,
            readable: self.readable,
            unreadable: self.unreadable,
            home: self.home,
            protection: self.protection,
            temp_dir: self.temp_dir,
            limits: self.limits,
            level: self.level,
            require: self.require,
        }
    }
}

#[cfg(test)]
mod tests;
