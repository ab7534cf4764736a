//! The decision about a project for one command, with the question where it is needed.

use std::path::Path;

use crate::arguments::ApprovalArguments;
use crate::consent::Asking;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::standard;
use pirn_settings::{
    Decision, ProjectFile, ProjectFileKind, ProjectTrust, StoreError, Trust, TrustAnswer, Verdict,
};
use pirn_terminal::{Tty, on_one_line};

/// Answers on offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offer {
    /// All.
    Everything,
    /// Only those that are kept.
    Kept,
}

/// Decides whether the project's files of these kinds count in this run. Where nobody decided and nobody can be asked, a note
/// says what is left out.
pub(crate) fn decide(
    folder: &Path,
    kinds: &[ProjectFileKind],
    approval: &ApprovalArguments,
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
        Decision::Open => match invocation.asking() {
            Asking::Possible => ask(&project, Offer::Everything),
            Asking::Impossible => None,
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

/// Puts the question. `None` without a terminal.
pub(super) fn ask(project: &ProjectTrust, offer: Offer) -> Option<TrustAnswer> {
    let folder = &project.folder;
    let shown = on_one_line(&folder.to_string_lossy());
    let mut question = format!("\u{1b}[0mDo you trust {shown}? Its files steer what Pirn does:\n");
    question.extend(project.files.iter().map(|file| row(file, folder)));
    let parent = folder.parent();
    let mut choices = vec!["[y]es"];
    let above;
    if let Some(parent) = parent {
        above = format!(
            "[p]arent: all of {}",
            on_one_line(&parent.to_string_lossy())
        );
        choices.push(&above);
    }
    match offer {
        Offer::Everything => choices.extend(["[o]nce", "[n]o", "[s]kip this once"]),
        Offer::Kept => choices.push("[n]o"),
    }
    let prompt = format!("{}: ", choices.join(", "));
    let read = |word: &str| match (word.to_ascii_lowercase().as_str(), offer) {
        ("y" | "yes", _) => Ok(TrustAnswer::Trust),
        ("p" | "parent", _) if parent.is_some() => Ok(TrustAnswer::TrustParent),
        ("o" | "once", Offer::Everything) => Ok(TrustAnswer::TrustOnce),
        ("n" | "no", _) => Ok(TrustAnswer::Deny),
        // What was not answered is asked again the next time.
        ("s" | "skip" | "", _) => Ok(TrustAnswer::DenyOnce),
        _ => Err(String::new()),
    };
    let mut tty = Tty::open().ok()?;
    tty.show(&question).ok()?;
    let answer = tty.choose(&prompt, read).ok()?;
    Some(answer.unwrap_or(TrustAnswer::DenyOnce))
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
