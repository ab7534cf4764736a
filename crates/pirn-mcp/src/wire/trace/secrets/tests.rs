use serde_json::{Value, json};

use super::{HIDDEN, hide};

fn shown(text: &str) -> String {
    hide(text.as_bytes(), 10_000).shown
}

#[test]
fn values_under_the_names_of_secrets_are_hidden() {
    for name in [
        "apiKey",
        "api_key",
        "X-API-Key",
        "token",
        "GITHUB_TOKEN",
        "accessToken",
        "cookie",
        "Set-Cookie",
        "sessionId",
        "mcp-session-id",
        "password",
        "db_passwd",
        "clientSecret",
        "AWS_SECRET_ACCESS_KEY",
        "private_key",
        "Authorization",
        "credentials",
        "code_verifier",
    ] {
        let message = json!({"params": [{name: "abc", "other": "kept"}]});
        let expected = json!({"params": [{name: HIDDEN, "other": "kept"}]});
        let shown: Value = serde_json::from_str(&shown(&message.to_string())).unwrap();
        assert_eq!(shown, expected, "{name}");
    }
}

#[test]
fn what_only_looks_secret_stays() {
    for message in [
        json!({"_meta": {"progressToken": 7}, "maxTokens": 100, "path": "a", "author": "x"}),
        json!({"properties": {"apiKey": {"type": "string"}}, "tokens": [1, 2], "token": null}),
        json!({"text": "the token is not here: basically sk-short and eyJ"}),
    ] {
        assert_eq!(shown(&message.to_string()), message.to_string());
    }
    assert_eq!(shown("12:30 user@host a:b"), "12:30 user@host a:b");
}

#[test]
fn texts_in_the_shape_of_secrets_are_hidden() {
    let long = "a1B2c3D4".repeat(6);
    for secret in [
        format!("sk-proj-{long}"),
        format!("ghp_{long}"),
        format!("github_pat_{long}"),
        format!("xoxb-{long}"),
        "AKIAIOSFODNN7EXAMPLE".to_owned(),
        format!("eyJ{long}.eyJ{long}.{long}"),
        format!("hf_{long}"),
    ] {
        let message = json!({"result": format!("set it to \"{secret}\" now")}).to_string();
        let shown_message = shown(&message);
        assert!(!shown_message.contains(&secret), "{shown_message}");
        assert!(
            shown_message.contains("set it to ") && shown_message.contains(" now"),
            "{shown_message}"
        );
        assert!(!shown(&format!("line {secret}")).contains(&secret));
    }
    for (text, expected) in [
        (
            "Authorization: Bearer abc.def",
            "Authorization: Bearer (hidden)",
        ),
        ("api_key=abc other=1", "api_key=(hidden) other=1"),
        ("postgres://me:pa55@db/x", "postgres://me:(hidden)@db/x"),
        ("PASSWORD: hunter2", "PASSWORD: (hidden)"),
    ] {
        assert_eq!(shown(text), expected);
    }
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----";
    assert_eq!(shown(key), "-----BEGIN(hidden)");
}
