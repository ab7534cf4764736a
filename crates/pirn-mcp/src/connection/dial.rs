//! Connecting: the transport, what the server speaks, the handshake.

use std::sync::Arc;

use pirn_sandbox::Sandbox;
use rmcp::RoleClient;
use rmcp::model::{ErrorData, ProtocolVersion, ServerPeerInfo, SubscriptionFilter};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle,
};
use rmcp::transport::Transport as WireTransport;
use tokio::sync::watch;

use super::handler::{Handler, HandlerState};
use super::request::Cause;
use super::{ConnectOptions, Connection, Protocol, ServerFacts, subscription};
use crate::config::{HttpKind, HttpServer, StdioServer, Transport};
use crate::error::{Error, ErrorKind};
use crate::transport::{HttpParts, Silence, SseTransport, StdioTransport, http_transport};
use crate::wire::Wire;

/// The codes that only servers of the newer protocol use: header mismatch, missing capability, unsupported version.
const MODERN_CODES: [i32; 3] = [-32_020, -32_021, -32_022];

/// Connects without a time limit of its own.
pub(super) async fn dial(options: ConnectOptions) -> Result<Connection, Error> {
    match &options.server.transport {
        Transport::Stdio(server) => dial_process(&options, server).await,
        Transport::Http(server) => dial_url(&options, server).await,
    }
}

/// Why a handshake failed, and whether another way of speaking may help.
struct Refused {
    error: Error,
    instead: Option<Protocol>,
}

async fn dial_process(options: &ConnectOptions, server: &StdioServer) -> Result<Connection, Error> {
    let refused = match try_process(options, server, options.protocol).await {
        Ok(connection) => return Ok(connection),
        Err(refused) => refused,
    };
    match refused.instead {
        // A process of its own: the first one is gone, or keeps to the protocol of the first message it got.
        Some(protocol) => try_process(options, server, Some(protocol))
            .await
            .map_err(|refused| refused.error),
        None => Err(refused.error),
    }
}

async fn try_process(
    options: &ConnectOptions,
    server: &StdioServer,
    protocol: Option<Protocol>,
) -> Result<Connection, Refused> {
    let name = &options.server.name;
    let wire = Wire::new(options.trace.clone());
    let silence = match protocol {
        Some(Protocol::Modern) => Silence::Starting,
        Some(Protocol::Legacy) | None => Silence::Older,
    };
    let standard_error = Arc::clone(&options.standard_error);
    let sandbox = sandbox(server, name, &wire).await?;
    let report = sandbox.as_ref().map(|sandbox| sandbox.report().clone());
    let transport = StdioTransport::start(server, sandbox, wire.clone(), standard_error, silence)
        .map_err(|error| Refused {
        error: Error::new(ErrorKind::Start, name, "could not be started")
            .with_hint("Check \"command\", \"cwd\" and the PATH it is looked up on.")
            .because(error),
        instead: None,
    })?;
    let cause = Cause::Process(transport.ending());
    shake_hands(options, transport, wire, cause.clone(), protocol)
        .await
        .map(|mut connection| {
            connection.facts.sandbox = report;
            connection
        })
        .map_err(|error| Refused {
            instead: other_protocol(&error, protocol),
            error: explain(name, error, &cause),
        })
}

/// The confinement of the server's process, ready for it, where it is to have one.
async fn sandbox(
    server: &StdioServer,
    name: &str,
    wire: &Wire,
) -> Result<Option<Sandbox>, Refused> {
    let Some(wanted) = server.sandbox.clone() else {
        return Ok(None);
    };
    let refused = |error| Refused {
        error,
        instead: None,
    };
    let failed = || {
        Error::new(
            ErrorKind::Start,
            name,
            "cannot be confined as its \"sandbox\" says",
        )
    };
    // It tries out what the machine can do, which takes a moment the first time.
    let prepared = tokio::task::spawn_blocking(move || {
        // Nobody is asked about hosts: a server runs for long, and whoever started it may not be looking.
        Sandbox::prepare(wanted.into_policy(None))
    })
    .await;
    let sandbox = match prepared {
        Ok(Ok(sandbox)) => sandbox,
        Ok(Err(error)) => return Err(refused(failed().because(error))),
        Err(error) => return Err(refused(failed().because(error))),
    };
    let report = sandbox.report();
    wire.trace().note(&format!(
        "confined: {}",
        serde_json::to_string(report).unwrap_or_default()
    ));
    if report.level.is_none() {
        let reason = report.missing.first().map(|missing| &missing.reason);
        wire.warn(format!(
            "its process is not confined: {}",
            reason.map_or("this system has no means for it", String::as_str)
        ));
    }
    Ok(Some(sandbox))
}

/// Which other way of speaking may help after a handshake failed; `None` where the server was known to speak this one.
fn other_protocol(error: &ClientInitializeError, protocol: Option<Protocol>) -> Option<Protocol> {
    match (error, protocol) {
        (_, Some(_)) => None,
        (ClientInitializeError::LegacyFallbackFailed { fallback, .. }, None) => {
            is_modern_refusal(fallback).then_some(Protocol::Modern)
        }
        (error, None) if is_modern_refusal(error) => Some(Protocol::Modern),
        // Some servers die of a request they do not know, or speak of older versions only.
        (_, None) => Some(Protocol::Legacy),
    }
}

async fn dial_url(options: &ConnectOptions, server: &HttpServer) -> Result<Connection, Error> {
    let refused = match server.kind {
        HttpKind::Sse => return dial_events(options, server).await,
        HttpKind::Auto | HttpKind::Streamable => match dial_streamable(options, server).await {
            Ok(connection) => return Ok(connection),
            Err(refused) => refused,
        },
    };
    if server.kind == HttpKind::Streamable || !refused.suggests_events {
        return Err(refused.error);
    }
    let wire = Wire::new(options.trace.clone());
    match SseTransport::open(&http_parts(options, server, &wire)).await {
        Ok(transport) => greet_events(options, transport, wire).await,
        // Where the older transport does not work either, the newer one's answer says more.
        Err(_) => Err(refused.error),
    }
}

/// Why streamable HTTP failed, and what else may work.
struct StreamRefused {
    error: Error,
    suggests_events: bool,
    instead: Option<Protocol>,
}

async fn dial_streamable(
    options: &ConnectOptions,
    server: &HttpServer,
) -> Result<Connection, StreamRefused> {
    let refused = match try_streamable(options, server, options.protocol).await {
        Ok(connection) => return Ok(connection),
        Err(refused) => refused,
    };
    // Another way of speaking helps with none of these.
    let is_settled = matches!(
        refused.error.kind(),
        ErrorKind::NeedsAuthorization
            | ErrorKind::Authorization
            | ErrorKind::Config
            | ErrorKind::Start
            | ErrorKind::Timeout
    );
    match refused.instead {
        Some(protocol) if !is_settled => try_streamable(options, server, Some(protocol)).await,
        Some(_) | None => Err(refused),
    }
}

async fn try_streamable(
    options: &ConnectOptions,
    server: &HttpServer,
    protocol: Option<Protocol>,
) -> Result<Connection, StreamRefused> {
    let wire = Wire::new(options.trace.clone());
    let transport =
        http_transport(&http_parts(options, server, &wire)).map_err(|error| StreamRefused {
            error,
            suggests_events: false,
            instead: None,
        })?;
    let last_failure = transport.last_failure();
    let cause = Cause::Http(last_failure.clone());
    shake_hands(options, transport, wire, cause.clone(), protocol)
        .await
        .map_err(|error| StreamRefused {
            suggests_events: last_failure
                .get()
                .is_some_and(|failure| failure.suggests_events()),
            instead: other_protocol(&error, protocol),
            error: explain(&options.server.name, error, &cause),
        })
}

async fn dial_events(options: &ConnectOptions, server: &HttpServer) -> Result<Connection, Error> {
    let wire = Wire::new(options.trace.clone());
    let transport = SseTransport::open(&http_parts(options, server, &wire)).await?;
    greet_events(options, transport, wire).await
}

async fn greet_events(
    options: &ConnectOptions,
    transport: SseTransport,
    wire: Wire,
) -> Result<Connection, Error> {
    let cause = Cause::Http(transport.last_failure());
    shake_hands(
        options,
        transport,
        wire,
        cause.clone(),
        Some(Protocol::Legacy),
    )
    .await
    .map_err(|error| explain(&options.server.name, error, &cause))
}

fn http_parts(options: &ConnectOptions, server: &HttpServer, wire: &Wire) -> HttpParts {
    HttpParts {
        server: options.server.name.clone(),
        url: server.url.clone(),
        headers: server.headers.clone(),
        authorizer: options.authorizer.clone(),
        http: options.http.clone(),
        wire: wire.clone(),
        response_timeout: options.server.timeouts.total,
    }
}

fn is_modern_refusal(error: &ClientInitializeError) -> bool {
    matches!(error, ClientInitializeError::JsonRpcError(data)
        if MODERN_CODES.contains(&data.code.0))
}

/// Says in words for people why the handshake failed.
fn explain(name: &str, error: ClientInitializeError, cause: &Cause) -> Error {
    if let Some(known) = cause.sending(name, &error) {
        return known;
    }
    match (error, cause) {
        (ClientInitializeError::LegacyFallbackFailed { fallback, .. }, _) => {
            explain(name, *fallback, cause)
        }
        // Its own words say more than its end, which may follow from ours.
        (ClientInitializeError::JsonRpcError(data), _) if !Wire::is_failure(&data) => {
            refusal(name, &data)
        }
        (_, Cause::Process(ending)) if ending.status().is_some() => cause.closed(name),
        (ClientInitializeError::JsonRpcError(data), _) => refusal(name, &data),
        (
            ClientInitializeError::ConnectionClosed(_)
            | ClientInitializeError::TransportError { .. },
            _,
        ) => cause.closed(name),
        (error @ ClientInitializeError::NoCompatibleProtocolVersion { .. }, _) => Error::new(
            ErrorKind::Protocol,
            name,
            "speaks no version of the protocol that is known here",
        )
        .because(error),
        (error, _) => Error::new(
            ErrorKind::Protocol,
            name,
            "its answer to the handshake could not be understood",
        )
        .because(error),
    }
}

/// What a server, or an error in its place, said against starting.
fn refusal(name: &str, data: &ErrorData) -> Error {
    let code = i64::from(data.code.0);
    Error::new(
        ErrorKind::Server { code },
        name,
        format!("refused to start: {} (code {code})", data.message),
    )
}

/// Shakes hands over a transport, and hands the running service to a task that ends with it.
pub(super) async fn shake_hands(
    options: &ConnectOptions,
    transport: impl WireTransport<RoleClient> + 'static,
    wire: Wire,
    cause: Cause,
    protocol: Option<Protocol>,
) -> Result<Connection, ClientInitializeError> {
    let modern = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match protocol {
        Some(Protocol::Legacy) => ClientLifecycleMode::Initialize,
        Some(Protocol::Modern) => ClientLifecycleMode::Discover {
            preferred_versions: modern,
        },
        None => ClientLifecycleMode::Auto {
            preferred_versions: modern,
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        },
    };
    let handler = HandlerState::new(options);
    let service =
        serve_client_with_lifecycle(Handler(Arc::clone(&handler)), transport, lifecycle).await?;
    Ok(connection(options, service, wire, handler, cause))
}

fn connection(
    options: &ConnectOptions,
    service: RunningService<RoleClient, Handler>,
    wire: Wire,
    handler: Arc<HandlerState>,
    cause: Cause,
) -> Connection {
    let peer = service.peer().clone();
    let info = peer.peer_info();
    let facts = info.as_deref().map(facts).unwrap_or_default();
    let protocol = match &info {
        Some(info) if !info.protocol_version.has_initialize() => Protocol::Modern,
        _ => Protocol::Legacy,
    };
    let filter = info.as_deref().and_then(changes_wanted);
    let subscription = match (protocol, filter) {
        (Protocol::Modern, Some(filter)) => Some(tokio::spawn(subscription::listen(
            peer.clone(),
            Arc::clone(&handler),
            filter,
        ))),
        _ => None,
    };
    let stop = service.cancellation_token();
    let (ending, ended) = watch::channel(false);
    // Ends with the transport, which ends when it is told to stop.
    tokio::spawn(async move {
        let _reason = service.waiting().await;
        let _nobody_asks = ending.send(true);
    });
    Connection {
        server: options.server.name.clone(),
        timeouts: options.server.timeouts,
        peer,
        wire,
        handler,
        facts,
        protocol,
        cause,
        stop: Some(stop),
        ended,
        subscription,
    }
}

fn facts(info: &ServerPeerInfo) -> ServerFacts {
    let capabilities = &info.capabilities;
    let (name, version) = match &info.server_info {
        Some(server) => (server.name.clone(), server.version.clone()),
        None => Default::default(),
    };
    ServerFacts {
        name,
        version,
        instructions: info.instructions.clone(),
        protocol_version: info.protocol_version.as_str().to_owned(),
        has_tools: capabilities.tools.is_some(),
        has_resources: capabilities.resources.is_some(),
        has_prompts: capabilities.prompts.is_some(),
        sandbox: None,
    }
}

/// The changes a server promises to tell of; `None` when it promises nothing.
fn changes_wanted(info: &ServerPeerInfo) -> Option<SubscriptionFilter> {
    let capabilities = &info.capabilities;
    let mut filter = SubscriptionFilter::new();
    let tools = capabilities
        .tools
        .as_ref()
        .and_then(|tools| tools.list_changed);
    let prompts = capabilities
        .prompts
        .as_ref()
        .and_then(|prompts| prompts.list_changed);
    let resources = capabilities
        .resources
        .as_ref()
        .and_then(|resources| resources.list_changed);
    filter.tools_list_changed = tools.filter(|promised| *promised);
    filter.prompts_list_changed = prompts.filter(|promised| *promised);
    filter.resources_list_changed = resources.filter(|promised| *promised);
    let wants_any = filter.tools_list_changed.is_some()
        || filter.prompts_list_changed.is_some()
        || filter.resources_list_changed.is_some();
    wants_any.then_some(filter)
}

#[cfg(test)]
mod tests;
