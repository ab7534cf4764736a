//! The limits of a request whose server asks the user meanwhile.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_tool::WaitClock;
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport as WireTransport;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::config::{ResolvedServer, StdioServer, Timeouts, Transport};
use crate::connection::handshake::shake_hands;
use crate::connection::negotiate::Greeting;
use crate::connection::protocol_cache::{ProtocolCache, ProtocolCacheKey, ServerMemory};
use crate::connection::request::Cause;
use crate::connection::{ConnectOptions, Connection, Protocol, RequestOptions};
use crate::elicitation::{ElicitationAnswer, ElicitationRequest, Elicitor};
use crate::error::{Error, ErrorKind};
use crate::transport::LastFailure;
use crate::wire::{Trace, Wire};

/// How long the user thinks.
const THOUGHT: Duration = Duration::from_secs(5);
/// How long the server works after it has its answer.
const WORK: Duration = Duration::from_secs(1);
const LIMITS: Timeouts = Timeouts {
    start: Duration::from_secs(2),
    request: Duration::from_secs(2),
    total: Duration::from_secs(3),
};

struct Pipe {
    sent: UnboundedSender<ClientJsonRpcMessage>,
    received: UnboundedReceiver<ServerJsonRpcMessage>,
}

impl WireTransport<RoleClient> for Pipe {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let _server_is_gone = self.sent.send(message);
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.received.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// A server that asks the user before it answers a call of `asks`, works and answers then, and never answers one of `silent`
/// after it has asked.
async fn serve(
    mut from_client: UnboundedReceiver<ClientJsonRpcMessage>,
    to_client: UnboundedSender<ServerJsonRpcMessage>,
) {
    let say = |message: Value| {
        let _client_is_gone = to_client.send(serde_json::from_value(message).unwrap());
    };
    let mut asked_for = None;
    while let Some(message) = from_client.recv().await {
        let message = serde_json::to_value(message).unwrap();
        let id = message["id"].clone();
        match message["method"].as_str() {
            Some("initialize") => say(json!({"jsonrpc": "2.0", "id": id, "result": {
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "fake", "version": "1"},
            }})),
            Some("tools/call") => {
                asked_for = Some((id, message["params"]["name"] == "asks"));
                say(
                    json!({"jsonrpc": "2.0", "id": "question", "method": "elicitation/create", "params": {
                        "message": "Which?", "requestedSchema": {"type": "object", "properties": {}},
                    }}),
                );
            }
            None if id == "question" => {
                if let Some((id, true)) = asked_for.take() {
                    tokio::time::sleep(WORK).await; // sleeps: virtual time
                    say(json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}}));
                }
            }
            Some(_) | None => {}
        }
    }
}

/// Thinks, and then says no.
struct Thinker(Mutex<Vec<ElicitationRequest>>);

impl Elicitor for Thinker {
    fn elicit(
        &self,
        request: ElicitationRequest,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, ElicitationAnswer> {
        self.0.lock().unwrap().push(request);
        Box::pin(async {
            tokio::time::sleep(THOUGHT).await; // sleeps: virtual time
            ElicitationAnswer::Decline
        })
    }
}

async fn connect(elicitor: Arc<Thinker>) -> Connection {
    let options = ConnectOptions {
        server: ResolvedServer {
            name: "s".to_owned(),
            transport: Transport::Stdio(StdioServer {
                program: "s".into(),
                arguments: Vec::new(),
                directory: "/".into(),
                environment: Vec::new(),
                sandbox: None,
            }),
            timeouts: LIMITS,
        },
        client_name: "test".to_owned(),
        client_version: "0".to_owned(),
        memory: ServerMemory {
            cache: ProtocolCache::new(None),
            key: ProtocolCacheKey("s".to_owned()),
        },
        elicitor: Some(elicitor),
        authorizer: None,
        http: crate::transport::http_client("test/0").unwrap(),
        trace: Trace::off(),
        standard_error: Arc::new(|_line: &str| {}),
    };
    let (sent, from_client) = unbounded_channel();
    let (to_client, received) = unbounded_channel();
    tokio::spawn(serve(from_client, to_client));
    shake_hands(
        &options,
        Pipe { sent, received },
        Wire::new(Trace::off()),
        Cause::Http(LastFailure::default()),
        Greeting::In(Protocol::Legacy),
    )
    .await
    .unwrap()
}

/// Calls a tool, and says how it ended after how many seconds, and what the clock says of the time in between.
async fn call(tool: &str) -> (Result<Value, Error>, u64, Duration) {
    let elicitor = Arc::new(Thinker(Mutex::default()));
    let connection = connect(Arc::clone(&elicitor)).await;
    let clock = WaitClock::default();
    let options = RequestOptions {
        clock: clock.clone(),
        call_id: Some("7/1".to_owned()),
        ..RequestOptions::default()
    };
    let started = Instant::now();
    let outcome = connection.call_tool(tool, Map::new(), options).await;
    let asked: Vec<Option<String>> = elicitor
        .0
        .lock()
        .unwrap()
        .iter()
        .map(|request| request.call_id.clone())
        .collect();
    assert_eq!(asked, [Some("7/1".to_owned())]);
    (outcome, started.elapsed().as_secs(), clock.stood_still())
}

#[tokio::test(start_paused = true)]
async fn the_limits_stand_still_while_the_server_asks() {
    let (outcome, seconds, stood_still) = call("asks").await;
    assert_eq!(outcome.unwrap(), json!({"content": []}));
    assert_eq!((seconds, stood_still), (6, THOUGHT));
}

#[tokio::test(start_paused = true)]
async fn the_limits_go_on_after_the_answer() {
    let (outcome, seconds, stood_still) = call("silent").await;
    let error = outcome.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Timeout, "{error}");
    assert_eq!((seconds, stood_still), (7, THOUGHT));
}
