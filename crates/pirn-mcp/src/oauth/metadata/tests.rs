use serde_json::{Value, json};
use url::Url;

use super::{
    Discovery, Endpoint, Metadata, ResourceMetadata, authorization_metadata_urls, covers,
    is_same_issuer, resource_metadata_urls,
};

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

#[track_caller]
fn check(found: &[Url], expected: &[&str]) {
    let found: Vec<&str> = found.iter().map(Url::as_str).collect();
    assert_eq!(found, expected);
}

#[test]
fn where_metadata_lie() {
    check(
        &resource_metadata_urls(&url("https://h:8/a/mcp/?q#f")),
        &[
            "https://h:8/.well-known/oauth-protected-resource/a/mcp",
            "https://h:8/.well-known/oauth-protected-resource",
        ],
    );
    check(
        &resource_metadata_urls(&url("https://h/")),
        &["https://h/.well-known/oauth-protected-resource"],
    );
    check(
        &authorization_metadata_urls(&url("https://h/tenant/")),
        &[
            "https://h/.well-known/oauth-authorization-server/tenant",
            "https://h/.well-known/openid-configuration/tenant",
            "https://h/tenant/.well-known/openid-configuration",
        ],
    );
    check(
        &authorization_metadata_urls(&url("https://h")),
        &[
            "https://h/.well-known/oauth-authorization-server",
            "https://h/.well-known/openid-configuration",
        ],
    );
}

#[test]
fn which_resource_covers_a_server() {
    let server = url("https://h/a/mcp");
    for (resource, expected) in [
        ("https://h/a/mcp", true),
        ("https://h/a/mcp/", true),
        ("https://h/a", true),
        ("https://h", true),
        ("https://H:443/a", true),
        ("https://h/a/m", false),
        ("https://h/a/mcp/b", false),
        ("https://other/a/mcp", false),
        ("http://h/a/mcp", false),
        ("https://h:1/a/mcp", false),
        ("mcp", false),
    ] {
        assert_eq!(covers(resource, &server), expected, "{resource}");
    }
}

#[test]
fn issuers() {
    assert!(is_same_issuer("https://h/", "https://h"));
    assert!(is_same_issuer("https://h/a", "https://h/a/"));
    assert!(!is_same_issuer("https://h/a", "https://h"));
    assert!(!is_same_issuer("https://h", "https://H"));
}

#[test]
fn documents_are_read_leniently() {
    let read = Metadata::from_json(&json!({
        "issuer": null,
        "authorization_endpoint": "https://h/authorize",
        "token_endpoint": "https://h/token",
        "registration_endpoint": "",
        "scopes_supported": ["a", 1, null, "", "\u{1b}[31m"],
        "revocation_endpoint": "https://h/\u{7}",
        "code_challenge_methods_supported": "S256",
        "client_id_metadata_document_supported": "yes",
    }));
    assert_eq!(
        read,
        Some(Metadata {
            authorization_endpoint: "https://h/authorize".to_owned(),
            token_endpoint: "https://h/token".to_owned(),
            scopes_supported: vec!["a".to_owned()],
            ..Metadata::default()
        })
    );
    for value in [
        json!({"token_endpoint": "x"}),
        json!([]),
        json!(null),
        json!("x"),
    ] {
        assert_eq!(Metadata::from_json(&value), None);
        assert_eq!(ResourceMetadata::from_json(&value), None);
    }
}

#[test]
fn a_discovery_survives_the_file() {
    let stored = json!({
        "authorizationServerUrl": "https://h/t",
        "authorizationServerMetadata": {
            "issuer": "https://h/t",
            "authorization_endpoint": "https://h/authorize",
            "token_endpoint": "https://h/token",
            "token_endpoint_auth_methods_supported": ["none"],
            "client_id_metadata_document_supported": true,
            "authorization_response_iss_parameter_supported": false,
        },
        "resourceMetadataUrl": "https://m/.well-known/oauth-protected-resource",
        "resourceMetadata": {"resource": "https://m/mcp", "authorization_servers": ["https://h/t"]},
    });
    let discovery = Discovery::from_json(&stored).unwrap();
    assert_eq!(serde_json::to_value(&discovery).unwrap(), stored);
    assert_eq!(discovery.resource(&url("https://m/mcp/x")), "https://m/mcp");
    assert_eq!(discovery.endpoint(Endpoint::Revocation), None);
    assert_eq!(Discovery::from_json(&Value::Null), None);
}

#[test]
fn servers_without_metadata_have_endpoints_of_fixed_names() {
    let discovery = Discovery::from_json(&json!({"authorizationServerUrl": "https://h/"})).unwrap();
    let endpoint = |endpoint| discovery.endpoint(endpoint);
    assert_eq!(
        endpoint(Endpoint::Authorization).as_deref(),
        Some("https://h/authorize")
    );
    assert_eq!(
        endpoint(Endpoint::Token).as_deref(),
        Some("https://h/token")
    );
    assert_eq!(
        endpoint(Endpoint::Registration).as_deref(),
        Some("https://h/register")
    );
    assert_eq!(endpoint(Endpoint::Revocation), None);
    assert_eq!(discovery.resource(&url("https://h/mcp#x")), "https://h/mcp");
}
