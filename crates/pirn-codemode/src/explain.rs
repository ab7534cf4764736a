//! Errors of the engine in the words of the script: what was called, what it was, and where that came from.
//!
//! The engine knows values and places, the script's text has the names. Nothing is looked at before an error is thrown.

mod absent;
mod sites;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use pirn_vm::{EngineError, Explainer};

use crate::javascript::{is_line_terminator, lines};
use crate::typescript::{frame_at, parsed};

use sites::{Named, Site};

/// The message about a name that is not defined.
pub(crate) fn absent_message(name: &str) -> String {
    absent::explain(name).unwrap_or_else(|| format!("{name} is not defined"))
}

/// A script's text, for errors that point into it.
pub(crate) struct ScriptText {
    /// As it was written, types and all; what runs has the same lines and columns.
    source: String,
    file_name: String,
    sites: OnceLock<BTreeMap<usize, Vec<Site>>>,
}

impl ScriptText {
    pub(crate) fn new(source: &str, file_name: &str) -> Arc<Self> {
        Arc::new(Self {
            source: source.to_owned(),
            file_name: file_name.to_owned(),
            sites: OnceLock::new(),
        })
    }

    /// What a VM asks before it throws an error.
    pub(crate) fn explainer(self: &Arc<Self>) -> Explainer {
        let text = Arc::clone(self);
        Explainer(Arc::new(move |error| text.explain(error)))
    }

    /// The lines around the innermost place of a stack, with a mark.
    pub(crate) fn frame(&self, stack: &str) -> Option<String> {
        let (line, column) = place(stack, &self.file_name)?;
        frame_at(&self.source, offset_of(&self.source, line, column)?)
    }

    fn explain(&self, error: EngineError<'_>) -> Option<String> {
        let offset = offset_of(&self.source, error.line, error.column)?;
        if let Some(name) = error.message.strip_suffix(" is not defined") {
            return absent::explain(name);
        }
        let sites = self
            .sites
            .get_or_init(|| parsed(&self.source, sites::find).unwrap_or_default());
        let at = sites.get(&offset)?;
        let find = |wanted: fn(&Site) -> bool| at.iter().find(|site| wanted(site));
        if error.message == "not a function" || error.message.ends_with("not a constructor") {
            return match find(|site| matches!(site, Site::Call { .. }))? {
                Site::Call {
                    callee,
                    object,
                    method,
                    is_new,
                } => Some(not_callable(
                    error,
                    callee,
                    object.as_ref(),
                    method.as_deref(),
                    *is_new,
                )),
                Site::Member { .. }
                | Site::Iterated(_)
                | Site::Destructured(_)
                | Site::Operator => None,
            };
        }
        if let Some(rest) = error.message.strip_prefix("cannot read property '") {
            return self.explain_read(rest, offset, sites);
        }
        if error.message == "value is not iterable" {
            return at.iter().find_map(|site| match site {
                Site::Iterated(named) | Site::Destructured(named) => Some(format!(
                    "{} is not iterable: it is {}{}{}",
                    named.text,
                    error.value,
                    from(named),
                    if error.value == "a promise" {
                        "; await it first"
                    } else {
                        ""
                    }
                )),
                Site::Call { .. } | Site::Member { .. } | Site::Operator => None,
            });
        }
        if error.message == "Cannot convert undefined or null to object" {
            return at.iter().find_map(|site| match site {
                Site::Destructured(named) => Some(format!(
                    "cannot destructure {}: it is {}{}",
                    named.text,
                    if error.value.is_empty() {
                        "undefined or null"
                    } else {
                        error.value
                    },
                    from(named)
                )),
                Site::Call { .. } | Site::Member { .. } | Site::Iterated(_) | Site::Operator => {
                    None
                }
            });
        }
        if error.message == "cannot convert BigInt to number"
            && find(|site| matches!(site, Site::Operator)).is_some()
        {
            return Some(
                "cannot mix a BigInt and a number: write numbers as BigInts, such as 1n, or convert with Number(value) where digits may be lost"
                    .to_owned(),
            );
        }
        None
    }

    /// What is read of nothing; `rest` is the member, and what it is read of.
    fn explain_read(
        &self,
        rest: &str,
        offset: usize,
        sites: &BTreeMap<usize, Vec<Site>>,
    ) -> Option<String> {
        let (member, what) = rest.rsplit_once("' of ")?;
        if member == ITERATOR {
            return sites.get(&offset)?.iter().find_map(|site| match site {
                Site::Iterated(named) | Site::Destructured(named) => Some(format!(
                    "{} is not iterable: it is {what}{}",
                    named.text,
                    from(named)
                )),
                Site::Call { .. } | Site::Member { .. } | Site::Operator => None,
            });
        }
        // `call()[0]` is told at the place of the call: the access is the next one of the line that reads such a member.
        let line_end = lines(self.source.get(offset..)?)
            .next()
            .map_or(offset, |line| offset + line.len());
        let reads = |site: &Site| match site {
            Site::Member {
                object,
                member: name,
            } => name
                .as_ref()
                .is_none_or(|name| name == member)
                .then(|| object.clone()),
            Site::Call { .. } | Site::Iterated(_) | Site::Destructured(_) | Site::Operator => None,
        };
        let object = sites
            .range(offset..=line_end)
            .find_map(|(_, sites)| sites.iter().find_map(reads))?;
        Some(format!(
            "cannot read property '{member}' of {what}: {} is {what}{}",
            object.text,
            from(&object)
        ))
    }
}

/// What the engine reads of a value to go over it.
const ITERATOR: &str = "Symbol.iterator";

/// Methods of lists, which a text has not.
const LIST_METHODS: [&str; 14] = [
    "map",
    "filter",
    "forEach",
    "find",
    "some",
    "every",
    "reduce",
    "flatMap",
    "join",
    "push",
    "sort",
    "findIndex",
    "entries",
    "flat",
];

fn not_callable(
    error: EngineError<'_>,
    callee: &Named,
    object: Option<&Named>,
    method: Option<&str>,
    is_new: bool,
) -> String {
    let kind = if is_new { "constructor" } else { "function" };
    let text = &callee.text;
    if error.is_from_builtin {
        return format!("{text}: an argument that must be a function is none");
    }
    match object {
        Some(object) if error.value == "undefined" && !is_new => {
            let receiver = error.receiver;
            let advice = match method {
                Some(method) if receiver == "a string" && LIST_METHODS.contains(&method) => {
                    format!(
                        "; make a list of it first, such as {}.split(\"\\n\")",
                        object.text
                    )
                }
                _ => String::new(),
            };
            format!(
                "{text} is not a {kind}: {} is {receiver}{}{advice}",
                object.text,
                from(object)
            )
        }
        _ => format!(
            "{text} is not a {kind}: it is {}{}",
            error.value,
            from(callee)
        ),
    }
}

fn from(named: &Named) -> String {
    named
        .origin
        .as_ref()
        .map_or_else(String::new, |origin| format!(", from {origin}"))
}

/// The first place in the script that a stack names.
fn place(stack: &str, file_name: &str) -> Option<(u32, u32)> {
    stack.lines().skip(1).find_map(|line| {
        let (_, after) = line.rsplit_once(&format!("{file_name}:"))?;
        let mut numbers = after.trim_end_matches(')').splitn(2, ':');
        let (line, column) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
        // Line 0 is the wrapper's.
        (line > 0).then_some((line, column))
    })
}

/// The byte offset of a line and a column in UTF-16 units, both from 1.
fn offset_of(source: &str, line: u32, column: u32) -> Option<usize> {
    let text = lines(source).nth(usize::try_from(line).ok()?.checked_sub(1)?)?;
    // `lines` gives parts of the source.
    let start = (text.as_ptr() as usize).checked_sub(source.as_ptr() as usize)?;
    let mut left = usize::try_from(column).ok()?.checked_sub(1)?;
    for (at, character) in text.char_indices() {
        if left < character.len_utf16() || is_line_terminator(character) {
            return Some(start + at);
        }
        left -= character.len_utf16();
    }
    Some(start + text.len())
}
