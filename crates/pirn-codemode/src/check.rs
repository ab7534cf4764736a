//! What can be seen of a script's mistakes before it runs: names that nothing has, members that no result has, calls that were
//! not awaited, arguments that do not fit.
//!
//! Only what is certain is an error, what is likely is a note, and an error is only told in a script that can do something: one that names no tool fails where it fails. Code inside `try` is left to run, since it may expect to fail, and so is a script that reaches
//! names in ways that its text does not tell (`eval`, `with`, `globalThis`).

mod literal;
mod names;
mod uses;
mod visit;

use crate::host::{KnownTools, ScriptHost};
use crate::typescript::{Stripped, SyntaxError, mistake_at, strip_and_look};

/// What a script sees, for looking at it before it runs.
pub(crate) struct Surroundings<'e> {
    pub(crate) tools: &'e KnownTools,
    /// Globals of the host; the first part of `namespace.name`.
    pub(crate) globals: Vec<&'e str>,
    /// How the names of tools begin whose server is down; the script is told of those when it reads them.
    pub(crate) missing_prefixes: Vec<&'e str>,
    /// Says what is wrong with an argument.
    pub(crate) host: &'e dyn ScriptHost,
}

/// A mistake: its place in the script, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) offset: usize,
    /// The name of the error that running would have ended with.
    pub(crate) name: &'static str,
    pub(crate) message: String,
}

/// What is seen in a script.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// What cannot go well.
    pub(crate) mistakes: Vec<Mistake>,
    /// What most likely is not meant, by its place: it is told, and the script runs.
    pub(crate) doubts: Vec<(usize, String)>,
}

/// Mistakes told at once; more are most likely the same one.
const MISTAKES_TOLD_MAX: usize = 5;

/// Removes the types of a script and looks for its mistakes, in one reading. What is found is in the script's order; nothing is
/// found in one that is too large to be looked at.
pub(crate) fn strip_and_check(
    source: &str,
    surroundings: &Surroundings<'_>,
) -> Result<(Stripped, Findings), SyntaxError> {
    let (stripped, found) = strip_and_look(source, |program, text, start| {
        visit::findings(program, text, start, surroundings)
    })?;
    let Findings {
        mut mistakes,
        mut doubts,
    } = found.unwrap_or_default();
    mistakes.sort_by_key(|mistake| mistake.offset);
    mistakes.dedup();
    mistakes.truncate(MISTAKES_TOLD_MAX);
    doubts.sort();
    doubts.dedup();
    doubts.truncate(MISTAKES_TOLD_MAX);
    Ok((stripped, Findings { mistakes, doubts }))
}

/// The notes beside the result of a script that may not do what is meant.
pub(crate) fn notes(source: &str, doubts: &[(usize, String)]) -> Vec<String> {
    doubts
        .iter()
        .map(|(offset, message)| {
            let place = mistake_at(source, *offset, String::new());
            format!("Line {}, column {}: {message}.", place.line, place.column)
        })
        .collect()
}

/// The error of a script with mistakes: the first with its place, the others in a line each.
pub(crate) fn refusal(
    source: &str,
    mistakes: &[Mistake],
) -> Option<(&'static str, SyntaxError, Option<String>)> {
    let (first, others) = mistakes.split_first()?;
    let error = mistake_at(source, first.offset, first.message.clone());
    let others: Vec<String> = others
        .iter()
        .map(|other| {
            let place = mistake_at(source, other.offset, String::new());
            format!(
                "Line {}, column {}: {}",
                place.line, place.column, other.message
            )
        })
        .collect();
    Some((
        first.name,
        error,
        (!others.is_empty()).then(|| others.join("\n")),
    ))
}
