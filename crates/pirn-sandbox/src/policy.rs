//! What confined children may do, as the caller states it.

mod spec;

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::mode::NetworkMode;
use crate::network::NetworkProxy;
use crate::paths::{HOME_READABLE_DEFAULT, UNWRITABLE_DEFAULT};
use crate::{named, os_text};

pub use spec::PolicySpec;

/// What children may write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Everything the user may: no confinement at all.
    Off,
    /// Nothing but a private temporary folder.
    ReadOnly,
    /// The working folder, a private temporary folder and [`SandboxPolicy::write_roots`], except protected paths in them.
    #[default]
    WorkspaceWrite,
}

impl Profile {
    /// All of them, weakest confinement first.
    pub const ALL: [Self; 3] = [Self::Off, Self::WorkspaceWrite, Self::ReadOnly];

    /// The name in settings and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
        }
    }

    /// Finds a profile by its name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|profile| profile.as_str() == name)
    }
}

impl Serialize for Profile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Profile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        named::deserialize(deserializer, "profile", Self::from_name)
    }
}

/// What children may reach over the network.
#[derive(Debug, Clone, Default)]
pub enum Network {
    /// Nothing outside; inside, they have a loopback interface of their own where the machine can give them one.
    Off,
    /// What this proxy lets through, and nothing else. Where no private network can be made, nothing.
    AllowList(NetworkProxy),
    /// Everything that the machine can reach.
    #[default]
    On,
}

impl Network {
    /// Which of the three it is.
    pub fn mode(&self) -> NetworkMode {
        match self {
            Self::Off => NetworkMode::Off,
            Self::AllowList(_) => NetworkMode::AllowList,
            Self::On => NetworkMode::On,
        }
    }

    /// The name in settings, flags and reports.
    pub fn as_str(&self) -> &'static str {
        self.mode().as_str()
    }
}

/// How strong a confinement is. Later ones are stronger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Landlock, seccomp and limits, without namespaces.
    Basic,
    /// Namespaces as well; the whole file system is there, read-only.
    Standard,
    /// Namespaces and a root of its own that holds only what is readable, without other programs' sockets.
    Strict,
}

impl Level {
    /// All of them, weakest first.
    pub const ALL: [Self; 3] = [Self::Basic, Self::Standard, Self::Strict];

    /// The name in settings and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Standard => "standard",
            Self::Strict => "strict",
        }
    }

    /// Finds a level by its name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }
}

impl Serialize for Level {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        named::deserialize(deserializer, "level", Self::from_name)
    }
}

/// Which level to use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LevelChoice {
    /// The strongest this machine can give.
    #[default]
    Strongest,
    /// The strongest one that is not above this.
    AtMost(Level),
}

/// What children may read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readable {
    /// Everything the user can read, but for [`SandboxPolicy::unreadable`], the places of other programs' sockets (`/run`) and
    /// the shared temporary folder.
    #[default]
    Everything,
    /// The system's programs and libraries, the working folder, the write roots and these.
    Only(#[serde(with = "os_text::paths")] Vec<PathBuf>),
}

/// Bounds on what children use together. `None`: no bound but the machine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory of all processes together, in bytes. Needs a cgroup.
    pub memory_bytes: Option<u64>,
    /// Processes and threads at once. Needs namespaces or a cgroup; for root, namespaces of Linux 6.14 or newer, and then it
    /// bounds their numbers.
    pub processes: Option<u64>,
    /// The longest file, in bytes.
    pub file_bytes: Option<u64>,
    /// Open files of one process.
    pub open_files: Option<u64>,
    /// Processor time of one process.
    pub cpu: Option<Duration>,
}

impl Default for Limits {
    /// A bound on processes only: builds start many, a fork bomb starts more.
    fn default() -> Self {
        Self {
            memory_bytes: None,
            processes: Some(4_096),
            file_bytes: None,
            open_files: None,
            cpu: None,
        }
    }
}

/// What confined children may do.
#[derive(Debug, Clone)]
pub struct SandboxPolicy {
    /// What they may write.
    pub profile: Profile,
    /// What they may reach.
    pub network: Network,
    /// The folder that work happens in; an absolute path.
    pub working_folder: PathBuf,
    /// Further folders and files that may be written under [`Profile::WorkspaceWrite`]. Missing ones are left out.
    pub write_roots: Vec<PathBuf>,
    /// What children may read.
    pub readable: Readable,
    /// What is not, even so: absolute paths, `~/…`, and patterns for names at any depth (`**/.env*`), which are looked for
    /// below the working folder and the write roots. See [`UNREADABLE_DEFAULT`].
    pub unreadable: Vec<String>,
    /// The user's home, for `~`, for start-up files of shells, and for dotfiles that cannot be read.
    pub home: Option<PathBuf>,
    /// What is protected besides, and the bounds of looking for it.
    pub protection: Protection,
    /// Where the private temporary folder is created.
    pub temp_dir: PathBuf,
    /// Bounds on what children use together.
    pub limits: Limits,
    /// Which level to use.
    pub level: LevelChoice,
    /// Where the machine cannot give at least this level, nothing starts.
    pub require: Option<Level>,
}

/// What is protected besides hooks and settings of git, start-up files and `.pirn`, and how much is looked through for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protection {
    /// What cannot be written inside writable folders: `**/NAME` at any depth, `~/…`, absolute paths. See
    /// [`UNWRITABLE_DEFAULT`].
    pub unwritable: Vec<String>,
    /// What of the dotfiles and dot-folders in the home folder can be read: `~/…`. See [`HOME_READABLE_DEFAULT`].
    pub home_readable: Vec<String>,
    /// Pirn's own folder, which can neither be read nor written.
    #[serde(with = "os_text::optional_path")]
    pub pirn_home: Option<PathBuf>,
    /// What of it can be read all the same.
    #[serde(with = "os_text::paths")]
    pub pirn_home_readable: Vec<PathBuf>,
    /// How many files and folders of the writable folders are looked through. With more, nothing starts.
    pub files_max: u64,
    /// How many places can be protected, and how many hidden; each is a mount. With more, nothing starts.
    pub places_max: u64,
}

impl Protection {
    /// Two million are looked through in a second or two.
    pub const FILES_MAX: u64 = 2_000_000;
    /// With the mounts that each may need this stays below the hundred thousand that the kernel allows.
    pub const PLACES_MAX: u64 = 20_000;
}

impl Default for Protection {
    fn default() -> Self {
        Self {
            unwritable: UNWRITABLE_DEFAULT
                .iter()
                .map(|row| row.pattern.to_owned())
                .collect(),
            home_readable: HOME_READABLE_DEFAULT
                .iter()
                .map(ToString::to_string)
                .collect(),
            pirn_home: None,
            pirn_home_readable: Vec::new(),
            files_max: Self::FILES_MAX,
            places_max: Self::PLACES_MAX,
        }
    }
}

/// Places of credentials, which no confined child can read unless the caller says otherwise. Those of the system matter to
/// root; others could not read them anyway.
pub const UNREADABLE_DEFAULT: &[&str] = &[
    "~/.ssh",
    "~/.gnupg",
    "~/.aws",
    "~/.azure",
    "~/.kube",
    "~/.docker",
    "~/.netrc",
    "~/.config/gh",
    "~/.config/gcloud",
    "~/.cargo/credentials*",
    "~/.gem/credentials",
    "~/.m2/settings*.xml",
    "~/.gradle/gradle.properties",
    "~/.nuget/NuGet",
    "~/.bun/*.toml",
    "~/.mozilla",
    "~/.config/google-chrome",
    "~/.config/chromium",
    "~/.config/BraveSoftware",
    "~/.config/microsoft-edge",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/ssl/private",
    "/etc/ssh/ssh_host_*_key",
    "**/.env*",
];

impl SandboxPolicy {
    /// The default profile for work in `working_folder`, with the network on and the default list of unreadable places.
    pub fn new(working_folder: impl Into<PathBuf>, temp_dir: impl Into<PathBuf>) -> Self {
        Self {
            profile: Profile::default(),
            network: Network::default(),
            working_folder: working_folder.into(),
            write_roots: Vec::new(),
            readable: Readable::default(),
            unreadable: UNREADABLE_DEFAULT.iter().map(ToString::to_string).collect(),
            home: None,
            protection: Protection::default(),
            temp_dir: temp_dir.into(),
            limits: Limits::default(),
            level: LevelChoice::default(),
            require: None,
        }
    }
}
