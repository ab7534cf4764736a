//! What confinement is in force, for receipts and for people.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::mode::NetworkMode;
use crate::named;
use crate::policy::{Level, Profile};

/// One means of confinement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// A user namespace: no rights over anything outside.
    UserNamespace,
    /// A mount namespace: what is not writable is mounted read-only.
    MountNamespace,
    /// A root of its own, without other programs' sockets and the shared temporary folder.
    PrivateRoot,
    /// A process namespace: other processes are not there, and all inside die together.
    ProcessNamespace,
    /// A `/proc` of its own.
    PrivateProc,
    /// A network namespace with nothing but loopback.
    NetworkNamespace,
    /// A namespace for System V and POSIX message queues.
    IpcNamespace,
    /// A namespace for the host's name.
    HostNameNamespace,
    /// Landlock rules on files.
    LandlockFiles,
    /// Landlock scopes: no signals to processes outside, no abstract sockets.
    LandlockScopes,
    /// A filter on system calls.
    Seccomp,
    /// Limits of the process: `setrlimit`.
    ResourceLimits,
    /// A bound on memory by cgroup.
    CgroupMemory,
    /// A bound on processes by cgroup.
    CgroupProcesses,
    /// No privileges from set-user-id programs.
    NoNewPrivileges,
    /// Files inside writable folders that stay read-only, such as git hooks.
    ProtectedPaths,
    /// Places of credentials that cannot be read.
    UnreadablePaths,
    /// The filtering proxy as the only way to the network.
    NetworkProxy,
    /// macOS: a Seatbelt profile.
    Seatbelt,
    /// Windows: a job object.
    JobObject,
}

impl Layer {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 20] = [
        Self::UserNamespace,
        Self::MountNamespace,
        Self::PrivateRoot,
        Self::ProcessNamespace,
        Self::PrivateProc,
        Self::NetworkNamespace,
        Self::IpcNamespace,
        Self::HostNameNamespace,
        Self::LandlockFiles,
        Self::LandlockScopes,
        Self::Seccomp,
        Self::ResourceLimits,
        Self::CgroupMemory,
        Self::CgroupProcesses,
        Self::NoNewPrivileges,
        Self::ProtectedPaths,
        Self::UnreadablePaths,
        Self::NetworkProxy,
        Self::Seatbelt,
        Self::JobObject,
    ];

    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UserNamespace => "user-namespace",
            Self::MountNamespace => "mount-namespace",
            Self::PrivateRoot => "private-root",
            Self::ProcessNamespace => "process-namespace",
            Self::PrivateProc => "private-proc",
            Self::NetworkNamespace => "network-namespace",
            Self::IpcNamespace => "ipc-namespace",
            Self::HostNameNamespace => "host-name-namespace",
            Self::LandlockFiles => "landlock-files",
            Self::LandlockScopes => "landlock-scopes",
            Self::Seccomp => "seccomp",
            Self::ResourceLimits => "resource-limits",
            Self::CgroupMemory => "cgroup-memory",
            Self::CgroupProcesses => "cgroup-processes",
            Self::NoNewPrivileges => "no-new-privileges",
            Self::ProtectedPaths => "protected-paths",
            Self::UnreadablePaths => "unreadable-paths",
            Self::NetworkProxy => "network-proxy",
            Self::Seatbelt => "seatbelt",
            Self::JobObject => "job-object",
        }
    }

    /// Finds a layer by its name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layer| layer.as_str() == name)
    }
}

impl Serialize for Layer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Layer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        named::deserialize(deserializer, "layer", Self::from_name)
    }
}

/// A layer that the policy would use and the machine does not give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingLayer {
    /// The layer that is missing.
    pub layer: Layer,
    /// Why it is missing, as one sentence.
    pub reason: String,
    /// What would bring it back, as one sentence.
    pub remedy: Option<String>,
}

/// What confinement is in force: part of every confined run's receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxReport {
    /// The profile that was asked for.
    pub profile: Profile,
    /// The network that was asked for.
    pub network: NetworkMode,
    /// The level in force; `None` with [`Profile::Off`] and where there is no confinement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// What is in force.
    pub layers: Vec<Layer>,
    /// What is not, though the policy would use it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingLayer>,
}
