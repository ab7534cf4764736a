pub(in crate::transport) mod server;

mod answers;
mod credentials;
mod sessions;

use std::collections::VecDeque;
use std::sync::Mutex;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use self::server::{Received, Script, Server};
use super::*;
use crate::authorization::{Challenge, Next};
use crate::error::ErrorKind;
use crate::wire::Trace;

/// No test waits longer for anything that should happen.
pub(in crate::transport) const PATIENCE: Duration = Duration::from_secs(8);

/// The parts of a connection to `url` as tests want them.
pub(in crate::transport) fn parts(url: Url) -> HttpParts {
    HttpParts {
        server: "fake".to_owned(),
        url,
        headers: Vec::new(),
        authorizer: None,
        http: http_client("pirn-test/1").unwrap(),
        wire: Wire::new(Trace::off()),
        response_timeout: Duration::from_secs(5),
    }
}

/// What became of a request.
#[derive(Debug)]
pub(in crate::transport) enum Outcome {
    /// The server's answer, or an error in its place.
    Answer(Value),
    /// It could not be sent, or HTTP said no.
    Failed(Error),
}

pub(in crate::transport) fn message(value: Value) -> ClientJsonRpcMessage {
    serde_json::from_value(value).unwrap()
}

pub(in crate::transport) fn request(id: u32, method: &str) -> ClientJsonRpcMessage {
    message(
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": match method {
            "tools/call" => json!({"name": "slow"}),
            _ => json!({}),
        }}),
    )
}

pub(in crate::transport) fn initialize(id: u32) -> ClientJsonRpcMessage {
    message(
        json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        }}),
    )
}

pub(in crate::transport) fn initialized() -> ClientJsonRpcMessage {
    message(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
}

pub(in crate::transport) fn initialize_result(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {
        "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "fake", "version": "1"},
    }})
}

pub(in crate::transport) fn tools(id: u32) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"tools": []}})
}

/// The next message of the server.
pub(in crate::transport) async fn receive<T: Transport<RoleClient>>(
    transport: &mut T,
) -> Option<Value> {
    let message = tokio::time::timeout(PATIENCE, transport.receive())
        .await
        .expect("a message in time")?;
    Some(serde_json::to_value(message).unwrap())
}

/// Sends a request and waits for what becomes of it.
async fn call(transport: &mut HttpTransport, sent: ClientJsonRpcMessage) -> Outcome {
    let id = match &sent {
        ClientJsonRpcMessage::Request(request) => serde_json::to_value(&request.id).unwrap(),
        _ => panic!("a request"),
    };
    let sending = transport.send(sent);
    if let Err(error) = tokio::time::timeout(PATIENCE, sending)
        .await
        .expect("sent in time")
    {
        let failure = HttpFailure::inside(&error)
            .cloned()
            .or_else(|| transport.last_failure().get())
            .unwrap_or_else(|| panic!("a failure is known: {error:?}"));
        return Outcome::Failed(failure.explain("fake"));
    }
    loop {
        let message = receive(transport).await.expect("an answer");
        if message["id"] == id {
            return Outcome::Answer(message);
        }
    }
}

/// What a server does that knows the protocol: sessions, no standing stream.
fn well_behaved(received: &Received) -> Script {
    let id = &received.body["id"];
    match received.what().as_str() {
        "POST initialize" => server::response(
            200,
            &[
                ("content-type", "application/json"),
                ("mcp-session-id", "session-1"),
            ],
            &initialize_result(id).to_string(),
        ),
        "POST notifications/initialized" => server::response(202, &[], ""),
        "GET" => server::response(405, &[], ""),
        "DELETE" => server::response(200, &[], ""),
        _ => server::json(
            200,
            &json!({"jsonrpc": "2.0", "id": id, "result": {"tools": []}}),
        ),
    }
}

/// A transport after the handshake, with ids from 2 on free.
async fn connected(parts: &HttpParts) -> HttpTransport {
    let mut transport = http_transport(parts).unwrap();
    match call(&mut transport, initialize(1)).await {
        Outcome::Answer(_) => {}
        Outcome::Failed(error) => panic!("initialize failed: {error}"),
    }
    transport.send(initialized()).await.unwrap();
    transport
}

/// An authorizer that hands out the tokens it was given, one after each refusal.
struct Tokens {
    left: Mutex<VecDeque<&'static str>>,
    challenges: Mutex<Vec<Challenge>>,
    after: Next,
}

impl Tokens {
    fn new(tokens: &[&'static str], after: Next) -> Arc<Self> {
        Arc::new(Self {
            left: Mutex::new(tokens.iter().copied().collect()),
            challenges: Mutex::default(),
            after,
        })
    }
}

impl Authorizer for Tokens {
    fn token(&self) -> BoxFuture<'_, Result<Option<Secret>, Error>> {
        Box::pin(async {
            let tokens = self.left.lock().unwrap();
            Ok(tokens.front().map(|token| Secret::new(*token)))
        })
    }

    fn challenged(&self, challenge: Challenge) -> BoxFuture<'_, Result<Next, Error>> {
        Box::pin(async move {
            self.challenges.lock().unwrap().push(challenge);
            let mut tokens = self.left.lock().unwrap();
            if tokens.len() > 1 {
                tokens.pop_front();
                return Ok(Next::Retry);
            }
            Ok(self.after)
        })
    }
}
