use super::wire::{SocksProblem, parse_request};
use super::*;

fn read(bytes: &[u8]) -> String {
    match parse_request(bytes) {
        Ok(None) => "incomplete".to_owned(),
        Err(SocksProblem::Malformed) => "malformed".to_owned(),
        Err(SocksProblem::AddressKind) => "address kind".to_owned(),
        Ok(Some((request, length))) => {
            let SocksRequest {
                command,
                target,
                port,
            } = request;
            let host = match target {
                SocksTarget::Host(host) => host.to_string(),
                SocksTarget::Bad { text, error } => format!("{text:?} ({error})"),
            };
            format!("{command:?} {host} {port}, {length} bytes")
        }
    }
}

#[test]
fn requests() {
    let name = b"\x05\x01\x00\x03\x05a.net\x01\xbb";
    let mut v6 = b"\x05\x01\x00\x04".to_vec();
    v6.extend([0; 10]);
    v6.extend(b"\xff\xff\x7f\0\0\x01\0\x50");
    for (bytes, wanted) in [
        (&name[..], "Connect a.net 443, 12 bytes"),
        (
            b"\x05\x01\x00\x01\x7f\0\0\x01\0\x50GET",
            "Connect 127.0.0.1 80, 10 bytes",
        ),
        (&v6, "Connect 127.0.0.1 80, 22 bytes"),
        (
            b"\x05\x02\x00\x01\x7f\0\0\x01\0\x50",
            "Bind 127.0.0.1 80, 10 bytes",
        ),
        (
            b"\x05\x03\x00\x01\0\0\0\0\0\0",
            "UdpAssociate 0.0.0.0 0, 10 bytes",
        ),
        (
            b"\x05\x09\x00\x01\0\0\0\0\0\0",
            "Unknown 0.0.0.0 0, 10 bytes",
        ),
        (
            b"\x05\x01\x00\x03\x00\0\x50",
            "Connect \"\" (there is no host name) 80, 7 bytes",
        ),
        (
            b"\x05\x01\x00\x03\x03::1\0\x50",
            "Connect [::1] 80, 10 bytes",
        ),
        (b"\x05\x01\x00\x02", "address kind"),
        (b"\x04\x01\x00\x50", "malformed"),
        (b"", "incomplete"),
        (b"\x05\x01\x00", "incomplete"),
    ] {
        assert_eq!(read(bytes), wanted, "{bytes:?}");
    }
    for odd in [
        &b"a\0.net"[..],
        b"a\r\n.b",
        b"\xff\xfe.net.",
        b"127.1\0\0",
        b"a@b...",
    ] {
        let mut bytes = b"\x05\x01\x00\x03\x06".to_vec();
        bytes.extend(odd.iter().take(6));
        bytes.resize(5 + 6, b'.');
        bytes.extend(b"\0\x50");
        assert!(
            read(&bytes).contains("(a host name has"),
            "{}",
            read(&bytes)
        );
    }
}

#[test]
fn greetings() {
    for (bytes, wanted) in [
        (&b"\x05\x01\x00"[..], Ok(Some((true, 3)))),
        (b"\x05\x02\x02\x00\x05", Ok(Some((true, 4)))),
        (b"\x05\x01\x02", Ok(Some((false, 3)))),
        (b"\x05\x00", Ok(Some((false, 2)))),
        (b"\x05\x02\x00", Ok(None)),
        (b"\x05", Ok(None)),
        (b"\x04\x01", Err(SocksProblem::Malformed)),
    ] {
        assert_eq!(parse_greeting(bytes), wanted, "{bytes:?}");
    }
}
