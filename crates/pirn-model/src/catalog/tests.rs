use super::*;
use crate::NoKeyCommands;

const MODELS: &str = r#"{"providers": {
    "desk": {"baseUrl": "http://desk/v1", "api": "openai-completions", "models": [{"id": "big:8b"}, {"id": "gpt-5"}]}
}}"#;

fn found(pattern: ModelPattern<'_>, variables: &[&str], models: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("models.json"), models).unwrap();
    let environment = variables
        .iter()
        .map(|name| ((*name).to_owned(), "k".to_owned()))
        .collect();
    let catalog = Catalog::read(Some(folder.path()), environment, Arc::new(NoKeyCommands)).unwrap();
    match catalog.find(pattern) {
        Found::Model(model) => model.full_name(),
        Found::Several(names) => format!("several: {}", names.join(", ")),
        Found::Nothing => "nothing".to_owned(),
    }
}

#[test]
fn a_pattern_leads_to_the_model_that_is_meant() {
    let anthropic = &["ANTHROPIC_API_KEY"][..];
    let openai = &["OPENAI_API_KEY"][..];
    let none = &[][..];
    let cases = [
        // Without a name: what can be asked, the user's own first.
        (None, None, openai, MODELS, "desk/big:8b"),
        (None, None, openai, "{}", "openai/gpt-5"),
        (None, None, none, "{}", "nothing"),
        (
            Some("anthropic"),
            None,
            anthropic,
            MODELS,
            "anthropic/claude-sonnet-4-5",
        ),
        // An exact name before a part of one, one that can be asked before others.
        (None, Some("gpt-5"), none, MODELS, "desk/gpt-5"),
        (None, Some("openai/gpt-5"), none, MODELS, "openai/gpt-5"),
        (None, Some("big:8b"), none, MODELS, "desk/big:8b"),
        (None, Some("big:8b:high"), none, MODELS, "desk/big:8b"),
        (
            None,
            Some("haiku"),
            anthropic,
            "{}",
            "anthropic/claude-haiku-4-5",
        ),
        (
            None,
            Some("haiku"),
            none,
            "{}",
            "anthropic/claude-haiku-4-5",
        ),
        (None, Some("5"), openai, "{}", "openai/gpt-5"),
        // Several providers, none with a key.
        (
            None,
            Some("5"),
            none,
            "{}",
            "several: anthropic/claude-sonnet-4-5, anthropic/claude-opus-4-5, anthropic/claude-haiku-4-5, openai/gpt-5, openai/gpt-5-mini",
        ),
        // Not in the table.
        (
            None,
            Some("openrouter/qwen/qwen3"),
            none,
            "{}",
            "openrouter/qwen/qwen3",
        ),
        (Some("groq"), Some("llama"), none, "{}", "groq/llama"),
        (None, Some("nobody/llama"), none, "{}", "nothing"),
        (Some("nobody"), None, openai, "{}", "nothing"),
    ];
    for (provider, name, variables, models, expected) in cases {
        let pattern = ModelPattern::parse(provider, name);
        assert_eq!(found(pattern, variables, models), expected, "{pattern:?}");
    }
}

#[test]
fn a_level_is_what_follows_the_last_colon_and_is_one() {
    let cases = [
        ("sonnet:high", Some("sonnet"), Some(ThinkingLevel::High)),
        ("qwen3:8b", Some("qwen3:8b"), None),
        ("qwen3:8b:off", Some("qwen3:8b"), Some(ThinkingLevel::Off)),
        ("sonnet:", Some("sonnet:"), None),
    ];
    for (text, name, level) in cases {
        let pattern = ModelPattern::parse(None, Some(text));
        assert_eq!((pattern.name, pattern.level), (name, level), "{text}");
    }
}
