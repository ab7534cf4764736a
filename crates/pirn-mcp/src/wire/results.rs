//! From the JSON of a result to the library's type, by the method of its request.
//!
//! The library's own union of all results is tried in order and knows no method; an answer could become another one's. Here the
//! method decides. For the results that callers read as JSON, the typed form only keeps the library going: where the real one
//! does not fit, a smaller one takes its place.

use rmcp::model::{
    CallToolResult, CreateTaskResult, DiscoverResult, EmptyResult, GetPromptResult,
    InitializeResult, InputRequiredResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, ReadResourceResult, ServerResult,
    SubscriptionsListenResult, Tool,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::method::Method;
use super::repair::{Repairs, content, contents, handshake, lists, peer, tools};
use super::requests::Open;

/// Contents of messages larger than this are not typed: nobody reads them there, and the library may copy them several times.
const TYPED_BYTES_MAX: usize = 64 << 10;

/// Repairs a result, of a message of so many bytes, and gives its typed form; the error says at which member it does not fit.
pub(super) fn typed(
    open: &Open,
    bytes: usize,
    result: &mut Value,
    repairs: &mut Repairs,
) -> Result<ServerResult, String> {
    if let Some(result) = typed_by_kind(open.method, result, repairs) {
        return result;
    }
    Ok(match open.method {
        Method::Initialize => {
            handshake::initialize(result, repairs);
            fit::<InitializeResult>(result)?.into()
        }
        Method::Discover => {
            handshake::discover(result, repairs);
            fit::<DiscoverResult>(result)?.into()
        }
        Method::ListTools => {
            tools::list(result, repairs);
            list_tools(result).into()
        }
        Method::CallTool => call_tool(result, bytes, repairs).into(),
        Method::ListResources => {
            lists::resources(result, repairs);
            fit_or_stand_in::<ListResourcesResult>(result).into()
        }
        Method::ListResourceTemplates => {
            lists::resource_templates(result, repairs);
            fit_or_stand_in::<ListResourceTemplatesResult>(result).into()
        }
        Method::ReadResource => {
            let uri = open.uri.as_deref().unwrap_or_default();
            contents::read_resource(result, uri, repairs);
            let typed = (bytes <= TYPED_BYTES_MAX)
                .then(|| ReadResourceResult::deserialize(&*result).ok())
                .flatten();
            typed
                .unwrap_or_else(|| ReadResourceResult::new(Vec::new()))
                .into()
        }
        Method::ListPrompts => {
            lists::prompts(result, repairs);
            fit_or_stand_in::<ListPromptsResult>(result).into()
        }
        Method::GetPrompt => {
            contents::get_prompt(result, repairs);
            fit_or_stand_in::<GetPromptResult>(result).into()
        }
        Method::Listen => SubscriptionsListenResult::deserialize(&*result)
            .unwrap_or_else(|_| SubscriptionsListenResult::complete(open.id.clone()))
            .into(),
        Method::Acknowledged => ServerResult::EmptyResult(EmptyResult {}),
        Method::Other => fit(result)?,
    })
}

/// Results that are not yet what was asked for: the server wants input first, or made a task of it.
fn typed_by_kind(
    method: Method,
    result: &mut Value,
    repairs: &mut Repairs,
) -> Option<Result<ServerResult, String>> {
    if !matches!(
        method,
        Method::CallTool | Method::GetPrompt | Method::ReadResource
    ) {
        return None;
    }
    match result.get("resultType")?.as_str()? {
        "input_required" => {
            if let Ok(fitting) = InputRequiredResult::deserialize(&*result) {
                return Some(Ok(fitting.into()));
            }
            peer::input_required(result, repairs);
            Some(fit::<InputRequiredResult>(result).map(ServerResult::from))
        }
        "task" => Some(fit::<CreateTaskResult>(result).map(ServerResult::from)),
        _ => None,
    }
}

fn fit<T: DeserializeOwned>(result: &Value) -> Result<T, String> {
    if let Ok(fitting) = T::deserialize(result) {
        return Ok(fitting);
    }
    // Once more, with a record of the path.
    serde_path_to_error::deserialize(result).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        if path == "." {
            error.to_string()
        } else {
            format!("{path}: {error}")
        }
    })
}

fn fit_or_stand_in<T: DeserializeOwned + Default>(result: &Value) -> T {
    T::deserialize(result).unwrap_or_default()
}

/// The transport reads from the typed list which arguments are to be repeated as headers, so every tool has to be in it.
fn list_tools(result: &Value) -> ListToolsResult {
    ListToolsResult::deserialize(result).unwrap_or_else(|_| {
        let tools = result.get("tools").and_then(Value::as_array);
        let tools = tools.into_iter().flatten().filter_map(tool).collect();
        let mut list = ListToolsResult::with_all_items(tools);
        list.next_cursor = result
            .get("nextCursor")
            .and_then(Value::as_str)
            .map(str::to_owned);
        list
    })
}

fn tool(tool: &Value) -> Option<Tool> {
    Tool::deserialize(tool).ok().or_else(|| {
        let name = tool.get("name")?.as_str()?.to_owned();
        let schema = tool.get("inputSchema")?.as_object()?.clone();
        Some(Tool::new_with_raw(name, None, schema))
    })
}

/// What a tool returned. Mostly nothing is odd about it, and one pass shows that.
fn call_tool(result: &mut Value, bytes: usize, repairs: &mut Repairs) -> CallToolResult {
    if bytes > TYPED_BYTES_MAX {
        tools::call(result, repairs);
        let mut small = CallToolResult::default();
        small.is_error = result.get("isError").and_then(Value::as_bool);
        return small;
    }
    if result.get("content").is_some_and(Value::is_array)
        && result.get("isError").is_none_or(Value::is_boolean)
        && let Ok(fitting) = CallToolResult::deserialize(&*result)
    {
        return fitting;
    }
    tools::call(result, repairs);
    CallToolResult::deserialize(&*result).unwrap_or_else(|_| {
        let blocks = result.get("content").and_then(Value::as_array);
        let mut fitting = CallToolResult::default();
        fitting.content = blocks.into_iter().flatten().map(content::typed).collect();
        fitting.structured_content = result.get("structuredContent").cloned();
        fitting.is_error = result.get("isError").and_then(Value::as_bool);
        fitting
    })
}

/// Whether callers read the JSON of a result: not where the library repeats the request by itself, nor where there is nothing.
pub(super) fn is_kept(result: &ServerResult) -> bool {
    !matches!(
        result,
        ServerResult::InputRequiredResult(_) | ServerResult::EmptyResult(_)
    )
}
