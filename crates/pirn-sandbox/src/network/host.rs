//! Hosts as rules, requests and addresses name them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest name that DNS can carry, without the final dot.
const NAME_BYTES_MAX: usize = 253;
/// The longest label of a name in DNS.
const LABEL_BYTES_MAX: usize = 63;

/// A host in the one form in which hosts are compared: a name in lower case without a final dot, or an address, as IPv4 where
/// it is IPv4 in IPv6's clothes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Host {
    Name(String),
    Address(IpAddr),
}

impl Host {
    /// Reads a name or an address; IPv6 with or without brackets.
    pub(crate) fn parse(text: &str) -> Result<Self, HostError> {
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or(HostError::Brackets)?;
            let address: Ipv6Addr = inner.parse().map_err(|_| HostError::Brackets)?;
            return Ok(Self::from(IpAddr::V6(address)));
        }
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            return Ok(Self::from(IpAddr::V6(address)));
        }
        let text = text.strip_suffix('.').unwrap_or(text);
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Ok(Self::from(IpAddr::V4(address)));
        }
        check_name(text)?;
        Ok(Self::Name(text.to_ascii_lowercase()))
    }
}

impl From<IpAddr> for Host {
    fn from(address: IpAddr) -> Self {
        Self::Address(address.to_canonical())
    }
}

impl fmt::Display for Host {
    /// As in an authority: IPv6 in brackets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(formatter, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(formatter, "[{address}]"),
        }
    }
}

/// Why a text is no host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HostError {
    #[error("there is no host name")]
    Empty,
    #[error("the host name is too long")]
    TooLong,
    #[error(
        "a host name has letters, digits, `-`, `_` and single dots only; write other scripts in their `xn--` form"
    )]
    Characters,
    #[error(
        "a name that ends in a number is another spelling of an address; write four decimal numbers"
    )]
    DisguisedAddress,
    #[error("brackets hold an IPv6 address and nothing else")]
    Brackets,
    #[error("user names and passwords have no place before the host")]
    UserInformation,
    #[error("the port is a number from 1 to 65535")]
    Port,
}

/// What names have to look like. Resolvers read `127.1`, `0x7f000001` and `2130706433` as addresses, which no rule would
/// recognise, so that names may not end in a number (as in the URL standard).
fn check_name(name: &str) -> Result<(), HostError> {
    if name.is_empty() {
        return Err(HostError::Empty);
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(HostError::TooLong);
    }
    for label in name.split('.') {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if label.is_empty() || !label.bytes().all(fits) {
            return Err(HostError::Characters);
        }
        if label.len() > LABEL_BYTES_MAX {
            return Err(HostError::TooLong);
        }
    }
    let last = name.rsplit('.').next().unwrap_or(name);
    if is_number(last) {
        return Err(HostError::DisguisedAddress);
    }
    Ok(())
}

fn is_number(label: &str) -> bool {
    let hexadecimal = label
        .strip_prefix("0x")
        .or_else(|| label.strip_prefix("0X"))
        .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    hexadecimal || label.bytes().all(|byte| byte.is_ascii_digit())
}

/// Cuts `host`, `host:port`, `[v6]`, `[v6]:port` into its parts. An IPv6 address without brackets has no port.
pub(crate) fn split_port(text: &str) -> Result<(&str, Option<u16>), HostError> {
    if text.contains('@') {
        return Err(HostError::UserInformation);
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, _)) if host.contains(':') && !host.ends_with(']') => (text, None),
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    Ok((host, port.map(parse_port).transpose()?))
}

/// Reads `host` with or without a port.
pub(crate) fn parse_authority(text: &str) -> Result<(Host, Option<u16>), HostError> {
    let (host, port) = split_port(text)?;
    Ok((Host::parse(host)?, port))
}

fn parse_port(text: &str) -> Result<u16, HostError> {
    // `parse` alone would take a sign.
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(HostError::Port);
    }
    match text.parse() {
        Ok(0) | Err(_) => Err(HostError::Port),
        Ok(port) => Ok(port),
    }
}
