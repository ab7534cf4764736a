//! One request and its response: credentials, refusals that another token may turn, redirects, limits.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::HttpParts;
use super::failure::{
    Credentials, FailureCause, HttpFailure, Refusal, body_head, names_insufficient_scope,
};
use super::redirect::{RedirectProblem, next_hop};
use crate::authorization::{Authorizer, Challenge, Next};
use crate::error::{Error, ErrorKind};
use crate::secret::Secret;

/// More redirects than this lead in a circle.
const REDIRECTS_MAX: u32 = 5;
/// How often one message is sent, whatever the authorizer says: the first time, a refreshed token, and two steps up in scope.
const SENDS_MAX: u32 = 4;
/// How much of an error's body is read.
const ERROR_BODY_BYTES_MAX: usize = 8 * 1024;
/// How long an error's body may take; it is only for people.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long saying goodbye may take.
const FAREWELL_TIMEOUT: Duration = Duration::from_secs(1);

/// Sends the requests of one connection.
#[derive(Clone)]
pub(crate) struct Exchange {
    shared: Arc<Shared>,
}

struct Shared {
    http: reqwest::Client,
    url: Url,
    headers: HeaderMap,
    authorizer: Option<Arc<dyn Authorizer>>,
    response_timeout: Duration,
    last_token: Mutex<Option<Secret>>,
    cancel: CancellationToken,
}

/// A request before credentials.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    pub(crate) url: Url,
    /// Headers of the protocol; they win over configured ones.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<String>,
    /// How it is treated.
    pub(crate) purpose: Purpose,
}

/// How a request is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Response headers are due within the limit.
    Message,
    /// A stream on which nothing may happen for as long as the connection lives; some servers hold even its headers back.
    Standing,
    /// Sent while the connection ends: within a second, with the token at hand.
    Farewell,
}

/// A response and what it answers.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The response, its body unread.
    pub(crate) response: reqwest::Response,
    /// Where it came from after redirects.
    pub(crate) url: Url,
    /// What the request carried.
    credentials: Credentials,
}

impl Exchange {
    /// The exchange of a new connection. Fails for headers that HTTP does not know.
    pub(crate) fn new(parts: &HttpParts, cancel: CancellationToken) -> Result<Self, Error> {
        let shared = Shared {
            http: parts.http.clone(),
            url: parts.url.clone(),
            headers: configured_headers(parts)?,
            authorizer: parts.authorizer.clone(),
            response_timeout: parts.response_timeout,
            last_token: Mutex::default(),
            cancel,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    pub(crate) fn url(&self) -> &Url {
        &self.shared.url
    }

    /// Fires when the connection ends.
    pub(crate) fn cancel(&self) -> &CancellationToken {
        &self.shared.cancel
    }

    /// How long response headers, and each further piece of a plain body, may take.
    pub(crate) fn response_timeout(&self) -> Duration {
        self.shared.response_timeout
    }

    /// Sends a request, with a token asked for now, again where the authorizer says so, and through redirects. Any status is
    /// a reply.
    pub(crate) async fn send(&self, outgoing: &Outgoing) -> Result<Reply, HttpFailure> {
        if outgoing.purpose == Purpose::Farewell {
            return self.follow(outgoing, self.last_token().as_ref()).await;
        }
        tokio::select! {
            reply = self.send_with_tokens(outgoing) => reply,
            () = self.shared.cancel.cancelled() => Err(HttpFailure::closed(&outgoing.url)),
        }
    }

    async fn send_with_tokens(&self, outgoing: &Outgoing) -> Result<Reply, HttpFailure> {
        let mut sends = 0;
        loop {
            let token = self.token(&outgoing.url).await?;
            let reply = self.follow(outgoing, token.as_ref()).await?;
            sends += 1;
            if sends == SENDS_MAX {
                return Ok(reply);
            }
            match self.challenged(&reply, token).await? {
                Next::Retry => {}
                Next::GiveUp => return Ok(reply),
            }
        }
    }

    async fn token(&self, url: &Url) -> Result<Option<Secret>, HttpFailure> {
        let Some(authorizer) = &self.shared.authorizer else {
            return Ok(None);
        };
        let token = self.ask(url, authorizer.token()).await?;
        let mut last_token = self
            .shared
            .last_token
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        last_token.clone_from(&token);
        Ok(token)
    }

    fn last_token(&self) -> Option<Secret> {
        self.shared
            .last_token
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    async fn challenged(&self, reply: &Reply, token: Option<Secret>) -> Result<Next, HttpFailure> {
        let Some(authorizer) = &self.shared.authorizer else {
            return Ok(Next::GiveUp);
        };
        let www_authenticate = reply.www_authenticate();
        let is_challenge = match reply.status() {
            StatusCode::UNAUTHORIZED => true,
            StatusCode::FORBIDDEN => www_authenticate
                .as_deref()
                .is_some_and(names_insufficient_scope),
            _ => false,
        };
        if !is_challenge {
            return Ok(Next::GiveUp);
        }
        let challenge = Challenge {
            status: reply.status().as_u16(),
            www_authenticate,
            token,
        };
        self.ask(&reply.url, authorizer.challenged(challenge)).await
    }

    /// Asks the authorizer within the limit of a response: what it does is requests too.
    async fn ask<T>(
        &self,
        url: &Url,
        question: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, HttpFailure> {
        let limit = self.shared.response_timeout;
        let answer = match tokio::time::timeout(limit, question).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::new(
                ErrorKind::Timeout,
                String::new(),
                format!("no token was there within {limit:?}"),
            )),
        };
        answer.map_err(|error| HttpFailure::of_authorizer(url, &error))
    }

    async fn follow(
        &self,
        outgoing: &Outgoing,
        token: Option<&Secret>,
    ) -> Result<Reply, HttpFailure> {
        let mut url = outgoing.url.clone();
        for _ in 0..=REDIRECTS_MAX {
            let response = self.send_once(outgoing, &url, token).await?;
            let location = response
                .headers()
                .get(LOCATION)
                .and_then(|location| location.to_str().ok());
            match next_hop(&outgoing.method, &url, response.status(), location) {
                Ok(Some(target)) => url = target,
                Ok(None) => {
                    return Ok(Reply {
                        response,
                        url,
                        credentials: self.credentials(),
                    });
                }
                Err(problem) => {
                    return Err(HttpFailure::new(&url, FailureCause::Redirected(problem)));
                }
            }
        }
        let cause = FailureCause::Redirected(RedirectProblem::TooMany);
        Err(HttpFailure::new(&outgoing.url, cause))
    }

    async fn send_once(
        &self,
        outgoing: &Outgoing,
        url: &Url,
        token: Option<&Secret>,
    ) -> Result<reqwest::Response, HttpFailure> {
        let mut headers = self.shared.headers.clone();
        if let Some(token) = token {
            let value = bearer(token).map_err(|error| HttpFailure::of_authorizer(url, &error))?;
            headers.insert(AUTHORIZATION, value);
        }
        headers.extend(outgoing.headers.clone());
        let mut request = self
            .shared
            .http
            .request(outgoing.method.clone(), url.clone());
        if let Some(body) = &outgoing.body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            request = request.body(body.clone());
        }
        let sending = request.headers(headers).send();
        let limit = match outgoing.purpose {
            Purpose::Message => self.shared.response_timeout,
            Purpose::Farewell => FAREWELL_TIMEOUT,
            Purpose::Standing => {
                return sending
                    .await
                    .map_err(|error| HttpFailure::of_client(url, &error));
            }
        };
        match tokio::time::timeout(limit, sending).await {
            Ok(response) => response.map_err(|error| HttpFailure::of_client(url, &error)),
            Err(_) => Err(HttpFailure::new(url, FailureCause::Late { limit })),
        }
    }

    fn credentials(&self) -> Credentials {
        if self.shared.authorizer.is_some() {
            Credentials::Authorizer
        } else if self.shared.headers.contains_key(AUTHORIZATION) {
            Credentials::ConfiguredHeader
        } else {
            Credentials::None
        }
    }
}

impl Reply {
    pub(crate) fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// A header's value, where there is one and it is text.
    pub(crate) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.response
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
    }

    /// Whether the content type is this one, whatever its parameters.
    pub(crate) fn is_of_type(&self, media_type: &str) -> bool {
        self.header(&CONTENT_TYPE).is_some_and(|value| {
            let essence = value.split(';').next().unwrap_or(value);
            essence.trim().eq_ignore_ascii_case(media_type)
        })
    }

    /// All challenges in one line.
    pub(crate) fn www_authenticate(&self) -> Option<String> {
        let challenges: Vec<_> = self
            .response
            .headers()
            .get_all(WWW_AUTHENTICATE)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()))
            .collect();
        (!challenges.is_empty()).then(|| challenges.join(", "))
    }

    /// Reads the beginning of the body, then says that the server refused. The bytes are returned too.
    pub(crate) async fn into_refusal(mut self) -> (HttpFailure, Vec<u8>) {
        let body = read_head(&mut self.response).await;
        let retry_after = self
            .header(&RETRY_AFTER)
            .and_then(|value| value.trim().parse().ok())
            .map(Duration::from_secs);
        let refusal = Refusal {
            status: self.status().as_u16(),
            www_authenticate: self.www_authenticate(),
            retry_after,
            body: body_head(&body),
            credentials: self.credentials,
        };
        (
            HttpFailure::new(&self.url, FailureCause::Refused(refusal)),
            body,
        )
    }

    /// Says that a response of a good status has nothing of the protocol in it.
    pub(crate) fn no_answer(&self, body: &[u8]) -> HttpFailure {
        let cause = FailureCause::NoAnswer {
            status: self.status().as_u16(),
            content_type: self.header(&CONTENT_TYPE).map(str::to_owned),
            body: body_head(body),
        };
        HttpFailure::new(&self.url, cause)
    }

    /// Reads the whole body, at most `bytes_max` of it, each piece within `limit`.
    pub(crate) async fn read_body(
        &mut self,
        bytes_max: usize,
        limit: Duration,
    ) -> Result<Vec<u8>, HttpFailure> {
        let mut body = Vec::new();
        loop {
            let piece = match tokio::time::timeout(limit, self.response.chunk()).await {
                Ok(Ok(Some(piece))) => piece,
                Ok(Ok(None)) => return Ok(body),
                Ok(Err(error)) => return Err(HttpFailure::of_client(&self.url, &error)),
                Err(_) => return Err(HttpFailure::new(&self.url, FailureCause::Late { limit })),
            };
            if piece.len() > bytes_max - body.len() {
                let cause = FailureCause::TooLarge { bytes_max };
                return Err(HttpFailure::new(&self.url, cause));
            }
            body.extend_from_slice(&piece);
        }
    }
}

/// The beginning of an error's body; what is there when time or connection end is enough.
async fn read_head(response: &mut reqwest::Response) -> Vec<u8> {
    let mut body = Vec::new();
    let reading = async {
        while let Ok(Some(piece)) = response.chunk().await {
            let room = ERROR_BODY_BYTES_MAX - body.len();
            body.extend(piece.iter().take(room));
            if body.len() == ERROR_BODY_BYTES_MAX {
                break;
            }
        }
    };
    // Late or not: the head is what has come by then.
    let _ = tokio::time::timeout(ERROR_BODY_TIMEOUT, reading).await;
    body
}

fn bearer(token: &Secret) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose())).map_err(|_| {
        Error::new(
            ErrorKind::Authorization,
            String::new(),
            "the access token has characters that no header may have",
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn configured_headers(parts: &HttpParts) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    for (name, value) in &parts.headers {
        let wrong = |what: &str| {
            Error::new(
                ErrorKind::Config,
                &parts.server,
                format!("the {what} of the header \"{name}\" is not allowed in HTTP"),
            )
            .with_hint("Correct \"headers\" of this server in mcp.json.")
        };
        let header = HeaderName::try_from(name.as_str()).map_err(|_| wrong("name"))?;
        let mut value = HeaderValue::from_str(value.expose()).map_err(|_| wrong("value"))?;
        value.set_sensitive(true);
        headers.append(header, value);
    }
    Ok(headers)
}
