//! Which variables of the environment hold secrets, or lead to them, so that no command gets them.

use std::ffi::{OsStr, OsString};

/// Words that a variable's name has when it holds a secret, in capitals.
const WORDS: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];

/// A provider of models, and the variables that its clients read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderVariables {
    /// The provider's name, for people.
    pub provider: &'static str,
    /// Names of variables that hold such secrets.
    pub names: &'static [&'static str],
}

const fn provider(provider: &'static str, names: &'static [&'static str]) -> ProviderVariables {
    ProviderVariables { provider, names }
}

/// The variables of providers, also those whose names do not say that they matter.
pub const PROVIDER_VARIABLES: &[ProviderVariables] = &[
    provider(
        "Anthropic",
        &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_OAUTH_TOKEN",
            "ANTHROPIC_CUSTOM_HEADERS",
        ],
    ),
    provider(
        "OpenAI",
        &[
            "OPENAI_API_KEY",
            "OPENAI_ADMIN_KEY",
            "OPENAI_ORG_ID",
            "OPENAI_PROJECT_ID",
        ],
    ),
    provider(
        "Google",
        &[
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ],
    ),
    provider(
        "Azure",
        &[
            "AZURE_OPENAI_API_KEY",
            "AZURE_API_KEY",
            "AZURE_CLIENT_SECRET",
            "AZURE_CLIENT_ID",
            "AZURE_TENANT_ID",
        ],
    ),
    provider(
        "Amazon",
        &[
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_BEARER_TOKEN_BEDROCK",
            "AWS_PROFILE",
            "AWS_SHARED_CREDENTIALS_FILE",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "AWS_ROLE_ARN",
        ],
    ),
    provider(
        "GitHub",
        &[
            "GITHUB_TOKEN",
            "GH_TOKEN",
            "COPILOT_GITHUB_TOKEN",
            "GITHUB_PAT",
            "GH_ENTERPRISE_TOKEN",
        ],
    ),
    provider("Groq", &["GROQ_API_KEY"]),
    provider("Mistral", &["MISTRAL_API_KEY"]),
    provider("xAI", &["XAI_API_KEY"]),
    provider("DeepSeek", &["DEEPSEEK_API_KEY"]),
    provider("OpenRouter", &["OPENROUTER_API_KEY"]),
    provider("Cerebras", &["CEREBRAS_API_KEY"]),
    provider("Together", &["TOGETHER_API_KEY", "TOGETHERAI_API_KEY"]),
    provider("Fireworks", &["FIREWORKS_API_KEY"]),
    provider("Perplexity", &["PERPLEXITY_API_KEY", "PPLX_API_KEY"]),
    provider("Cohere", &["COHERE_API_KEY", "CO_API_KEY"]),
    provider(
        "Hugging Face",
        &["HF_TOKEN", "HUGGINGFACE_API_KEY", "HUGGING_FACE_HUB_TOKEN"],
    ),
    provider("Vercel", &["AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"]),
    provider("Moonshot", &["MOONSHOT_API_KEY", "KIMI_API_KEY"]),
    provider("Z.ai", &["ZAI_API_KEY", "ZHIPUAI_API_KEY"]),
    provider("MiniMax", &["MINIMAX_API_KEY"]),
    provider("NVIDIA", &["NVIDIA_API_KEY"]),
    provider("Replicate", &["REPLICATE_API_TOKEN"]),
    provider("Ollama", &["OLLAMA_API_KEY"]),
];

/// The variables that commands, programs and confined servers may get: all but those that hold secrets, unless they are among
/// `named`.
pub fn without_secrets(
    variables: &[(OsString, OsString)],
    named: &[String],
) -> Vec<(OsString, OsString)> {
    variables
        .iter()
        .filter(|(name, _)| !is_secret(name) || named.iter().any(|named| *name == **named))
        .cloned()
        .collect()
}

/// Whether a variable holds a secret, by its name. Large and small letters are the same.
fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    WORDS.iter().any(|word| name.contains(word))
        || PROVIDER_VARIABLES
            .iter()
            .any(|row| row.names.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::{PROVIDER_VARIABLES, without_secrets};

    #[test]
    fn no_variable_of_a_provider_is_passed_on() {
        for row in PROVIDER_VARIABLES {
            for name in row.names {
                for name in [(*name).to_owned(), name.to_lowercase()] {
                    let variables = [(name.clone().into(), "x".into())];
                    assert_eq!(
                        without_secrets(&variables, &[]),
                        [],
                        "{}: {name}",
                        row.provider
                    );
                    assert_eq!(without_secrets(&variables, &[name]), variables);
                }
            }
        }
    }

    #[test]
    fn names_tell_what_holds_a_secret() {
        for (name, is_passed) in [
            ("PATH", true),
            ("LANG", true),
            ("CARGO_HOME", true),
            ("MY_KEY", false),
            ("keyfile", false),
            ("ci_token_2", false),
            ("TheSecret", false),
            ("PGPASSWORD", false),
            ("CREDENTIALS_DIRECTORY", false),
        ] {
            let variables = [(name.into(), "x".into())];
            let passed = without_secrets(&variables, &[]);
            assert_eq!(!passed.is_empty(), is_passed, "{name}");
        }
    }
}
