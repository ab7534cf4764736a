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
}

/// Which of the results are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// Results that are left out before the first.
    pub(crate) offset: usize,
    /// The most results, at least 1.
    pub(crate) limit: usize,
}

impl Window {
    /// From what a call gives. Eyes have a limit in any case.
    pub(crate) fn new(
        reader: Reader,
        offset: Option<i64>,
        limit: Option<i64>,
        default: usize,
    ) -> Self {
        let limit = match (limit, reader) {
            (Some(limit), _) => usize::try_from(limit.max(1)).unwrap_or(usize::MAX),
            (None, Reader::Eyes) => default,
            (None, Reader::Program) => usize::MAX,
        };
        let offset = usize::try_from(offset.unwrap_or(0).max(0)).unwrap_or(usize::MAX);
        Self { offset, limit }
    }

    /// The result after the last one.
    pub(crate) fn end(self) -> usize {
        self.offset.saturating_add(self.limit)
    }

    /// Says that there are more.
    pub(crate) fn notice(self, results: &str) -> String {
        format!(
            "{} {results} limit reached. Use limit={} for more, or offset={} for the next",
            self.limit,
            self.limit.saturating_mul(2),
            self.end()
        )
    }

    /// Says that there are none where there may be some before.
    pub(crate) fn nothing(self, nothing: &str) -> String {
        if self.offset == 0 {
            nothing.to_owned()
        } else {
            format!("{nothing} after the first {}", self.offset)
        }
    }
}

/// The result of a search for a program.
pub(crate) fn list(items: Vec<Value>) -> ToolResult {
    let text = format!("[The script has {} results]", items.len());
    ToolResult::text(text).with_structured(Value::Array(items))
}

/// Why a program gets nothing of too long a result.
pub(crate) fn too_long() -> ToolResult {
    ToolResult::over_limit(format!(
        "The results have more than {}, the most that one call gives to a script. Give limit and offset, or search in parts",
        format_size(SCRIPT_RESULT_BYTES_MAX as u64)
    ))
}
