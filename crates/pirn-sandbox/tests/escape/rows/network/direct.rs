//! Attempts to reach something without the proxy.

use super::place::{companion, listener, nothing_came, own_address, watch};
use crate::attempt::{Attempt, Control, Expect, FILTER, Outcome, PLAIN, always, denied};
use crate::stage::{Stage, text};

/// The lowest level has no sockets but local ones; above there is a network with nothing in it.
const fn lite_or_above(above: &'static [&'static str]) -> Expect {
    Expect {
        basic: Outcome::Denied(FILTER),
        standard: Outcome::Denied(above),
        strict: Outcome::Denied(above),
    }
}

const EMPTY_NETWORK: &[&str] = &["ENETUNREACH"];
const NOBODY_LISTENS: &[&str] = &["ECONNREFUSED"];

/// A system call that makes or joins a network namespace.
const NAMESPACES: &str = r#"
import ctypes
def own(): os.close(os.open("/proc/self/ns/net", os.O_RDONLY))
own()
for path in ("/proc/self/ns/net", "/proc/1/ns/net", f"/proc/{OWNER}/ns/net"):
    def join():
        descriptor = os.open(path, os.O_RDONLY)
        call(308, 268, descriptor, 0x40000000)
    t(join)
t(lambda: call(272, 97, 0x40000000))
t(lambda: call(272, 97, 0x50000000))
t(lambda: call(56, 220, 0x40000011, 0, 0, 0, 0))
"#;

/// Changes of the network, by the old way and by the new one.
const CONFIGURATION: &str = r#"
import fcntl, struct
def ioctl(request, data):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s: fcntl.ioctl(s, request, data)
def address(text): return struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(text))
t(lambda: ioctl(0x8916, struct.pack("16s16s", b"lo", address("192.0.2.77"))))
t(lambda: ioctl(0x8914, struct.pack("16sH22x", b"lo", 0)))
t(lambda: ioctl(0x890b, struct.pack("8x16s16s16sH70x", address("0.0.0.0"), address("127.0.0.1"), address("0.0.0.0"), 3)))
t(lambda: ioctl(0x89a0, b"bridge0\0"))
def netlink(kind, body):
    with socket.socket(16, socket.SOCK_RAW, 0) as s:
        s.settimeout(5)
        s.send(struct.pack("IHHII", 16 + len(body), kind, 0x605, 1, 0) + body)
        length, kind, flags, sequence, port, code = struct.unpack("IHHIIi", s.recv(4096)[:20])
        if kind == 2 and code: raise OSError(-code, "netlink")
t(lambda: netlink(20, struct.pack("BBBBI", 2, 32, 0, 0, 1) + struct.pack("HH4s", 8, 2, b"\xc0\0\2\x4d")))
t(lambda: netlink(24, struct.pack("BBBBBBBBI", 2, 0, 0, 0, 254, 3, 0, 1, 0) + struct.pack("HHI", 8, 4, 1)))
t(lambda: netlink(16, struct.pack("BxHiII", 0, 0, 0, 0, 0) + struct.pack("HH8s", 12, 3, b"dummy7\0\0")))
"#;

/// Options of sockets that get around the routes.
const OPTIONS: &str = r#"
import struct
def option(level, name, value):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s: s.setsockopt(level, name, value)
t(lambda: option(socket.SOL_SOCKET, 36, struct.pack("i", 1)))
t(lambda: option(socket.IPPROTO_IP, 19, struct.pack("i", 1)))
def bound():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, 25, b"eth0\0")
        s.sendto(b"x", ("192.0.2.1", 9))
t(bound)
"#;

pub(super) fn rows() -> Vec<Attempt> {
    let mut rows = reaching();
    rows.extend(further_away());
    rows.extend(kinds_of_sockets());
    rows.extend(namespaces());
    rows
}

fn reaching() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "network-tcp-to-the-machine",
            stopped_by: "network namespace; basic: seccomp",
            program: r#"
P = int(E["PORT"])
t(lambda: socket.create_connection(("127.0.0.1", P), 5))
t(lambda: socket.create_connection(("::1", P), 5))
def connect(family, address):
    s = socket.socket(family, socket.SOCK_STREAM)
    s.connect(address)
    return s
t(lambda: connect(socket.AF_INET6, ("::ffff:127.0.0.1", P)))
t(lambda: connect(socket.AF_INET, ("0.0.0.0", P)))
t(lambda: connect(socket.AF_INET6, ("::", P)))
t(lambda: connect(socket.AF_INET, ("127.8.8.8", P)))
def fast_open():
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    s.sendto(b"x", 0x20000000, ("127.0.0.1", P))
    return s
t(fast_open)
"#,
            prepare: listener,
            expect: lite_or_above(NOBODY_LISTENS),
            control: Control::GetsThrough,
            intact: nothing_came,
        },
        Attempt {
            name: "network-udp-to-the-machine",
            stopped_by: "network namespace; basic: seccomp",
            program: r#"
P = int(E["PORT"])
def send(family, address):
    with socket.socket(family, socket.SOCK_DGRAM) as s: s.sendto(b"hello", address)
t(lambda: send(socket.AF_INET, ("127.0.0.1", P)))
t(lambda: send(socket.AF_INET6, ("::ffff:127.0.0.1", P)))
"#,
            prepare: listener,
            expect: Expect {
                basic: Outcome::Denied(FILTER),
                standard: Outcome::Contained,
                strict: Outcome::Contained,
            },
            control: Control::GetsThrough,
            intact: nothing_came,
        },
        Attempt {
            name: "network-address-of-the-machine",
            stopped_by: "network namespace; basic: seccomp",
            program: r#"t(lambda: socket.create_connection((E["OWN"], int(E["PORT"])), 5))"#,
            prepare: own_address,
            expect: lite_or_above(&["ENETUNREACH", "ECONNREFUSED"]),
            control: Control::GetsThrough,
            intact: nothing_came,
        },
    ]
}

fn further_away() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "network-anywhere",
            stopped_by: "network namespace; basic: seccomp",
            program: r#"
for address in ("203.0.113.5", "169.254.169.254", "10.0.0.1", "2001:db8::1", "fd00:ec2::254"):
    t(lambda: socket.create_connection((address, 80), 5))
def shout(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        s.sendto(b"hello", address)
t(lambda: shout(("255.255.255.255", 9)))
t(lambda: shout(("224.0.0.251", 5353)))
"#,
            expect: lite_or_above(EMPTY_NETWORK),
            ..PLAIN
        },
        Attempt {
            name: "network-name-server",
            stopped_by: "network namespace; basic: seccomp",
            program: r#"
servers = ["203.0.113.53"]
try: servers += [line.split()[1] for line in open("/etc/resolv.conf") if line.startswith("nameserver ")]
except OSError: pass
question = b"\0\1\1\0\0\1\0\0\0\0\0\0\7example\3com\0\0\1\0\1"
def ask(server, kind):
    with socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, kind) as s:
        s.settimeout(5)
        s.connect((server, 53))
        s.send(question)
        s.recv(512)
for server in servers:
    t(lambda: ask(server, socket.SOCK_DGRAM))
    t(lambda: ask(server, socket.SOCK_STREAM))
"#,
            expect: lite_or_above(&["ENETUNREACH", "ECONNREFUSED"]),
            ..PLAIN
        },
        Attempt {
            name: "network-name-look-up",
            stopped_by: "network namespace; basic: seccomp",
            program: r#"
for host in ("example.com", "stolen-words.example.net"):
    def look_up():
        try: socket.getaddrinfo(host, 80)
        except socket.gaierror: return "NOT RESOLVED"
    t(look_up)
"#,
            expect: denied(&["NOT RESOLVED"]),
            ..PLAIN
        },
        Attempt {
            name: "network-listener-of-another-sandbox",
            stopped_by: "network namespace of each sandbox; basic: seccomp",
            program: r#"t(lambda: socket.create_connection(("127.0.0.1", 45454), 5))"#,
            prepare: |stage| {
                companion(
                    stage,
                    r#"
import socket, time
try: listener = socket.create_server(("127.0.0.1", 45454))
except OSError: pass
print("ready", flush=True)
time.sleep(600)
"#,
                )
            },
            expect: lite_or_above(NOBODY_LISTENS),
            ..PLAIN
        },
        Attempt {
            name: "network-abstract-socket-with-the-network-on",
            stopped_by: "Landlock scope",
            program: r#"
def connect(kind):
    with socket.socket(socket.AF_UNIX, kind) as s: s.connect("\0" + E["ABSTRACT"])
t(lambda: connect(socket.SOCK_STREAM))
"#,
            prepare: |stage| {
                stage.policy.network = pirn_sandbox::Network::On;
                abstract_listener(stage)
            },
            expect: always(Outcome::Needs(pirn_sandbox::Layer::LandlockScopes, FILTER)),
            control: Control::GetsThrough,
            intact: nothing_came,
        },
    ]
}

/// `ABSTRACT`: the name of a socket in no folder.
fn abstract_listener(stage: &mut Stage) -> Result<(), String> {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

    let name = Stage::unique();
    let address = SocketAddr::from_abstract_name(&name).map_err(text)?;
    let listener = UnixListener::bind_addr(&address).map_err(text)?;
    let _visitor = UnixStream::connect_addr(&address).map_err(text)?;
    let _visit = listener.accept().map_err(text)?;
    listener.set_nonblocking(true).map_err(text)?;
    stage.variables.push(("ABSTRACT", name));
    watch(stage, move || match listener.accept() {
        Ok(_) => Err("somebody came".to_owned()),
        Err(_) => Ok(()),
    });
    Ok(())
}

fn kinds_of_sockets() -> Vec<Attempt> {
    let refused = |name, program| Attempt {
        name,
        stopped_by: "seccomp",
        program,
        expect: denied(FILTER),
        ..PLAIN
    };
    vec![
        Attempt {
            name: "network-raw-sockets",
            stopped_by: "no capabilities; basic: seccomp",
            program: r"
for protocol in (1, 6, 17, 255): t(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, protocol))
t(lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58))
",
            expect: denied(FILTER),
            ..PLAIN
        },
        refused(
            "network-packet-sockets",
            "
for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM, 10): t(lambda: socket.socket(17, kind, 0x0300))
",
        ),
        Attempt {
            control: Control::GetsThrough,
            ..refused(
                "network-netlink-other-than-routes",
                "
for protocol in range(1, 23): t(lambda: socket.socket(16, socket.SOCK_RAW, protocol))
",
            )
        },
        refused(
            "network-vsock",
            "
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM): t(lambda: socket.socket(40, kind))
",
        ),
        refused(
            "network-kernel-crypto-sockets",
            "t(lambda: socket.socket(38, socket.SOCK_SEQPACKET))",
        ),
        refused(
            "network-other-families",
            "
for family in range(3, 48):
    if family not in (10, 16):
        for kind in (1, 2, 3, 5): t(lambda: socket.socket(family, kind))
        t(lambda: socket.socketpair(family, socket.SOCK_STREAM))
",
        ),
    ]
}

fn namespaces() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "network-joining-another-namespace",
            stopped_by: "seccomp; process namespace",
            program: NAMESPACES,
            expect: denied(&["EPERM", "EACCES", "ENOENT"]),
            ..PLAIN
        },
        Attempt {
            name: "network-changing-addresses-and-routes",
            stopped_by: "no capabilities; basic: seccomp",
            program: CONFIGURATION,
            expect: denied(FILTER),
            ..PLAIN
        },
        Attempt {
            name: "network-options-that-avoid-routes",
            stopped_by: "no capabilities, network namespace; basic: seccomp",
            program: OPTIONS,
            expect: lite_or_above(&["EPERM", "ENODEV"]),
            ..PLAIN
        },
        Attempt {
            name: "network-tunnel-devices",
            stopped_by: "no capabilities, read-only /dev",
            program: r#"
import fcntl, struct
def tunnel():
    descriptor = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(descriptor, 0x400454ca, struct.pack("16sH22x", b"out0", 0x1001))
t(tunnel)
"#,
            expect: denied(&["EPERM", "EACCES", "ENOENT"]),
            ..PLAIN
        },
    ]
}
