use super::*;
use crate::model::Api;

#[test]
fn models_take_over_what_their_provider_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("models.json");
    std::fs::write(
        &path,
        r#"{"providers": {"mine": { // on the machine under the desk
            "baseUrl": "http://desk:8080/v1", "api": "openai-completions", "apiKey": "$MINE",
            "models": [{"id": "small"}, {"id": "big", "contextWindow": 32000, "baseUrl": "http://other/v1"}],
        }}}"#,
    )
    .unwrap();
    let file = read_models_file(&path).unwrap();
    let shown: Vec<_> = file
        .models
        .iter()
        .map(|model| {
            (
                model.provider.as_str(),
                model.id.as_str(),
                model.base_url.as_str(),
                model.context_window,
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("mine", "small", "http://desk:8080/v1", 128_000),
            ("mine", "big", "http://other/v1", 32_000)
        ]
    );
    assert_eq!(file.models[0].api, Api::OpenAiCompletions);
    let variable = |name: &str| (name == "MINE").then(|| "k3y".to_owned());
    assert_eq!(file.keys["mine"].resolve(variable).unwrap().expose(), "k3y");
    assert_eq!(
        file.keys["mine"].resolve(|_| None).unwrap_err(),
        "the variable MINE is not set"
    );
}

#[test]
fn what_is_wrong_is_named_and_no_key_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.json");
    std::fs::write(
        &path,
        r#"{"providers": {"mine": {"models": [{"id": "a"}]}}}"#,
    )
    .unwrap();
    let error = read_models_file(&path).unwrap_err();
    assert!(
        error.contains("providers.mine: models: missing field"),
        "{error}"
    );
    std::fs::write(
        &path,
        r#"{"a": {"type": "api_key", "key": "s3cret"}, "b": {"type": "oauth"}}"#,
    )
    .unwrap();
    let file = read_auth_file(&path).unwrap();
    assert_eq!(file.keys.len(), 1);
    assert!(!format!("{file:?}").contains("s3cret"));
    assert_eq!(file.keys["a"].resolve(|_| None).unwrap().expose(), "s3cret");
    assert!(
        read_auth_file(&folder.path().join("none"))
            .unwrap()
            .keys
            .is_empty()
    );
}
