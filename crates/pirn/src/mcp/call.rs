//! `pirn mcp call`: calls one tool.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use pirn_mcp::{ServerSelection, ServerStatus};
use pirn_runtime::{ClientOptions, Runtime, Servers, ToolFilter};
use pirn_tool::{CallRequest, ContentBlock, FailureKind, Origin, RulePolicy, ToolResult, Update};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::configuration::{Configuration, unknown_server};
use super::servers::{self, place, problem_text, remedies};
use super::{CallArguments, suggest};
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::standard;
use pirn_terminal::on_one_line;

/// The argument that stands for standard input.
const STDIN_ARGUMENT: &str = "-";
/// Bytes of arguments at most, as of a message on the wire.
const ARGUMENT_BYTES_MAX: u64 = 16 << 20;
/// The id of the only call.
const CALL_ID: &str = "call";

pub(super) fn run(arguments: &CallArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let values = read_arguments(arguments.arguments.as_deref())?;
    let configuration =
        Configuration::with_server(&arguments.server, &arguments.files, invocation)?;
    let result = servers::with_servers(
        &configuration,
        invocation,
        async |runtime, servers, stopped| {
            let tool = find(servers, arguments, &stopped, invocation).await?;
            call(runtime, tool, values, arguments.timeout, stopped).await
        },
    )?;
    show(&result, arguments)?;
    if result.is_error {
        return Err(Failure::new(
            Exit::Failed,
            format!("the tool {} failed", on_one_line(&arguments.tool)),
        ));
    }
    Ok(Exit::Success)
}

fn read_arguments(typed: Option<&str>) -> Result<Map<String, Value>, Failure> {
    let (text, shown) = match typed {
        None => return Ok(Map::new()),
        Some(STDIN_ARGUMENT) => {
            let mut text = String::new();
            std::io::stdin()
                .lock()
                .take(ARGUMENT_BYTES_MAX)
                .read_to_string(&mut text)
                .map_err(|error| Failure::usage_because(error, "standard input cannot be read"))?;
            (text, "what is on standard input")
        }
        Some(text) => (text.to_owned(), "the argument"),
    };
    serde_json::from_str(&text).map_err(|error| {
        Failure::usage_because(error, format!("{shown} is not a JSON object"))
            .hint(r#"write it like this: '{"key": "value"}'"#)
    })
}

/// The registered name of the server's tool, also of one that is hidden: whoever types its name wants it.
async fn find(
    servers: &Servers,
    arguments: &CallArguments,
    stopped: &CancellationToken,
    invocation: &Invocation,
) -> Result<String, Failure> {
    let waiting = ServerSelection::Server(&arguments.server);
    servers::settle(servers, waiting, stopped, invocation.display).await;
    let Some(server) = servers.manager().server(&arguments.server) else {
        return Err(unknown_server(&arguments.server, &[]));
    };
    let name = server
        .tools
        .iter()
        .find(|tool| tool.server == arguments.tool || tool.registry == arguments.tool);
    match name {
        Some(name) => Ok(name.registry.clone()),
        None => Err(no_tool(&server, &arguments.tool)),
    }
}

fn no_tool(server: &ServerStatus, tool: &str) -> Failure {
    if server.state != pirn_mcp::ServerState::Connected {
        return not_connected(server);
    }
    let names: Vec<&str> = server
        .tools
        .iter()
        .map(|tool| tool.server.as_str())
        .collect();
    let failure = Failure::usage(format!(
        "the MCP server {} has no tool `{}`",
        server.name,
        on_one_line(tool)
    ));
    suggest(failure, tool, &names).hint(format!("`pirn mcp tools {}` lists all", server.name))
}

/// A server that something was asked of and that is not connected.
pub(super) fn not_connected(server: &ServerStatus) -> Failure {
    if server.state == pirn_mcp::ServerState::Disabled {
        return Failure::new(
            Exit::Failed,
            format!("the MCP server {} is switched off", server.name),
        )
        .hint(format!("`pirn mcp enable {}` switches it on", server.name));
    }
    let mut failure = Failure::new(
        Exit::Failed,
        format!(
            "MCP server \"{}\" is not there: {}",
            server.name,
            problem_text(server)
        ),
    );
    if let Some(place) = place(&server.origin) {
        failure = failure.detail(format!("The server is defined in {place}."));
    }
    let mut hints = remedies(server);
    if hints.is_empty() {
        hints.push(format!(
            "`pirn mcp trace {}` shows what was said",
            server.name
        ));
    }
    hints.into_iter().fold(failure, Failure::hint)
}

/// Makes the call as every call is made. It needs no approval: the user typed it, arguments and all.
async fn call(
    runtime: &Runtime,
    tool: String,
    values: Map<String, Value>,
    timeout: Option<u64>,
    stopped: CancellationToken,
) -> Result<ToolResult, Failure> {
    let client = runtime.client(ClientOptions {
        tools: ToolFilter {
            reveal: vec![tool.clone()],
            ..ToolFilter::default()
        },
        ..ClientOptions::new(RulePolicy::allow_all())
    });
    let mut request = CallRequest::new(CALL_ID, tool, Value::Object(values))
        .origin(Origin::User)
        .cancel(stopped);
    request.timeout = timeout.map(Duration::from_secs);
    request.updates = Some(Arc::new(|update: Update| {
        standard::note(&on_one_line(&update.text));
    }));
    let outcome = client.call(request).await;
    match (outcome.failure, timeout) {
        (Some(FailureKind::Timeout), Some(seconds)) => Err(Failure::new(
            Exit::Failed,
            format!("the call did not end within {seconds} s"),
        )
        .hint("--timeout gives it more time")),
        _ => Ok(outcome.result),
    }
}

fn show(result: &ToolResult, arguments: &CallArguments) -> Result<(), Failure> {
    if arguments.json {
        let whole = match &result.structured {
            Some(whole) => whole.clone(),
            // The call did not get as far as an answer.
            None => serde_json::json!({"content": result.content, "isError": result.is_error}),
        };
        return standard::write_out(&format!("{whole:#}\n"));
    }
    let text: String = result.content.iter().map(block_text).collect();
    standard::write_out(&text)
}

fn block_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text { text } if text.ends_with('\n') => text.clone(),
        ContentBlock::Text { text } => format!("{text}\n"),
        ContentBlock::Image { mime_type, .. } => {
            format!("[image, {mime_type}; --json has it]\n")
        }
        ContentBlock::Audio { mime_type, .. } => {
            format!("[audio, {mime_type}; --json has it]\n")
        }
    }
}
