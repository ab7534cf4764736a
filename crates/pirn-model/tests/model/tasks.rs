//! Classifiers and image models over HTTP.

use pirn_model::{
    Classification, Credential, FailureKind, Questions, Secret, TaskApi, TaskClient, TaskModel,
};
use pirn_testkit::{Act, FakeHttp, HttpStyle, On, Script, Speaks};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::client::client;

/// An HTTP answer that wants to be left alone for a millisecond.
fn answer(status: u16, body: &Value) -> Vec<Act> {
    vec![
        Act::Status(status),
        Act::Header("retry-after-ms", "1".to_owned()),
        Act::text(body.to_string()),
    ]
}

async fn server(replies: Vec<Vec<Act>>) -> FakeHttp {
    let script = replies
        .into_iter()
        .fold(Script::new(Speaks::Legacy), |script, acts| {
            script.first(1, On::Http("POST"), acts)
        });
    FakeHttp::start(script, HttpStyle::Json).await.unwrap()
}

fn model(server: &FakeHttp, api: TaskApi) -> TaskModel {
    let model = json!({"id": "judge", "api": api.as_str(), "baseUrl": server.url("/v1"), "cost": {"input": 2.0}});
    serde_json::from_value(model).unwrap()
}

fn asked() -> Classification {
    let questions = json!({"done": {"type": "bool", "instructions": "?", "criteria": {"true": "t", "false": "f"}}});
    Classification {
        state: serde_json::Map::new(),
        images: Vec::new(),
        questions: Questions::parse(questions.as_object().unwrap()).unwrap(),
    }
}

#[tokio::test]
async fn a_busy_server_is_asked_again_and_a_slow_gateway_is_not() {
    let busy = || answer(503, &json!({"error": "busy"}));
    let late = answer(504, &json!({"error": "late"}));
    let good = json!({
        "answers": [{"name": "done", "probability": 0.5}],
        "usage": {"input_tokens": 1_000_000, "output_tokens": 1},
    });
    let cases = [
        (vec![busy(), busy(), answer(200, &good)], None, 3),
        (
            vec![busy(), busy(), busy(), busy()],
            Some(FailureKind::Server),
            3,
        ),
        (vec![late], Some(FailureKind::Timeout), 1),
        (
            vec![answer(401, &json!({"error": "no"}))],
            Some(FailureKind::Authentication),
            1,
        ),
    ];
    for (replies, expected, requests) in cases {
        let server = server(replies).await;
        let client = TaskClient::new(client());
        let answered = client
            .classify(
                &model(&server, TaskApi::OpenAiDecisions),
                &asked(),
                &Credential::ApiKey(Secret::new("k3y")),
                &CancellationToken::new(),
            )
            .await;
        match (&answered.answer, expected) {
            (Ok(answer), None) => {
                assert_eq!(*answer, json!({"done": {"probability": 0.5}}));
                let usage = answered.usage.unwrap();
                assert!((usage.cost.total - 2.0).abs() < 1e-9);
            }
            (Err(failure), Some(kind)) => assert_eq!(failure.kind, kind, "{failure}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(server.log().all().len(), requests);
    }
}

#[tokio::test]
async fn a_model_is_not_asked_for_what_it_does_not_do() {
    let server = server(Vec::new()).await;
    let client = TaskClient::new(client());
    let cancel = CancellationToken::new();
    let images = model(&server, TaskApi::OpenRouterImages);
    let answered = client
        .classify(&images, &asked(), &Credential::None, &cancel)
        .await;
    assert_eq!(
        answered.answer.unwrap_err().message,
        "judge is not a classifier"
    );
    let judge = model(&server, TaskApi::SystemOne);
    let answered = client
        .generate_images(
            &judge,
            &[json!({"type": "text", "text": "x"})],
            &Credential::None,
            &cancel,
        )
        .await;
    assert_eq!(
        answered.answer.unwrap_err().message,
        "judge is not an image model"
    );
    cancel.cancel();
    let answered = client
        .classify(&judge, &asked(), &Credential::None, &cancel)
        .await;
    assert_eq!(answered.answer.unwrap_err().kind, FailureKind::Aborted);
    assert!(server.log().all().is_empty());
}
