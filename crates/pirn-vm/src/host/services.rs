//! What the guest asks of the host and gets at once: words for an error, digests, and the parts of an address.

use sha1::{Digest as _, Sha1};
use sha2::{Sha256, Sha384, Sha512};
use url::{Url, quirks};

use crate::program::{EngineError, Explainer};

/// Stands between the parts of a request about an address, and of its answer.
const SEPARATOR: char = '\0';

/// The words for an error: `line:column`, `native` or nothing, the engine's message, the value, the receiver, a line each.
pub(super) fn explained(explainer: Option<&Explainer>, request: &[u8]) -> Option<Vec<u8>> {
    let Explainer(explain) = explainer?;
    let request = String::from_utf8_lossy(request);
    let mut lines = request.split('\n');
    let (line, column) = lines.next()?.split_once(':')?;
    let is_from_builtin = lines.next()? == "native";
    let error = EngineError {
        line: line.parse().ok()?,
        column: column.parse().ok()?,
        is_from_builtin,
        message: lines.next()?,
        value: lines.next().unwrap_or_default(),
        receiver: lines.next().unwrap_or_default(),
    };
    explain(error).map(String::into_bytes)
}

/// A digest, by the number that the prelude gives its algorithm.
pub(super) fn digest(algorithm: i32, bytes: &[u8]) -> Option<Vec<u8>> {
    match algorithm {
        1 => Some(Sha1::digest(bytes).to_vec()),
        256 => Some(Sha256::digest(bytes).to_vec()),
        384 => Some(Sha384::digest(bytes).to_vec()),
        512 => Some(Sha512::digest(bytes).to_vec()),
        _ => None,
    }
}

/// The parts of an address: `parse`, address and base, or `set`, address, part and new value.
pub(super) fn url(request: &[u8]) -> Option<Vec<u8>> {
    let request = String::from_utf8_lossy(request);
    let parts: Vec<&str> = request.split(SEPARATOR).collect();
    let url = match parts.as_slice() {
        ["parse", address] => Url::parse(address).ok()?,
        ["parse", address, base] => Url::parse(base).ok()?.join(address).ok()?,
        ["set", address, part, value] => {
            let mut url = Url::parse(address).ok()?;
            // As the standard has it, a value that cannot be set changes nothing.
            let changed = match *part {
                "href" => quirks::set_href(&mut url, value).map_err(|_| ()),
                "protocol" => quirks::set_protocol(&mut url, value),
                "username" => quirks::set_username(&mut url, value),
                "password" => quirks::set_password(&mut url, value),
                "host" => quirks::set_host(&mut url, value),
                "hostname" => quirks::set_hostname(&mut url, value),
                "port" => quirks::set_port(&mut url, value),
                "pathname" => {
                    quirks::set_pathname(&mut url, value);
                    Ok(())
                }
                "search" => {
                    quirks::set_search(&mut url, value);
                    Ok(())
                }
                _ => {
                    quirks::set_hash(&mut url, value);
                    Ok(())
                }
            };
            if *part == "href" && changed.is_err() {
                return None;
            }
            url
        }
        _ => return None,
    };
    let parts = [
        quirks::href(&url),
        &quirks::origin(&url),
        quirks::protocol(&url),
        quirks::username(&url),
        quirks::password(&url),
        quirks::host(&url),
        quirks::hostname(&url),
        quirks::port(&url),
        quirks::pathname(&url),
        quirks::search(&url),
        quirks::hash(&url),
    ];
    Some(parts.join(&SEPARATOR.to_string()).into_bytes())
}
