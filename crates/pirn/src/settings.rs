//! Settings, with what is said about them.

use std::path::Path;

use pirn_settings::{Loaded, ProjectFileKind, Settings, Severity, Trust, project_file, user_file};
use pirn_terminal::on_one_line;

use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::standard;
use crate::trust::current;

/// Tells in notes what is ignored. What is wrong is a failure, since a run with other settings than those meant may be less safe.
pub(crate) fn told(loaded: Loaded) -> Result<Loaded, Failure> {
    let mut failure: Option<Failure> = None;
    for problem in &loaded.problems {
        let text = on_one_line(&problem.to_string());
        match (problem.severity, failure.take()) {
            (Severity::Note, so_far) => {
                standard::note(&text);
                failure = so_far;
            }
            (Severity::Error, None) => failure = Some(Failure::usage(text)),
            (Severity::Error, Some(so_far)) => failure = Some(so_far.detail(text)),
        }
    }
    match failure {
        None => Ok(loaded),
        Some(failure) => Err(failure.hint("docs/settings.md lists all settings with their values")),
    }
}

/// Reads the files without notes; the error is the first thing that is wrong.
pub(crate) fn load_quietly(
    folder: &Path,
    trust: Trust,
    invocation: &Invocation,
) -> Result<Loaded, String> {
    let loaded = Settings::load(folder, trust, &invocation.host);
    match loaded.error() {
        None => Ok(loaded),
        Some(problem) => Err(problem.to_string()),
    }
}

/// What counts in the current folder, in a few words, without asking about trust.
pub(crate) fn summary(invocation: &Invocation) -> Result<String, String> {
    let folder = &invocation.host.cwd;
    // What is wrong with the trust file has a line of its own.
    let trust = current(folder, &[ProjectFileKind::Settings], invocation)
        .map_or(Trust::Untrusted, |verdict| verdict.trust);
    let settings = load_quietly(folder, trust, invocation)?.settings;
    let sandbox = &settings.sandbox;
    let files = [
        user_file(&invocation.host).filter(|file| file.exists()),
        project_file(folder, &invocation.host)
            .filter(|file| file.exists() && trust == Trust::Trusted),
    ];
    let files: Vec<String> = files
        .into_iter()
        .flatten()
        .map(|file| on_one_line(&file.to_string_lossy()))
        .collect();
    let source = if files.is_empty() {
        "no file; all settings have their defaults".to_owned()
    } else {
        format!("from {}", files.join(" and "))
    };
    Ok(format!(
        "sandbox {}, network {}; {source}",
        sandbox.profile.as_str(),
        sandbox.network.as_str()
    ))
}
