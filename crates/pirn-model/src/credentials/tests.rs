use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Prints the command and how often one ran, or fails where it is told to.
#[derive(Debug, Default)]
struct Counting(AtomicUsize);

impl KeyCommand for Counting {
    fn output<'a>(
        &'a self,
        command: &'a str,
        variables: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let count = self.0.fetch_add(1, Ordering::Relaxed) + 1;
            match command {
                "fails" => Err("failed with exit code 1".to_owned()),
                "empty" => Ok(" \n".to_owned()),
                command => Ok(format!("{command}-{count}-{}\n", variables.len())),
            }
        })
    }
}

fn entry(key: &str, variables: &[(&str, &str)]) -> AuthEntry {
    AuthEntry::ApiKey {
        key: ConfigValue::new(key),
        variables: map(variables),
    }
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn credentials(
    entries: Vec<(&str, AuthEntry)>,
    written: &[(&str, &str)],
    environment: &[(&str, &str)],
) -> Credentials {
    let entries = entries
        .into_iter()
        .map(|(provider, entry)| (provider.to_owned(), entry))
        .collect();
    let written = written
        .iter()
        .map(|(provider, key)| ((*provider).to_owned(), ConfigValue::new(*key)))
        .collect();
    Credentials::new(
        entries,
        written,
        map(environment),
        Arc::new(Counting::default()),
    )
}

async fn shown(credentials: &Credentials, provider: &str) -> String {
    match credentials.credential(provider).await {
        Ok(Credential::None) => "none".to_owned(),
        Ok(Credential::ApiKey(key)) => format!("key {}", key.expose()),
        Ok(Credential::Bearer(token)) => format!("token {}", token.expose()),
        Err(error) => format!("error {error}"),
    }
}

#[tokio::test]
async fn the_first_place_that_has_a_key_counts() {
    let environment = &[("OPENAI_API_KEY", " from-environment ")][..];
    let all = || {
        credentials(
            vec![("openai", entry("from-auth", &[]))],
            &[("openai", "from-models")],
            environment,
        )
    };
    let given = all().with_given(Some(Secret::new("given")));
    assert_eq!(shown(&given, "openai").await, "key given");
    assert_eq!(given.source("groq"), Some(CredentialSource::Given));
    assert_eq!(shown(&all(), "openai").await, "key from-auth");
    assert_eq!(all().source("openai"), Some(CredentialSource::AuthFile));
    let written = credentials(vec![], &[("openai", "from-models")], environment);
    assert_eq!(shown(&written, "openai").await, "key from-models");
    let last = credentials(vec![("openai", AuthEntry::SignIn)], &[], environment);
    assert_eq!(shown(&last, "openai").await, "key from-environment");
    let variable = CredentialSource::Variable("OPENAI_API_KEY".to_owned());
    assert_eq!(last.source("openai"), Some(variable));
    assert_eq!(shown(&last, "groq").await, "none");
    assert_eq!(last.source("groq"), None);
}

#[tokio::test]
async fn values_are_variables_or_commands_or_themselves() {
    let cases = [
        ("plain", "key plain"),
        ("$NAME", "key value"),
        ("${NAME}", "key value"),
        ("$OWN", "key mine"),
        (
            "$NONE",
            "error auth.json: the key of p: the variable NONE is not set",
        ),
        (
            "$BLANK",
            "error auth.json: the key of p: the variable BLANK is not set",
        ),
        ("!pass show", "key pass show-1-2"),
        (
            "!fails",
            "error auth.json: the key of p: the command failed with exit code 1",
        ),
        (
            "!empty",
            "error auth.json: the key of p: the command printed nothing",
        ),
    ];
    for (key, expected) in cases {
        let entry = entry(key, &[("OWN", "mine"), ("BLANK", " ")]);
        let credentials = credentials(
            vec![("p", entry)],
            &[],
            &[("NAME", "value"), ("OWN", "not mine")],
        );
        assert_eq!(shown(&credentials, "p").await, expected, "{key}");
    }
}

#[tokio::test]
async fn commands_of_auth_json_run_once_those_of_models_json_each_time() {
    let credentials = credentials(vec![("a", entry("!c", &[]))], &[("b", "!c")], &[]);
    let order = ["a", "a", "b", "b", "a"];
    let mut printed = Vec::new();
    for provider in order {
        printed.push(shown(&credentials, provider).await);
    }
    assert_eq!(
        printed,
        [
            "key c-1-0",
            "key c-1-0",
            "key c-2-0",
            "key c-3-0",
            "key c-1-0"
        ]
    );
}

#[tokio::test]
async fn a_token_counts_before_a_key() {
    let environment = [
        ("ANTHROPIC_API_KEY", "key"),
        ("ANTHROPIC_AUTH_TOKEN", "token"),
    ];
    let credentials = credentials(vec![], &[], &environment);
    assert_eq!(shown(&credentials, "anthropic").await, "token token");
}
