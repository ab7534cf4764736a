//! Who reads a result, and how much of it.

use pirn_tool::{Origin, ToolResult};
use serde_json::Value;

use crate::limits::format_size;

/// The most text that one call gives to a script: it fits a script's memory twice, with room for work on it.
pub const SCRIPT_RESULT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Who reads a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A model or a person, who reads a part with profit and a notice of what is left.
    Eyes,
    /// A program, which gets all or an error.
    Program,
}

impl Reader {
    pub(crate) fn of(origin: Origin) -> Self {
        match origin {
            Origin::Model | Origin::User | Origin::Extension => Self::Eyes,
            Origin::Nested => Self::Program,
        }
    }

    /// A limit on the number of results as given, at least 1. Eyes have one in any case.
    pub(crate) fn limit(self, given: Option<i64>, default: usize) -> usize {
        match (given, self) {
            (Some(limit), _) => usize::try_from(limit.max(1)).unwrap_or(usize::MAX),
            (None, Self::Eyes) => default,
            (None, Self::Program) => usize::MAX,
        }
    }
}

/// The result of a search for a program.
pub(crate) fn list(items: Vec<Value>) -> ToolResult {
    let text = format!("[The script has {} results]", items.len());
    ToolResult::text(text).with_structured(Value::Array(items))
}

/// Why a program gets nothing of too long a result.
pub(crate) fn too_long() -> String {
    format!(
        "The results have more than {}, the most that one call gives to a script. Give a limit, or search in parts",
        format_size(SCRIPT_RESULT_BYTES_MAX as u64)
    )
}
