//! Confinement of a server's process: as it is written, and as it is meant.

use std::path::{Path, PathBuf};

use pirn_sandbox::{
    HostRule, Level, Limits, Network, NetworkMode, NetworkOptions, NetworkProxy, NetworkRules,
    Profile, Readable, Sandbox, SandboxPolicy,
};

/// Confinement of a server's process, as written. Paths may hold `${NAME}`, `${NAME:-default}` and a leading `~`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxEntry {
    /// What it may write; not [`Profile::Off`].
    pub profile: Profile,
    /// What it may reach.
    pub network: NetworkMode,
    /// Further places that it may write.
    pub write_roots: Vec<String>,
    /// The places that it may read besides the system's; `None` for everything.
    pub read_roots: Option<Vec<String>>,
    /// The hosts of an allow-list.
    pub allowed_hosts: Vec<HostRule>,
}

impl Default for SandboxEntry {
    /// What `true` stands for.
    fn default() -> Self {
        Self {
            profile: Profile::WorkspaceWrite,
            network: NetworkMode::On,
            write_roots: Vec::new(),
            read_roots: None,
            allowed_hosts: Vec::new(),
        }
    }
}

/// What holds for every confined server, whatever its entry says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfinement {
    /// Places that no server can read; see [`SandboxPolicy::unreadable`].
    pub unreadable: Vec<String>,
    /// Hosts that no allow-list leads to.
    pub denied_hosts: Vec<HostRule>,
    /// Whether names of allowed hosts may lead to addresses of private networks.
    pub private_networks: bool,
    /// Where private temporary folders are created.
    pub temp_dir: PathBuf,
    /// Bounds on resources.
    pub limits: Limits,
    /// Where the machine cannot give at least this level, no confined server starts.
    pub require: Option<Level>,
}

/// Confinement of a server's process, with everything filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSandbox {
    /// What it may write.
    pub profile: Profile,
    /// What it may reach.
    pub network: NetworkMode,
    /// Further places that it may write.
    pub write_roots: Vec<PathBuf>,
    /// The places that it may read besides the system's; `None` for everything.
    pub read_roots: Option<Vec<PathBuf>>,
    /// The hosts of an allow-list.
    pub allowed_hosts: Vec<HostRule>,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// What holds for every server.
    pub shared: ServerConfinement,
}

impl ServerSandbox {
    /// Prepares it for a server that works in `directory`. Starts processes of its own the first time, so it takes a moment.
    pub(crate) fn prepare(&self, directory: &Path) -> Result<Sandbox, pirn_sandbox::Error> {
        let mut policy = SandboxPolicy::new(directory, &self.shared.temp_dir);
        policy.profile = self.profile;
        policy.network = match self.network {
            NetworkMode::Off => Network::Off,
            NetworkMode::On => Network::On,
            NetworkMode::AllowList => Network::AllowList(self.proxy()),
        };
        policy.write_roots.clone_from(&self.write_roots);
        policy.readable = match &self.read_roots {
            Some(roots) => Readable::Only(roots.clone()),
            None => Readable::Everything,
        };
        policy.unreadable.clone_from(&self.shared.unreadable);
        policy.home.clone_from(&self.home);
        policy.limits = self.shared.limits;
        policy.require = self.shared.require;
        Sandbox::prepare(policy)
    }

    fn proxy(&self) -> NetworkProxy {
        let rules = NetworkRules {
            allow: self.allowed_hosts.clone(),
            deny: self.shared.denied_hosts.clone(),
        };
        // Nobody is asked: a server runs for long, and whoever started it may not be looking.
        let options = NetworkOptions {
            private_networks: self.shared.private_networks,
            ..NetworkOptions::default()
        };
        NetworkProxy::new(rules, options)
    }
}
