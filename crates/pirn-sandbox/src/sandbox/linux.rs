//! Linux: preparing a level, and what each child of it needs.

#[path = "linux/denials.rs"]
mod denials;
#[path = "linux/in_force.rs"]
mod in_force;
#[path = "linux/limits.rs"]
mod limits;

use std::ffi::{CString, OsString};
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use libc::{c_int, sock_filter};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::folders::SandboxFolders;
use super::placeholders::{PlaceholderCheck, Placeholders};
use super::plan::{MountPlan, Proc, Shape, View, plan};
use super::reasons::{self, LevelFailure};
use limits::ProcessNumbers;

use crate::child_supervisor::SpawnError;
use crate::error::Error;
use crate::filter::{self, FilterKind, Processes, Sockets};
use crate::network::NetworkProxy;
use crate::paths::{PathCache, Paths};
use crate::policy::{Level, LevelChoice, Network, Readable, SandboxPolicy};
use crate::report::{Layer, SandboxReport};
use crate::rules::{HandledAccess, Rules, RulesRequest};
use crate::sys::{
    self, Arguments, Confinement, Failure, IdentityMap, Launch, LoopbackService, Namespaces,
    PrivateNetwork, Purpose, ResourceLimit, Stage, Step, TrialError,
};

/// Where the proxy listens inside: the usual port of such proxies.
pub(crate) const PROXY_PORT: u16 = 3128;

/// The namespaces of every level but the weakest.
const NAMESPACES: c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS;

/// A level of confinement, ready for children.
#[derive(Debug)]
pub(crate) struct PreparedLevel {
    level: Level,
    proc: Proc,
    /// `None` where children share the machine's network.
    network: Option<Arc<PrivateNetwork>>,
    proxy: Option<NetworkProxy>,
    /// Where the proxy is to listen; until the first child comes.
    listener: Mutex<Option<TcpListener>>,
    /// Ends the proxy's listening.
    gone: DropGuard,
    filter: Result<&'static [sock_filter], &'static str>,
    limits: Vec<ResourceLimit>,
    process_numbers: ProcessNumbers,
    path_plan: Mutex<Option<Arc<PathPlan>>>,
    // Before the folders: what is removed first may lie in them.
    placeholders: Placeholders,
    parts: SandboxFolders,
    cache: PathCache,
}

/// What is made from the paths of a policy, and stays good while those do.
#[derive(Debug)]
struct PathPlan {
    paths: Arc<Paths>,
    mounts: Option<MountPlan>,
    rules: Rules,
    ruleset: Option<Arc<OwnedFd>>,
}

impl PreparedLevel {
    /// Finds the strongest level that can be had, and completes the report.
    pub(super) fn prepare(
        policy: &SandboxPolicy,
        report: SandboxReport,
    ) -> Result<(Option<Self>, SandboxReport), Error> {
        let strongest = match policy.level {
            LevelChoice::Strongest => Level::Min,
            LevelChoice::AtMost(level) => level,
        };
        let mut failures = Vec::new();
        for level in Level::ALL.into_iter().rev() {
            if level > strongest {
                continue;
            }
            if policy.require.is_some_and(|required| level < required) {
                break;
            }
            match Self::try_level(policy, level)? {
                Ok((confined, mut missing)) => {
                    failures.append(&mut missing);
                    let report = confined.complete(policy, report, failures)?;
                    return Ok((Some(confined), report));
                }
                Err(failure) => failures.push(failure),
            }
        }
        Err(Error::confinement(reasons::refusal(policy, &failures)))
    }

    /// Gives up what a level can do without, one after the other, until a child can be set up.
    fn try_level(
        policy: &SandboxPolicy,
        level: Level,
    ) -> Result<Result<(Self, Vec<LevelFailure>), LevelFailure>, Error> {
        let mut failures = Vec::new();
        let mut confined = Self::new(policy, level).map_err(|source| {
            Error::confinement(format!(
                "The folders of a sandbox cannot be created in {}: {source}",
                policy.temp_dir.display()
            ))
        })?;
        match confined.make_network(policy) {
            Ok(()) => {}
            Err(TrialError::Failed(failure)) => {
                let level_failure = LevelFailure::new(level, failure, None);
                failures.push(level_failure.about(Layer::NetworkNamespace));
            }
            Err(TrialError::Io(source)) => return Err(Error::preparing(&source)),
        }
        loop {
            confined.choose_filter(policy);
            let launch = confined
                .launch(policy, None, Vec::new(), Purpose::Try)
                .map_err(|source| Error::preparing(&source))?;
            let steps = launch.mounts();
            let failure = match sys::try_out(launch) {
                Ok(()) => return Ok(Ok((confined, failures))),
                Err(TrialError::Failed(failure)) => failure,
                Err(TrialError::Io(source)) => return Err(Error::preparing(&source)),
            };
            let level_failure = LevelFailure::new(level, failure, steps.as_deref());
            if level_failure.is_proc() && confined.proc == Proc::Own {
                confined.proc = Proc::Empty;
                failures.push(level_failure.about(Layer::PrivateProc));
            } else if level_failure.is_bound() {
                confined.process_numbers = ProcessNumbers::Unbounded;
            } else if confined.network.is_some() && failure.is_about_network() {
                confined.network = None;
                failures.push(level_failure.about(Layer::NetworkNamespace));
            } else {
                return Ok(Err(level_failure));
            }
            confined.forget();
        }
    }

    fn new(policy: &SandboxPolicy, level: Level) -> io::Result<Self> {
        let parts = SandboxFolders::create(&policy.temp_dir)?;
        Ok(Self {
            level,
            proc: Proc::Own,
            network: None,
            proxy: match &policy.network {
                Network::Off | Network::On => None,
                Network::AllowList(proxy) => Some(proxy.clone()),
            },
            listener: Mutex::default(),
            gone: CancellationToken::new().drop_guard(),
            filter: Err("It was not compiled yet."),
            limits: limits::of_process(policy, level),
            process_numbers: ProcessNumbers::here(),
            path_plan: Mutex::new(None),
            placeholders: Placeholders::new(parts.folder()),
            parts,
            cache: PathCache::default(),
        })
    }

    /// The network that all children share, so that what one of them serves is there for the next one.
    fn make_network(&mut self, policy: &SandboxPolicy) -> Result<(), TrialError> {
        let offer = match (&policy.network, self.level) {
            (Network::On, _) | (Network::Off | Network::AllowList(_), Level::Lite) => return Ok(()),
            (Network::Off, Level::Full | Level::Min) => LoopbackService::Nothing,
            (Network::AllowList(_), Level::Full | Level::Min) => {
                LoopbackService::Listener(PROXY_PORT)
            }
        };
        let (network, listener) = PrivateNetwork::make(offer)?;
        self.network = Some(Arc::new(network));
        self.listener = Mutex::new(listener);
        Ok(())
    }

    /// Lets the proxy serve the children, from the first of them on. Must be called inside a tokio runtime.
    pub(crate) fn serve_network(&self) -> io::Result<()> {
        let listener = self
            .listener
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match (self.proxy(), listener) {
            (Some(proxy), Some(listener)) => proxy.serve(listener, self.gone.token().clone()),
            (_, _) => Ok(()),
        }
    }

    /// The filter for what the level turned out to be.
    fn choose_filter(&mut self, policy: &SandboxPolicy) {
        let sockets = match (&policy.network, &self.network) {
            (Network::On, _) | (_, Some(_)) => Sockets::Internet,
            (Network::Off | Network::AllowList(_), None) => Sockets::UnixOnly,
        };
        let processes = match self.level {
            Level::Lite => Processes::Shared,
            Level::Full | Level::Min => Processes::Private,
        };
        self.filter = filter::program(FilterKind { sockets, processes });
    }

    /// After a change of what the level can do.
    fn forget(&mut self) {
        *self
            .path_plan
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(super) fn private_temp(&self) -> &Path {
        self.parts.temp()
    }

    /// The proxy, where children have a way to it.
    pub(crate) fn proxy(&self) -> Option<&NetworkProxy> {
        self.network.as_ref().and(self.proxy.as_ref())
    }

    /// Variables that children get besides their own.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut variables = vec![("TMPDIR".into(), self.parts.temp().into())];
        if self.proxy().is_some() {
            let http = format!("http://127.0.0.1:{PROXY_PORT}");
            let socks = format!("socks5h://127.0.0.1:{PROXY_PORT}");
            let direct = "localhost,127.0.0.1,::1";
            for (name, value) in [
                ("HTTP_PROXY", http.as_str()),
                ("HTTPS_PROXY", http.as_str()),
                ("ALL_PROXY", socks.as_str()),
                ("NO_PROXY", direct),
            ] {
                variables.push((name.into(), value.into()));
                variables.push((name.to_lowercase().into(), value.into()));
            }
        }
        variables
    }

    /// What one child needs. Without a directory it starts in the working folder.
    pub(crate) fn launch(
        &self,
        policy: &SandboxPolicy,
        directory: Option<&Path>,
        descriptors: Vec<Arc<OwnedFd>>,
        purpose: Purpose,
    ) -> io::Result<Launch> {
        let path_plan = self.path_plan(policy)?;
        match purpose {
            Purpose::Run => self.cache.expect_more(policy, Instant::now()),
            Purpose::Try => {}
        }
        let directory = match directory {
            Some(directory) => directory.to_owned(),
            None => path_plan.paths.working_folder.clone(),
        };
        let namespaces = path_plan
            .mounts
            .as_ref()
            .map(|mounts| self.namespaces(mounts));
        Ok(Launch {
            descriptors,
            confinement: Some(Confinement {
                namespaces: namespaces.transpose()?,
                directory: CString::new(directory.as_os_str().as_bytes())?,
                limits: self.limits.clone(),
                cgroups: limits::cgroups(&self.limits_by_cgroup(policy))?,
                ruleset: path_plan.ruleset.clone(),
                filter: self.filter.ok(),
            }),
            purpose,
        })
    }

    fn namespaces(&self, mounts: &MountPlan) -> io::Result<Namespaces> {
        Ok(Namespaces {
            flags: NAMESPACES,
            map: IdentityMap::ours()?,
            network: self.network.clone(),
            arguments: Arguments::ours(),
            mounts: Arc::clone(&mounts.steps),
            taken: vec![-1; mounts.slots],
            locked_folder: CString::new(self.parts.locked_folder().as_os_str().as_bytes())?,
            locked_file: CString::new(self.parts.locked_file().as_os_str().as_bytes())?,
        })
    }

    /// What the paths come to, made again when they have changed.
    fn path_plan(&self, policy: &SandboxPolicy) -> io::Result<Arc<PathPlan>> {
        let paths = self.cache.get(policy, Instant::now());
        let mut path_plan = self
            .path_plan
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(path_plan) = &*path_plan
            && (Arc::ptr_eq(&path_plan.paths, &paths) || path_plan.paths == paths)
        {
            return Ok(Arc::clone(path_plan));
        }
        let paths = self.hold(policy, paths);
        let made = Arc::new(self.make_path_plan(policy, paths)?);
        *path_plan = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Sees to it that what children's mounts go on is there and stays.
    fn hold(&self, policy: &SandboxPolicy, paths: Arc<Paths>) -> Arc<Paths> {
        if self.view(policy).is_none() {
            return paths;
        }
        match self.placeholders.hold(&paths) {
            PlaceholderCheck::All => paths,
            // A sandbox of another process may have removed what stood in. It does not any more: now it is known that we need it.
            PlaceholderCheck::Outdated => {
                let paths = self.cache.renew(policy, Instant::now());
                self.placeholders.hold(&paths);
                paths
            }
        }
    }

    fn make_path_plan(&self, policy: &SandboxPolicy, paths: Arc<Paths>) -> io::Result<PathPlan> {
        let view = self.view(policy);
        let mounts = match view {
            None => None,
            Some(view) => {
                let shape = Shape {
                    view,
                    proc: self.proc,
                    process_number_max: self.process_number_max(policy),
                };
                Some(plan(shape, policy, &paths, &self.parts)?)
            }
        };
        let devices = match view {
            // What is mounted on a place is judged by what that place lies in. Most devices there do not open: `nodev`.
            Some(View::Whole) => PathBuf::from("/dev"),
            Some(View::Covered | View::Chosen) | None => self.parts.devices(),
        };
        let mut rules = Rules::make(RulesRequest {
            handled: match view {
                Some(_mounts) => HandledAccess::Writes,
                None => HandledAccess::ReadsAndWrites,
            },
            paths: &paths,
            private_temp: self.parts.temp(),
            devices: &devices,
            shared_memory: &self.parts.shared_memory(),
            shared_temp: &policy.temp_dir,
        })
        .map_err(io::Error::other)?;
        let ruleset = rules.ruleset.take().map(Arc::new);
        Ok(PathPlan {
            paths,
            mounts,
            rules,
            ruleset,
        })
    }

    /// What is visible; `None` without a mount namespace.
    fn view(&self, policy: &SandboxPolicy) -> Option<View> {
        match (self.level, &policy.readable) {
            (Level::Lite, _) => None,
            (Level::Full, Readable::Everything) => Some(View::Whole),
            (Level::Min, Readable::Everything) => Some(View::Covered),
            (Level::Full | Level::Min, Readable::Only(_)) => Some(View::Chosen),
        }
    }
}

impl Failure {
    /// Whether it may go away without a network of its own.
    fn is_about_network(self) -> bool {
        match self.stage {
            Stage::Network => true,
            Stage::Namespaces
            | Stage::Loopback
            | Stage::Listener
            | Stage::UserMapping
            | Stage::Mounts
            | Stage::Fork
            | Stage::Cgroup
            | Stage::Limits
            | Stage::Descriptors
            | Stage::Capabilities
            | Stage::Directory
            | Stage::NoNewPrivileges
            | Stage::Landlock
            | Stage::Seccomp => false,
        }
    }
}

/// Explains why a child of a sandbox did not get as far as exec.
pub(crate) fn explain_failure(
    failure: Failure,
    steps: Option<&[Step]>,
    directory: Option<&Path>,
    source: io::Error,
) -> SpawnError {
    if failure.stage == Stage::Directory {
        return match directory {
            Some(directory) if directory.is_dir() => {
                SpawnError::Explained(Error::outside_sandbox(directory))
            }
            Some(_) | None => SpawnError::System(source),
        };
    }
    let step = steps
        .filter(|_steps| failure.stage == Stage::Mounts)
        .and_then(|steps| steps.get(usize::from(failure.step)))
        .map(reasons::describe_step);
    SpawnError::Explained(Error::confinement(reasons::explain(
        failure,
        step.as_deref(),
    )))
}
