//! The client that the official conformance suite runs: connects to the server whose URL is its last argument, calls every
//! tool, and ends. What a scenario wants besides comes in the suite's environment variables.
//!
//! ```text
//! conformance client --command "target/debug/examples/conformance-client" --requirements 2026-07-28
//! ```

#![allow(
    clippy::disallowed_methods,
    reason = "an example is a program of its own"
)]
#![expect(
    clippy::print_stderr,
    reason = "a program of its own, whose reader is the suite"
)]

use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_mcp::{
    CallOptions, Clock, ConfigEnvironment, EffectRules, ElicitationAnswer, ElicitationKind,
    ElicitationRequest, Elicitor, HttpEntry, HttpKind, Interaction, ManagerFolders, ManagerOptions,
    McpExposure, McpManager, OAuth, OAuthOptions, OAuthSettings, Scope, Secret, ServerEntry,
    ServerOrigin, ServerSelection, ServerState, SpillFolder, StartMode, Timeouts, ToolExposures,
    Tracing, TransportEntry,
};
use pirn_tool::Registry;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

const SERVER: &str = "conformance";
/// The client id that the suite expects where it offers metadata documents.
const CLIENT_METADATA_URL: &str = "https://conformance-test.local/client-metadata.json";
/// Less than the suite's own limit of 30 s for a scenario.
const LIMIT: Duration = Duration::from_secs(20);

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> ExitCode {
    let url = std::env::args().next_back().unwrap_or_default();
    let outcome = match tokio::time::timeout(LIMIT, run(&url)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(format!("no end within {LIMIT:?}").into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conformance-client: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(url: &str) -> Result<(), Failure> {
    let context = match std::env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) => Value::Null,
    };
    let folder = tempfile::tempdir()?;
    let registry = Registry::new();
    let manager = manager(&registry, folder.path())?;
    manager.register(entry(url, &context))?;
    manager.start();
    let result = use_server(&manager, &registry, &context).await;
    manager.shutdown().await;
    result
}

async fn use_server(
    manager: &McpManager,
    registry: &Registry,
    context: &Value,
) -> Result<(), Failure> {
    manager
        .wait_for(ServerSelection::Server(SERVER), &CancellationToken::new())
        .await;
    let status = manager
        .server(SERVER)
        .ok_or("the server is not registered")?;
    if status.state != ServerState::Connected {
        let problem = status.problem.map_or_else(String::new, |problem| {
            format!("{} {}", problem.message, problem.hints.join(" "))
        });
        return Err(format!("not connected: {problem}").into());
    }
    for (tool, arguments) in calls(&status.tools, registry, context) {
        let called = manager
            .call_tool(SERVER, &tool, arguments, CallOptions::default())
            .await;
        match called {
            Ok(result) => eprintln!("{tool}: {result}"),
            // A scenario may want a call to fail; the suite looks at the traffic.
            Err(error) => eprintln!("{tool}: {error}"),
        }
    }
    Ok(())
}

fn manager(registry: &Registry, folder: &Path) -> Result<McpManager, Failure> {
    // Fails where it is installed already.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()?;
    Ok(McpManager::new(ManagerOptions {
        registry: registry.clone(),
        environment: ConfigEnvironment::new(Vec::new(), None, folder.to_owned()),
        folders: ManagerFolders {
            logs: std::env::var_os("PIRN_CONFORMANCE_LOGS").map(Into::into),
            protocol_cache: None,
            spill: SpillFolder::none(),
        },
        client_name: "pirn-conformance".to_owned(),
        client_version: env!("CARGO_PKG_VERSION").to_owned(),
        elicitor: Some(Arc::new(Agreeable)),
        oauth: Some(OAuth::new(OAuthOptions {
            store: folder.join("auth.json"),
            http: http.clone(),
            client_name: "Pirn".to_owned(),
            login_command: "pirn mcp login".to_owned(),
            clock: Clock::system(),
        })),
        interaction: Some(Arc::new(Curl)),
        http,
        tracing: Tracing::On,
    }))
}

fn entry(url: &str, context: &Value) -> ServerEntry {
    let text = |name: &str| context.get(name).and_then(Value::as_str).map(str::to_owned);
    let client_id = text("client_id");
    ServerEntry {
        name: SERVER.to_owned(),
        origin: ServerOrigin {
            scope: Scope::Runtime,
            file: None,
            line: None,
            overridden_in: None,
        },
        enabled: true,
        exposure: McpExposure::Codemode,
        tool_exposures: ToolExposures::default(),
        effects: EffectRules::default(),
        timeouts: Timeouts::default(),
        start: StartMode::Eager,
        idle_timeout: None,
        description: None,
        transport: TransportEntry::Http(HttpEntry {
            url: url.to_owned(),
            kind: HttpKind::Auto,
            headers: Vec::new(),
            oauth: OAuthSettings {
                client_metadata_url: client_id.is_none().then(|| CLIENT_METADATA_URL.to_owned()),
                client_secret: text("client_secret").map(Secret::new),
                client_id,
                ..OAuthSettings::default()
            },
        }),
    }
}

/// What is to be called: what the suite lists, or else every tool.
fn calls(
    tools: &[pirn_mcp::ToolName],
    registry: &Registry,
    context: &Value,
) -> Vec<(String, Map<String, Value>)> {
    if let Some(listed) = context.get("toolCalls").and_then(Value::as_array) {
        return listed
            .iter()
            .filter_map(|call| {
                let name = call.get("name")?.as_str()?.to_owned();
                let arguments = call.get("arguments").and_then(Value::as_object);
                Some((name, arguments.cloned().unwrap_or_default()))
            })
            .collect();
    }
    let schema = |tool: &pirn_mcp::ToolName| {
        registry
            .get(&tool.registry)
            .map_or(Value::Null, |tool| tool.spec().input_schema.clone())
    };
    let echoed = tools.iter().find(|tool| tool.server != "json_schema_echo");
    tools
        .iter()
        .map(|tool| {
            let arguments = match (tool.server.as_str(), echoed) {
                // Sends the schema of the other tool back, to show that nothing of it got lost.
                ("json_schema_echo", Some(other)) => {
                    Map::from_iter([("schema".to_owned(), schema(other))])
                }
                _ => filled(&schema(tool)),
            };
            (tool.server.clone(), arguments)
        })
        .collect()
}

/// An object that fits `schema` well enough: defaults, else the simplest value of each type.
fn filled(schema: &Value) -> Map<String, Value> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .map(|(name, property)| (name.clone(), sample(property)))
        .collect()
}

fn sample(schema: &Value) -> Value {
    let chosen = schema
        .get("default")
        .or_else(|| schema.get("const"))
        .or_else(|| schema.pointer("/enum/0"))
        .or_else(|| schema.pointer("/oneOf/0/const"))
        .or_else(|| schema.pointer("/anyOf/0/const"));
    if let Some(value) = chosen {
        return value.clone();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("number" | "integer") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => Value::Object(filled(schema)),
        Some("null") => Value::Null,
        _ => json!("test"),
    }
}

/// Says yes to everything, with the defaults of the form.
struct Agreeable;

impl Elicitor for Agreeable {
    fn elicit(
        &self,
        request: ElicitationRequest,
        _: CancellationToken,
    ) -> BoxFuture<'static, ElicitationAnswer> {
        let values = match request.kind {
            ElicitationKind::Form { schema } => Some(Value::Object(filled(&schema))),
            ElicitationKind::Url { .. } => None,
        };
        Box::pin(async move { ElicitationAnswer::Accept(values) })
    }
}

/// A browser that agrees to everything: the suite's sign-in page answers with the redirect at once.
struct Curl;

impl Interaction for Curl {
    fn open(&self, url: &str) {
        let started = std::process::Command::new("curl")
            .args(["-sL", "--max-time", "10", url])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match started {
            Ok(mut browser) => {
                // It ends within its own limit; somebody has to take note.
                std::thread::spawn(move || browser.wait());
            }
            Err(error) => eprintln!("curl: {error}"),
        }
    }

    fn pasted(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { None })
    }
}
