//! The head of a request to an HTTP proxy: read, checked, and written anew for the server.

use crate::network::host::{Host, HostError, parse_authority};

/// More fields than any client sends.
const FIELDS_MAX: usize = 128;
const HTTP_PORT: u16 = 80;

/// The head of a request, checked: the host that it names is the host that it goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestHead {
    pub(crate) method: String,
    pub(crate) host: Host,
    pub(crate) port: u16,
    pub(crate) purpose: Purpose,
}

/// What the client wants of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The method `CONNECT`, which asks for a tunnel.
    Tunnel,
    /// One request without encryption.
    Forward { head: Vec<u8>, body: BodyLength },
}

/// Where the body of a request ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyLength {
    Bytes(u64),
    Chunks,
}

/// Why a head is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HeadProblem {
    /// It is not what a proxy understands; a sentence.
    Malformed(&'static str),
    /// It names no host.
    Host { text: String, error: HostError },
}

/// Reads a head, once all of it is there: then gives it with its length. The answer does not depend on what follows the head,
/// and no part of a head gives anything but `None`.
pub(crate) fn parse_head(bytes: &[u8]) -> Result<Option<(RequestHead, usize)>, HeadProblem> {
    let Some(length) = head_length(bytes) else {
        return Ok(None);
    };
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    let head = bytes.get(..length).unwrap_or_default();
    match request.parse(head) {
        Ok(httparse::Status::Complete(parsed)) if parsed == length => {}
        Err(httparse::Error::TooManyHeaders) => {
            return Err(HeadProblem::Malformed("The request has too many fields."));
        }
        Ok(_) | Err(_) => return Err(HeadProblem::Malformed("The request is not HTTP/1.")),
    }
    let (Some(method), Some(target)) = (request.method, request.path) else {
        return Err(HeadProblem::Malformed("The request is not HTTP/1."));
    };
    let fields = Fields(request.headers);
    let head = if method == "CONNECT" {
        read_connect(target, &fields)?
    } else {
        read_forward(method, target, &fields)?
    };
    Ok(Some((head, length)))
}

/// The length of the head with the empty line that ends it. Lines may end without carriage returns, as in the parser.
fn head_length(bytes: &[u8]) -> Option<usize> {
    let mut line_is_empty = false;
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            b'\n' if line_is_empty => return Some(index + 1),
            b'\n' => line_is_empty = true,
            b'\r' => {}
            _ => line_is_empty = false,
        }
    }
    None
}

fn read_connect(target: &str, fields: &Fields<'_, '_>) -> Result<RequestHead, HeadProblem> {
    let (host, port) = read_authority(target)?;
    let port = port.ok_or(HeadProblem::Malformed(
        "CONNECT needs a host and a port, such as example.com:443.",
    ))?;
    fields.check_host(&host, |named| named.is_none_or(|named| named == port))?;
    Ok(RequestHead {
        method: "CONNECT".to_owned(),
        host,
        port,
        purpose: Purpose::Tunnel,
    })
}

fn read_forward(
    method: &str,
    target: &str,
    fields: &Fields<'_, '_>,
) -> Result<RequestHead, HeadProblem> {
    let rest = strip_scheme(target)?;
    let (authority, path) = match rest.find(['/', '?', '#']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    if path.contains('#') {
        return Err(HeadProblem::Malformed(
            "The address of a request has no fragment.",
        ));
    }
    let (host, port) = read_authority(authority)?;
    let port = port.unwrap_or(HTTP_PORT);
    fields.check_host(&host, |named| named.unwrap_or(HTTP_PORT) == port)?;
    let body = fields.body_length()?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    let shown_port = if port == HTTP_PORT {
        String::new()
    } else {
        format!(":{port}")
    };
    let mut head =
        format!("{method} {slash}{path} HTTP/1.1\r\nHost: {host}{shown_port}\r\n").into_bytes();
    fields.write_end_to_end(&mut head);
    match body {
        BodyLength::Bytes(0) if fields.all("content-length").next().is_none() => {}
        BodyLength::Bytes(bytes) => {
            head.extend_from_slice(format!("Content-Length: {bytes}\r\n").as_bytes());
        }
        BodyLength::Chunks => head.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
    }
    // One request a connection: the next one may be for another host, and is decided anew.
    head.extend_from_slice(b"Connection: close\r\n\r\n");
    Ok(RequestHead {
        method: method.to_owned(),
        host,
        port,
        purpose: Purpose::Forward { head, body },
    })
}

/// The part of an absolute address behind its scheme, which must be `http`.
fn strip_scheme(target: &str) -> Result<&str, HeadProblem> {
    let Some((scheme, rest)) = target.split_once("://") else {
        return Err(HeadProblem::Malformed(
            "This is a proxy: requests name the whole address, http://host/path.",
        ));
    };
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(HeadProblem::Malformed(
            "Only http:// is forwarded; for everything else ask for a tunnel with CONNECT.",
        ));
    }
    Ok(rest)
}

fn read_authority(text: &str) -> Result<(Host, Option<u16>), HeadProblem> {
    parse_authority(text).map_err(|error| HeadProblem::Host {
        text: text.to_owned(),
        error,
    })
}

/// Fields that belong to one connection, and those that are written anew.
const NOT_FORWARDED: &[&str] = &[
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

struct Fields<'head, 'bytes>(&'head [httparse::Header<'bytes>]);

impl<'bytes> Fields<'_, 'bytes> {
    /// The values of all fields with this name, given in lower case.
    fn all(&self, name: &str) -> impl Iterator<Item = &'bytes [u8]> {
        self.0
            .iter()
            .filter(move |field| field.name.eq_ignore_ascii_case(name))
            .map(|field| field.value)
    }

    /// At most one `Host`, and the same as the request's: a server that answers for many would serve another one.
    fn check_host(
        &self,
        host: &Host,
        port_fits: impl Fn(Option<u16>) -> bool,
    ) -> Result<(), HeadProblem> {
        let mut values = self.all("host");
        let Some(value) = values.next() else {
            return Ok(());
        };
        let same = std::str::from_utf8(value)
            .ok()
            .and_then(|value| parse_authority(value).ok())
            .is_some_and(|(named, port)| named == *host && port_fits(port));
        if same && values.next().is_none() {
            Ok(())
        } else {
            Err(HeadProblem::Malformed(
                "The Host field names another host than the request.",
            ))
        }
    }

    /// Where the body ends; heads that servers could read in two ways are refused.
    fn body_length(&self) -> Result<BodyLength, HeadProblem> {
        let mut lengths = self.all("content-length");
        let mut codings = self.all("transfer-encoding");
        let problem = HeadProblem::Malformed("The request does not say clearly where it ends.");
        match (lengths.next(), codings.next()) {
            (None, None) => Ok(BodyLength::Bytes(0)),
            (Some(value), None) if lengths.next().is_none() => std::str::from_utf8(value)
                .ok()
                .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
                .and_then(|text| text.parse().ok())
                .map(BodyLength::Bytes)
                .ok_or(problem),
            (None, Some(value))
                if value.eq_ignore_ascii_case(b"chunked") && codings.next().is_none() =>
            {
                Ok(BodyLength::Chunks)
            }
            _ => Err(problem),
        }
    }

    /// Writes the fields that are meant for the server.
    fn write_end_to_end(&self, head: &mut Vec<u8>) {
        let named: Vec<String> = self
            .all("connection")
            .flat_map(|value| value.split(|byte| *byte == b','))
            .map(|name| String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase())
            .collect();
        for field in self.0 {
            let name = field.name.to_ascii_lowercase();
            if NOT_FORWARDED.contains(&name.as_str()) || named.contains(&name) {
                continue;
            }
            head.extend_from_slice(field.name.as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(field.value);
            head.extend_from_slice(b"\r\n");
        }
    }
}
