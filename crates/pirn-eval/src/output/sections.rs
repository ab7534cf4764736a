//! The text of a result: what went wrong first, then standard output, standard error and the value.

use std::fmt::Write as _;

use serde_json::Value;

use crate::outcome::{EvalFailure, EvalFailureKind, EvalOutcome, KernelState};

/// The text of an eval that put out nothing at all.
const NOTHING: &str = "The program ended without output and without a value.";
/// Places named where the value could not be given whole.
const LOSSY_SHOWN_MAX: usize = 8;
/// Stands where a text was cut; the number of bytes comes in between.
const MARKER: (&str, &str) = ("\n[… ", " bytes cut]");
/// The longest marker: with all digits of a number.
const MARKER_BYTES_MAX: usize = MARKER.0.len() + 20 + MARKER.1.len();

/// The text of an eval that was not run.
pub(super) fn refused(failure: &EvalFailure, bytes_max: usize) -> (String, bool) {
    join(
        vec![Section::plain(format!(
            "{}: {}",
            failure.kind.as_str(),
            failure.message
        ))],
        bytes_max,
    )
}

/// The text of an eval that ran.
pub(super) fn ran(outcome: &EvalOutcome, bytes_max: usize) -> (String, bool) {
    let mut sections = Vec::new();
    if let Some(failure) = &outcome.failure {
        sections.push(Section::plain(headline(outcome, failure)));
        sections.extend(
            failure
                .trace
                .as_deref()
                .map(|trace| Section::new("trace", trace)),
        );
    }
    sections.push(Section::new("stdout", &outcome.stdout));
    sections.push(Section::new("stderr", &outcome.stderr));
    if let Some(value) = outcome_text(outcome) {
        sections.push(Section::new("result", &value));
    }
    sections.push(Section::plain(notes(outcome)));
    sections.retain(|section| !section.text.is_empty());
    if sections.is_empty() && outcome.displays.is_empty() {
        return (NOTHING.to_owned(), false);
    }
    join(sections, bytes_max)
}

/// The value of an outcome as people read it: as its author would print it where that says more.
pub(super) fn outcome_text(outcome: &EvalOutcome) -> Option<String> {
    match (&outcome.value_text, &outcome.value) {
        (Some(text), _) => Some(text.clone()),
        (None, value) => value.as_ref().map(value_text),
    }
}

/// A value as people read it: strings raw, everything else as indented JSON.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => format!("{other:#}"),
    }
}

/// What went wrong, with the calls first: a model has to know what happened before it tries again.
fn headline(outcome: &EvalOutcome, failure: &EvalFailure) -> String {
    let mut line = failure.kind.as_str().to_owned();
    if failure.kind == EvalFailureKind::UserError || !outcome.calls.is_empty() {
        let plural = if outcome.calls.len() == 1 { "" } else { "s" };
        let _infallible = write!(
            line,
            " after {} capability call{plural}",
            outcome.calls.len()
        );
    }
    let _infallible = write!(line, ": {}", failure.message);
    let state = match outcome.state {
        KernelState::Committed => return line,
        KernelState::Unchanged => "`state` is as it was before this program.",
        KernelState::Mutated => "`state` has the changes that were made until then.",
        KernelState::Lost => "`state` is lost; the next program starts with an empty one.",
    };
    line.push('\n');
    line.push_str(state);
    line
}

/// What is not seen from the rest.
fn notes(outcome: &EvalOutcome) -> String {
    let mut notes = Vec::new();
    if !outcome.lossy.is_empty() {
        let shown: Vec<&str> = outcome
            .lossy
            .iter()
            .take(LOSSY_SHOWN_MAX)
            .map(String::as_str)
            .collect();
        let more = outcome.lossy.len().saturating_sub(LOSSY_SHOWN_MAX);
        let more = if more == 0 {
            String::new()
        } else {
            format!(" and {more} more")
        };
        notes.push(format!(
            "[the value was converted: {}{more}]",
            shown.join("; ")
        ));
    }
    notes.extend(outcome.notes.iter().map(|note| format!("[{note}]")));
    notes.join("\n")
}

/// A part of the text.
struct Section {
    title: &'static str,
    text: String,
}

impl Section {
    fn plain(text: String) -> Self {
        Self { title: "", text }
    }

    fn new(title: &'static str, text: &str) -> Self {
        Self {
            title,
            text: text.trim_end_matches('\n').to_owned(),
        }
    }

    fn overhead(&self) -> usize {
        // The title with its colon and line feed, and the blank line before the next section.
        self.title.len() + 4
    }
}

/// Joins sections with blank lines, in at most `bytes_max` bytes. Short sections stay whole: what is left of the room is shared
/// by the long ones, so that much output does not push out the value or the error.
fn join(sections: Vec<Section>, bytes_max: usize) -> (String, bool) {
    let overhead: usize = sections.iter().map(Section::overhead).sum();
    let share = share(
        sections.iter().map(|section| section.text.len()).collect(),
        bytes_max.saturating_sub(overhead),
    );
    let mut is_cut = false;
    let mut joined = String::new();
    for section in sections {
        if !joined.is_empty() {
            joined.push_str("\n\n");
        }
        if !section.title.is_empty() {
            let _infallible = writeln!(joined, "{}:", section.title);
        }
        is_cut |= push_cut(&mut joined, &section.text, share);
    }
    (joined, is_cut)
}

/// The most that one section may take so that all of them fit into `room`.
fn share(mut sizes: Vec<usize>, room: usize) -> usize {
    sizes.sort_unstable();
    let mut left = room;
    let count = sizes.len();
    for (index, size) in sizes.into_iter().enumerate() {
        let share = left / (count - index);
        if size > share {
            return share;
        }
        left -= size;
    }
    usize::MAX
}

/// Appends a text, cut at a character's boundary with a marker where it is longer than `bytes_max`.
fn push_cut(target: &mut String, text: &str, bytes_max: usize) -> bool {
    if text.len() <= bytes_max {
        target.push_str(text);
        return false;
    }
    let kept_max = bytes_max.saturating_sub(MARKER_BYTES_MAX);
    let kept = text
        .get(..text.floor_char_boundary(kept_max))
        .unwrap_or_default();
    target.push_str(kept);
    let (before, after) = MARKER;
    let _infallible = write!(target, "{before}{}{after}", text.len() - kept.len());
    true
}
