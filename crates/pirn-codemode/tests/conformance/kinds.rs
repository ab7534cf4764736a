//! What each kind of case runs.

mod catalog;
mod declaration;
mod host;
mod layout;
mod names;
mod script;
mod search;
mod source;

use std::sync::OnceLock;

use pirn_vm::{EngineOptions, VmEngine};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::cases::CaseFolder;

/// Runs the input of a case. The error says why it could not be run at all.
pub(crate) type Run = fn(&Value, &CaseFolder) -> Result<Value, String>;

/// Every kind of case.
const KINDS: [(&str, Run); 7] = [
    ("catalog", catalog::run),
    ("declaration", declaration::run),
    ("layout", layout::run),
    ("names", names::run),
    ("script", script::run),
    ("search", search::run),
    ("source", source::run),
];

/// Looks a kind up.
pub(crate) fn runner(kind: &str) -> Option<Run> {
    KINDS
        .into_iter()
        .find(|(name, _)| *name == kind)
        .map(|(_, runner)| runner)
}

/// A member that must be a string.
fn text<'a>(case: &'a Value, key: &str) -> Result<&'a str, String> {
    case.get(key)
        .and_then(Value::as_str)
        .ok_or_else(|| format!("\"{key}\" must be a string"))
}

/// A member that may be missing and is else a whole number.
fn count(case: &Value, key: &str) -> Result<Option<usize>, String> {
    let Some(value) = case.get(key) else {
        return Ok(None);
    };
    let number = value
        .as_u64()
        .and_then(|number| usize::try_from(number).ok());
    number
        .map(Some)
        .ok_or_else(|| format!("\"{key}\" must be a whole number"))
}

/// One engine for all cases, as in a product.
fn engine() -> &'static VmEngine {
    static ENGINE: OnceLock<VmEngine> = OnceLock::new();
    ENGINE.get_or_init(|| VmEngine::new(EngineOptions::default()).expect("the engine starts"))
}

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime")
    })
}
