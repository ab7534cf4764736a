//! How a server is reached, in a line without secrets.

use url::Url;

use pirn_mcp::{HttpKind, TransportEntry};

/// Longer parts of addresses are taken for keys, as some services have them in the path.
const SEGMENT_CHARACTERS_MAX: usize = 20;
/// Words in the names of options and settings whose values are secret.
const SECRET_WORDS: &[&str] = &[
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "auth",
    "bearer",
    "credential",
    "header",
];
/// What stands for something hidden.
const HIDDEN: &str = "…";

/// `npx -y package --api-key …` or `https://host/path (sse)`.
pub(super) fn of(transport: &TransportEntry) -> String {
    match transport {
        TransportEntry::Stdio(stdio) => {
            let mut line = vec![stdio.command.clone()];
            let mut hide = false;
            for argument in &stdio.args {
                let (shown, hide_next) = shown_argument(argument, hide);
                line.push(shown);
                hide = hide_next;
            }
            line.join(" ")
        }
        TransportEntry::Http(http) => {
            let address = shown_address(&http.url);
            match http.kind {
                HttpKind::Auto | HttpKind::Streamable => address,
                HttpKind::Sse => format!("{address} (sse)"),
            }
        }
    }
}

/// An argument without its secrets, and whether the next one is the value of a secret option.
fn shown_argument(argument: &str, hide: bool) -> (String, bool) {
    let is_secret = |name: &str| {
        let name = name.to_lowercase();
        SECRET_WORDS.iter().any(|word| name.contains(word))
    };
    if hide && !argument.starts_with('-') {
        return (HIDDEN.to_owned(), false);
    }
    if let Some((name, _)) = argument.split_once(['=', ':'])
        && is_secret(name)
    {
        return (format!("{name}={HIDDEN}"), false);
    }
    if argument.contains("://") {
        return (shown_address(argument), false);
    }
    let is_option = argument.starts_with('-');
    (argument.to_owned(), is_option && is_secret(argument))
}

/// An address without user, query, fragment and what looks like a key in the path.
fn shown_address(text: &str) -> String {
    let Ok(url) = Url::parse(text) else {
        // With variables in place of the host it is no address yet.
        let plain = text.split(['?', '#', '@']).next().unwrap_or_default();
        return plain.to_owned();
    };
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}"));
    let mut shown = format!("{}://{host}{}", url.scheme(), port.unwrap_or_default());
    for segment in url.path().split('/').filter(|segment| !segment.is_empty()) {
        shown.push('/');
        let long = segment.chars().count() > SEGMENT_CHARACTERS_MAX;
        shown.push_str(if long { HIDDEN } else { segment });
    }
    shown
}
