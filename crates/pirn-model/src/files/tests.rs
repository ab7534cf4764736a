use super::*;
use crate::config_value::ConfigSource;
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
    assert_eq!(file.keys["mine"].source(), ConfigSource::Variable("MINE"));
}

#[test]
fn what_is_wrong_is_named() {
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
}
