//! What kind of place an address is.
//!
//! Sources: the IANA registries of special-purpose addresses (RFC 6890 and its successors), RFC 4291 and 6052 for addresses
//! that carry an IPv4 address, and the documentation of cloud providers for their metadata services.

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// What kind of place an address is, as far as the network rules care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressKind {
    /// Somewhere on the internet.
    Public,
    /// A private network: RFC 1918, shared and benchmark space, unique local addresses.
    Private,
    /// The machine itself, like `127.0.0.1`.
    Loopback,
    /// No address at all; systems take it for this machine.
    Unspecified,
    /// Neighbours on the same link, like `169.254.0.1`.
    LinkLocal,
    /// A metadata service, which hands out a cloud machine's credentials.
    Metadata,
    /// A group of machines.
    Multicast,
    /// Space that is not in use, or whose meaning depends on the network.
    Reserved,
    /// An address of one of this machine's own interfaces.
    Own,
}

impl AddressKind {
    /// What it is, for sentences: "… is a loopback address".
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "a public address",
            Self::Private => "an address in a private network",
            Self::Loopback => "a loopback address",
            Self::Unspecified => "an unspecified address",
            Self::LinkLocal => "a link-local address",
            Self::Metadata => "the address of a metadata service",
            Self::Multicast => "a multicast address",
            Self::Reserved => "a reserved address",
            Self::Own => "an address of this machine",
        }
    }
}

/// Which kinds of addresses are let through. Later ones include earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AddressScope {
    Public,
    PublicAndPrivate,
    Anything,
}

impl AddressScope {
    pub(crate) fn includes(self, kind: AddressKind) -> bool {
        match kind {
            AddressKind::Public => true,
            AddressKind::Private => self >= Self::PublicAndPrivate,
            AddressKind::Loopback
            | AddressKind::Unspecified
            | AddressKind::LinkLocal
            | AddressKind::Metadata
            | AddressKind::Multicast
            | AddressKind::Reserved
            | AddressKind::Own => self == Self::Anything,
        }
    }
}

/// The kind of an address on this machine: as [`kind_by_number`], and whether it is one of its own.
pub(crate) fn kind_here(address: IpAddr) -> AddressKind {
    match kind_by_number(address) {
        AddressKind::Public | AddressKind::Private if is_own(address) => AddressKind::Own,
        kind => kind,
    }
}

/// The kind of an address by its number alone.
pub(crate) fn kind_by_number(address: IpAddr) -> AddressKind {
    match address.to_canonical() {
        IpAddr::V4(address) => kind_v4(address),
        IpAddr::V6(address) => kind_v6(address),
    }
}

fn kind_v4(address: Ipv4Addr) -> AddressKind {
    match address.octets() {
        [0, ..] => AddressKind::Unspecified,
        [127, ..] => AddressKind::Loopback,
        // Most providers; Alibaba; Oracle.
        [169, 254, 169, 254] | [100, 100, 100, 200] | [192, 0, 0, 192] => AddressKind::Metadata,
        [169, 254, ..] => AddressKind::LinkLocal,
        [10, ..]
        | [172, 16..=31, ..]
        | [192, 168, ..]
        | [100, 64..=127, ..]
        | [198, 18..=19, ..] => AddressKind::Private,
        [224..=239, ..] => AddressKind::Multicast,
        [240..=255, ..] | [192, 0, 0, _] | [192, 88, 99, _] => AddressKind::Reserved,
        _ => AddressKind::Public,
    }
}

fn kind_v6(address: Ipv6Addr) -> AddressKind {
    let segments = address.segments();
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressKind::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressKind::Loopback,
        // Amazon and Google.
        [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254] | [0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254] => {
            AddressKind::Metadata
        }
        // Compatible (deprecated) and translated; the well-known prefix of NAT64, and 6to4: two of the numbers are IPv4.
        [0, 0, 0, 0, 0 | 0xffff, 0, high, low] => carried(high, low, AddressKind::Reserved),
        [0x0064, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            carried(high, low, AddressKind::Public)
        }
        // ISATAP: an interface number made of an IPv4 address, below any prefix.
        [first, _, _, _, 0 | 0x0200, 0x5efe, high, low] if first & 0xe000 == 0x2000 => {
            carried(high, low, AddressKind::Public)
        }
        // Teredo hides the address by turning its bits around.
        [0x2001, 0, _, _, _, _, high, low] => carried(!high, !low, AddressKind::Public),
        [first, ..] => match first {
            0xff00..=0xffff => AddressKind::Multicast,
            0xfe80..=0xfebf => AddressKind::LinkLocal,
            0xfc00..=0xfdff | 0xfec0..=0xfeff => AddressKind::Private,
            0x2000..=0x3fff => AddressKind::Public,
            _ => AddressKind::Reserved,
        },
    }
}

/// The kind of an IPv6 address that carries an IPv4 address: its kind, or `public` where that is public.
fn carried(high: u16, low: u16, public: AddressKind) -> AddressKind {
    let [a, b] = high.to_be_bytes();
    let [c, d] = low.to_be_bytes();
    match kind_v4(Ipv4Addr::new(a, b, c, d)) {
        AddressKind::Public => public,
        kind => kind,
    }
}

/// Whether an interface of this machine has the address: only then can a socket be bound to it. Nothing is sent.
///
/// A machine may let sockets be bound to foreign addresses (`ip_nonlocal_bind`). There the kernel is asked which address it
/// would send from: to an own address it sends from that same address.
fn is_own(address: IpAddr) -> bool {
    let (any, foreign): (IpAddr, IpAddr) = match address {
        IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), FOREIGN_V4.into()),
        IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED.into(), FOREIGN_V6.into()),
    };
    if UdpSocket::bind(SocketAddr::new(address, 0)).is_err() {
        return false;
    }
    if UdpSocket::bind(SocketAddr::new(foreign, 0)).is_err() {
        return true;
    }
    // Any port will do: a datagram socket's `connect` sends nothing.
    let source = UdpSocket::bind(SocketAddr::new(any, 0)).and_then(|socket| {
        socket.connect(SocketAddr::new(address, 9))?;
        socket.local_addr()
    });
    // Where the kernel does not say, the careful answer.
    source.map_or(true, |source| source.ip() == address)
}

/// Addresses from the space for documentation (RFC 5737, RFC 3849). A machine that has one of these comes to the second
/// question, which is as good for most addresses.
const FOREIGN_V4: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 253);
const FOREIGN_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0x0db8, 0, 0, 0, 0, 0xffff, 1);
