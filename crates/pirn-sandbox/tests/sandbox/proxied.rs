//! Confined programs that use the network as they always do, through the proxy.

use std::net::TcpListener;
use std::sync::Arc;

use pirn_sandbox::{ExitStatus, Network, NetworkOptions, NetworkProxy, NetworkRules, Sandbox};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::time::timeout;

use crate::confined::{Place, also_as_ordinary_user, levels_with_namespaces};
use crate::proxy::stage::{FakeUplink, PUBLIC, Target, shown};
use crate::support::{PATIENCE, run};

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n";

/// Scripts that print what the server says.
const SCRIPTS: &[&str] = &[
    "curl -sS --max-time 5 http://allowed.example/",
    "curl -sS --max-time 5 --proxytunnel http://allowed.example/",
    "http_proxy= curl -sS --max-time 5 http://allowed.example/",
    "curl -sS --max-time 5 --socks5-hostname 127.0.0.1:3128 http://allowed.example/",
    "curl -sS --max-time 5 -d body http://ALLOWED.example.:80/",
    "wget -q -T 5 -O - http://allowed.example/",
    "/usr/bin/python3 -c 'import urllib.request as u; print(u.urlopen(\"http://allowed.example/\").read().decode(), end=\"\")'",
];

#[tokio::test]
async fn allowed_hosts_are_reached_by_the_usual_programs() {
    also_as_ordinary_user("proxied::allowed_hosts_are_reached_by_the_usual_programs");
    let target = Target::answering("", ANSWER).await;
    for level in levels_with_namespaces() {
        let place = Place::new();
        let map = FakeUplink::default()
            .name("allowed.example", &[&[PUBLIC]])
            .route(PUBLIC, 80, target.address);
        let rules = NetworkRules {
            allow: vec!["allowed.example:80".parse().unwrap()],
            deny: Vec::new(),
        };
        let options = NetworkOptions {
            uplink: Arc::new(map),
            ..NetworkOptions::default()
        };
        let proxy = NetworkProxy::new(rules, options);
        let mut policy = place.policy(level);
        policy.network = Network::AllowList(proxy.clone());
        let sandbox = Sandbox::prepare(policy).unwrap();
        for script in SCRIPTS {
            let cursor = proxy.decision_cursor();
            let (status, captured) = run(place.shell(&sandbox, script)).await;
            let output = String::from_utf8(captured.bytes).unwrap();
            assert_eq!(
                (status, output.as_str()),
                (ExitStatus::Code(0), "hello\n"),
                "{level:?}: {script}"
            );
            let decisions: Vec<String> = proxy.decisions_since(cursor).iter().map(shown).collect();
            assert_eq!(decisions, ["allowed allowed.example:80"], "{script}");
        }
        // What is not meant for the proxy stays inside.
        let own = "/usr/bin/python3 -c 'import socket
server = socket.create_server((\"127.0.0.1\", 8000)); client = socket.create_connection((\"localhost\", 8000)); print(\"inside\")'";
        place.check(&sandbox, own, "inside\n").await;
    }
}

/// Says so when it listens on PORT, and answers one line to each connection.
const SERVER: &str = "/usr/bin/python3 -c 'import socket
server = socket.create_server((\"127.0.0.1\", PORT))
print(\"listening\", flush=True)
while True:
    connection = server.accept()[0]
    connection.sendall(b\"served\\n\")
    connection.close()'";

const CLIENT: &str = "/usr/bin/python3 -c 'import socket
try:
    print(socket.create_connection((\"127.0.0.1\", PORT)).makefile().readline(), end=\"\")
except OSError as error:
    print(type(error).__name__)'";

#[tokio::test]
async fn what_one_command_serves_reaches_the_next_one_and_nobody_else() {
    also_as_ordinary_user("proxied::what_one_command_serves_reaches_the_next_one_and_nobody_else");
    for level in levels_with_namespaces() {
        for network in [
            Network::Off,
            Network::AllowList(NetworkProxy::new(
                NetworkRules::default(),
                NetworkOptions::default(),
            )),
        ] {
            let place = Place::new();
            // Outside, the port is ours: the server could not have it there, and nobody inside comes to us.
            let outside = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = outside.local_addr().unwrap().port().to_string();
            let [server, client] = [SERVER, CLIENT].map(|script| script.replace("PORT", &port));
            let mut policy = place.policy(level);
            policy.network = network;
            let sandbox = Sandbox::prepare(policy.clone()).unwrap();
            let mut server = place.shell(&sandbox, &server).spawn().unwrap();
            let mut output = BufReader::new(server.take_output().unwrap());
            let mut line = String::new();
            timeout(PATIENCE, output.read_line(&mut line))
                .await
                .unwrap()
                .unwrap();
            assert_eq!(line, "listening\n");
            place.check(&sandbox, &client, "served\n").await;
            let other = Sandbox::prepare(policy).unwrap();
            place
                .check(&other, &client, "ConnectionRefusedError\n")
                .await;
            server.kill_all().await;
            place
                .check(&sandbox, &client, "ConnectionRefusedError\n")
                .await;
        }
    }
}
