//! The decision about a project for one command, with the question where it is needed.

use std::path::Path;

use crate::arguments::ApprovalArguments;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::questions::ask_alone;
use crate::standard;
use pirn_settings::{
    Decision, ProjectFile, ProjectFileKind, ProjectTrust, StoreError, Trust, TrustAnswer,
    TrustOffer, Verdict,
};
use pirn_terminal::on_one_line;

/// Whether a person who is there is asked about a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrustQuestion {
    /// Somebody is there to answer.
    Asked,
    /// A model works and nobody watches, so what is undecided counts as not trusted.
    Never,
}

/// Decides whether the project's files of these kinds count in this run. Where nobody decided and nobody can be asked, a note
/// says what is left out.
pub(crate) fn decide(
    folder: &Path,
    kinds: &[ProjectFileKind],
    approval: &ApprovalArguments,
    question: TrustQuestion,
    invocation: &Invocation,
) -> Result<Trust, Failure> {
    let mut project = ProjectTrust::find(real_path(folder)?, kinds, &invocation.host);
    if project.files.is_empty() {
        // There is nothing that could be loaded.
        return Ok(Trust::Trusted);
    }
    project.flag = approval.flag();
    let answer = match project.decide().map_err(unusable)? {
        Decision::Made(verdict) => return Ok(verdict.trust),
        Decision::Open => match question {
            TrustQuestion::Asked => ask(&project, TrustOffer::Everything, invocation),
            TrustQuestion::Never => None,
        },
    };
    if let Some(answer) = answer {
        return Ok(project.answered(answer).map_err(unusable)?.trust);
    }
    let folder = &project.folder;
    let names: Vec<String> = project
        .files
        .iter()
        .map(|file| shown(file, folder))
        .collect();
    standard::note(&format!(
        "{} in {} was not loaded, since nobody has said whether to trust the folder; `pirn trust` decides, \
         --approve trusts it for one run",
        names.join(", "),
        on_one_line(&folder.to_string_lossy())
    ));
    Ok(Trust::Untrusted)
}

/// What counts for the project's files of these kinds, as far as it is known without asking.
pub(crate) fn current(
    folder: &Path,
    kinds: &[ProjectFileKind],
    invocation: &Invocation,
) -> Result<Verdict, StoreError> {
    // A folder that is gone has nothing that could be loaded.
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    ProjectTrust::find(folder, kinds, &invocation.host).known()
}

/// Puts the question, in a queue as every question is. `None` without a terminal.
pub(super) fn ask(
    project: &ProjectTrust,
    offer: TrustOffer,
    invocation: &Invocation,
) -> Option<TrustAnswer> {
    let answer = ask_alone(project.request(offer), invocation)?;
    Some(TrustAnswer::from(&answer))
}

/// The path that decisions are kept under.
pub(super) fn real_path(folder: &Path) -> Result<std::path::PathBuf, Failure> {
    folder.canonicalize().map_err(|error| {
        Failure::usage_because(error, format!("{} cannot be used", folder.display()))
    })
}

pub(super) fn unusable(error: StoreError) -> Failure {
    Failure::usage_because(error, "what you trust is not known")
        .hint("repair the file or move it away; it was not changed")
}

/// The path of a file, as short as possible.
fn shown(file: &ProjectFile, folder: &Path) -> String {
    on_one_line(&file.path_from(folder).to_string_lossy())
}

/// A line of a list.
pub(super) fn row(file: &ProjectFile, folder: &Path) -> String {
    format!("  {} ({})\n", shown(file, folder), file.what)
}
