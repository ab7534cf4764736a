//! The interpreters of `eval`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pirn_sandbox::Command;

use super::Report;
use super::checks::on_path;
use crate::event_loop;
use crate::invocation::Invocation;
use pirn_settings::Settings;
use pirn_settings::Trust;

/// How long an interpreter may take to tell its version on the busiest machine.
const VERSION_WAIT: Duration = Duration::from_secs(10);
/// Longer answers are no versions.
const VERSION_BYTES_MAX: usize = 200;

pub(super) fn python(invocation: &Invocation) -> Report {
    let set = own_settings(invocation).and_then(|settings| settings.eval.python);
    interpreter(
        set.as_deref(),
        "python3",
        "eval.python",
        "install Python 3, or set eval.python; until then `eval` runs no Python",
        invocation,
    )
}

pub(super) fn node(invocation: &Invocation) -> Report {
    let set = own_settings(invocation).and_then(|settings| settings.eval.node);
    interpreter(
        set.as_deref(),
        "node",
        "eval.node",
        "install Node.js, or set eval.node; until then `eval` runs JavaScript in Pirn's own engine",
        invocation,
    )
}

/// The user's own settings, which alone decide about interpreters; what is wrong with them has a line of its own.
fn own_settings(invocation: &Invocation) -> Option<Settings> {
    crate::settings::load_quietly(&invocation.host.cwd, Trust::Untrusted, invocation).ok()
}

fn interpreter(
    set: Option<&str>,
    usual: &str,
    setting: &str,
    remedy: &str,
    invocation: &Invocation,
) -> Report {
    let name = set.unwrap_or(usual);
    let path = if name.contains('/') {
        Some(PathBuf::from(name)).filter(|path| path.is_file())
    } else {
        on_path(name)
    };
    let from = match set {
        Some(_) => format!(", from {setting}"),
        None => String::new(),
    };
    let Some(path) = path else {
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
