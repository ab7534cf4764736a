//! Sending requests: the one place of this crate that reaches the network.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::header::{
    CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::decoder::{Progress, Reply, ReplyDecoder, StreamEnd};
use crate::draft::ReplyEvent;
use crate::failure::{Failure, FailureKind};
use crate::http_date::seconds_until;
use crate::request::{Credential, HttpRequest, Request};
use crate::secret::Secret;
use crate::usage::RequestUsage;
use crate::wire::{bearer_header, build, credential_headers};

/// How long nothing may come: a model that thinks sends something more often, or its host does.
pub const IDLE_TIMEOUT_DEFAULT: Duration = Duration::from_mins(5);
/// Bytes of the answer to a request that failed; the error stands at its beginning.
const ERROR_BODY_BYTES_MAX: usize = 64 << 10;

/// How long to wait for what.
#[derive(Debug, Clone, Copy)]
pub struct ClientLimits {
    /// For the head of an answer.
    pub head: Duration,
    /// For the next data of a stream. What only keeps the connection alive is no data.
    pub idle: Duration,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            head: IDLE_TIMEOUT_DEFAULT,
            idle: IDLE_TIMEOUT_DEFAULT,
        }
    }
}

/// Receives what is new of a reply, and what it has used so far, as far as the vendor said.
pub type ReplySink<'a> = &'a mut (dyn FnMut(ReplyEvent, &RequestUsage) + Send);

/// Sends requests to models. Cheap to clone. It tries each request once: whether another try is worth it, and when, is for
/// whoever knows what has been done since.
#[derive(Debug, Clone)]
pub struct ModelClient {
    http: reqwest::Client,
    limits: ClientLimits,
}

impl ModelClient {
    /// A client over this connection pool.
    pub fn new(http: reqwest::Client, limits: ClientLimits) -> Self {
        Self { http, limits }
    }

    /// Sends a request and reads the reply to its end, whatever that is: a failure and an abort are replies too.
    pub async fn reply(
        &self,
        request: &Request<'_>,
        credential: &Credential,
        cancel: &CancellationToken,
        sink: ReplySink<'_>,
    ) -> Reply {
        let started = std::time::Instant::now();
        let mut decoder = ReplyDecoder::new(request.model, request.thinking, now_ms());
        let end = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(aborted()),
            end = self.read(request, credential, &mut decoder, sink) => end,
        };
        let usage = decoder.usage();
        let (events, mut reply) = decoder.finish(match end {
            Ok(()) => StreamEnd::Closed,
            Err(failure) => StreamEnd::Failed(failure),
        });
        for event in events {
            sink(event, &usage);
        }
        let duration = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        reply.message.duration_ms = Some(duration);
        reply
    }

    async fn read(
        &self,
        request: &Request<'_>,
        credential: &Credential,
        decoder: &mut ReplyDecoder,
        sink: ReplySink<'_>,
    ) -> Result<(), Failure> {
        let mut response = self.send(request, credential).await?;
        let idle = self.limits.idle;
        let mut deadline = tokio::time::Instant::now() + idle;
        loop {
            let Ok(chunk) = tokio::time::timeout_at(deadline, response.chunk()).await else {
                return Err(Failure::new(
                    FailureKind::Timeout,
                    format!("nothing came from the model for {}", seconds(idle)),
                ));
            };
            let Some(chunk) = chunk.map_err(|error| broken(&error))? else {
                return Ok(());
            };
            if decoder.push(&chunk) == Progress::Data {
                deadline = tokio::time::Instant::now() + idle;
            }
            let usage = decoder.usage();
            for event in decoder.take_events() {
                sink(event, &usage);
            }
            if decoder.is_complete() {
                return Ok(());
            }
        }
    }

    async fn send(
        &self,
        request: &Request<'_>,
        credential: &Credential,
    ) -> Result<reqwest::Response, Failure> {
        let secrets = credential_headers(request.model.api, credential);
        self.post(&build(request), secrets).await
    }

    /// Sends a request that is answered with one JSON value of at most so many bytes.
    pub(crate) async fn post_json(
        &self,
        request: &HttpRequest,
        credential: &Credential,
        bytes_max: usize,
    ) -> Result<Value, Failure> {
        let secrets = bearer_header(credential).into_iter().collect();
        let mut response = self.post(request, secrets).await?;
        let mut body = Vec::new();
        let idle = self.limits.idle;
        loop {
            let Ok(chunk) = tokio::time::timeout(idle, response.chunk()).await else {
                let message = format!("nothing came from the model for {}", seconds(idle));
                return Err(Failure::new(FailureKind::Timeout, message));
            };
            let Some(chunk) = chunk.map_err(|error| broken(&error))? else {
                break;
            };
            body.extend_from_slice(&chunk);
            if body.len() > bytes_max {
                let message = format!("the answer is longer than {bytes_max} bytes");
                return Err(Failure::new(FailureKind::Invalid, message));
            }
        }
        serde_json::from_slice(&body).map_err(|error| {
            let message = format!("the answer is not JSON: {error}");
            Failure::new(FailureKind::Stream, message)
        })
    }

    async fn post(
        &self,
        http: &HttpRequest,
        secrets: Vec<(&'static str, Secret)>,
    ) -> Result<reqwest::Response, Failure> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &http.headers {
            add_header(&mut headers, name, value)?;
        }
        for (name, secret) in secrets {
            add_header(&mut headers, name, secret.expose())?;
            if let Some(value) = headers.get_mut(name) {
                value.set_sensitive(true);
            }
        }
        let sending = self
            .http
            .post(&http.url)
            .headers(headers)
            .body(http.body.to_string())
            .send();
        let host = host(&http.url);
        let Ok(sent) = tokio::time::timeout(self.limits.head, sending).await else {
            let limit = seconds(self.limits.head);
            let message = format!("{host} did not answer within {limit}");
            return Err(Failure::new(FailureKind::Timeout, message));
        };
        let response = sent.map_err(|error| unreachable(&host, &error))?;
        if !response.status().is_success() {
            return Err(refused(response, self.limits.idle).await);
        }
        if let Some(encoding) = response.headers().get(CONTENT_ENCODING)
            && encoding != "identity"
        {
            let message = format!(
                "{host} sent a compressed answer ({}), which was not asked for",
                encoding.to_str().unwrap_or("unknown")
            );
            return Err(Failure::new(FailureKind::Invalid, message));
        }
        Ok(response)
    }
}

fn aborted() -> Failure {
    Failure::new(FailureKind::Aborted, "Request was aborted")
}

fn add_header(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), Failure> {
    let parsed = name
        .parse::<HeaderName>()
        .ok()
        .zip(HeaderValue::from_str(value).ok());
    let Some((name, value)) = parsed else {
        // The value may be a secret.
        let message = format!("the header `{name}` has a value that no header can have");
        return Err(Failure::new(FailureKind::Invalid, message));
    };
    headers.insert(name, value);
    Ok(())
}

/// What an answer with a status of failure says.
async fn refused(mut response: reqwest::Response, limit: Duration) -> Failure {
    let status = response.status().as_u16();
    let retry_after = retry_after(response.headers());
    let mut body = Vec::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() >= ERROR_BODY_BYTES_MAX {
                break;
            }
        }
    };
    // What came until then says enough.
    let _ended = tokio::time::timeout(limit, reading).await;
    Failure::from_response(status, &String::from_utf8_lossy(&body), retry_after)
}

/// How long the server wants to be left alone.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(ms / 1_000.0).ok();
    }
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match value.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => seconds_until(value, now_ms() / 1_000).map(Duration::from_secs),
    }
}

fn unreachable(host: &str, error: &reqwest::Error) -> Failure {
    let message = format!("{host} cannot be reached: {}", innermost(error));
    Failure::new(FailureKind::Network, message)
}

fn broken(error: &reqwest::Error) -> Failure {
    let message = format!("the connection broke off: {}", innermost(error));
    Failure::new(FailureKind::Network, message)
}

/// The cause that says something: the layers above it only say that something failed.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// Scheme, host and port, without anything secret that a path may hold.
fn host(url: &str) -> String {
    match url::Url::parse(url) {
        Ok(url) => url.origin().ascii_serialization(),
        Err(_) => url.to_owned(),
    }
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
