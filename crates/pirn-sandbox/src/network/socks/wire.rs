//! The messages of SOCKS5 (RFC 1928), read from bytes that may arrive in any pieces.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::network::host::{Host, HostError};

/// The first byte of every message.
pub(crate) const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const NO_METHOD: u8 = 0xff;

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SocksRequest {
    pub(crate) command: SocksCommand,
    pub(crate) target: SocksTarget,
    pub(crate) port: u16,
}

/// What is to be done with the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocksCommand {
    Connect,
    Bind,
    UdpAssociate,
    Unknown,
}

/// The host, or what stands in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SocksTarget {
    Host(Host),
    Bad { text: String, error: HostError },
}

/// The codes of replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum SocksReply {
    Succeeded = 0,
    Failure = 1,
    NotAllowed = 2,
    NetworkUnreachable = 3,
    HostUnreachable = 4,
    ConnectionRefused = 5,
    TimedOut = 6,
    CommandNotSupported = 7,
    AddressNotSupported = 8,
}

impl SocksReply {
    /// The whole reply. The address in it is of use for `BIND` and `UDP ASSOCIATE` alone.
    pub(crate) fn message(self) -> [u8; 10] {
        [VERSION, self as u8, 0, 1, 0, 0, 0, 0, 0, 0]
    }
}

/// Why bytes are no message of SOCKS5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocksProblem {
    /// They are something else; there is nothing to answer.
    Malformed,
    /// The kind of address is unknown, so that its end is as well.
    AddressKind,
}

/// Whether a client can do without authentication, and the length of its greeting; `None` as long as that is not all there.
pub(crate) fn parse_greeting(bytes: &[u8]) -> Result<Option<(bool, usize)>, SocksProblem> {
    let Some(([version], rest)) = bytes.split_first_chunk() else {
        return Ok(None);
    };
    if *version != VERSION {
        return Err(SocksProblem::Malformed);
    }
    let Some(([count], rest)) = rest.split_first_chunk() else {
        return Ok(None);
    };
    let count = usize::from(*count);
    Ok(rest
        .get(..count)
        .map(|methods| (methods.contains(&NO_AUTHENTICATION), 2 + count)))
}

/// The answer to a greeting.
pub(crate) fn greeting_answer(can_do_without: bool) -> [u8; 2] {
    let method = if can_do_without {
        NO_AUTHENTICATION
    } else {
        NO_METHOD
    };
    [VERSION, method]
}

/// A request and its length; `None` as long as it is not all there.
pub(crate) fn parse_request(bytes: &[u8]) -> Result<Option<(SocksRequest, usize)>, SocksProblem> {
    // The version alone is enough to know better.
    if bytes.first().is_some_and(|version| *version != VERSION) {
        return Err(SocksProblem::Malformed);
    }
    let Some(([_, command, _, kind], rest)) = bytes.split_first_chunk::<4>() else {
        return Ok(None);
    };
    let command = match command {
        1 => SocksCommand::Connect,
        2 => SocksCommand::Bind,
        3 => SocksCommand::UdpAssociate,
        _ => SocksCommand::Unknown,
    };
    let (target, rest) = match kind {
        1 => match rest.split_first_chunk::<4>() {
            Some((octets, rest)) => (address(Ipv4Addr::from(*octets).into()), rest),
            None => return Ok(None),
        },
        4 => match rest.split_first_chunk::<16>() {
            Some((octets, rest)) => (address(Ipv6Addr::from(*octets).into()), rest),
            None => return Ok(None),
        },
        3 => {
            let Some(([length], rest)) = rest.split_first_chunk() else {
                return Ok(None);
            };
            match rest.split_at_checked(usize::from(*length)) {
                Some((name, rest)) => (read_name(name), rest),
                None => return Ok(None),
            }
        }
        _ => return Err(SocksProblem::AddressKind),
    };
    let Some((port, rest)) = rest.split_first_chunk::<2>() else {
        return Ok(None);
    };
    let request = SocksRequest {
        command,
        target,
        port: u16::from_be_bytes(*port),
    };
    Ok(Some((request, bytes.len() - rest.len())))
}

fn address(address: IpAddr) -> SocksTarget {
    SocksTarget::Host(Host::from(address))
}

fn read_name(bytes: &[u8]) -> SocksTarget {
    let text = String::from_utf8_lossy(bytes).into_owned();
    match Host::parse(&text) {
        Ok(host) => SocksTarget::Host(host),
        Err(error) => SocksTarget::Bad { text, error },
    }
}
