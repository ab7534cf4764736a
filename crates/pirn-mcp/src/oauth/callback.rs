//! What the browser, or a person, brings back from the sign-in page.

use url::{Url, form_urlencoded};

use super::token::clean;
use crate::secret::Secret;

/// What a sign-in waits for.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    /// The path of the redirect URL.
    pub(super) path: String,
    /// Proves that the answer belongs to this sign-in.
    pub(super) state: Secret,
    /// Who answers; `None` where the server has no metadata that say.
    pub(super) issuer: Option<String>,
    /// Whether the server promises to say so in every answer (RFC 9207).
    pub(super) is_issuer_promised: bool,
}

/// What an answer amounts to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Code(Secret),
    /// The sign-in has failed: why.
    Failed(String),
    /// Not an answer to this sign-in, which goes on: why.
    Foreign(&'static str),
}

impl Expected {
    /// Judges the target of an HTTP request. `None` where the path is another.
    pub(super) fn judge_target(&self, target: &str) -> Option<Verdict> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        (path == self.path).then(|| self.judge(query))
    }

    /// Judges what was pasted: the redirect URL, the part after its `?`, or the code alone.
    pub(super) fn judge_pasted(&self, text: &str) -> Verdict {
        let text = text.trim().trim_matches(['"', '\'', '<', '>']);
        if let Ok(url) = Url::parse(text)
            && url.has_host()
        {
            return match url.query() {
                Some(query) if url.path() == self.path => self.judge(query),
                Some(_) | None => Verdict::Foreign("this is not the URL the browser ended at"),
            };
        }
        if text.contains("code=") || text.contains("error=") {
            return self.judge(text.trim_start_matches('?'));
        }
        if text.is_empty() || text.contains(char::is_whitespace) {
            return Verdict::Foreign("this is neither a URL nor a code");
        }
        if self.is_issuer_promised {
            return Verdict::Foreign("the code alone is not enough here; paste the whole URL");
        }
        // The code is good only together with the verifier of this sign-in.
        Verdict::Code(Secret::new(text))
    }

    fn judge(&self, query: &str) -> Verdict {
        let parameter = |wanted: &str| {
            form_urlencoded::parse(query.as_bytes())
                .find(|(name, value)| name == wanted && !value.is_empty())
                .map(|(_, value)| value.into_owned())
        };
        if parameter("state").as_deref() != Some(self.state.expose()) {
            return Verdict::Foreign(
                "it belongs to another sign-in (its `state` is not the one sent)",
            );
        }
        if let Some(why) = self.issuer_problem(parameter("iss").as_deref()) {
            return Verdict::Failed(why);
        }
        if let Some(error) = parameter("error") {
            let code = clean(&error, &[&self.state]);
            return Verdict::Failed(match parameter("error_description") {
                Some(text) => format!(
                    "the server refused: {code}: {}",
                    clean(&text, &[&self.state])
                ),
                None => format!("the server refused: {code}"),
            });
        }
        match parameter("code") {
            Some(code) => Verdict::Code(Secret::new(code)),
            None => Verdict::Failed("the server's answer holds no code".to_owned()),
        }
    }

    /// RFC 9207: compared as text, without making the two alike first.
    fn issuer_problem(&self, received: Option<&str>) -> Option<String> {
        match (received, &self.issuer) {
            (None, _) if self.is_issuer_promised => Some(
                "the answer does not say who it is from (`iss`), as the server promised".to_owned(),
            ),
            (None, _) => None,
            (Some(_), None) => {
                Some("the answer says who it is from (`iss`), which nothing confirms".to_owned())
            }
            (Some(received), Some(expected)) => (received != expected).then(|| {
                let received = clean(received, &[]);
                format!("the answer is from {received}, not from {expected}")
            }),
        }
    }
}

#[cfg(test)]
mod tests;
