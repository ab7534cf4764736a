//! The client against a server on the loopback.

use std::sync::Arc;
use std::time::Duration;

use pirn_model::{
    Api, ClientLimits, Credential, FailureKind, Message, Model, ModelClient, Reply, ReplyEvent,
    Request, RequestUsage, Secret, StopReason, UserMessage,
};
use pirn_testkit::{Act, FakeHttp, HttpStyle, begun, event, model_script, says};
use serde_json::json;
use tokio_util::sync::CancellationToken;

const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

async fn server(replies: Vec<Vec<Act>>) -> FakeHttp {
    FakeHttp::start(model_script(replies), HttpStyle::Events)
        .await
        .unwrap()
}

pub(crate) fn client() -> ModelClient {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let http = reqwest::Client::builder()
        .tls_backend_preconfigured(config)
        .no_proxy()
        .build()
        .unwrap();
    let limits = ClientLimits {
        head: Duration::from_secs(20),
        idle: Duration::from_millis(300),
    };
    ModelClient::new(http, limits)
}

async fn reply(
    server: &FakeHttp,
    cancel: &CancellationToken,
    stop_at: Option<&str>,
) -> (String, Reply) {
    let model = Model::new(
        "local",
        "scripted",
        Api::OpenAiCompletions,
        server.url("/v1"),
    );
    let messages = [Message::User(UserMessage::text("Hello", 1))];
    let request = Request::new(&model, &messages);
    let credential = Credential::ApiKey(Secret::new("k3y"));
    let mut text = String::new();
    let mut sink = |event: ReplyEvent, _: &RequestUsage| {
        if let ReplyEvent::TextDelta { delta, .. } = event {
            text.push_str(&delta);
            if stop_at == Some(text.as_str()) {
                cancel.cancel();
            }
        }
    };
    let reply = client()
        .reply(&request, &credential, cancel, &mut sink)
        .await;
    (text, reply)
}

async fn once(acts: Vec<Act>) -> Reply {
    let server = server(vec![acts]).await;
    reply(&server, &CancellationToken::new(), None).await.1
}

fn kind(reply: &Reply) -> FailureKind {
    reply.failure.as_ref().unwrap().kind
}

#[tokio::test]
async fn a_reply_is_read_and_the_request_is_what_was_built() {
    let server = server(vec![says("Hello you")]).await;
    let (text, reply) = reply(&server, &CancellationToken::new(), None).await;
    assert_eq!(
        (text.as_str(), reply.failure.is_none()),
        ("Hello you", true)
    );
    assert_eq!(reply.message.usage.total_tokens, 12);
    let seen = server.log().all();
    assert_eq!(seen[0].header("authorization"), Some("Bearer k3y"));
    assert_eq!(seen[0].message["messages"][0]["content"], "Hello");
}

#[tokio::test]
async fn what_keeps_the_connection_alive_is_no_data() {
    let mut acts = vec![Act::bytes(STREAM_HEAD)];
    for _ in 0..100 {
        acts.push(Act::bytes(": ping\n\n"));
        acts.push(Act::Pause(Duration::from_millis(50)));
    }
    let reply = once(acts).await;
    assert_eq!(kind(&reply), FailureKind::Timeout);
    assert_eq!(
        reply.message.error_message.as_deref(),
        Some("nothing came from the model for 0.3 s")
    );
}

#[tokio::test]
async fn how_long_a_server_wants_to_be_left_alone_is_told() {
    for (header, value, expected) in [
        ("retry-after", "59", Duration::from_secs(59)),
        ("retry-after-ms", "1500", Duration::from_millis(1_500)),
        (
            "retry-after",
            "Thu, 01 Jan 1970 00:00:00 GMT",
            Duration::ZERO,
        ),
    ] {
        let error = r#"{"error":{"message":"slow down"}}"#;
        let acts = vec![
            Act::Status(429),
            Act::header(header, value),
            Act::text(error),
        ];
        let failure = once(acts).await.failure.unwrap();
        assert_eq!(
            (failure.kind, failure.retry_after),
            (FailureKind::RateLimit, Some(expected))
        );
    }
}

#[tokio::test]
async fn a_connection_that_breaks_is_a_failure_that_keeps_what_came() {
    let mut acts = begun();
    acts.push(event(json!({"content": "Hel"}), None));
    acts.push(Act::Cut);
    let reply = once(acts).await;
    assert!(kind(&reply).is_retryable());
    assert_eq!(reply.message.joined_text(), "Hel");
    assert_eq!(reply.message.stop_reason, StopReason::Error);
}

#[tokio::test]
async fn an_abort_ends_the_reply_at_once_and_keeps_what_came() {
    let mut acts = begun();
    acts.push(event(json!({"content": "Hel"}), None));
    acts.push(Act::Never);
    let server = server(vec![acts]).await;
    let (_, reply) = reply(&server, &CancellationToken::new(), Some("Hel")).await;
    assert_eq!(reply.message.stop_reason, StopReason::Aborted);
    assert_eq!(reply.message.joined_text(), "Hel");
    server
        .log()
        .wait_for(1, |seen| seen.method == "hang up")
        .await;
}

#[tokio::test]
async fn a_server_that_is_not_there_and_one_that_compresses_are_named() {
    let server = server(vec![vec![
        Act::header("content-encoding", "gzip"),
        Act::text("x"),
    ]])
    .await;
    let (_, reply) = reply(&server, &CancellationToken::new(), None).await;
    assert!(reply.failure.unwrap().message.contains("compressed"));
    let model = Model::new(
        "local",
        "m",
        Api::OpenAiCompletions,
        "http://127.0.0.1:9/v1",
    );
    let messages = [Message::User(UserMessage::text("Hello", 1))];
    let reply = client()
        .reply(
            &Request::new(&model, &messages),
            &Credential::None,
            &CancellationToken::new(),
            &mut |_, _| {},
        )
        .await;
    let failure = reply.failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Network);
    assert!(
        failure
            .message
            .starts_with("http://127.0.0.1:9 cannot be reached: "),
        "{}",
        failure.message
    );
}
