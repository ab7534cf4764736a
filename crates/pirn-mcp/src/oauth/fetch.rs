//! Requests to authorization servers: bounded in time and size, only to URLs that may be asked, and without following
//! redirects, which would carry secrets elsewhere.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use reqwest::RequestBuilder;
use serde_json::Value;
use url::Url;
use url::form_urlencoded;

use super::guard::Guard;
use crate::secret::Secret;

/// For one request with its answer. A person or a call waits.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
/// Documents and tokens have a few kilobytes.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;
/// Redirects of a document; well-known addresses are moved once.
const REDIRECTS_MAX: usize = 3;

/// Asks on behalf of one server.
#[derive(Debug, Clone)]
pub(super) struct Fetcher {
    http: reqwest::Client,
    guard: Guard,
}

pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Why there is no answer; never says what was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FetchError {
    /// The URL must not be asked.
    Refused(String),
    /// The server could not be reached, or its answer is no good.
    Failed(String),
}

impl Fetcher {
    pub(super) fn new(http: reqwest::Client, guard: Guard) -> Self {
        Self { http, guard }
    }

    /// A URL that a server named, where it may be asked.
    pub(super) fn allow(&self, url: &str) -> Result<Url, FetchError> {
        let url = Url::parse(url).map_err(|_| FetchError::Refused("it is not a URL".to_owned()))?;
        self.guard.check(&url).map_err(FetchError::Refused)?;
        Ok(url)
    }

    /// Gets a document, wherever redirects lead within what may be asked.
    pub(super) async fn get(&self, url: &Url) -> Result<Answer, FetchError> {
        let mut url = url.clone();
        for _ in 0..=REDIRECTS_MAX {
            let request = self
                .http
                .get(url.clone())
                .header(ACCEPT, "application/json");
            let answer = self.ask(&url, request).await?;
            let location = answer
                .status
                .is_redirection()
                .then(|| answer.headers.get(LOCATION)?.to_str().ok())
                .flatten();
            let Some(location) = location else {
                return Ok(answer);
            };
            url = url
                .join(location)
                .map_err(|_| FetchError::Failed("it redirects to no URL".to_owned()))?;
        }
        Err(FetchError::Failed("it redirects in a circle".to_owned()))
    }

    /// Posts a form, as token endpoints want it.
    pub(super) async fn post_form(
        &self,
        url: &Url,
        form: &[(&str, &str)],
        authorization: Option<&Secret>,
    ) -> Result<Answer, FetchError> {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .finish();
        let mut request = self
            .http
            .post(url.clone())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json")
            .body(body);
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization.expose());
        }
        self.ask(url, request).await
    }

    pub(super) async fn post_json(
        &self,
        url: &Url,
        body: &Value,
        accept: &str,
    ) -> Result<Answer, FetchError> {
        let request = self
            .http
            .post(url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, accept)
            .body(body.to_string());
        self.ask(url, request).await
    }

    async fn ask(&self, url: &Url, request: RequestBuilder) -> Result<Answer, FetchError> {
        let asking = async {
            self.guard.check(url).map_err(FetchError::Refused)?;
            self.check_addresses(url).await?;
            // Whoever refuses says so in the header; a body may be an endless stream.
            receive(request.send().await.map_err(failed)?).await
        };
        tokio::time::timeout(REQUEST_TIMEOUT, asking)
            .await
            .unwrap_or_else(|_| {
                let seconds = REQUEST_TIMEOUT.as_secs();
                Err(FetchError::Failed(format!("no answer within {seconds} s")))
            })
    }

    /// Looks up what the client is about to look up. A name that cannot be resolved here may be resolved by a proxy.
    async fn check_addresses(&self, url: &Url) -> Result<(), FetchError> {
        let Some(name) = self.guard.name_to_resolve(url) else {
            return Ok(());
        };
        let port = url.port_or_known_default().unwrap_or_default();
        let Ok(addresses) = tokio::net::lookup_host((name, port)).await else {
            return Ok(());
        };
        for address in addresses {
            self.guard
                .check_address(address.ip())
                .map_err(FetchError::Refused)?;
        }
        Ok(())
    }
}

impl Answer {
    /// The body, where it is JSON.
    pub(super) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The challenge of a refusal, of all its headers.
    pub(super) fn challenge(&self) -> Option<String> {
        let headers: Vec<&str> = self
            .headers
            .get_all(WWW_AUTHENTICATE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .collect();
        (!headers.is_empty()).then(|| headers.join(", "))
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Bodies of token endpoints are secrets.
        formatter
            .debug_struct("Answer")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) | Self::Failed(why) => formatter.write_str(why),
        }
    }
}

async fn receive(mut response: reqwest::Response) -> Result<Answer, FetchError> {
    let status = response.status();
    let headers = response.headers().clone();
    let is_stream = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.starts_with("text/event-stream"));
    let mut body = Vec::new();
    while !is_stream && let Some(chunk) = response.chunk().await.map_err(failed)? {
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(FetchError::Failed("its answer is too large".to_owned()));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer {
        status,
        headers,
        body,
    })
}

/// The innermost cause: outer ones only repeat that something failed, and name the URL.
fn failed(error: reqwest::Error) -> FetchError {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = inner.to_string();
        cause = inner.source();
    }
    FetchError::Failed(text)
}
