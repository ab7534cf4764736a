//! What a project's settings may change.

use std::path::{Path, PathBuf};

use crate::document::{Document, Given, set};
use crate::rows::{Kind, ProjectRule};
use crate::settings::{Loaded, Paths};
use crate::source::Layer;
use crate::table::Severity;
use crate::values::Settings;

/// Makes the user's settings stricter by a project's file. What would make them weaker is left out and noted.
pub(crate) fn apply_stricter(document: &Document, paths: &Paths<'_>, loaded: &mut Loaded) {
    let user = loaded.settings.clone();
    for given in &document.given {
        let mut asked = loaded.settings.clone();
        if let Err(message) = set(given, Layer::Project, paths, &mut asked) {
            let problem = document.problem(Severity::Error, given, &message);
            loaded.problems.push(problem);
            continue;
        }
        let refused = admit(given, &user, &mut asked);
        let key = given.row.key;
        let source = document.source(Layer::Project, given);
        match &refused {
            Some(Refused::Everything(_)) => {}
            Some(Refused::Entries(_)) | None => {
                loaded.settings = asked;
                match given.row.project {
                    ProjectRule::Adds => loaded.sources.add(key, source),
                    ProjectRule::Free
                    | ProjectRule::User
                    | ProjectRule::Strictness(_)
                    | ProjectRule::Covered(_) => loaded.sources.replace(key, source),
                }
            }
        }
        if let Some(refused) = refused {
            let problem = document.problem(Severity::Note, given, &refused.message());
            loaded.problems.push(problem);
        }
    }
}

/// Why a project's value would not count in full besides these settings of the user's, if it would not.
pub(crate) fn refusal(given: &Given, user: &Settings, paths: &Paths<'_>) -> Option<String> {
    let mut asked = user.clone();
    match set(given, Layer::Project, paths, &mut asked) {
        Ok(()) => admit(given, user, &mut asked).map(|refused| refused.message()),
        Err(message) => Some(message),
    }
}

/// What of a project's value does not count.
enum Refused {
    /// All of it, for this reason.
    Everything(&'static str),
    /// These entries of a list.
    Entries(Vec<String>),
}

impl Refused {
    fn message(&self) -> String {
        match self {
            Self::Everything(reason) => format!("is ignored: {reason}"),
            Self::Entries(entries) => {
                let quoted: Vec<String> = entries.iter().map(|e| format!("\"{e}\"")).collect();
                format!(
                    "{} is ignored: a project can only take away from what your own settings allow",
                    quoted.join(", ")
                )
            }
        }
    }
}

/// Checks what a project asks for against the user's settings, and takes out of `asked` what is too much.
fn admit(given: &Given, user: &Settings, asked: &mut Settings) -> Option<Refused> {
    match &given.row.project {
        ProjectRule::Free => None,
        ProjectRule::User => Some(Refused::Everything("only your own settings decide it")),
        ProjectRule::Strictness(rank) => (rank(asked) < rank(user)).then_some(Refused::Everything(
            "it is weaker than your own settings, and a project can only make them stricter",
        )),
        ProjectRule::Adds => {
            given.row.keep_entries(user, asked);
            None
        }
        ProjectRule::Covered(is_covered) => {
            let left_out = match &given.row.kind {
                Kind::Texts(_, list) => keep(list(asked), |text: &String| {
                    is_covered(user, Path::new(text))
                }),
                Kind::Paths(list) => keep(list(asked), |path: &PathBuf| is_covered(user, path))
                    .iter()
                    .map(|path| path.display().to_string())
                    .collect(),
                Kind::Word(..) | Kind::Flag(_) | Kind::Whole(..) | Kind::Program(_) => Vec::new(),
            };
            (!left_out.is_empty()).then_some(Refused::Entries(left_out))
        }
    }
}

/// Keeps the entries that are covered, and returns the others.
fn keep<T>(entries: &mut Vec<T>, is_covered: impl Fn(&T) -> bool) -> Vec<T> {
    let (kept, left_out) = std::mem::take(entries)
        .into_iter()
        .partition(|entry| is_covered(entry));
    *entries = kept;
    left_out
}
