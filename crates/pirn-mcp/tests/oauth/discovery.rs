//! Finding out where to sign in.

use pirn_mcp::{ErrorKind, OAuthSettings};
use serde_json::json;

use crate::peer::Behaviour;
use crate::world::World;

#[tokio::test]
async fn a_refusal_without_a_header_is_enough() {
    let world = World::new(Behaviour {
        challenge: None,
        ..Behaviour::default()
    })
    .await;
    world.login().await;
    let authorizer = world.oauth().authorizer(world.server());
    assert_eq!(world.call(&authorizer).await.unwrap(), 200);
}

#[tokio::test]
async fn servers_of_2025_are_their_own_authorization_servers() {
    for has_metadata in [true, false] {
        let world = World::new(Behaviour {
            challenge: None,
            has_resource_metadata: false,
            has_metadata,
            ..Behaviour::default()
        })
        .await;
        world.login().await;
        let authorizer = world.oauth().authorizer(world.server());
        assert_eq!(world.call(&authorizer).await.unwrap(), 200);
        world.pass(4000);
        let documents = world.peer.documents();
        assert_eq!(world.call(&authorizer).await.unwrap(), 200);
        assert_eq!(world.peer.documents(), documents, "also this is remembered");
    }
}

#[tokio::test]
async fn metadata_of_somebody_else_are_refused() {
    for (resource, metadata, parts) in [
        (
            Some("https://other.example.com/mcp"),
            json!({}),
            ["another resource, https://other.example.com/mcp", "/mcp"],
        ),
        (
            None,
            json!({"issuer": "https://evil.example.com"}),
            [
                "another issuer, https://evil.example.com",
                "authServerMetadataUrl",
            ],
        ),
        (
            None,
            json!({"issuer": null}),
            ["name no issuer", "authServerMetadataUrl"],
        ),
    ] {
        let world = World::new(Behaviour {
            wrong_resource: resource.map(str::to_owned),
            metadata,
            ..Behaviour::default()
        })
        .await;
        let result = world.login_with(&world.server()).await;
        world.assert_error(result, &ErrorKind::Authorization, &parts);
        assert!(world.person.pages().is_empty());
        assert!(world.peer.seen("/register").is_empty());
    }
}

#[tokio::test]
async fn a_setting_replaces_discovery_and_is_trusted() {
    let world = World::new(Behaviour {
        challenge: None,
        has_resource_metadata: false,
        metadata: json!({"issuer": "https://issuer.example.com"}),
        ..Behaviour::default()
    })
    .await;
    let well_known = format!(
        "{}/.well-known/oauth-authorization-server",
        world.peer.issuer
    );
    let server = world.server_with(OAuthSettings {
        auth_server_metadata_url: Some(well_known.clone()),
        ..OAuthSettings::default()
    });
    world.login_with(&server).await.unwrap();
    assert_eq!(world.peer.documents(), 1);
    world.pass(4000);
    let authorizer = world.oauth().authorizer(server);
    assert_eq!(world.call(&authorizer).await.unwrap(), 200);
    assert_eq!(world.peer.documents(), 1);

    for (url, part) in [
        ("http://auth.example.com/x", "must be https"),
        (&format!("{}/nothing", world.peer.issuer), "status 404"),
        ("nonsense", "not a URL"),
    ] {
        let world = World::new(Behaviour::default()).await;
        let server = world.server_with(OAuthSettings {
            auth_server_metadata_url: Some(url.to_owned()),
            ..OAuthSettings::default()
        });
        let result = world.login_with(&server).await;
        world.assert_error(
            result,
            &ErrorKind::Authorization,
            &["authServerMetadataUrl", part],
        );
    }
}

#[tokio::test]
async fn a_failed_search_names_every_place() {
    let mut world = World::new(Behaviour {
        has_metadata: false,
        ..Behaviour::default()
    })
    .await;
    let issuer = world.peer.issuer.clone();
    let result = world.login_with(&world.server()).await;
    world.assert_error(
        result,
        &ErrorKind::Authorization,
        &[
            &format!("{issuer}/.well-known/oauth-authorization-server (status 404)"),
            &format!("{issuer}/.well-known/openid-configuration (status 404)"),
        ],
    );

    world.peer.stop_issuer().await;
    let result = world.login_with(&world.server()).await;
    world.assert_error(
        result,
        &ErrorKind::Authorization,
        &[
            "could not be found out where to sign in",
            &issuer,
            "refused",
        ],
    );

    world
        .peer
        .change(|behaviour| behaviour.resource_metadata_status = Some(503));
    let result = world.login_with(&world.server()).await;
    world.assert_error(result, &ErrorKind::Authorization, &["(status 503)"]);
}

#[tokio::test]
async fn a_server_without_sign_in_says_so() {
    let world = World::new(Behaviour {
        challenge: None,
        has_resource_metadata: false,
        has_metadata: false,
        registers: false,
        ..Behaviour::default()
    })
    .await;
    let resource = world.peer.resource.clone();
    let result = world.login_with(&world.server()).await;
    world.assert_error(
        result,
        &ErrorKind::Authorization,
        &[
            "offers no sign-in",
            &format!("{resource}/.well-known/oauth-protected-resource/mcp (status 404)"),
            &format!("{resource}/.well-known/oauth-protected-resource (status 404)"),
            &format!("{resource}/.well-known/oauth-authorization-server (status 404)"),
            &format!("{resource}/register: status 404"),
        ],
    );
}

#[tokio::test]
async fn credentials_do_not_follow_a_resource_to_another_authorization_server() {
    let world = World::new(Behaviour::default()).await;
    world.login().await;
    world.edit(|entry| {
        entry["issuer"] = "https://old.example.com".into();
        entry.as_object_mut().unwrap().remove("discovery");
    });
    world.peer.end_access_tokens();
    let authorizer = world.oauth().authorizer(world.server());
    let result = world.call(&authorizer).await;
    world.assert_error(result, &ErrorKind::NeedsAuthorization, &[]);
    assert!(world.peer.grants("refresh_token").is_empty());
    world.login().await;
    assert_eq!(world.peer.seen("/register").len(), 2);
    assert_eq!(world.call(&authorizer).await.unwrap(), 200);
}
