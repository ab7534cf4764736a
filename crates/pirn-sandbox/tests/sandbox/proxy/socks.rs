//! The proxy as clients of SOCKS5 see it.

use pirn_sandbox::NetworkOptions;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::stage::{FakeUplink, PUBLIC, Stage, echo, patient, read_all, start};

const GREETING: &[u8] = b"\x05\x01\x00";

fn by_name(command: u8, name: &[u8], port: u16) -> Vec<u8> {
    let mut request = vec![5, command, 0, 3, u8::try_from(name.len()).unwrap()];
    request.extend(name);
    request.extend(port.to_be_bytes());
    request
}

fn by_address(kind: u8, octets: &[u8], port: u16) -> Vec<u8> {
    let mut request = vec![5, 1, 0, kind];
    request.extend(octets);
    request.extend(port.to_be_bytes());
    request
}

/// The code of the reply to a request, and what comes behind it.
async fn reply(stage: &Stage, request: &[u8]) -> (u8, String) {
    let mut stream = stage.connect().await;
    stream.write_all(GREETING).await.unwrap();
    let mut answer = [0; 2];
    patient(stream.read_exact(&mut answer)).await.unwrap();
    assert_eq!(answer, [5, 0]);
    stream.write_all(request).await.unwrap();
    stream.write_all(b"hello").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut reply = [0; 10];
    patient(stream.read_exact(&mut reply)).await.unwrap();
    assert_eq!((reply[0], reply[2], reply[3]), (5, 0, 1), "{reply:?}");
    (reply[1], read_all(&mut stream).await)
}

#[tokio::test]
async fn connects_by_name_and_by_address_and_refuses_the_rest() {
    let target = echo().await;
    let port = target.port();
    let literal = target.to_string();
    let map = FakeUplink::default()
        .name("a.net", &[&[PUBLIC]])
        .name("inside.net", &[&["127.0.0.1"]])
        .route(PUBLIC, 80, target);
    let rules = [
        literal.as_str(),
        "a.net",
        "inside.net",
        "none.net",
        "198.51.100.1",
    ];
    let stage = start(&rules, map, NetworkOptions::default());
    let mut mapped = [0; 16];
    mapped[10..].copy_from_slice(&[255, 255, 127, 0, 0, 1]);
    let mut loopback6 = [0; 16];
    loopback6[15] = 1;
    for (name, request, code) in [
        ("name", by_name(1, b"a.net", 80), 0),
        ("address", by_address(1, &[127, 0, 0, 1], port), 0),
        ("mapped address", by_address(4, &mapped, port), 0),
        ("address as a name", by_name(1, b"127.0.0.1", port), 0),
        ("another port", by_address(1, &[127, 0, 0, 1], 1), 2),
        ("no rule", by_name(1, b"b.net", 80), 2),
        ("loopback by name", by_name(1, b"inside.net", port), 2),
        ("loopback of IPv6", by_address(4, &loopback6, port), 2),
        ("disguised address", by_name(1, b"2130706433", port), 2),
        ("no name", by_name(1, b"", 80), 2),
        ("zero byte", by_name(1, b"a.net\0.b.net", 80), 2),
        ("port 0", by_name(1, b"b.net", 0), 2),
        ("unreachable", by_address(1, &[198, 51, 100, 1], 80), 3),
        ("not resolved", by_name(1, b"none.net", 80), 4),
        ("BIND", by_name(2, b"a.net", 80), 7),
        ("UDP ASSOCIATE", by_name(3, b"a.net", 80), 7),
        ("unknown command", by_name(9, b"a.net", 80), 7),
        ("unknown kind of address", by_address(2, &[], 80), 8),
    ] {
        let wanted = if code == 0 { "hello" } else { "" };
        assert_eq!(
            reply(&stage, &request).await,
            (code, wanted.to_owned()),
            "{name}"
        );
    }
    // By name only what a rule names is looked up.
    assert_eq!(stage.map.asked(), ["a.net", "inside.net", "none.net"]);
    let decisions = stage.decisions();
    assert!(
        decisions.contains(&"refused a.net:80: the proxy does not offer UDP".to_owned()),
        "{decisions:?}"
    );
}

#[tokio::test]
async fn a_refused_port_is_told_as_such() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let stage = start(
        &[&address.to_string()],
        FakeUplink::default(),
        NetworkOptions::default(),
    );
    let request = by_address(1, &[127, 0, 0, 1], address.port());
    assert_eq!(reply(&stage, &request).await, (5, String::new()));
}

#[tokio::test]
async fn authentication_is_not_offered() {
    let stage = start(&["*"], FakeUplink::default(), NetworkOptions::default());
    let mut stream = stage.connect().await;
    stream.write_all(b"\x05\x01\x02").await.unwrap();
    let mut answer = [0; 2];
    patient(stream.read_exact(&mut answer)).await.unwrap();
    assert_eq!(answer, [5, 0xff]);
    assert_eq!(read_all(&mut stream).await, "");
}

#[tokio::test]
async fn messages_may_be_torn_anywhere() {
    let target = echo().await;
    let map = FakeUplink::default()
        .name("a.net", &[&[PUBLIC]])
        .route(PUBLIC, 80, target);
    let stage = start(&["a.net"], map, NetworkOptions::default());
    let mut message = GREETING.to_vec();
    message.extend(by_name(1, b"a.net", 80));
    message.extend(b"hello");
    for cut in 1..message.len() {
        let (front, back) = message.split_at(cut);
        let mut stream = stage.connect().await;
        stream.set_nodelay(true).unwrap();
        stream.write_all(front).await.unwrap();
        // The answer to the greeting shows that what came before has been read.
        let mut answer = vec![0; if cut >= GREETING.len() { 2 } else { 0 }];
        patient(stream.read_exact(&mut answer)).await.unwrap();
        stream.write_all(back).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut rest = Vec::new();
        patient(stream.read_to_end(&mut rest)).await.unwrap();
        answer.extend(rest);
        assert_eq!(
            answer, b"\x05\0\x05\0\0\x01\0\0\0\0\0\0hello",
            "cut at {cut}"
        );
    }
}
