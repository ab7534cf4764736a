//! What can be seen of a script's mistakes before it runs: names that nothing has, members that no result has, calls that were
//! not awaited, arguments that do not fit.
//!
//! Only what is certain is an error, and only in a script that can do something: one that names no tool fails where it fails. Code inside `try` is left to run, since it may expect to fail, and so is a script that reaches
//! names in ways that its text does not tell (`eval`, `with`, `globalThis`).

mod literal;
mod names;
mod visit;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::shape::ResultShape;
use crate::typescript::{SyntaxError, mistake_at, parsed};

/// What a script sees, for looking at it before it runs.
#[derive(Default)]
pub(crate) struct Surroundings {
    /// Members of `tools`, by identifier and by name.
    pub(crate) tools: BTreeMap<String, KnownTool>,
    /// Their identifiers, in the order of `ALL_TOOLS`.
    pub(crate) listed: Vec<String>,
    /// Globals of the host; the first part of `namespace.name`.
    pub(crate) globals: Vec<String>,
    /// How the names of tools begin whose server is down; the script is told of those when it reads them.
    pub(crate) missing_prefixes: Vec<String>,
}

/// What is known of a tool.
#[derive(Clone, Default)]
pub(crate) struct KnownTool {
    pub(crate) result: ResultShape,
    /// Says what is wrong with an argument; nothing where it fits.
    pub(crate) arguments: Option<ArgumentCheck>,
}

/// Says what is wrong with an argument; nothing where it fits.
pub(crate) type ArgumentCheck = Arc<dyn Fn(&Value) -> Option<String> + Send + Sync>;

/// A mistake: its place in the script, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) offset: usize,
    /// The name of the error that running would have ended with.
    pub(crate) name: &'static str,
    pub(crate) message: String,
}

/// Mistakes told at once; more are most likely the same one.
const MISTAKES_TOLD_MAX: usize = 5;

/// The mistakes of a script, in its order. None for one that is too large to be looked at.
pub(crate) fn mistakes(source: &str, surroundings: &Surroundings) -> Vec<Mistake> {
    let found = parsed(source, |program, text, start| {
        visit::mistakes(program, text, start, surroundings)
    });
    let mut mistakes = found.unwrap_or_default();
    mistakes.sort_by_key(|mistake| mistake.offset);
    mistakes.dedup();
    mistakes.truncate(MISTAKES_TOLD_MAX);
    mistakes
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
