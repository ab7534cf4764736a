//! From settings to a kernel, and the process that it starts of this program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use pirn_eval::{
    BrokerProgram, KernelOptions, PythonEngine, StateStore, WorkerConfinement, WorkerNetwork,
};
use pirn_sandbox::{Network, NetworkMode};

use super::engine::VmScripts;
use crate::confinement::{network_rules, policy};
use crate::failure::Failure;
use crate::invocation::Invocation;
use pirn_settings::{EvalEngine, Settings};

/// The first argument that makes this program a kernel's broker. Nobody types it.
pub(crate) const BROKER_ARGUMENT: &str = "--eval-broker";
/// The project's own Python, where it has one.
const PROJECT_PYTHONS: [&str; 2] = [".venv/bin/python", "venv/bin/python"];

/// Serves the kernel that started this process, over the standard streams.
#[cfg(unix)]
pub(crate) fn broker() -> ExitCode {
    use std::os::fd::AsFd as _;
    let streams = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .and_then(|stdin| Ok((stdin, std::io::stdout().as_fd().try_clone_to_owned()?)));
    match streams {
        Ok((stdin, stdout)) => pirn_eval::broker::run(stdin, stdout).into(),
        Err(_) => ExitCode::FAILURE,
    }
}

/// There are no brokers on this system yet.
#[cfg(not(unix))]
pub(crate) fn broker() -> ExitCode {
    ExitCode::FAILURE
}

/// The kernel that the settings describe, for work in `folder`.
pub(super) fn options(
    settings: &Settings,
    folder: &Path,
    state: Arc<dyn StateStore>,
    invocation: &Invocation,
) -> Result<KernelOptions, Failure> {
    let own = std::env::current_exe().context("the path of this program cannot be found")?;
    let broker = BrokerProgram {
        program: own,
        arguments: vec![OsString::from(BROKER_ARGUMENT)],
    };
    let eval = &settings.eval;
    let mut options = KernelOptions::new(
        broker,
        folder,
        confinement(settings, folder, invocation)?,
        state,
    );
    options.environment.clone_from(&invocation.host.environment);
    options.python = match &eval.python {
        Some(python) => Some(program(python, invocation)),
        None => project_python(folder),
    };
    options.node = eval.node.as_deref().map(|node| program(node, invocation));
    options.python_engine = match eval.engine {
        EvalEngine::Fresh => PythonEngine::Fresh,
        EvalEngine::Persistent => PythonEngine::Persistent,
    };
    options.script_engine = Some(Arc::new(VmScripts));
    Ok(options)
}

/// The same confinement as that of commands.
fn confinement(
    settings: &Settings,
    folder: &Path,
    invocation: &Invocation,
) -> Result<WorkerConfinement, Failure> {
    let policy = policy(&settings.sandbox, Network::Off, folder, invocation);
    Ok(WorkerConfinement {
        profile: policy.profile,
        network: match settings.sandbox.network {
            NetworkMode::Off => WorkerNetwork::Off,
            NetworkMode::On => WorkerNetwork::On,
            NetworkMode::AllowList => WorkerNetwork::AllowList(network_rules(&settings.sandbox)?),
        },
        private_networks: settings.sandbox.private_networks,
        write_roots: policy.write_roots,
        readable: policy.readable,
        unreadable: policy.unreadable,
        home: policy.home,
        limits: policy.limits,
        level: policy.level,
        require: policy.require,
        ..WorkerConfinement::new(policy.temp_dir)
    })
}

/// The program that a setting names: a path, `~/…`, or a name on the `PATH`.
fn program(named: &str, invocation: &Invocation) -> PathBuf {
    match (named.strip_prefix("~/"), &invocation.host.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(named),
    }
}

/// The Python of the project's virtual environment.
fn project_python(folder: &Path) -> Option<PathBuf> {
    PROJECT_PYTHONS
        .iter()
        .map(|python| folder.join(python))
        .find(|python| python.is_file())
}
