//! Code that sees every call before and after it runs, whoever makes it.

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::content::{ContentBlock, ToolResult, Usage};
use crate::context::Origin;

/// A call as hooks see it.
#[derive(Debug, Clone, Copy)]
pub struct HookCall<'a> {
    /// The call's id: `<parent>/<n>` for nested calls.
    pub call_id: &'a str,
    /// The id of the call that made this one.
    pub parent_call_id: Option<&'a str>,
    /// The tool's name, as the caller gave it.
    pub tool_name: &'a str,
    /// Who made the call.
    pub origin: Origin,
}

/// What a before-hook decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeforeVerdict {
    /// Go on, with the arguments as they now are. They are not validated again.
    Continue,
    /// Do not run the call; the reason becomes the error text.
    Block {
        /// Why; empty for the default text.
        reason: String,
    },
}

/// What an after-hook changes; every field that is `None` stays as it is.
#[derive(Debug, Clone, Default)]
pub struct ResultChange {
    /// New content. Without new structured content the old one is dropped, since it may hold what was taken out.
    pub content: Option<Vec<ContentBlock>>,
    /// New structured content; `Some(None)` removes it.
    pub structured: Option<Option<Value>>,
    /// New details for front ends.
    pub details: Option<Value>,
    /// Whether the call counts as failed from now on.
    pub is_error: Option<bool>,
    /// What the call is said to have cost.
    pub usage: Option<Usage>,
}

impl ResultChange {
    pub(crate) fn apply(self, result: &mut ToolResult) {
        if let Some(content) = self.content {
            result.content = content;
            result.structured = None;
        }
        if let Some(structured) = self.structured {
            result.structured = structured;
        }
        if let Some(details) = self.details {
            result.details = Some(details);
        }
        if let Some(is_error) = self.is_error {
            result.is_error = is_error;
        }
        if let Some(usage) = self.usage {
            result.usage = Some(usage);
        }
    }
}

/// Code around every call. Both methods do nothing by default.
pub trait Hook: Send + Sync {
    /// Runs after validation and before policy; may change the arguments in place or block. An error blocks.
    fn before<'a>(
        &'a self,
        _call: HookCall<'a>,
        _arguments: &'a mut Value,
    ) -> BoxFuture<'a, Result<BeforeVerdict, String>> {
        Box::pin(std::future::ready(Ok(BeforeVerdict::Continue)))
    }

    /// Runs after every call, also one that failed, was blocked or denied. An error turns the result into an error.
    fn after<'a>(
        &'a self,
        _call: HookCall<'a>,
        _result: &'a ToolResult,
    ) -> BoxFuture<'a, Result<ResultChange, String>> {
        Box::pin(std::future::ready(Ok(ResultChange::default())))
    }
}
