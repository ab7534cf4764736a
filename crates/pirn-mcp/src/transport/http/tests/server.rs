//! An HTTP server that does what a test tells it, one request per connection.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use url::Url;

/// A running server; dropping it ends it with all its connections.
pub(crate) struct Server {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
    arrived: Arc<Notify>,
    _tasks: JoinSet<()>,
}

/// A request as it came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Received {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

/// What the server does with a connection, one after the other; then it closes it.
pub(crate) enum Step {
    /// Sends these bytes at once.
    Bytes(Vec<u8>),
    /// Waits for the test.
    Wait(Arc<Notify>),
    /// Does nothing more until the client goes away.
    Hang,
}

pub(crate) type Script = Vec<Step>;

/// A script to be played more than once.
pub(crate) type Scripted = Box<dyn Fn() -> Script + Send + Sync>;

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(header, _)| header == name)
            .map(|(_, value)| value.as_str())
    }

    /// `POST tools/call`, `GET`, …
    pub(crate) fn what(&self) -> String {
        match self.body["method"].as_str() {
            Some(method) => format!("{} {method}", self.method),
            None => self.method.clone(),
        }
    }
}

impl Server {
    /// Starts a server that asks `answer` about every request.
    pub(crate) async fn start(
        answer: impl Fn(&Received) -> Script + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let arrived = Arc::new(Notify::new());
        let answer: Arc<dyn Fn(&Received) -> Script + Send + Sync> = Arc::new(answer);
        let mut tasks = JoinSet::new();
        tasks.spawn({
            let received = Arc::clone(&received);
            let arrived = Arc::clone(&arrived);
            async move {
                let mut connections = JoinSet::new();
                while let Ok((stream, _)) = listener.accept().await {
                    stream.set_nodelay(true).unwrap();
                    let (received, arrived, answer) = (
                        Arc::clone(&received),
                        Arc::clone(&arrived),
                        Arc::clone(&answer),
                    );
                    connections.spawn(async move {
                        let mut stream = BufReader::new(stream);
                        let Some(request) = read_request(&mut stream).await else {
                            return;
                        };
                        let script = answer(&request);
                        received.lock().unwrap().push(request);
                        arrived.notify_waiters();
                        play(stream, script).await;
                    });
                }
            }
        });
        Self {
            address,
            received,
            arrived,
            _tasks: tasks,
        }
    }

    pub(crate) fn url(&self, path: &str) -> Url {
        format!("http://{}{path}", self.address).parse().unwrap()
    }

    /// The requests so far.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// What the requests so far were.
    pub(crate) fn log(&self) -> Vec<String> {
        self.received().iter().map(Received::what).collect()
    }

    /// Waits for a request that is this.
    pub(crate) async fn wait_for(&self, what: &str, times: usize) {
        let waiting = async {
            loop {
                let arrived = self.arrived.notified();
                let count = self.log().iter().filter(|one| *one == what).count();
                if count >= times {
                    return;
                }
                arrived.await;
            }
        };
        if tokio::time::timeout(super::PATIENCE, waiting)
            .await
            .is_err()
        {
            panic!("{what} did not arrive {times} times: {:?}", self.log());
        }
    }
}

async fn read_request(stream: &mut BufReader<TcpStream>) -> Option<Received> {
    let mut request = Received::default();
    let mut line = String::new();
    stream.read_line(&mut line).await.ok()?;
    let mut words = line.split_whitespace().map(str::to_owned);
    request.method = words.next()?;
    request.path = words.next()?;
    loop {
        line.clear();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        request
            .headers
            .push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = request
        .header("content-length")
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    request.body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(request)
}

async fn play(mut stream: BufReader<TcpStream>, script: Script) {
    for step in script {
        match step {
            Step::Bytes(bytes) => {
                if stream.write_all(&bytes).await.is_err() || stream.flush().await.is_err() {
                    return;
                }
            }
            Step::Wait(notify) => notify.notified().await,
            Step::Hang => {
                // Reads nothing and ends with the client's end.
                drop(stream.read(&mut [0]).await);
                return;
            }
        }
    }
    drop(stream.shutdown().await);
}

pub(crate) fn response(status: u16, headers: &[(&str, &str)], body: &str) -> Script {
    let length = body.len().to_string();
    let mut text = head(status, &[headers, &[("content-length", &length)]].concat());
    text += "\r\n";
    text += body;
    vec![Step::Bytes(text.into_bytes())]
}

pub(crate) fn json(status: u16, body: &Value) -> Script {
    response(
        status,
        &[("content-type", "application/json")],
        &body.to_string(),
    )
}

/// A stream of events, sent piece by piece and then ended.
pub(crate) fn events(pieces: &[&[u8]]) -> Script {
    let mut script = vec![Step::Bytes(events_head())];
    script.extend(pieces.iter().map(|piece| Step::Bytes(piece.to_vec())));
    script
}

/// The head of a stream of events that ends with its connection.
pub(crate) fn events_head() -> Vec<u8> {
    let mut text = head(200, &[("content-type", "text/event-stream; charset=utf-8")]);
    text.push_str("\r\n");
    text.into_bytes()
}

fn head(status: u16, headers: &[(&str, &str)]) -> String {
    let mut text = format!("HTTP/1.1 {status} Status\r\nconnection: close\r\n");
    for (name, value) in headers {
        text += name;
        text += ": ";
        text += value;
        text += "\r\n";
    }
    text
}
