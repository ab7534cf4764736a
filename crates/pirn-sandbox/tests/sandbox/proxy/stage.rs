//! What the tests of the proxy share: an uplink that leads nowhere but to listeners of the tests, and those listeners.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use pirn_sandbox::{
    HostRule, NetworkDecision, NetworkFuture, NetworkOptions, NetworkProxy, NetworkRules,
    NetworkUplink, NetworkVerdict,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::support::PATIENCE;

/// An address for documentation: public by its number, and nobody's.
pub(crate) const PUBLIC: &str = "203.0.113.5";

/// An uplink with names of its own, whose public addresses are listeners on loopback.
#[derive(Debug, Default)]
pub(crate) struct FakeUplink {
    /// What each name resolves to: the first time, the second time, and so on; the last one stays.
    names: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    routes: Mutex<HashMap<SocketAddr, SocketAddr>>,
    asked: Mutex<Vec<String>>,
    connected: Mutex<Vec<SocketAddr>>,
}

impl FakeUplink {
    pub(crate) fn name(self, name: &str, answers: &[&[&str]]) -> Self {
        let answers = answers
            .iter()
            .map(|answer| answer.iter().map(|text| text.parse().unwrap()).collect())
            .collect();
        self.names.lock().unwrap().insert(name.to_owned(), answers);
        self
    }

    pub(crate) fn route(self, address: &str, port: u16, to: SocketAddr) -> Self {
        let address = SocketAddr::new(address.parse().unwrap(), port);
        self.routes.lock().unwrap().insert(address, to);
        self
    }

    /// The names that were looked up.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// The addresses that were connected to.
    pub(crate) fn connected(&self) -> Vec<String> {
        let connected = self.connected.lock().unwrap();
        connected.iter().map(ToString::to_string).collect()
    }
}

impl NetworkUplink for FakeUplink {
    fn resolve<'a>(&'a self, name: &'a str) -> NetworkFuture<'a, io::Result<Vec<IpAddr>>> {
        self.asked.lock().unwrap().push(name.to_owned());
        let mut names = self.names.lock().unwrap();
        let found = names.get_mut(name).map(|answers| {
            if answers.len() > 1 {
                answers.remove(0)
            } else {
                answers[0].clone()
            }
        });
        Box::pin(async move { found.ok_or_else(|| io::Error::other("no such name")) })
    }

    fn connect(&self, address: SocketAddr) -> NetworkFuture<'_, io::Result<TcpStream>> {
        self.connected.lock().unwrap().push(address);
        let route = self.routes.lock().unwrap().get(&address).copied();
        Box::pin(async move {
            match route {
                Some(to) => TcpStream::connect(to).await,
                None if address.ip().is_loopback() => TcpStream::connect(address).await,
                None => Err(io::ErrorKind::NetworkUnreachable.into()),
            }
        })
    }
}

/// A running proxy, with a network made up for it.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) proxy: NetworkProxy,
    pub(crate) address: SocketAddr,
    pub(crate) map: Arc<FakeUplink>,
    pub(crate) gone: CancellationToken,
}

/// Starts a proxy that allows `allow`, denies what begins with `!`, and has this map for its network.
pub(crate) fn start(rules: &[&str], map: FakeUplink, options: NetworkOptions) -> Stage {
    let parse = |text: &str| text.parse::<HostRule>().unwrap();
    let denied = rules.iter().filter_map(|text| text.strip_prefix('!'));
    let allowed = rules.iter().filter(|text| !text.starts_with('!'));
    let rules = NetworkRules {
        allow: allowed.map(|text| parse(text)).collect(),
        deny: denied.map(parse).collect(),
    };
    let map = Arc::new(map);
    let proxy = NetworkProxy::new(
        rules,
        NetworkOptions {
            uplink: map.clone(),
            ..options
        },
    );
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let gone = CancellationToken::new();
    proxy.serve(listener, gone.clone()).unwrap();
    Stage {
        proxy,
        address,
        map,
        gone,
    }
}

impl Stage {
    pub(crate) async fn connect(&self) -> TcpStream {
        patient(TcpStream::connect(self.address)).await.unwrap()
    }

    /// Sends this and reads until the proxy closes.
    pub(crate) async fn talk(&self, message: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect().await;
        stream.write_all(message.as_ref()).await.unwrap();
        read_all(&mut stream).await
    }

    /// The decisions so far, as `allowed host:port` and `refused host:port: why`.
    pub(crate) fn decisions(&self) -> Vec<String> {
        let decisions = self.proxy.decisions_since(0);
        decisions.iter().map(shown).collect()
    }
}

pub(crate) fn shown(decision: &NetworkDecision) -> String {
    let NetworkDecision {
        host,
        port,
        verdict,
        reason,
        at: _,
    } = decision;
    match verdict {
        NetworkVerdict::Allowed => format!("allowed {host}:{port}"),
        NetworkVerdict::Refused => format!("refused {host}:{port}: {reason}"),
    }
}

pub(crate) async fn patient<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap()
}

pub(crate) async fn read_all(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    patient(stream.read_to_end(&mut bytes)).await.unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads the head of an answer, and nothing behind it.
pub(crate) async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(patient(stream.read_u8()).await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// Asks for a tunnel and reads the answer, which must be a yes.
pub(crate) async fn open_tunnel(stage: &Stage, target: &str) -> TcpStream {
    let mut stream = stage.connect().await;
    let request = format!("CONNECT {target} HTTP/1.1\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let head = read_head(&mut stream).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    stream
}

/// A listener that notes what each connection sends it and answers once it has seen `until`.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Target {
    /// Answers each connection with `answer`, and closes, as soon as what it was sent ends with `until`.
    pub(crate) async fn answering(until: &'static str, answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let task = tokio::spawn({
            let heard = Arc::clone(&heard);
            async move {
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    let index = {
                        let mut heard = heard.lock().unwrap();
                        heard.push(String::new());
                        heard.len() - 1
                    };
                    tokio::spawn(answer_one(stream, Arc::clone(&heard), index, until, answer));
                }
            }
        });
        Self {
            address,
            heard,
            task,
        }
    }

    /// A web server that says who it is.
    pub(crate) async fn web(answer: &'static str) -> Self {
        Self::answering("\r\n\r\n", answer).await
    }

    /// What each connection has sent so far.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer_one(
    mut stream: TcpStream,
    heard: Arc<Mutex<Vec<String>>>,
    index: usize,
    until: &str,
    answer: &str,
) {
    let mut piece = [0; 4096];
    loop {
        let length = stream.read(&mut piece).await.unwrap_or(0);
        if length == 0 {
            return;
        }
        let done = {
            let mut heard = heard.lock().unwrap();
            heard[index].push_str(&String::from_utf8_lossy(&piece[..length]));
            heard[index].ends_with(until)
        };
        if done {
            let _gone = stream.write_all(answer.as_bytes()).await;
            return;
        }
    }
}

/// A listener that sends back what it is sent, and ends when the other side has ended.
pub(crate) async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                let _end = tokio::io::copy(&mut read, &mut write).await;
                let _end = write.shutdown().await;
            });
        }
    });
    address
}
