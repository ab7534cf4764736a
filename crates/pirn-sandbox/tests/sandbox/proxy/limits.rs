//! Time and size limits.

use std::time::Duration;

use pirn_sandbox::{NetworkFuture, NetworkOptions, NetworkProxy, NetworkRules, NetworkUplink};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::stage::{FakeUplink, echo, open_tunnel, patient, read_all, start};

/// Short enough to wait for.
const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_head_that_dribbles_in_is_given_up() {
    let options = NetworkOptions {
        header_time: SHORT,
        ..NetworkOptions::default()
    };
    let stage = start(&["*"], FakeUplink::default(), options);
    let answer = stage.talk("GET http://a.net/ HTTP/1.1\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    for begun in ["", "\x05", "\x05\x02\0"] {
        assert_eq!(stage.talk(begun).await, "");
    }
}

#[tokio::test]
async fn a_head_that_is_too_long_is_given_up() {
    let options = NetworkOptions {
        header_bytes_max: 1000,
        ..NetworkOptions::default()
    };
    let stage = start(&["*"], FakeUplink::default(), options);
    let long = "x".repeat(100_000);
    for request in [
        format!("GET http://a.net/{long}"),
        format!("GET http://a.net/ HTTP/1.1\r\nX: {long}\r\n\r\n"),
    ] {
        let answer = stage.talk(request).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
    assert_eq!(stage.map.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn a_tunnel_on_which_nothing_moves_is_closed() {
    let target = echo().await.to_string();
    let options = NetworkOptions {
        idle_time: SHORT,
        ..NetworkOptions::default()
    };
    let stage = start(&[&target], FakeUplink::default(), options);
    let mut stream = open_tunnel(&stage, &target).await;
    assert_eq!(read_all(&mut stream).await, "");
}

#[tokio::test]
async fn more_connections_than_allowed_wait_for_their_turn() {
    let target = echo().await.to_string();
    let options = NetworkOptions {
        connections_max: 1,
        ..NetworkOptions::default()
    };
    let stage = start(&[&target], FakeUplink::default(), options);
    let first = open_tunnel(&stage, &target).await;
    let mut second = stage.connect().await;
    let request = format!("CONNECT {target} HTTP/1.1\r\n\r\n");
    second.write_all(request.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    let early = tokio::time::timeout(SHORT, second.read_exact(&mut answer)).await;
    assert!(early.is_err(), "the first one is still there");
    drop(first);
    patient(second.read_exact(&mut answer)).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
}

/// An uplink on which nothing ever comes back.
#[derive(Debug)]
struct SilentUplink;

impl NetworkUplink for SilentUplink {
    fn resolve<'a>(
        &'a self,
        _: &'a str,
    ) -> NetworkFuture<'a, std::io::Result<Vec<std::net::IpAddr>>> {
        Box::pin(std::future::pending())
    }

    fn connect(
        &self,
        _: std::net::SocketAddr,
    ) -> NetworkFuture<'_, std::io::Result<tokio::net::TcpStream>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn the_resolver_of_the_system_is_asked_by_default() {
    let rules = NetworkRules {
        allow: vec!["*".parse().unwrap()],
        deny: Vec::new(),
    };
    let mut stage = start(&[], FakeUplink::default(), NetworkOptions::default());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    stage.address = listener.local_addr().unwrap();
    stage.proxy = NetworkProxy::new(rules, NetworkOptions::default());
    stage.proxy.serve(listener, stage.gone.clone()).unwrap();
    let answer = stage.talk("CONNECT localhost:80 HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(answer.contains(" is a loopback address"), "{answer}");
}

#[tokio::test]
async fn a_host_that_never_answers_is_given_up() {
    let rules = NetworkRules {
        allow: vec!["*".parse().unwrap()],
        deny: Vec::new(),
    };
    let options = NetworkOptions {
        connect_time: SHORT,
        uplink: std::sync::Arc::new(SilentUplink),
        ..NetworkOptions::default()
    };
    let mut stage = start(&[], FakeUplink::default(), NetworkOptions::default());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    stage.address = listener.local_addr().unwrap();
    stage.proxy = NetworkProxy::new(rules, options);
    stage.proxy.serve(listener, stage.gone.clone()).unwrap();
    for host in ["a.net", "203.0.113.5"] {
        let answer = stage
            .talk(format!("CONNECT {host}:80 HTTP/1.1\r\n\r\n"))
            .await;
        assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
    }
}
