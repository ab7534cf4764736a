//! What is there for the owner of a sandbox, and not for its children: below the shared temporary folders they have a folder of
//! their own.

use std::path::{Path, PathBuf};

use super::cause::shown;
use super::{Denial, DenialSubject, Evidence, SandboxFacts, is_inside};

const WRITE_ROOTS: &str = "sandbox.writeRoots";

/// Folders in whose place children find another one.
#[derive(Debug, Clone, Copy)]
pub struct StandIns<'a> {
    /// The folders in whose place children find another one, links resolved.
    pub places: &'a [PathBuf],
    /// What children find there, by its path outside.
    pub private: &'a Path,
    /// Where a path leads outside, links followed; `None` where nothing is there.
    pub real: fn(&Path) -> Option<PathBuf>,
}

/// Explains why something is not there, if it is outside. `name` is how a program calls the absolute `path`.
pub(super) fn explain_absent(facts: &SandboxFacts<'_>, name: &str, path: &Path) -> Option<Denial> {
    let stand_ins = facts.stand_ins?;
    let real = (stand_ins.real)(path)?;
    let place = stand_ins
        .places
        .iter()
        .find(|place| real.starts_with(place) && real != **place)?;
    let policy = facts.policy;
    let is_shown = is_inside(&real, facts.writable.iter().filter(|root| *root != place))
        || is_inside(
            &real,
            [&policy.working_folder].into_iter().chain(&policy.home),
        )
        || real.starts_with(stand_ins.private);
    let inside = stand_ins.private.join(real.strip_prefix(place).ok()?);
    if is_shown || (stand_ins.real)(&inside).is_some() {
        return None;
    }
    let root = match real.parent() {
        Some(parent) if parent != place && !real.is_dir() => parent,
        Some(_) | None => &real,
    };
    let what = if path == real {
        shown(name)
    } else {
        format!(
            "{}, which leads to {},",
            shown(name),
            shown(&real.to_string_lossy())
        )
    };
    Some(Denial {
        subject: DenialSubject::Path(PathBuf::from(name)),
        evidence: Evidence::Certain,
        setting: Some(WRITE_ROOTS),
        suggested: Some(root.display().to_string()),
        sentence: format!(
            "Sandbox: {what} exists, but commands do not find it: they have a {} of their own; setting {WRITE_ROOTS} to {} would show it.",
            place.display(),
            shown(&root.to_string_lossy())
        ),
    })
}

/// The words of a command or program that may be paths.
pub(super) fn paths_of_source(source: &str) -> impl Iterator<Item = &str> {
    source
        .split(|character: char| {
            character.is_whitespace() || "\"'`;|&()<>=,{}[]$".contains(character)
        })
        .filter(|word| word.contains('/') && !word.contains("//"))
}
