//! A fake server over HTTP, on a port of its own.

mod exchange;
mod request;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};

use tokio::io::BufReader;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::channel::Channel;
use crate::log::{Log, Seen};
use crate::play::Player;
use crate::script::{Act, Script, Speaks};
use crate::text::Names;

use exchange::Halves;
pub(crate) use exchange::{Events, Exchange};

/// How a server answers where its script says no more than what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpStyle {
    /// With a body of JSON.
    Json,
    /// With a stream of one event.
    Events,
    /// The transport of 2024: answers come as events of one stream, messages are posted to the path that its first event names.
    Old,
}

/// A fake server over HTTP. Dropping it closes every connection.
#[derive(Debug)]
pub struct FakeHttp {
    address: SocketAddr,
    server: Arc<Server>,
}

/// Which of the two listeners a request came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListenerRole {
    Own,
    Neighbour,
}

#[derive(Debug)]
struct Server {
    player: Player,
    style: HttpStyle,
    /// The stream of the transport of 2024.
    stream: Arc<Mutex<Option<Events>>>,
    /// Everything that runs, until the server is dropped.
    tasks: std::sync::Mutex<Option<JoinSet<()>>>,
}

impl Server {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tasks) = tasks.as_mut() {
            tasks.spawn(task);
            while tasks.try_join_next().is_some() {}
        }
    }
}

impl FakeHttp {
    /// Starts playing `script` on a free port of the loopback. Needs a tokio runtime.
    pub async fn start(script: Script, style: HttpStyle) -> io::Result<Self> {
        let own = TcpListener::bind(("127.0.0.1", 0)).await?;
        let neighbour = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = own.local_addr()?;
        let names = Names {
            origin: format!("http://{address}"),
            neighbour: format!("http://{}", neighbour.local_addr()?),
            ..Names::default()
        };
        let server = Arc::new(Server {
            player: Player::new(script, Log::in_memory(), names),
            style,
            stream: Arc::default(),
            tasks: std::sync::Mutex::new(Some(JoinSet::new())),
        });
        server.spawn(accept(Arc::clone(&server), own, ListenerRole::Own));
        server.spawn(accept(
            Arc::clone(&server),
            neighbour,
            ListenerRole::Neighbour,
        ));
        Ok(Self { address, server })
    }

    /// A URL on this server.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What has come in.
    pub fn log(&self) -> &Log {
        &self.server.player.log
    }
}

impl Drop for FakeHttp {
    fn drop(&mut self) {
        let mut tasks = self
            .server
            .tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        drop(tasks.take());
    }
}

async fn accept(server: Arc<Server>, listener: TcpListener, role: ListenerRole) {
    while let Ok((socket, _)) = listener.accept().await {
        let shared = Arc::clone(&server);
        server.spawn(async move {
            // However a connection ends, the log has what the test needs.
            let _ended = serve(&shared, socket, role).await;
        });
    }
}

async fn serve(server: &Arc<Server>, socket: TcpStream, role: ListenerRole) -> io::Result<()> {
    let (reader, writer) = socket.into_split();
    let mut halves = Some((BufReader::new(reader), writer));
    while let Some((mut reader, writer)) = halves.take() {
        let Some(seen) = request::read(&mut reader).await? else {
            return Ok(());
        };
        server.player.log.push(match role {
            ListenerRole::Own => seen.clone(),
            ListenerRole::Neighbour => Seen {
                method: format!("neighbour {}", seen.method),
                ..seen.clone()
            },
        });
        let exchange = Exchange::new((reader, writer), server.style);
        halves = respond(server, exchange, &seen).await?;
    }
    Ok(())
}

/// Answers one request. Returns the connection where another may follow.
async fn respond(
    server: &Arc<Server>,
    mut exchange: Exchange,
    seen: &Seen,
) -> io::Result<Option<Halves>> {
    let player = &server.player;
    let acts = match player.rule_for_request(seen) {
        Some(acts) => acts,
        None if server.style == HttpStyle::Old => match legacy_request(seen) {
            LegacyRequest::Stream => {
                let endpoint = player.fill(player.script.endpoint.as_bytes(), seen);
                exchange
                    .become_stream(&endpoint, &server.stream, &player.log)
                    .await?;
                return Ok(None);
            }
            LegacyRequest::Message => {
                exchange.status = 202;
                exchange.finish().await?;
                answer_on_stream(server, seen.clone());
                return Ok(exchange.into_halves());
            }
            LegacyRequest::Other => vec![Act::Status(404)],
        },
        None => acts_for(server, seen),
    };
    let mut channel = Channel::Exchange(Box::new(exchange));
    if let Err(error) = player.play(&mut channel, seen, &acts).await {
        if error.kind() != io::ErrorKind::ConnectionAborted {
            player.log.push(Seen::hang_up());
        }
        return Ok(None);
    }
    match channel {
        Channel::Exchange(exchange) => Ok(exchange.into_halves()),
        Channel::Pipe(_) | Channel::Shared(_) => Ok(None),
    }
}

/// What a request of the transport of 2024 is for.
enum LegacyRequest {
    Stream,
    Message,
    Other,
}

fn legacy_request(seen: &Seen) -> LegacyRequest {
    match (seen.verb.as_str(), seen.path.as_str()) {
        ("GET", _) => LegacyRequest::Stream,
        ("POST", path) if path.starts_with("/messages") => LegacyRequest::Message,
        _ => LegacyRequest::Other,
    }
}

/// Answers a message on the stream, while its connection goes on.
fn answer_on_stream(server: &Arc<Server>, seen: Seen) {
    let acts = match server.player.rule_for_message(&seen) {
        Some(acts) => acts,
        None => server.player.usual(&seen),
    };
    let mut channel = Channel::Shared(Arc::clone(&server.stream));
    let shared = Arc::clone(server);
    server.spawn(async move {
        // A cut of the stream is the stream's end.
        if shared
            .player
            .play(&mut channel, &seen, &acts)
            .await
            .is_err()
        {
            shared.stream.lock().await.take();
        }
    });
}

/// What is done about a request of streamable HTTP.
fn acts_for(server: &Server, seen: &Seen) -> Vec<Act> {
    match seen.verb.as_str() {
        "POST" => {}
        "DELETE" => return vec![Act::Status(200)],
        _ => return vec![Act::Status(405)],
    }
    if let Some(acts) = server.player.rule_for_message(seen) {
        return acts;
    }
    if wants_session(server, seen) {
        return vec![
            Act::Status(400),
            Act::text(
                r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}"#,
            ),
        ];
    }
    server.player.usual(seen)
}

/// Whether a request lacks the session that its revision wants.
fn wants_session(server: &Server, seen: &Seen) -> bool {
    let has_session = seen
        .header("mcp-session-id")
        .is_some_and(|session| server.player.knows_session(session));
    let is_modern = seen
        .header("mcp-protocol-version")
        .is_some_and(|version| version >= "2026");
    match server.player.script.speaks {
        Speaks::Modern => false,
        Speaks::Legacy => seen.method != "initialize" && !has_session,
        Speaks::Both => !is_modern && seen.method != "initialize" && !has_session,
    }
}
