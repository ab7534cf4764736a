//! What a refusal says about signing in: the header `WWW-Authenticate` (RFC 6750, RFC 9728).

/// The parameters that matter of a Bearer or `DPoP` challenge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct BearerChallenge {
    /// Where the resource's metadata lies.
    pub(super) resource_metadata: Option<String>,
    /// What the refused operation needs, separated by spaces.
    pub(super) scope: Option<String>,
    /// Why it was refused.
    pub(super) error: Option<String>,
}

impl BearerChallenge {
    /// Reads a header, which may hold challenges of several schemes. What cannot be read counts as absent, and so do empty
    /// values.
    pub(super) fn parse(header: &str) -> Self {
        let mut challenge = Self::default();
        let mut is_ours = false;
        for part in split_outside_quotes(header) {
            let mut part = part.trim();
            if let Some((scheme, rest)) = leading_scheme(part) {
                is_ours =
                    scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("dpop");
                part = rest;
            }
            let Some((name, value)) = part.split_once('=') else {
                continue;
            };
            if !is_ours {
                continue;
            }
            let slot = match name.trim().to_ascii_lowercase().as_str() {
                "resource_metadata" => &mut challenge.resource_metadata,
                "scope" => &mut challenge.scope,
                "error" => &mut challenge.error,
                _ => continue,
            };
            let value = unquote(value.trim());
            if slot.is_none() && !value.trim().is_empty() {
                *slot = Some(value);
            }
        }
        challenge
    }

    /// Whether a token with more scopes would be accepted.
    pub(super) fn is_insufficient_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

/// The scheme a part begins with: a word followed by a blank, or a word alone. A parameter is no scheme.
fn leading_scheme(part: &str) -> Option<(&str, &str)> {
    let (word, rest) = part
        .split_once(|letter: char| letter.is_ascii_whitespace())
        .unwrap_or((part, ""));
    let rest = rest.trim_start();
    // `scope = "x"` is a parameter with blanks around its sign.
    let is_scheme = !word.is_empty() && !word.contains(['=', '"']) && !rest.starts_with('=');
    is_scheme.then_some((word, rest))
}

fn split_outside_quotes(header: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut is_quoted = false;
    let mut is_escaped = false;
    for letter in header.chars() {
        if letter == ',' && !is_quoted {
            parts.push(String::new());
            continue;
        }
        if letter == '"' && !is_escaped {
            is_quoted = !is_quoted;
        }
        is_escaped = is_quoted && letter == '\\' && !is_escaped;
        if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    parts
}

fn unquote(value: &str) -> String {
    let Some(inner) = value.strip_prefix('"') else {
        return value.to_owned();
    };
    let mut text = String::new();
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => text.extend(letters.next()),
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests;
