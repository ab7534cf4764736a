//! The decision about a project for one command, with the question where it is needed.

use std::path::Path;

use crate::arguments::ApprovalArguments;
use crate::consent::Asking;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::standard;
use pirn_settings::{
    DefaultTrust, ProjectFile, ProjectFileKind, Reason, StoreError, Trust, TrustAnswer, TrustCase,
    TrustStore, UserFolders, Verdict, resolve,
};
use pirn_terminal::Tty;
use pirn_terminal::on_one_line;

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
    let folder = real_path(folder)?;
    let gated = ProjectFile::find(&folder, kinds, &owner(invocation));
    if gated.is_empty() {
        // There is nothing that could be loaded.
        return Ok(Trust::Trusted);
    }
    let store = TrustStore::new(invocation.host.pirn_home.as_deref());
    let case = TrustCase {
        folder: &folder,
        gated: &gated,
        flag: approval.flag(),
        default_trust: DefaultTrust::Ask,
        store: &store,
    };
    let verdict = resolve(&case, || match invocation.asking() {
        Asking::Possible => ask(&folder, &gated, Offer::Everything),
        Asking::Impossible => None,
    })
    .map_err(unusable)?;
    if verdict.reason == Reason::Undecided {
        let names: Vec<String> = gated.iter().map(|file| shown(file, &folder)).collect();
        standard::note(&format!(
            "{} in {} was not loaded, since nobody has said whether to trust the folder; `pirn trust` decides, \
             --approve trusts it for one run",
            names.join(", "),
            on_one_line(&folder.to_string_lossy())
        ));
    }
    Ok(verdict.trust)
}

/// What counts for the project's files of these kinds, as far as it is known without asking.
pub(crate) fn current(
    folder: &Path,
    kinds: &[ProjectFileKind],
    invocation: &Invocation,
) -> Result<Verdict, StoreError> {
    // A folder that is gone has nothing that could be loaded.
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let gated = ProjectFile::find(&folder, kinds, &owner(invocation));
    let store = TrustStore::new(invocation.host.pirn_home.as_deref());
    let case = TrustCase {
        folder: &folder,
        gated: &gated,
        flag: None,
        default_trust: DefaultTrust::Ask,
        store: &store,
    };
    resolve(&case, || None)
}

/// Puts the question. `None` without a terminal.
pub(super) fn ask(folder: &Path, gated: &[ProjectFile], offer: Offer) -> Option<TrustAnswer> {
    let shown = on_one_line(&folder.to_string_lossy());
    let mut question = format!("\u{1b}[0mDo you trust {shown}? Its files steer what Pirn does:\n");
    question.extend(gated.iter().map(|file| row(file, folder)));
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

pub(super) fn owner(invocation: &Invocation) -> UserFolders<'_> {
    UserFolders {
        home: invocation.host.home.as_deref(),
        pirn_home: invocation.host.pirn_home.as_deref(),
    }
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
