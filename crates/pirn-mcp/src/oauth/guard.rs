//! Which URLs may be asked. A server names the URLs of its authorization server, so they are foreign data: they must not lead
//! in the clear over a network, nor to machines that only this one can reach.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// Hosts that hand out a cloud machine's credentials, also where a proxy resolves names.
const CLOUD_METADATA_HOSTS: &[&str] = &["metadata.google.internal", "metadata.goog"];

/// Decides for one server.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    server_host: Option<Host<String>>,
    allows_loopback: bool,
    allows_private: bool,
}

/// Where an address lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressClass {
    Public,
    Loopback,
    /// A network of its own: RFC 1918, carrier-grade NAT, unique local.
    Private,
    /// No host with a service for people: link-local, multicast, reserved.
    Special,
}

impl Guard {
    /// For the server at this URL. What a server's own URL names in writing is allowed to it: one on the loopback may use the
    /// loopback and private networks, one on a private network private networks.
    pub(super) fn new(server: &Url, allow_private: bool) -> Self {
        let class = server.host().and_then(|host| literal_class(&host));
        Self {
            server_host: server.host().map(|host| host.to_owned()),
            allows_loopback: class == Some(AddressClass::Loopback),
            allows_private: allow_private
                || matches!(class, Some(AddressClass::Loopback | AddressClass::Private)),
        }
    }

    /// Checks what the URL says by itself. The error is half a sentence about it.
    pub(super) fn check(&self, url: &Url) -> Result<(), String> {
        let Some(host) = url.host() else {
            return Err("it names no host".to_owned());
        };
        let class = literal_class(&host);
        match url.scheme() {
            "https" => {}
            "http" if class == Some(AddressClass::Loopback) => {}
            "http" => {
                return Err("it must be https, because http is for the own machine only".to_owned());
            }
            _ => return Err("it is neither https nor http".to_owned()),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("it holds a user name or a password".to_owned());
        }
        let name = host.to_string().trim_end_matches('.').to_ascii_lowercase();
        if CLOUD_METADATA_HOSTS.contains(&name.as_str()) {
            return Err("it leads to credentials of a cloud machine".to_owned());
        }
        match class {
            Some(class) if !self.is_server_host(url) => self.check_class(class),
            Some(_) | None => Ok(()),
        }
    }

    /// The name to look up before the URL is asked, where its addresses decide.
    pub(super) fn name_to_resolve<'a>(&self, url: &'a Url) -> Option<&'a str> {
        match url.host()? {
            Host::Domain(name) if literal_class(&Host::Domain(name)).is_none() => {
                (!self.is_server_host(url)).then_some(name)
            }
            Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_) => None,
        }
    }

    /// Checks what a name resolved to.
    pub(super) fn check_address(&self, address: IpAddr) -> Result<(), String> {
        self.check_class(class_of(address))
    }

    fn is_server_host(&self, url: &Url) -> bool {
        url.host().map(|host| host.to_owned()) == self.server_host
    }

    fn check_class(&self, class: AddressClass) -> Result<(), String> {
        let what = match class {
            AddressClass::Public => return Ok(()),
            AddressClass::Loopback if self.allows_loopback => return Ok(()),
            AddressClass::Private if self.allows_private => return Ok(()),
            AddressClass::Loopback => "it leads to this machine",
            AddressClass::Private => {
                "it leads into a private network; `\"allowPrivate\": true` in the server's `oauth` \
                 settings allows that"
            }
            AddressClass::Special => "it leads to an address that no server has",
        };
        Err(what.to_owned())
    }
}

/// Whether a URL's host is this machine in writing: `localhost`, 127.0.0.0/8 or `::1`.
pub(super) fn is_loopback(url: &Url) -> bool {
    url.host().and_then(|host| literal_class(&host)) == Some(AddressClass::Loopback)
}

/// The class a host has without asking anybody.
fn literal_class<S: AsRef<str>>(host: &Host<S>) -> Option<AddressClass> {
    match host {
        Host::Domain(name) => {
            let name = name.as_ref().trim_end_matches('.').to_ascii_lowercase();
            (name == "localhost" || name.ends_with(".localhost")).then_some(AddressClass::Loopback)
        }
        Host::Ipv4(address) => Some(class_of_v4(*address)),
        Host::Ipv6(address) => Some(class_of(IpAddr::V6(*address))),
    }
}

fn class_of(address: IpAddr) -> AddressClass {
    match address {
        IpAddr::V4(address) => class_of_v4(address),
        IpAddr::V6(address) => match embedded_v4(address) {
            Some(inner) => class_of_v4(inner),
            None => class_of_v6(address),
        },
    }
}

fn class_of_v4(address: Ipv4Addr) -> AddressClass {
    let [first, second, ..] = address.octets();
    if address.is_loopback() {
        AddressClass::Loopback
    } else if address.is_private() || first == 100 && (64..128).contains(&second) {
        AddressClass::Private
    } else if first == 0
        || first >= 224
        || address.is_link_local()
        || first == 198 && (18..20).contains(&second)
    {
        AddressClass::Special
    } else {
        AddressClass::Public
    }
}

fn class_of_v6(address: Ipv6Addr) -> AddressClass {
    let segments = address.segments();
    if address.is_loopback() {
        AddressClass::Loopback
    } else if address.is_unique_local() {
        AddressClass::Private
    } else if address.is_unspecified()
        || address.is_multicast()
        || address.is_unicast_link_local()
        // Teredo and the local NAT64 prefix hide an address of the other kind.
        || matches!(segments, [0x2001, 0, ..] | [0x64, 0xff9b, 1, ..])
    {
        AddressClass::Special
    } else {
        AddressClass::Public
    }
}

/// The address in addresses that only wrap one: mapped, compatible, NAT64 and 6to4.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let from = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(from(high, low))
        }
        [0, 0, 0, 0, 0, 0, high, low] if (high, low) != (0, 0) && (high, low) != (0, 1) => {
            Some(from(high, low))
        }
        [0x2002, high, low, ..] => Some(from(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
