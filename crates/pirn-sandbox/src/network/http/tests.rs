use proptest::prelude::*;

use super::body::BadChunk;
use super::*;
use crate::network::fuzz_proxy;

/// What becomes of a head: where it goes and what the server gets, or why it is refused.
fn read(head: &str) -> String {
    let text = head.replace('\n', "\r\n");
    match parse_head(text.as_bytes()) {
        Ok(None) => "incomplete".to_owned(),
        Err(HeadProblem::Malformed(sentence)) => sentence.to_owned(),
        Err(HeadProblem::Host { text, error }) => format!("{text}: {error}"),
        Ok(Some((head, length))) => {
            assert_eq!(length, text.len(), "the whole head is used");
            let RequestHead {
                method,
                host,
                port,
                purpose,
            } = head;
            match purpose {
                Purpose::Tunnel => format!("{method} {host} {port}"),
                Purpose::Forward { head, body } => {
                    let head = String::from_utf8(head).unwrap().replace("\r\n", "|");
                    format!("{host} {port} {body:?} {head}")
                }
            }
        }
    }
}

const OTHER_HOST: &str = "The Host field names another host than the request.";
const UNCLEAR: &str = "The request does not say clearly where it ends.";

/// Heads, with what becomes of them.
const HEADS: &[(&str, &str)] = &[
    ("CONNECT a.net:443 HTTP/1.1\n\n", "CONNECT a.net 443"),
    (
        "CONNECT A.net.:443 HTTP/1.1\nHost: a.NET:443\n\n",
        "CONNECT a.net 443",
    ),
    (
        "CONNECT a.net:443 HTTP/1.0\nHost: a.net\n\n",
        "CONNECT a.net 443",
    ),
    ("CONNECT [::1]:443 HTTP/1.1\n\n", "CONNECT [::1] 443"),
    (
        "CONNECT a.net:443 HTTP/1.1\nHost: b.net:443\n\n",
        OTHER_HOST,
    ),
    ("CONNECT a.net:443 HTTP/1.1\nHost: a.net:80\n\n", OTHER_HOST),
    (
        "CONNECT a.net:443 HTTP/1.1\nHost: a.net\nHost: a.net\n\n",
        OTHER_HOST,
    ),
    (
        "CONNECT a.net HTTP/1.1\n\n",
        "CONNECT needs a host and a port, such as example.com:443.",
    ),
    (
        "CONNECT me:pw@a.net:443 HTTP/1.1\n\n",
        "me:pw@a.net:443: user names and passwords have no place before the host",
    ),
    (
        "CONNECT a.net:0 HTTP/1.1\n\n",
        "a.net:0: the port is a number from 1 to 65535",
    ),
    (
        "CONNECT 0x7f.1:80 HTTP/1.1\n\n",
        "0x7f.1:80: a name that ends in a number is another spelling of an address; write four decimal numbers",
    ),
    (
        "GET http://a.net HTTP/1.1\n\n",
        "a.net 80 Bytes(0) GET / HTTP/1.1|Host: a.net|Connection: close||",
    ),
    (
        "GET http://a.net?q HTTP/1.1\n\n",
        "a.net 80 Bytes(0) GET /?q HTTP/1.1|Host: a.net|Connection: close||",
    ),
    (
        "GET HTTP://A.net:81/x?q=1:2/@ HTTP/1.1\nHost: a.net:81\nAccept: */*\n\n",
        "a.net 81 Bytes(0) GET /x?q=1:2/@ HTTP/1.1|Host: a.net:81|Accept: */*|Connection: close||",
    ),
    (
        "GET http://a.net/ HTTP/1.1\nHost: a.net:80\n\n",
        "a.net 80 Bytes(0) GET / HTTP/1.1|Host: a.net|Connection: close||",
    ),
    ("GET http://a.net/ HTTP/1.1\nHost: b.net\n\n", OTHER_HOST),
    ("GET http://a.net:81/ HTTP/1.1\nHost: a.net\n\n", OTHER_HOST),
    (
        "GET http://a.net/ HTTP/1.1\nHost: a.net\nhost: b.net\n\n",
        OTHER_HOST,
    ),
    (
        "GET http://me@a.net/ HTTP/1.1\n\n",
        "me@a.net: user names and passwords have no place before the host",
    ),
    (
        "GET http://a.net\\@b.net/ HTTP/1.1\n\n",
        "a.net\\@b.net: user names and passwords have no place before the host",
    ),
    (
        "GET http://a.net/#part HTTP/1.1\n\n",
        "The address of a request has no fragment.",
    ),
    (
        "GET / HTTP/1.1\nHost: a.net\n\n",
        "This is a proxy: requests name the whole address, http://host/path.",
    ),
    (
        "GET https://a.net/ HTTP/1.1\n\n",
        "Only http:// is forwarded; for everything else ask for a tunnel with CONNECT.",
    ),
    ("GET http:///x HTTP/1.1\n\n", ": there is no host name"),
    (
        "POST http://a.net/ HTTP/1.1\nContent-Length: 12\nProxy-Authorization: Basic eA==\nProxy-Connection: keep-alive\n\n",
        "a.net 80 Bytes(12) POST / HTTP/1.1|Host: a.net|Content-Length: 12|Connection: close||",
    ),
    (
        "POST http://a.net/ HTTP/1.1\nTransfer-Encoding: Chunked\nTE: trailers\n\n",
        "a.net 80 Chunks POST / HTTP/1.1|Host: a.net|Transfer-Encoding: chunked|Connection: close||",
    ),
    (
        "POST http://a.net/ HTTP/1.1\nContent-Length: 0\n\n",
        "a.net 80 Bytes(0) POST / HTTP/1.1|Host: a.net|Content-Length: 0|Connection: close||",
    ),
    (
        "GET http://a.net/ HTTP/1.1\nConnection: X-One, keep-alive,x-two\nx-one: 1\nX-Two: 2\nX-Three: 3\nKeep-Alive: 5\n\n",
        "a.net 80 Bytes(0) GET / HTTP/1.1|Host: a.net|X-Three: 3|Connection: close||",
    ),
    (
        "GET http://a.net/ HTTP/1.1\nConnection: Host, Content-Length\nContent-Length: 3\nHost: a.net\n\n",
        "a.net 80 Bytes(3) GET / HTTP/1.1|Host: a.net|Content-Length: 3|Connection: close||",
    ),
    (
        "GET http://a.net/ HTTP/1.1\nUpgrade: websocket\nConnection: Upgrade\n\n",
        "a.net 80 Bytes(0) GET / HTTP/1.1|Host: a.net|Connection: close||",
    ),
    (
        "POST http://a.net/ HTTP/1.1\nContent-Length: 1\nContent-Length: 1\n\n",
        UNCLEAR,
    ),
    (
        "POST http://a.net/ HTTP/1.1\nContent-Length: 1\nTransfer-Encoding: chunked\n\n",
        UNCLEAR,
    ),
    (
        "POST http://a.net/ HTTP/1.1\nContent-Length: +1\n\n",
        UNCLEAR,
    ),
    (
        "POST http://a.net/ HTTP/1.1\nContent-Length: 1, 1\n\n",
        UNCLEAR,
    ),
    (
        "POST http://a.net/ HTTP/1.1\nTransfer-Encoding: gzip, chunked\n\n",
        UNCLEAR,
    ),
    (
        "POST http://a.net/ HTTP/1.1\nTransfer-Encoding: chunked\nTransfer-Encoding: chunked\n\n",
        UNCLEAR,
    ),
    (
        "GET http://a.net/ HTTP/2.0\n\n",
        "The request is not HTTP/1.",
    ),
    (
        "GET http://a.net/ HTTP/1.1\n folded: x\n\n",
        "The request is not HTTP/1.",
    ),
    (
        "GET http://a.net/ HTTP/1.1\nHost : a.net\n\n",
        "The request is not HTTP/1.",
    ),
    (
        "GET http://a.net/ x HTTP/1.1\n\n",
        "The request is not HTTP/1.",
    ),
    ("GET\n\n", "The request is not HTTP/1."),
    ("GET http://a.net/ HTTP/1.1\nHost: a.net\n", "incomplete"),
];

#[test]
fn heads() {
    for (head, wanted) in HEADS {
        assert_eq!(read(head), *wanted, "{head:?}");
    }
}

#[test]
fn too_many_fields_are_refused() {
    let fields = "a: b\n".repeat(200);
    let head = format!("GET http://a.net/ HTTP/1.1\n{fields}\n");
    assert_eq!(read(&head), "The request has too many fields.");
}

#[test]
fn ends_of_bodies() {
    for (length, bytes, wanted) in [
        (BodyLength::Bytes(0), "GET /", Ok(0)),
        (BodyLength::Bytes(3), "abcGET /", Ok(3)),
        (BodyLength::Bytes(9), "abc", Ok(3)),
        (BodyLength::Chunks, "0\r\n\r\nGET /", Ok(5)),
        (BodyLength::Chunks, "3\r\nabc\r\n0\r\n\r\nGET /", Ok(13)),
        (
            BodyLength::Chunks,
            "a;x=\"y\"\r\n0123456789\r\n0\r\nX: y\r\n\r\nG",
            Ok(32),
        ),
        (BodyLength::Chunks, "00000000000000003\r\n", Err(BadChunk)),
        (BodyLength::Chunks, "3\nabc\r\n", Err(BadChunk)),
        (BodyLength::Chunks, "3 \r\nabc\r\n", Err(BadChunk)),
        (BodyLength::Chunks, "0x3\r\nabc\r\n", Err(BadChunk)),
        (BodyLength::Chunks, "-1\r\n", Err(BadChunk)),
        (BodyLength::Chunks, "\r\n", Err(BadChunk)),
        (BodyLength::Chunks, "3\r\nabcd\r\n", Err(BadChunk)),
        (BodyLength::Chunks, "3;a\nb\r\nabc\r\n", Err(BadChunk)),
        (BodyLength::Chunks, "0\r\nX: y\n\r\n", Err(BadChunk)),
    ] {
        let mut scanner = BodyScanner::new(length);
        assert_eq!(scanner.advance(bytes.as_bytes()), wanted, "{bytes:?}");
    }
}

/// Bytes that often look like messages of the protocols.
fn messages() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop_oneof![
        Just(b"CONNECT a.net:443 HTTP/1.1\r\n".to_vec()),
        Just(b"GET http://a.net/ HTTP/1.1\r\n".to_vec()),
        Just(b"Host: a.net\r\n".to_vec()),
        Just(b"Content-Length: 7\r\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"3\r\nabc\r\n".to_vec()),
        Just(b"0\r\n".to_vec()),
        Just(b"\x05\x01\x00".to_vec()),
        Just(b"\x05\x01\x00\x03\x05a.net\x01\xbb".to_vec()),
        Just(b"\x05\x01\x00\x01\x7f\0\0\x01\0\x50".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..20),
    ];
    proptest::collection::vec(pieces, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_does_not_depend_on_how_it_arrives(bytes in messages()) {
        for cut in 0..=u8::MAX {
            if usize::from(cut) > bytes.len() {
                break;
            }
            let mut input = vec![cut];
            input.extend_from_slice(&bytes);
            fuzz_proxy(&input);
        }
    }
}
