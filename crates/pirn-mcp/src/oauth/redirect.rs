//! The URL the browser comes back to: a listener on this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use url::{Host, Url};

use super::account::Account;
use super::guard::is_loopback;
use super::store::ClientInformation;
use crate::error::{Error, ErrorKind};

/// Where the listener is, unless settings say otherwise.
const DEFAULT_PATH: &str = "/callback";

/// Where to listen, and how the URL is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Redirect {
    /// As it is written in the URL.
    host: String,
    pub(super) address: IpAddr,
    pub(super) port: Port,
    pub(super) path: String,
}

/// Which port to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Port {
    Any,
    /// This one, else a free one: a registration names it.
    Preferred(u16),
    /// This one: the settings say so.
    Fixed(u16),
}

impl Redirect {
    /// As the settings say, else as the stored client is registered, else on a free port.
    pub(super) fn plan(
        account: &Account,
        stored: Option<&ClientInformation>,
    ) -> Result<Self, Error> {
        let settings = &account.server.settings;
        if let Some(text) = &settings.callback_url {
            return Self::from_setting(text, settings.callback_port)
                .map_err(|why| account.error(ErrorKind::Config, format!("`callbackUrl`: {why}")));
        }
        if let Some(port) = settings.callback_port {
            return Ok(Self::standard(Port::Fixed(port)));
        }
        let registered = stored
            .and_then(|client| client.redirect_uris.as_deref()?.first())
            .and_then(|text| Self::from_registration(text));
        Ok(registered.unwrap_or_else(|| Self::standard(Port::Any)))
    }

    fn standard(port: Port) -> Self {
        Self {
            host: Ipv4Addr::LOCALHOST.to_string(),
            address: Ipv4Addr::LOCALHOST.into(),
            port,
            path: DEFAULT_PATH.to_owned(),
        }
    }

    fn from_setting(text: &str, callback_port: Option<u16>) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| format!("{text} is not a URL: {error}"))?;
        let plan = Self::from_url(&url).ok_or_else(|| {
            format!("{text} is not an http URL of this machine without query and fragment")
        })?;
        let port = match (url.port(), callback_port) {
            (Some(written), Some(port)) if written != port => {
                return Err(format!("its port {written} is not `callbackPort`, {port}"));
            }
            (Some(port), _) | (None, Some(port)) => Port::Fixed(port),
            (None, None) => Port::Any,
        };
        Ok(Self { port, ..plan })
    }

    fn from_registration(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok()?;
        let port = url.port().map_or(Port::Any, Port::Preferred);
        Some(Self {
            port,
            ..Self::from_url(&url)?
        })
    }

    fn from_url(url: &Url) -> Option<Self> {
        let is_plain = url.scheme() == "http"
            && is_loopback(url)
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        let address = match url.host()? {
            Host::Domain(_) => Ipv4Addr::LOCALHOST.into(),
            Host::Ipv4(address) => IpAddr::V4(address),
            Host::Ipv6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        };
        is_plain.then(|| Self {
            host: url.host_str().unwrap_or_default().to_owned(),
            address,
            port: Port::Any,
            path: url.path().to_owned(),
        })
    }

    /// The URL, now that the listener has its port.
    pub(super) fn url(&self, bound: SocketAddr) -> String {
        format!("http://{}:{}{}", self.host, bound.port(), self.path)
    }
}

#[cfg(test)]
mod tests;
