//! Keeps secrets out of a trace: values under names that secrets have, and texts in the shape of secrets.

use serde_json::Value;

/// What stands in a secret's place.
const HIDDEN: &str = "(hidden)";

/// Parts of the names of members whose values are secret, without case and separators.
const NAME_PARTS: &[&str] = &[
    "apikey",
    "accesskey",
    "privatekey",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "credential",
    "authorization",
    "cookie",
    "sessionid",
    "codeverifier",
    "bearer",
    "jwt",
    "pincode",
    "connectionstring",
    "databaseurl",
];

/// Ends of such names.
const NAME_ENDS: &[&str] = &["token", "auth", "otp"];

/// Names that only look like those of secrets.
const HARMLESS_NAMES: &[&str] = &["progresstoken", "oauth"];

/// How keys and tokens begin that services give out, and the least bytes of such a one.
const TOKEN_STARTS: &[(&str, usize)] = &[
    ("sk-", 20),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("pk_live_", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("xoxa-", 16),
    ("xoxs-", 16),
    ("xapp-", 16),
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 30),
    ("ya29.", 20),
    ("npm_", 20),
    ("hf_", 20),
    ("pypi-", 20),
    ("dop_v1_", 20),
    ("shpat_", 20),
    ("SG.", 30),
    ("lin_api_", 20),
    ("ntn_", 20),
    ("eyJ", 40),
];

/// Words whose next word is a secret.
const SCHEMES: &[&str] = &["bearer", "basic"];

/// The first line of a private key.
const PRIVATE_KEY: &str = "PRIVATE KEY-----";

/// A text that may be shown.
pub(super) struct Shown {
    /// The text, or its beginning.
    pub(super) shown: String,
    /// How long all of it was.
    pub(super) whole_bytes: usize,
}

/// Hides the secrets of a text and cuts it.
pub(super) fn hide(text: &[u8], bytes_max: usize) -> Shown {
    if let Ok(mut value) = serde_json::from_slice::<Value>(text)
        && (value.is_object() || value.is_array())
    {
        if !hide_members(&mut value) {
            return cut(text, bytes_max);
        }
        return cut(value.to_string().as_bytes(), bytes_max);
    }
    let lossy = String::from_utf8_lossy(text);
    let Some(hidden) = without_secrets(&lossy) else {
        return cut(text, bytes_max);
    };
    cut(hidden.as_bytes(), bytes_max)
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

/// Hides the secrets of a value; says whether there were any. Values may be deep, but not deeper than the parser allows.
fn hide_members(value: &mut Value) -> bool {
    match value {
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |hidden, item| hide_members(item) | hidden),
        Value::Object(members) => {
            let mut hidden = false;
            for (name, value) in members.iter_mut() {
                if is_secret_name(name) && !is_harmless_value(value) {
                    *value = HIDDEN.into();
                    hidden = true;
                } else {
                    hidden |= hide_members(value);
                }
            }
            hidden
        }
        Value::String(text) => match without_secrets(text) {
            Some(shown) => {
                *text = shown;
                true
            }
            None => false,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Numbers of tokens, switches, and schemas of arguments that will be secrets are none.
fn is_harmless_value(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => true,
        Value::Object(members) => members.contains_key("type"),
        Value::Number(_) | Value::String(_) | Value::Array(_) => false,
    }
}

fn is_secret_name(name: &str) -> bool {
    let name: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|character| character.to_ascii_lowercase())
        .collect();
    if HARMLESS_NAMES.contains(&name.as_str()) {
        return false;
    }
    NAME_PARTS.iter().any(|part| name.contains(part))
        || NAME_ENDS.iter().any(|end| name.ends_with(end))
}

/// The text without what has the shape of a secret; `None` where nothing has.
fn without_secrets(text: &str) -> Option<String> {
    let mut shown = String::new();
    let mut hidden = false;
    let mut rest = text;
    // What the word before says of the next one.
    let mut is_announced = false;
    while !rest.is_empty() {
        let start = rest.find(is_word_character).unwrap_or(rest.len());
        let (gap, from) = rest.split_at(start);
        shown.push_str(gap);
        let end = from
            .find(|character| !is_word_character(character))
            .unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        rest = after;
        if word.is_empty() {
            break;
        }
        let is_name = after.starts_with([':', '=']) && is_secret_name(word);
        let is_gap_small = gap.len() <= 3;
        if is_announced && is_gap_small && !SCHEMES.contains(&word.to_ascii_lowercase().as_str()) {
            shown.push_str(HIDDEN);
            hidden = true;
            is_announced = false;
            continue;
        }
        if is_token(word) || is_password(gap, after) {
            shown.push_str(HIDDEN);
            hidden = true;
        } else {
            shown.push_str(word);
        }
        is_announced = is_name || SCHEMES.contains(&word.to_ascii_lowercase().as_str());
        if let Some(key) = after.find(PRIVATE_KEY)
            && word == "-----BEGIN"
            && key <= 20
        {
            // No telling where the key ends.
            shown.push_str(HIDDEN);
            return Some(shown);
        }
    }
    hidden.then_some(shown)
}

fn is_word_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.' | '+' | '~')
}

fn is_token(word: &str) -> bool {
    TOKEN_STARTS
        .iter()
        .any(|(start, bytes)| word.starts_with(start) && word.len() >= *bytes)
}

/// Whether it is the password in `scheme://user:password@host`.
fn is_password(gap: &str, after: &str) -> bool {
    gap == ":" && after.starts_with('@')
}

#[cfg(test)]
mod tests;
