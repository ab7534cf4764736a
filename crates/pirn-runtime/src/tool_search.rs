//! The tool `tool_search`, which finds tools that are not declared and declares them.

use futures_util::future::BoxFuture;
use pirn_tool::{
    CallContext, Effects, Exposure, Tool, ToolHandler, ToolResult, ToolSpec, search_tools,
};
use serde_json::{Value, json};

use crate::client::Client;

/// The tool's name towards models.
pub const TOOL_SEARCH_NAME: &str = "tool_search";
/// Tools that one search declares unless it asks for another number.
const LIMIT_DEFAULT: usize = 8;
/// Tools that one search declares at most: each is declared with its whole schema.
const LIMIT_MAX: u64 = 64;

/// Its description does not depend on the tools that there are, so that it stays the same while servers come and go.
const DESCRIPTION: &str = "\
Searches the tools that are not declared to you, by what they do, and declares the best matches: from your next reply on you can \
call them like your other tools. Use the words of the task.";

impl Client {
    /// Gives this client the tool `tool_search`. What it finds is declared to this client only.
    pub fn offer_tool_search(&self) {
        let spec = ToolSpec::new(TOOL_SEARCH_NAME, DESCRIPTION)
            .input_schema(json!({
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "What the tool should do, or its name."},
                    "limit": {
                        "type": "integer", "minimum": 1, "maximum": LIMIT_MAX,
                        "description": format!("Tools to declare at most; {LIMIT_DEFAULT} by default."),
                    },
                },
                "required": ["query"],
            }))
            .exposure(Exposure::ModelOnly)
            .effects(Effects::NONE);
        self.registry().register(Tool::new(spec, ToolSearch));
    }
}

struct ToolSearch;

impl ToolHandler for ToolSearch {
    fn call(&self, arguments: Value, context: CallContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { search(&arguments, &context) })
    }
}

fn search(arguments: &Value, context: &CallContext) -> ToolResult {
    let Some(pipeline) = context.pipeline() else {
        return ToolResult::error("tool_search needs a pipeline whose tools it searches");
    };
    let query = arguments["query"].as_str().unwrap_or_default().trim();
    if query.is_empty() {
        return ToolResult::error("the query is empty; say what the tool should do");
    }
    let limit = arguments["limit"]
        .as_u64()
        .and_then(|limit| usize::try_from(limit).ok())
        .unwrap_or(LIMIT_DEFAULT);
    let registry = pipeline.registry();
    let active = registry.active();
    let is_active = |tool: &Tool| {
        active
            .iter()
            .any(|active| active.spec().name == tool.spec().name)
    };
    let mut candidates = registry.callable();
    candidates.retain(|tool| tool.spec().exposure != Exposure::Direct && !is_active(tool));
    let found: Vec<&Tool> = search_tools(&candidates, query, None, limit)
        .iter()
        .filter_map(|ranked| candidates.get(ranked.index))
        .collect();
    let names: Vec<&str> = found.iter().map(|tool| tool.spec().name.as_str()).collect();
    registry.load(&names);
    let mut lines = vec![match names.len() {
        0 => format!("No tool that is not declared yet fits \"{query}\"."),
        1 => "1 tool is declared from now on:".to_owned(),
        count => format!("{count} tools are declared from now on:"),
    }];
    lines.extend(found.iter().map(|tool| {
        let spec = tool.spec();
        let description = spec.description.trim().lines().next().unwrap_or_default();
        format!("- {}: {description}", spec.name)
    }));
    ToolResult {
        details: Some(json!({"loaded": names})),
        ..ToolResult::text(lines.join("\n"))
    }
}

#[cfg(test)]
mod tests;
