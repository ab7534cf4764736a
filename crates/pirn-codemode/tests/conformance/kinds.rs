//! What each kind of case runs.

mod catalog;
mod declaration;
mod names;
mod search;
mod source;

use serde_json::Value;

use crate::cases::CaseFolder;

/// Runs the input of a case. The error says why it could not be run at all.
pub type Run = fn(&Value, &CaseFolder) -> Result<Value, String>;

/// How a kind of case is run.
#[derive(Debug, Clone, Copy)]
pub enum Runner {
    Ready(Run),
    /// What the cases need is not built yet.
    Pending,
}

/// Every kind of case.
const KINDS: [(&str, Runner); 7] = [
    ("catalog", Runner::Ready(catalog::run)),
    ("declaration", Runner::Ready(declaration::run)),
    ("layout", Runner::Pending),
    ("names", Runner::Ready(names::run)),
    ("script", Runner::Pending),
    ("search", Runner::Ready(search::run)),
    ("source", Runner::Ready(source::run)),
];

/// Looks a kind up.
pub fn runner(kind: &str) -> Option<Runner> {
    KINDS.into_iter().find(|(name, _)| *name == kind).map(|(_, runner)| runner)
}

/// A member that must be a string.
fn text<'a>(case: &'a Value, key: &str) -> Result<&'a str, String> {
    case.get(key).and_then(Value::as_str).ok_or_else(|| format!("\"{key}\" must be a string"))
}

/// A member that may be missing and is else a whole number.
fn count(case: &Value, key: &str) -> Result<Option<usize>, String> {
    let Some(value) = case.get(key) else { return Ok(None) };
    let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
    number.map(Some).ok_or_else(|| format!("\"{key}\" must be a whole number"))
}
