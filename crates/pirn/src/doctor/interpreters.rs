//! The interpreters of `eval`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pirn_sandbox::Command;

use super::Report;
use crate::event_loop;
use crate::invocation::Invocation;
use crate::variables::PATH;
use pirn_settings::{SettingKey, Trust};

/// How long an interpreter may take to tell its version on the busiest machine.
const VERSION_WAIT: Duration = Duration::from_secs(10);
/// Longer answers are no versions.
const VERSION_BYTES_MAX: usize = 200;

pub(super) fn python(invocation: &Invocation) -> Report {
    interpreter(
        "python3",
        "eval.python",
        "install Python 3, or set eval.python; until then `eval` runs no Python",
        invocation,
    )
}

pub(super) fn node(invocation: &Invocation) -> Report {
    interpreter(
        "node",
        "eval.node",
        "install Node.js, or set eval.node; until then `eval` runs JavaScript in Pirn's own engine",
        invocation,
    )
}

/// The program that the setting of this key names, and where it is set. The user's own settings alone decide about programs; what
/// is wrong with them has a line of its own.
pub(super) fn set_program(key: &str, invocation: &Invocation) -> Option<(String, String)> {
    let folder = &invocation.host.cwd;
    let loaded = crate::settings::load_quietly(folder, Trust::Untrusted, invocation).ok()?;
    let set = loaded.value(SettingKey::find(key).ok()?);
    let from = set.sources.last()?;
    Some((set.value.as_str()?.to_owned(), format!("{key} ({from})")))
}

/// The file of a program that is given as a path or a name.
pub(super) fn find_program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        Some(PathBuf::from(name)).filter(|path| path.is_file())
    } else {
        on_path(name)
    }
}

pub(super) fn on_path(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&PATH.read()?)
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

fn interpreter(usual: &str, setting: &str, remedy: &str, invocation: &Invocation) -> Report {
    let (name, from) = match set_program(setting, invocation) {
        Some((name, from)) => (name, format!(", from {from}")),
        None => (usual.to_owned(), String::new()),
    };
    let Some(path) = find_program(&name) else {
        return Report::lacking(format!("{name} was not found{from}"), remedy);
    };
    match version(&path, invocation) {
        Some(version) => Report::good(format!("{}{from}: {version}", path.display())),
        None => Report::lacking(
            format!("{}{from} does not tell its version", path.display()),
            remedy,
        ),
    }
}

/// What it says about its version.
fn version(path: &Path, invocation: &Invocation) -> Option<String> {
    let runtime = event_loop::on_main_thread().ok()?;
    runtime.block_on(async {
        let mut child = Command::new(path)
            .arg("--version")
            .envs(invocation.host.environment.iter().cloned())
            .spawn()
            .ok()?;
        let mut output = child.take_output()?;
        let read = tokio::time::timeout(VERSION_WAIT, output.read_bounded(VERSION_BYTES_MAX));
        let text = String::from_utf8_lossy(&read.await.ok()?.ok()?.bytes).into_owned();
        let line = text.lines().next()?.trim();
        (!line.is_empty()).then(|| line.to_owned())
    })
}
