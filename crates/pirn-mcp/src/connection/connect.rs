//! Connecting: a process or a URL, and the transport to it.

use std::sync::Arc;

use pirn_sandbox::{Sandbox, SandboxReport};

use super::handshake::{explain, refusal_cause, shake_hands};
use super::negotiate::{Greeting, Refusal, RefusalCause, negotiate};
use super::request::Cause;
use super::{ConnectOptions, Connection, Protocol};
use crate::config::{HttpKind, HttpServer, StdioServer, Transport};
use crate::error::{Error, ErrorKind};
use crate::transport::{
    Ending, HttpParts, InputUse, Silence, SseTransport, StdioTransport, http_transport,
};
use crate::wire::Wire;

/// Connects without a time limit of its own.
pub(super) async fn connect(options: &ConnectOptions) -> Result<Connection, Error> {
    match &options.server.transport {
        Transport::Stdio(server) => Box::pin(connect_process(options, server)).await,
        Transport::Http(server) => Box::pin(connect_url(options, server)).await,
    }
}

/// Each greeting has a process of its own: one that was greeted before is gone, or keeps to the protocol of the first message
/// it got.
async fn connect_process(
    options: &ConnectOptions,
    server: &StdioServer,
) -> Result<Connection, Error> {
    negotiate(&options.memory, |greeting| {
        greet_process(options, server, greeting)
    })
    .await
    .map_err(|refusal| refusal.error)
}

async fn greet_process(
    options: &ConnectOptions,
    server: &StdioServer,
    greeting: Greeting,
) -> Result<Connection, Refusal> {
    let name = &options.server.name;
    let wire = Wire::new(options.trace.clone());
    let silence = match greeting {
        Greeting::In(Protocol::Modern) => Silence::Starting,
        Greeting::In(Protocol::Legacy) | Greeting::Probe => Silence::Older,
    };
    let standard_error = Arc::clone(&options.standard_error);
    let sandbox = sandbox(server, name, &wire).await?;
    let (sandbox, report) = sandbox.unzip();
    let transport = StdioTransport::start(server, sandbox, wire.clone(), standard_error, silence)
        .map_err(|error| {
        Refusal::elsewhere(
            Error::new(ErrorKind::Start, name, "could not be started")
                .with_hint("Check \"command\", \"cwd\" and the PATH it is looked up on.")
                .because(error),
        )
    })?;
    let ending = transport.ending();
    let cause = Cause::Process(ending.clone());
    shake_hands(options, transport, wire, cause.clone(), greeting)
        .await
        .map(|mut connection| {
            connection.facts.sandbox = report;
            connection
        })
        .map_err(|error| Refusal {
            cause: process_cause(refusal_cause(&error), &ending),
            error: explain(name, error, &cause),
            suggests_events: false,
        })
}

/// A process that is gone was spoken to in the first way only, or not at all.
fn process_cause(cause: RefusalCause, ending: &Ending) -> RefusalCause {
    match (cause, ending.status(), ending.input_use()) {
        (RefusalCause::NewerProtocol, _, _) | (_, None, _) => cause,
        (_, Some(_), InputUse::Unread) => RefusalCause::Elsewhere,
        (_, Some(_), InputUse::Read) => RefusalCause::OneWay,
    }
}

/// The confinement of the server's process, ready for it, where it is to have one.
async fn sandbox(
    server: &StdioServer,
    name: &str,
    wire: &Wire,
) -> Result<Option<(Sandbox, SandboxReport)>, Refusal> {
    let Some(wanted) = server.sandbox.clone() else {
        return Ok(None);
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
        let sandbox = Sandbox::on_demand(wanted.into_policy(None));
        let report = sandbox.report()?.clone();
        Ok::<_, pirn_sandbox::Error>((sandbox, report))
    })
    .await;
    let (sandbox, report) = match prepared {
        Ok(Ok(sandbox)) => sandbox,
        Ok(Err(error)) => return Err(Refusal::elsewhere(failed().because(error))),
        Err(error) => return Err(Refusal::elsewhere(failed().because(error))),
    };
    wire.trace().note(&format!(
        "confined: {}",
        serde_json::to_string(&report).unwrap_or_default()
    ));
    Ok(Some((sandbox, report)))
}

async fn connect_url(options: &ConnectOptions, server: &HttpServer) -> Result<Connection, Error> {
    let streamable = negotiate(&options.memory, |greeting| {
        greet_streamable(options, server, greeting)
    });
    let refusal = match server.kind {
        HttpKind::Sse => return connect_events(options, server).await,
        HttpKind::Auto | HttpKind::Streamable => match streamable.await {
            Ok(connection) => return Ok(connection),
            Err(refusal) => refusal,
        },
    };
    if server.kind == HttpKind::Streamable || !refusal.suggests_events {
        return Err(refusal.error);
    }
    let wire = Wire::new(options.trace.clone());
    match SseTransport::open(&http_parts(options, server, &wire)).await {
        Ok(transport) => greet_events(options, transport, wire).await,
        // Where the older transport does not work either, the newer one's answer says more.
        Err(_) => Err(refusal.error),
    }
}

async fn greet_streamable(
    options: &ConnectOptions,
    server: &HttpServer,
    greeting: Greeting,
) -> Result<Connection, Refusal> {
    let wire = Wire::new(options.trace.clone());
    let transport =
        http_transport(&http_parts(options, server, &wire)).map_err(Refusal::elsewhere)?;
    let last_failure = transport.last_failure();
    let cause = Cause::Http(last_failure.clone());
    shake_hands(options, transport, wire, cause.clone(), greeting)
        .await
        .map_err(|error| Refusal {
            suggests_events: last_failure
                .get()
                .is_some_and(|failure| failure.suggests_events()),
            cause: refusal_cause(&error),
            error: explain(&options.server.name, error, &cause),
        })
}

/// The HTTP of 2024, which no newer protocol is spoken over.
async fn connect_events(
    options: &ConnectOptions,
    server: &HttpServer,
) -> Result<Connection, Error> {
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
    let greeting = Greeting::In(Protocol::Legacy);
    shake_hands(options, transport, wire, cause.clone(), greeting)
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
