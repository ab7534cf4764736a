//! The handshake over a transport that is there: greeting the server, and what it said about itself.

use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{ErrorData, ProtocolVersion, ServerPeerInfo, SubscriptionFilter};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle,
};
use rmcp::transport::Transport as WireTransport;
use tokio::sync::watch;

use super::handler::{Handler, HandlerState};
use super::negotiate::{Greeting, RefusalCause};
use super::request::Cause;
use super::{ConnectOptions, Connection, Protocol, ServerFacts, subscription};
use crate::error::{Error, ErrorKind};
use crate::wire::Wire;

#[cfg(test)]
mod tests;

/// The codes that only servers of the newer protocol use: header mismatch, missing capability, unsupported version.
const MODERN_CODES: [i32; 3] = [-32_020, -32_021, -32_022];

/// What a failed handshake says about the way of speaking.
pub(super) fn refusal_cause(error: &ClientInitializeError) -> RefusalCause {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            if is_modern_refusal(fallback) {
                RefusalCause::NewerProtocol
            } else {
                RefusalCause::BothWays
            }
        }
        error if is_modern_refusal(error) => RefusalCause::NewerProtocol,
        _ => RefusalCause::OneWay,
    }
}

fn is_modern_refusal(error: &ClientInitializeError) -> bool {
    matches!(error, ClientInitializeError::JsonRpcError(data)
        if MODERN_CODES.contains(&data.code.0))
}

/// Says in words for people why the handshake failed.
pub(super) fn explain(name: &str, error: ClientInitializeError, cause: &Cause) -> Error {
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
    .with_data(data.data.clone())
}

/// Shakes hands over a transport, and hands the running service to a task that ends with it.
pub(super) async fn shake_hands(
    options: &ConnectOptions,
    transport: impl WireTransport<RoleClient> + 'static,
    wire: Wire,
    cause: Cause,
    greeting: Greeting,
) -> Result<Connection, ClientInitializeError> {
    let modern = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match greeting {
        Greeting::In(Protocol::Legacy) => ClientLifecycleMode::Initialize,
        Greeting::In(Protocol::Modern) => ClientLifecycleMode::Discover {
            preferred_versions: modern,
        },
        Greeting::Probe => ClientLifecycleMode::Auto {
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
