//! The examples do what they say.

use pirn_testkit::{FakeHttp, HttpStyle, calls, model_script, says};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

#[path = "../../examples/event_service.rs"]
mod event_service;
#[path = "../../examples/own_tool.rs"]
mod own_tool;

#[tokio::test]
async fn a_provider_of_ones_own_answers() {
    assert_eq!(
        event_service::own_provider::answer("Hello you")
            .await
            .unwrap(),
        "HELLO YOU"
    );
}

#[tokio::test]
async fn a_tool_of_ones_own_is_called() {
    let script = model_script([
        calls(&[("c1", "shout", json!({"text": "hello"}))]),
        says("It was loud."),
    ]);
    let server = FakeHttp::start(script, HttpStyle::Events).await.unwrap();
    let models = json!({"providers": {"own": {
        "baseUrl": server.url("/v1"), "api": "openai-completions", "apiKey": "k3y", "models": [{"id": "scripted"}],
    }}});
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("models.json"), models.to_string()).unwrap();
    let answer = own_tool::answer(folder.path(), "Shout").await.unwrap();
    assert_eq!(answer, "It was loud.");
}

#[tokio::test]
async fn a_service_streams_events() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let request = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n\r\nhello";
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        response
    };
    let response = tokio::select! {
        response = request => response,
        ended = event_service::serve(listener) => panic!("{ended:?}"),
    };
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let kinds: Vec<String> = body
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|event| event["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds.first().map(String::as_str), Some("agent_start"));
    assert_eq!(kinds.last().map(String::as_str), Some("agent_settled"));
    assert!(body.contains("HELLO"), "{body}");
}
