//! Keeps secrets out of a trace.

use serde_json::Value;

/// What stands in a secret's place.
const HIDDEN: &str = "(hidden)";

/// Parts of the names of members whose values are secret. The first letters are left out where they come in both cases.
const PARTS: &[&str] = &[
    "ccess_token",
    "ccessToken",
    "efresh_token",
    "efreshToken",
    "d_token",
    "dToken",
    "lient_secret",
    "lientSecret",
    "ode_verifier",
    "odeVerifier",
    "assword",
    "uthorization",
    "AUTHORIZATION",
];

/// The names, without case and underscores.
const NAMES: &[&str] = &[
    "accesstoken",
    "refreshtoken",
    "idtoken",
    "clientsecret",
    "codeverifier",
    "password",
    "authorization",
    "proxyauthorization",
];

/// A text that may be shown.
pub(super) struct Shown {
    /// The text, or its beginning.
    pub(super) shown: String,
    /// How long all of it was.
    pub(super) whole_bytes: usize,
}

/// Hides the secrets of a text and cuts it.
pub(super) fn hide(text: &[u8], bytes_max: usize) -> Shown {
    if !PARTS
        .iter()
        .any(|part| memchr::memmem::find(text, part.as_bytes()).is_some())
    {
        return cut(text, bytes_max);
    }
    if let Ok(mut value) = serde_json::from_slice::<Value>(text) {
        hide_members(&mut value);
        return cut(value.to_string().as_bytes(), bytes_max);
    }
    // No telling where the secret ends.
    let start = PARTS
        .iter()
        .filter_map(|part| memchr::memmem::find(text, part.as_bytes()))
        .min()
        .unwrap_or(0);
    let mut shown = cut(text.get(..start).unwrap_or_default(), bytes_max).shown;
    shown.push_str(HIDDEN);
    Shown {
        whole_bytes: shown.len(),
        shown,
    }
}

fn cut(text: &[u8], bytes_max: usize) -> Shown {
    let start = text.get(..bytes_max).unwrap_or(text);
    let mut shown = String::from_utf8_lossy(start).into_owned();
    let is_cut = start.len() < text.len();
    if is_cut {
        // A character that was cut in two.
        while shown.ends_with(char::REPLACEMENT_CHARACTER) {
            shown.pop();
        }
    }
    Shown {
        whole_bytes: if is_cut { text.len() } else { shown.len() },
        shown,
    }
}

/// Values may be deep, but not deeper than the parser allows.
fn hide_members(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(hide_members),
        Value::Object(members) => {
            for (name, value) in members.iter_mut() {
                if is_secret(name) {
                    *value = HIDDEN.into();
                } else {
                    hide_members(value);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_secret(name: &str) -> bool {
    let name: String = name
        .chars()
        .filter(|character| !matches!(character, '_' | '-'))
        .map(|character| character.to_ascii_lowercase())
        .collect();
    NAMES.contains(&name.as_str())
}
