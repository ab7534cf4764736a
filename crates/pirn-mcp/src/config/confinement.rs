//! Confinement of a server's process, as it is written.

use pirn_sandbox::{HostRule, NetworkMode, Profile};

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
