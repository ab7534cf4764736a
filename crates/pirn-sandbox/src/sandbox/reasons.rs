//! Why something is missing, and what would bring it back, in sentences.

use std::ffi::CStr;
use std::path::Path;

use crate::error::Error;
use crate::policy::{Level, Network, Profile, SandboxPolicy};
use crate::report::{Layer, MissingLayer};
use crate::sys::{Failure, Stage, Step};

/// Something that did not work when a level was tried out.
#[derive(Debug, Clone)]
pub(super) struct LevelFailure {
    level: Level,
    /// What is done without; `None`: the whole level.
    layer: Option<Layer>,
    failure: Failure,
    step: Option<String>,
    is_proc: bool,
    is_bound: bool,
}

impl LevelFailure {
    pub(super) fn new(level: Level, failure: Failure, steps: Option<&[Step]>) -> Self {
        let step = steps
            .filter(|_steps| failure.stage == Stage::Mounts)
            .and_then(|steps| steps.get(usize::from(failure.step)));
        Self {
            level,
            layer: None,
            failure,
            step: step.map(describe_step),
            is_bound: matches!(step, Some(Step::BoundProcesses { .. })),
            is_proc: matches!(step, Some(Step::FileSystem { kind, .. }) if *kind == c"proc"),
        }
    }

    /// Whether it is only about mounting `/proc`.
    pub(super) fn is_proc(&self) -> bool {
        self.is_proc
    }

    /// Whether it is only about how many processes there can be.
    pub(super) fn is_bound(&self) -> bool {
        self.is_bound
    }

    /// Whether it says something about the machine: the kernel refuses it to everybody. What a shortage may have caused does not.
    pub(super) fn is_of_machine(&self) -> bool {
        match self.failure.errno {
            libc::EPERM
            | libc::EACCES
            | libc::ENOSYS
            | libc::EINVAL
            | libc::ENODEV
            | libc::EOPNOTSUPP => true,
            libc::ENOSPC | libc::EUSERS => {
                self.failure.stage == Stage::Namespaces && has_no_namespaces()
            }
            // Setting a bound where the kernel has none.
            libc::ENOENT | libc::EROFS => self.is_bound || self.is_proc,
            _ => false,
        }
    }

    /// For when it is no matter of the machine: nothing starts.
    pub(super) fn into_error(self) -> Error {
        Error::confinement(format!("A sandbox cannot be prepared. {}", self.reason()))
    }

    /// The level does without this layer.
    pub(super) fn about(mut self, layer: Layer) -> Self {
        self.layer = Some(layer);
        self
    }

    /// What is missing for it when `level` was chosen in the end.
    pub(super) fn missing(&self, level: Level) -> Vec<MissingLayer> {
        let layers: &[Layer] = match (self.layer, self.level, level) {
            (Some(Layer::PrivateProc), _, _) => &[Layer::PrivateProc],
            (Some(_), _, _) => &[Layer::NetworkNamespace],
            (None, Level::Strict, _) => &[Layer::PrivateRoot],
            (None, _, _) => &[
                Layer::UserNamespace,
                Layer::MountNamespace,
                Layer::ProcessNamespace,
            ],
        };
        layers
            .iter()
            .map(|layer| MissingLayer {
                layer: *layer,
                reason: self.reason(),
                remedy: self.remedy(),
            })
            .collect()
    }

    fn reason(&self) -> String {
        explain(self.failure, self.step.as_deref())
    }

    fn remedy(&self) -> Option<String> {
        if self.is_proc {
            return Some(
                "In a container, start it so that /proc is not masked (Docker: `--security-opt systempaths=unconfined`)."
                    .to_owned(),
            );
        }
        Cause::of(self.failure).remedy().map(str::to_owned)
    }
}

/// Whether namespaces of some kind are set to none. Otherwise they are used up, which passes.
fn has_no_namespaces() -> bool {
    ["user", "mnt", "pid", "ipc", "uts", "net"]
        .into_iter()
        .any(|kind| {
            let path = format!("/proc/sys/user/max_{kind}_namespaces");
            std::fs::read_to_string(path).is_ok_and(|number| number.trim() == "0")
        })
}

/// Why nothing can start.
pub(super) fn refusal(policy: &SandboxPolicy, failures: &[LevelFailure]) -> String {
    let required = policy.require.map_or("any", Level::as_str);
    let mut sentence = format!("This machine cannot confine programs at the level `{required}`.");
    if let Some(failure) = failures.last() {
        sentence.push(' ');
        sentence.push_str(&failure.reason());
        if let Some(remedy) = failure.remedy() {
            sentence.push(' ');
            sentence.push_str(&remedy);
        }
    } else {
        sentence.push_str(" The policy allows only weaker levels.");
    }
    sentence
}

/// What is not kept though a policy says so, in sentences.
#[derive(Debug)]
pub(super) struct Gaps<'ready> {
    pub(super) unreadable: Vec<&'ready str>,
    /// Whether other programs' sockets are visible and can be connected to.
    pub(super) sees_sockets: bool,
    /// Whether there is a way to the proxy.
    pub(super) has_proxy: bool,
}

/// What of a policy is not kept at a level.
pub(super) fn gaps(level: Level, policy: &SandboxPolicy, gaps: &Gaps<'_>) -> Vec<MissingLayer> {
    let mut missing = Vec::new();
    let stronger =
        || Some("Use a machine that offers the level `standard` or `strict`.".to_owned());
    if level == Level::Basic && policy.profile == Profile::WorkspaceWrite {
        missing.push(MissingLayer {
            layer: Layer::ProtectedPaths,
            reason: "Without a mount namespace, git hooks and settings in writable folders can be written.".to_owned(),
            remedy: stronger(),
        });
    }
    if !gaps.unreadable.is_empty() {
        missing.push(MissingLayer {
            layer: Layer::UnreadablePaths,
            reason: format!("Partly: {}", gaps.unreadable.join(" ")),
            remedy: None,
        });
    }
    if gaps.sees_sockets {
        missing.push(MissingLayer {
            layer: Layer::PrivateRoot,
            reason: "Sockets of other programs in the file system can be connected to.".to_owned(),
            remedy: Some("Use a machine that offers the level `strict`.".to_owned()),
        });
    }
    let is_listed = match policy.network {
        Network::AllowList(_) => true,
        Network::Off | Network::On => false,
    };
    if is_listed && !gaps.has_proxy {
        missing.push(MissingLayer {
            layer: Layer::NetworkProxy,
            reason: "Without a network namespace there is no way that leads only to the proxy, so the network is off.".to_owned(),
            remedy: stronger(),
        });
    }
    missing
}

/// What the lowest level leaves open, whatever the policy.
const OPEN_AT_BASIC: [(Layer, &str); 3] = [
    (
        Layer::MountNamespace,
        "Modes and times of the user's files outside writable folders can be changed.",
    ),
    (
        Layer::ProcessNamespace,
        "The user's other processes can be seen.",
    ),
    (
        Layer::IpcNamespace,
        "Queues, semaphores and memory segments of other programs can be used.",
    ),
];

/// Says what a level leaves open, where nothing else has said yet why the layer is missing.
pub(super) fn open_ends(level: Level, missing: &mut Vec<MissingLayer>) {
    if level > Level::Basic {
        return;
    }
    for (layer, reason) in OPEN_AT_BASIC {
        if missing.iter().all(|missing| missing.layer != layer) {
            missing.push(MissingLayer {
                layer,
                reason: reason.to_owned(),
                remedy: Some(
                    "Use a machine that offers the level `standard` or `strict`.".to_owned(),
                ),
            });
        }
    }
}

/// What went wrong, as one sentence.
pub(crate) fn explain(failure: Failure, step: Option<&str>) -> String {
    let error = std::io::Error::from_raw_os_error(failure.errno);
    let cause = Cause::of(failure);
    let what = match failure.stage {
        Stage::Namespaces => "New namespaces cannot be made",
        Stage::UserMapping => "The user cannot be mapped into a new namespace",
        Stage::Network => "The network that children share cannot be entered",
        Stage::Loopback => {
            "The loopback interface of a new network namespace cannot be switched on"
        }
        Stage::Listener => "The proxy's port cannot be opened in a new network namespace",
        Stage::Mounts => "A mount of a new namespace cannot be made",
        Stage::Fork => "A process cannot be made",
        Stage::Cgroup => "A cgroup cannot be entered",
        Stage::Limits => "A limit cannot be set",
        Stage::Descriptors => "Descriptors cannot be passed",
        Stage::Capabilities => "Capabilities cannot be given up",
        Stage::Directory => "The working directory cannot be entered inside the sandbox",
        Stage::NoNewPrivileges => "New privileges cannot be given up",
        Stage::Landlock => "The Landlock rules cannot be put into force",
        Stage::Seccomp => "The filter on system calls cannot be put into force",
        Stage::Exec => "The program cannot be run",
    };
    let step = step.map_or_else(String::new, |step| format!(" ({step})"));
    match cause.reason() {
        Some(reason) => format!("{what}{step}: {error}. {reason}"),
        None => format!("{what}{step}: {error}."),
    }
}

/// A cause that we know how to explain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Ubuntu,
    Debian,
    NoMoreNamespaces,
    Forbidden,
    OldKernel,
    Unknown,
}

impl Cause {
    fn of(failure: Failure) -> Self {
        let setting = |path: &str| {
            std::fs::read_to_string(Path::new("/proc/sys").join(path))
                .map(|text| text.trim().to_owned())
                .unwrap_or_default()
        };
        match (failure.stage, failure.errno) {
            (
                Stage::Namespaces
                | Stage::UserMapping
                | Stage::Network
                | Stage::Mounts
                | Stage::Loopback,
                libc::EPERM | libc::EACCES,
            ) => {
                if setting("kernel/apparmor_restrict_unprivileged_userns") == "1" {
                    Self::Ubuntu
                } else if setting("kernel/unprivileged_userns_clone") == "0" {
                    Self::Debian
                } else {
                    Self::Forbidden
                }
            }
            (Stage::Namespaces, libc::ENOSPC | libc::EUSERS) => Self::NoMoreNamespaces,
            (Stage::Namespaces | Stage::Mounts, libc::ENOSYS | libc::EINVAL) => Self::OldKernel,
            (_, _) => Self::Unknown,
        }
    }

    fn reason(self) -> Option<&'static str> {
        match self {
            Self::Ubuntu => Some(
                "AppArmor keeps programs without a profile from using user namespaces here (kernel.apparmor_restrict_unprivileged_userns is 1).",
            ),
            Self::Debian => Some(
                "User namespaces are reserved for root here (kernel.unprivileged_userns_clone is 0).",
            ),
            Self::NoMoreNamespaces => Some(
                "The number of namespaces is used up or set to nothing (user.max_user_namespaces, user.max_net_namespaces and so on).",
            ),
            Self::Forbidden => Some("A container or a security module seems to forbid it."),
            Self::OldKernel => Some("The kernel seems too old or built without it."),
            Self::Unknown => None,
        }
    }

    fn remedy(self) -> Option<&'static str> {
        match self {
            Self::Ubuntu => Some(
                "Give pirn an AppArmor profile with `userns,`, or run `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`.",
            ),
            Self::Debian => Some("Run `sudo sysctl kernel.unprivileged_userns_clone=1`."),
            Self::NoMoreNamespaces => Some(
                "Raise what `sysctl -a --pattern '^user.max_.*_namespaces'` shows as 0, for instance by `sudo sysctl user.max_user_namespaces=10000`.",
            ),
            Self::Forbidden => Some(
                "In a container, allow namespaces and mounts (Docker: `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`).",
            ),
            Self::OldKernel => Some("Use Linux 5.12 or newer."),
            Self::Unknown => None,
        }
    }
}

/// What a step was to do.
pub(crate) fn describe_step(step: &Step) -> String {
    let show = |path: &CStr| path.to_string_lossy().into_owned();
    match step {
        Step::Attributes { path, .. } => format!("attributes of {}", show(path)),
        Step::Take { source, .. } => format!("a copy of {}", show(source)),
        Step::Put { target, .. } => format!("on {}", show(target)),
        Step::Cover { target, .. } => format!("over {}", show(target)),
        Step::Hide { path } | Step::Pin { path, .. } => format!("over {}", show(path)),
        Step::Make { path, .. } | Step::Link { path, .. } => format!("making {}", show(path)),
        Step::FileSystem { kind, target, .. } => format!("{} on {}", show(kind), show(target)),
        Step::BoundProcesses { path, .. } => format!("setting {}", show(path)),
        Step::Pivot { root } => format!("the new root {}", show(root)),
    }
}
