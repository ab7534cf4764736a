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
use super::journal::Journal;
use super::machine::{self, ChosenLevel, LevelFacts};
use super::placeholders::{PlaceholderCheck, Placeholders};
use super::plan::{MountPlan, Proc, Shape, View, plan};
use super::reasons::{self, LevelFailure};
pub(in crate::sandbox) use limits::ProcessNumbers;

use crate::child_supervisor::SpawnError;
use crate::error::Error;
use crate::filter::{self, FilterKind, Processes, Sockets};
use crate::network::NetworkProxy;
use crate::paths::{HeldRoots, PathCache, Paths};
use crate::policy::{Level, Network, Readable, SandboxPolicy};
use crate::report::SandboxReport;
use crate::rules::{HandledAccess, Rules, RulesRequest};
use crate::sys::{
    Arguments, Confinement, Failure, IdentityMap, Launch, LoopbackService, Namespaces,
    PrivateNetwork, ResourceLimit, Stage, Step, TrialError,
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
    journal: Journal,
}

/// What a child is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It becomes a program.
    Run,
    /// It shows whether one could be set up.
    Try,
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
    /// Takes the strongest level of the machine, prepares it for a policy, and completes the report. What goes wrong is an error:
    /// no weaker level is taken for it.
    pub(super) fn prepare(
        policy: &SandboxPolicy,
        report: SandboxReport,
        roots: Arc<HeldRoots>,
    ) -> Result<(Self, SandboxReport), Error> {
        let ChosenLevel {
            level,
            facts,
            mut failures,
        } = machine::strongest(policy)?;
        failures.extend(facts.lacks.iter().cloned());
        let mut confined = Self::new(level, &facts, policy, roots)?;
        if let Some(failure) = confined.make_network(policy)? {
            failures.push(failure);
        }
        confined.choose_filter(policy)?;
        let report = confined.complete(policy, report, failures)?;
        Ok((confined, report))
    }

    /// A level to be tried out, with what is hoped for, and a policy for a folder of its own.
    pub(super) fn neutral(
        level: Level,
        facts: &LevelFacts,
        temp_dir: &Path,
    ) -> Result<(Self, SandboxPolicy), Error> {
        let mut policy = SandboxPolicy::new("/", temp_dir);
        policy.unreadable.clear();
        let mut confined = Self::new(level, facts, &policy, Arc::default())?;
        policy.working_folder = confined
            .parts
            .make_neutral()
            .map_err(|source| Error::preparing(&source))?;
        confined.choose_filter(&policy)?;
        Ok((confined, policy))
    }

    /// Whether rules on files are in force. Without namespaces nothing else confines.
    pub(super) fn has_file_rules(&self, policy: &SandboxPolicy) -> Result<bool, Error> {
        let path_plan = self
            .path_plan(policy)
            .map_err(|source| Error::preparing(&source))?;
        Ok(path_plan.rules.files)
    }

    fn new(
        level: Level,
        facts: &LevelFacts,
        policy: &SandboxPolicy,
        roots: Arc<HeldRoots>,
    ) -> Result<Self, Error> {
        let parts = SandboxFolders::create(&policy.temp_dir).map_err(|source| {
            Error::confinement(format!(
                "The folders of a sandbox cannot be created in {}: {source}",
                policy.temp_dir.display()
            ))
        })?;
        Ok(Self {
            level,
            proc: facts.proc,
            network: None,
            proxy: match &policy.network {
                Network::Off | Network::On => None,
                Network::AllowList(proxy) => Some(proxy.clone()),
            },
            listener: Mutex::default(),
            gone: CancellationToken::new().drop_guard(),
            filter: Err("It was not compiled yet."),
            limits: limits::of_process(policy, level),
            process_numbers: facts.process_numbers,
            path_plan: Mutex::new(None),
            placeholders: Placeholders::new(parts.folder()),
            parts,
            cache: PathCache::new(roots),
            journal: Journal::default(),
        })
    }

    /// The network that all children share, so that what one of them serves is there for the next one. Gives why there is none,
    /// on a machine that has no such networks: then the filter keeps the network off.
    fn make_network(&mut self, policy: &SandboxPolicy) -> Result<Option<LevelFailure>, Error> {
        let offer = match (&policy.network, self.level) {
            (Network::On, _) | (Network::Off | Network::AllowList(_), Level::Basic) => {
                return Ok(None);
            }
            (Network::Off, Level::Standard | Level::Strict) => LoopbackService::Nothing,
            (Network::AllowList(_), Level::Standard | Level::Strict) => {
                LoopbackService::Listener(PROXY_PORT)
            }
        };
        if let Err(failure) = machine::network(self.level)? {
            return Ok(Some(failure));
        }
        let (network, listener) = PrivateNetwork::make(offer).map_err(|error| match error {
            TrialError::Failed(failure) => {
                LevelFailure::new(self.level, failure, None).into_error()
            }
            TrialError::Io(source) => Error::preparing(&source),
        })?;
        self.network = Some(Arc::new(network));
        self.listener = Mutex::new(listener);
        Ok(None)
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

    /// The filter for what the level turned out to be. Fails where there is none and nothing else stands in its place.
    fn choose_filter(&mut self, policy: &SandboxPolicy) -> Result<(), Error> {
        let sockets = match (&policy.network, &self.network) {
            (Network::On, _) | (_, Some(_)) => Sockets::Internet,
            (Network::Off | Network::AllowList(_), None) => Sockets::UnixOnly,
        };
        let processes = match self.level {
            Level::Basic => Processes::Shared,
            Level::Standard | Level::Strict => Processes::Private,
        };
        self.filter = filter::program(FilterKind { sockets, processes });
        match (self.filter, sockets, processes) {
            (Err(reason), Sockets::UnixOnly, _) | (Err(reason), _, Processes::Shared) => {
                Err(Error::confinement(reason.to_owned()))
            }
            (Ok(_) | Err(_), _, _) => Ok(()),
        }
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
        let directory = match directory {
            Some(directory) => directory.to_owned(),
            None => path_plan.paths.working_folder.clone(),
        };
        let namespaces = path_plan
            .mounts
            .as_ref()
            .map(|mounts| self.namespaces(mounts));
        let lock = match (purpose, self.cache.planned()) {
            (Purpose::Run, Some(planned)) => self.journal.enter(policy, &planned)?,
            (Purpose::Run, None) | (Purpose::Try, _) => None,
        };
        Ok(Launch {
            descriptors,
            lock,
            confinement: Some(Confinement {
                namespaces: namespaces.transpose()?,
                directory: CString::new(directory.as_os_str().as_bytes())?,
                limits: self.limits.clone(),
                cgroups: limits::cgroups(&self.limits_by_cgroup(policy))?,
                ruleset: path_plan.ruleset.clone(),
                filter: self.filter.ok(),
            }),
        })
    }

    /// What children make in writable places is looked at when they have ended.
    pub(crate) fn cache(&self) -> &PathCache {
        &self.cache
    }

    /// Looks at what nobody has looked at, when all children are gone. What cannot be looked at is left to the next Pirn.
    pub(super) fn look_at_last(&self, policy: &SandboxPolicy) {
        let are_gone = self.journal.wait_for_children();
        if self.cache.look_at_last(policy) && are_gone {
            self.journal.leave();
        }
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
        let paths = self.cache.get(policy, Instant::now())?;
        let mut path_plan = self
            .path_plan
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(path_plan) = &*path_plan
            && (Arc::ptr_eq(&path_plan.paths, &paths) || path_plan.paths == paths)
        {
            return Ok(Arc::clone(path_plan));
        }
        let paths = self.hold(policy, paths)?;
        let made = Arc::new(self.make_path_plan(policy, paths)?);
        *path_plan = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Sees to it that what children's mounts go on is there and stays.
    fn hold(&self, policy: &SandboxPolicy, paths: Arc<Paths>) -> io::Result<Arc<Paths>> {
        if self.view(policy).is_none() {
            return Ok(paths);
        }
        match self.placeholders.hold(&paths)? {
            PlaceholderCheck::All => Ok(paths),
            // A sandbox of another process may have removed what stood in. It does not any more: now it is known that we need it.
            PlaceholderCheck::Outdated => {
                let paths = self.cache.renew(policy, Instant::now())?;
                self.placeholders.hold(&paths)?;
                Ok(paths)
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
            (Level::Basic, _) => None,
            (Level::Standard, Readable::Everything) => Some(View::Whole),
            (Level::Strict, Readable::Everything) => Some(View::Covered),
            (Level::Standard | Level::Strict, Readable::Only(_)) => Some(View::Chosen),
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
    if failure.stage == Stage::Exec {
        return SpawnError::System(source);
    }
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
