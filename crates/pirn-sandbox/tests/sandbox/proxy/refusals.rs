//! What is refused, how it is said, and that nothing reached the host.

use std::sync::{Arc, Mutex};

use pirn_sandbox::NetworkOptions;
use tokio::net::TcpListener;

use super::stage::{FakeUplink, PUBLIC, Target, shown, start};

#[tokio::test]
async fn a_refusal_names_the_host_and_the_setting() {
    let sink = Arc::new(Mutex::new(Vec::new()));
    let options = NetworkOptions {
        on_decision: Some(Arc::new({
            let sink = Arc::clone(&sink);
            move |decision| sink.lock().unwrap().push(shown(decision))
        })),
        ..NetworkOptions::default()
    };
    let stage = start(&["a.net", "!b.net"], FakeUplink::default(), options);
    let answer = stage
        .talk("CONNECT c.net:443 HTTP/1.1\r\nHost: c.net:443\r\n\r\n")
        .await;
    let sentence = "Sandbox: the network proxy refused c.net:443: it is not among the allowed hosts; \
                    the setting sandbox.allowedHosts would allow it.\n";
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{head}");
    assert!(
        head.contains(&format!("Content-Length: {}", sentence.len())),
        "{head}"
    );
    assert_eq!(body, sentence);

    let answer = stage.talk("GET http://b.net/ HTTP/1.1\r\n\r\n").await;
    assert!(
        answer.ends_with(
            "refused b.net:80: the rule `b.net` denies it; the setting sandbox.deniedHosts has that rule.\n"
        ),
        "{answer}"
    );
    let answer = stage.talk("HEAD http://c.net/ HTTP/1.1\r\n\r\n").await;
    assert!(answer.ends_with("\r\n\r\n"), "{answer}");

    let decisions = [
        "refused c.net:443: it is not among the allowed hosts",
        "refused b.net:80: the rule `b.net` denies it",
        "refused c.net:80: it is not among the allowed hosts",
    ];
    assert_eq!(stage.decisions(), decisions);
    assert_eq!(*sink.lock().unwrap(), decisions);
    assert_eq!(stage.proxy.decision_cursor(), 3);
    assert_eq!(stage.proxy.decisions_since(2).len(), 1);
    // What is refused is not looked up either: the look-up itself would tell somebody.
    assert_eq!(stage.map.asked(), Vec::<String>::new());
    assert_eq!(stage.map.connected(), Vec::<String>::new());
}

#[tokio::test]
async fn places_that_no_name_may_lead_to() {
    for (address, port, allowed) in [
        (PUBLIC, 80, "yes"),
        ("2606:4700::1", 80, "yes"),
        ("10.1.2.3", 80, "private"),
        ("fd12::1", 80, "private"),
        ("::ffff:192.168.1.1", 80, "private"),
        ("127.0.0.1", 80, "no"),
        ("::1", 80, "no"),
        ("::ffff:127.0.0.1", 80, "no"),
        ("64:ff9b::7f00:1", 80, "no"),
        ("2002:7f00:1::", 80, "no"),
        ("0.0.0.0", 80, "no"),
        ("169.254.169.254", 80, "no"),
        ("100.100.100.200", 80, "no"),
        ("fd00:ec2::254", 80, "no"),
        ("fe80::1", 80, "no"),
        ("224.0.0.1", 80, "no"),
        ("255.255.255.255", 80, "no"),
    ] {
        for private_networks in [false, true] {
            let map = FakeUplink::default().name("a.net", &[&[address]]);
            let options = NetworkOptions {
                private_networks,
                ..NetworkOptions::default()
            };
            let stage = start(&["*"], map, options);
            let answer = stage
                .talk(format!("CONNECT a.net:{port} HTTP/1.1\r\n\r\n"))
                .await;
            let passes = allowed == "yes" || allowed == "private" && private_networks;
            // There is nothing at the allowed addresses of the map.
            let status = if passes {
                "HTTP/1.1 502 "
            } else {
                "HTTP/1.1 403 "
            };
            assert!(answer.starts_with(status), "{address}: {answer}");
            let connected = stage.map.connected();
            assert_eq!(connected.is_empty(), !passes, "{address}: {connected:?}");
        }
    }
}

#[tokio::test]
async fn addresses_are_allowed_by_themselves() {
    let target = Target::web("HTTP/1.1 204 No Content\r\n\r\n").await;
    let port = target.address.port();
    let with_port = format!("127.0.0.1:{port}");
    let name_with_port = format!("localhost:{port}");
    for (rules, host, status) in [
        (&[with_port.as_str()][..], "127.0.0.1", "204"),
        (&[&with_port], "[::ffff:127.0.0.1]", "204"),
        (&[&with_port], "[::ffff:7f00:1]", "204"),
        (&["127.0.0.1"], "127.0.0.1", "403"),
        (&["*"], "127.0.0.1", "403"),
        (&["*"], "[::ffff:127.0.0.1]", "403"),
        (&["*"], "localhost", "403"),
        (&[&name_with_port], "localhost", "403"),
        (&[&with_port], "localhost", "403"),
        (&[&with_port, "localhost"], "localhost", "403"),
        (&["*", "127.0.0.1:9"], "127.0.0.1", "403"),
        (&[&with_port], "2130706433", "403"),
        (&[&with_port, "*"], "0x7f000001", "403"),
        (&[&with_port, "*"], "017700000001", "403"),
        (&[&with_port, "*"], "127.1", "403"),
        (&[&with_port, "*"], "127.0.0.1.", "204"),
        (&[&with_port, "*"], "user@127.0.0.1", "403"),
        (&[&with_port, "!127.0.0.1"], "127.0.0.1", "403"),
    ] {
        let map = FakeUplink::default().name("localhost", &[&["127.0.0.1"]]);
        let stage = start(rules, map, NetworkOptions::default());
        let request = format!("GET http://{host}:{port}/ HTTP/1.1\r\n\r\n");
        let answer = stage.talk(request).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{rules:?} {host}: {answer}"
        );
    }
    assert_eq!(target.heard().len(), 4);
}

#[tokio::test]
async fn a_name_that_changes_its_mind_is_looked_up_once_for_each_request() {
    let inside = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = inside.local_addr().unwrap().port();
    let outside = Target::web("HTTP/1.1 204 No Content\r\n\r\n").await;
    let map = FakeUplink::default()
        .name("rebind.net", &[&[PUBLIC], &["127.0.0.1"]])
        .route(PUBLIC, port, outside.address);
    let stage = start(&["rebind.net"], map, NetworkOptions::default());
    let request = format!("GET http://rebind.net:{port}/ HTTP/1.1\r\n\r\n");
    let first = stage.talk(&request).await;
    assert!(first.starts_with("HTTP/1.1 204 "), "{first}");
    assert_eq!(stage.map.asked(), ["rebind.net"]);
    assert_eq!(stage.map.connected(), [format!("{PUBLIC}:{port}")]);
    let second = stage.talk(&request).await;
    assert!(second.starts_with("HTTP/1.1 403 "), "{second}");
    assert!(
        second.contains("127.0.0.1 is a loopback address"),
        "{second}"
    );
    assert_eq!(stage.map.connected().len(), 1);
    let nobody = tokio::time::timeout(std::time::Duration::ZERO, inside.accept()).await;
    assert!(nobody.is_err(), "the listener inside is left alone");
}

#[tokio::test]
async fn of_several_addresses_only_those_that_may_be_reached_are_tried() {
    let target = Target::web("HTTP/1.1 204 No Content\r\n\r\n").await;
    let addresses: &[&str] = &["127.0.0.1", "203.0.113.9", "203.0.113.8", PUBLIC];
    let map = FakeUplink::default()
        .name("a.net", &[addresses])
        .route("203.0.113.9", 80, target.address)
        .route(PUBLIC, 80, target.address);
    // A rule that denies an address also holds for names.
    let stage = start(&["*", "!203.0.113.9"], map, NetworkOptions::default());
    let answer = stage.talk("GET http://a.net/ HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 204 "), "{answer}");
    assert_eq!(stage.map.connected(), ["203.0.113.8:80", "203.0.113.5:80"]);
}

#[tokio::test]
async fn the_own_addresses_of_the_machine_are_no_way_in() {
    // Where the machine has no network, there is nothing to be refused.
    let Some(own) = own_address() else { return };
    let map = FakeUplink::default().name("me.net", &[&[own.as_str()]]);
    let options = NetworkOptions {
        private_networks: true,
        ..NetworkOptions::default()
    };
    let stage = start(&["*"], map, options);
    for host in ["me.net", &own] {
        let answer = stage
            .talk(format!("CONNECT {host}:22 HTTP/1.1\r\n\r\n"))
            .await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        assert!(answer.contains("is an address of this machine"), "{answer}");
    }
    assert_eq!(stage.map.connected(), Vec::<String>::new());
}

/// The address that this machine would send from to somewhere outside; nothing is sent.
fn own_address() -> Option<String> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect((PUBLIC, 9)).ok()?;
    Some(socket.local_addr().ok()?.ip().to_string())
}

#[tokio::test]
async fn requests_that_are_unclear_reach_nobody() {
    let target = Target::web("HTTP/1.1 204 No Content\r\n\r\n").await;
    let map = FakeUplink::default()
        .name("a.net", &[&[PUBLIC]])
        .name("b.net", &[&[PUBLIC]])
        .route(PUBLIC, 80, target.address);
    let stage = start(&["a.net"], map, NetworkOptions::default());
    for (request, status) in [
        ("GET http://a.net/ HTTP/1.1\r\nHost: b.net\r\n\r\n", "400"),
        (
            "GET http://a.net/ HTTP/1.1\r\nHost: a.net\r\nHost: b.net\r\n\r\n",
            "400",
        ),
        ("CONNECT a.net:80 HTTP/1.1\r\nHost: b.net:80\r\n\r\n", "400"),
        ("CONNECT a.net:80@b.net:80 HTTP/1.1\r\n\r\n", "403"),
        ("CONNECT b.net:80 HTTP/1.1\r\nHost: a.net\r\n\r\n", "400"),
        ("GET http://b.net/ HTTP/1.1\r\nHost: a.net\r\n\r\n", "400"),
        ("GET / HTTP/1.1\r\nHost: a.net\r\n\r\n", "400"),
        (
            "GET http://a.net/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "400",
        ),
        ("GET http://a.net/ HTTP/1.1\r\nX: a\rb\r\n\r\n", "400"),
        ("nonsense\r\n\r\n", "400"),
    ] {
        let answer = stage.talk(request).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request:?}: {answer}"
        );
    }
    // Neither HTTP nor SOCKS5.
    for bytes in [
        &b"\x16\x03\x01\x02"[..],
        b"\x04\x01\0\x50\x7f\0\0\x01\0",
        b" GET",
    ] {
        assert_eq!(stage.talk(bytes).await, "");
    }
    assert_eq!(target.heard(), Vec::<String>::new());
    assert_eq!(stage.map.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn names_without_addresses_and_addresses_without_listeners_are_no_refusals() {
    let map = FakeUplink::default()
        .name("empty.net", &[&[]])
        .name("far.net", &[&[PUBLIC]]);
    let stage = start(&["*"], map, NetworkOptions::default());
    for (host, wanted) in [
        ("none.net", "Could not resolve host: none.net"),
        ("empty.net", "Could not resolve host: empty.net"),
        ("far.net", "Could not connect to far.net:80"),
    ] {
        let answer = stage
            .talk(format!("GET http://{host}/ HTTP/1.1\r\n\r\n"))
            .await;
        assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
        assert!(answer.contains(wanted), "{answer}");
    }
    assert!(
        stage
            .decisions()
            .iter()
            .all(|text| text.starts_with("allowed "))
    );
}
