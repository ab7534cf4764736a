use http::{HeaderMap, StatusCode};
use serde_json::json;
use url::Url;

use super::super::fetch::Answer;
use super::super::metadata::Metadata;
use super::{AuthMethod, TokenFailure, clean, read};
use crate::secret::Secret;

fn metadata(methods: &[&str]) -> Metadata {
    Metadata {
        token_endpoint_auth_methods_supported: Some(
            methods.iter().map(ToString::to_string).collect(),
        ),
        ..Metadata::default()
    }
}

#[test]
fn how_a_client_proves_its_identity() {
    let basic = "client_secret_basic";
    let post = "client_secret_post";
    for (methods, with_secret, without, to_register) in [
        (
            &[][..],
            AuthMethod::Basic,
            AuthMethod::None,
            AuthMethod::None,
        ),
        (
            &[basic, post],
            AuthMethod::Basic,
            AuthMethod::None,
            AuthMethod::Post,
        ),
        (
            &[post],
            AuthMethod::Post,
            AuthMethod::None,
            AuthMethod::Post,
        ),
        (
            &["none", post],
            AuthMethod::Post,
            AuthMethod::None,
            AuthMethod::None,
        ),
        (
            &["none"],
            AuthMethod::None,
            AuthMethod::None,
            AuthMethod::None,
        ),
        (
            &["private_key_jwt"],
            AuthMethod::Post,
            AuthMethod::None,
            AuthMethod::None,
        ),
    ] {
        let metadata = metadata(methods);
        let to_use = |has_secret| AuthMethod::to_use(has_secret, None, Some(&metadata));
        assert_eq!(to_use(true), with_secret, "{methods:?}");
        assert_eq!(to_use(false), without, "{methods:?}");
        assert_eq!(
            AuthMethod::to_register(Some(&metadata)),
            to_register,
            "{methods:?}"
        );
    }
    let both = metadata(&[basic, post]);
    assert_eq!(
        AuthMethod::to_use(true, Some(post), Some(&both)),
        AuthMethod::Post
    );
    assert_eq!(
        AuthMethod::to_use(true, Some(post), Some(&metadata(&[basic]))),
        AuthMethod::Basic
    );
    assert_eq!(AuthMethod::to_use(true, None, None), AuthMethod::Basic);
    let none_and_post = metadata(&["none", post]);
    let repeated = AuthMethod::to_use(true, Some("none"), Some(&none_and_post));
    assert_eq!(repeated, AuthMethod::Post);
}

fn answer(status: u16, body: &str) -> Result<String, TokenFailure> {
    let answer = Answer {
        status: StatusCode::from_u16(status).unwrap(),
        headers: HeaderMap::new(),
        body: body.as_bytes().to_vec(),
    };
    let url = Url::parse("https://h/token").unwrap();
    let sent = Secret::new("hide-me");
    read(&url, &answer, &[&sent]).map(|tokens| tokens.access_token.expose().to_owned())
}

#[track_caller]
fn refused(status: u16, body: &str, expected: &str) {
    match answer(status, body) {
        Err(TokenFailure::Refused { text, .. }) => {
            assert_eq!(text, format!("https://h/token: {expected}"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn answers_of_a_token_endpoint() {
    let good =
        json!({"access_token": "a", "token_type": "bearer", "expires_in": null, "scope": null});
    assert_eq!(answer(200, &good.to_string()).as_deref(), Ok("a"));
    refused(400, r#"{"error": "invalid_grant"}"#, "invalid_grant");
    refused(
        200,
        r#"{"access_token": "a", "error": "invalid_grant", "error_description": "hide-me\n is\u0007 gone"}"#,
        "invalid_grant: … is gone",
    );
    for (status, body, moved) in [
        (500, "hide-me", false),
        (404, "{}", true),
        (200, "access_token=hide-me", false),
        (200, r#"{"access_token": ""}"#, false),
        (200, r#"{"access_token": {"hide-me": 1}}"#, false),
        (403, r#"{"error": {"hide-me": 1}}"#, false),
    ] {
        match answer(status, body) {
            Err(TokenFailure::Unclear { text, is_moved }) => {
                assert_eq!(is_moved, moved, "{text}");
                assert!(!text.contains("hide-me"), "{text}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn words_of_strangers_are_bounded() {
    assert_eq!(clean(&"é".repeat(1000), &[]).chars().count(), 300);
    assert_eq!(clean("a\u{1b}[31m\tb", &[]), "a [31m b");
    assert_eq!(clean("a", &[&Secret::new("")]), "a");
}
