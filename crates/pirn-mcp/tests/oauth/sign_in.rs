//! The way of a sign-in through the browser.

use pirn_mcp::{ErrorKind, OAuthSettings, Secret, SignInOptions, SignInWay};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::peer::Behaviour;
use crate::world::{Act, PATIENCE, World};

#[tokio::test]
async fn a_sign_in_is_stored_and_used() {
    let world = World::new(Behaviour::default()).await;
    let authorizer = world.oauth().authorizer(world.server());
    let before = world.call(&authorizer).await;
    world.assert_error(
        before,
        &ErrorKind::NeedsAuthorization,
        &["git-handler", "sign in with: pirn mcp login git-handler"],
    );
    assert!(!world.store().exists());

    let signed_in = world.login_with(&world.server()).await.unwrap();
    assert_eq!(signed_in.way, SignInWay::Browser);
    assert_eq!(signed_in.scope.as_deref(), Some("read"));
    assert_eq!(
        world.call(&authorizer).await.unwrap(),
        200,
        "noticed without a restart"
    );

    let page = Url::parse(&world.person.pages()[0]).unwrap();
    let field = |name: &str| {
        let found = page.query_pairs().find(|(field, _)| field == name);
        found
            .map(|(_, value)| value.into_owned())
            .unwrap_or_default()
    };
    assert_eq!(field("response_type"), "code");
    assert_eq!(field("code_challenge_method"), "S256");
    assert_eq!(field("resource"), format!("{}/mcp", world.peer.resource));
    assert_eq!(field("scope"), "read");
    assert_eq!(field("state").len(), 43);
    let exchange = &world.peer.grants("authorization_code")[0];
    assert_eq!(
        exchange.field("redirect_uri"),
        Some(&*field("redirect_uri"))
    );
    assert_eq!(exchange.field("resource"), Some(&*field("resource")));
    let registration = world.peer.seen("/register")[0].json();
    assert_eq!(
        registration,
        json!({
            "client_name": "Pirn",
            "redirect_uris": [field("redirect_uri")],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": "native",
            "scope": "read",
        })
    );
    let stored = world.stored();
    assert_eq!(stored["tokensExpireAt"], 1_800_003_600_000_u64);
    assert_eq!(
        stored["discovery"]["authorizationServerUrl"],
        *world.peer.issuer
    );
}

#[tokio::test]
async fn two_sign_ins_share_a_registration_but_no_state() {
    let world = World::new(Behaviour::default()).await;
    world.login().await;
    world.login().await;
    assert_eq!(world.peer.seen("/register").len(), 1);
    let pages = world.person.pages();
    let state = |page: &str| page.split("state=").nth(1).unwrap()[..43].to_owned();
    assert_ne!(state(&pages[0]), state(&pages[1]));
}

#[tokio::test]
async fn a_wrong_state_changes_nothing() {
    let world = World::new(Behaviour::default()).await;
    world.person.plan([Act::ComeBackWrong]);
    world.login().await;
    assert_eq!(world.peer.grants("authorization_code").len(), 1);
}

#[tokio::test]
async fn a_wrong_issuer_ends_the_sign_in_before_any_token_is_asked_for() {
    let promised = json!({"authorization_response_iss_parameter_supported": true});
    for (iss, metadata) in [
        (Some("https://evil.example.com"), json!({})),
        (Some("https://evil.example.com"), promised.clone()),
        (None, promised),
    ] {
        let world = World::new(Behaviour {
            iss: iss.map(str::to_owned),
            metadata,
            ..Behaviour::default()
        })
        .await;
        let result = world.login_with(&world.server()).await;
        world.assert_error(result, &ErrorKind::Authorization, &["the answer"]);
        assert!(world.peer.seen("/token").is_empty());
    }
    let world = World::new(Behaviour::default()).await;
    let issuer = world.peer.issuer.clone();
    world.peer.change(|behaviour| behaviour.iss = Some(issuer));
    world.login().await;
}

#[tokio::test]
async fn what_is_pasted_competes_with_the_browser() {
    let world = World::new(Behaviour::default()).await;
    world.person.plan([
        Act::PasteText("http://127.0.0.1/callback?code=x&state=old"),
        Act::PasteText("what is this"),
        Act::Paste,
    ]);
    world.login().await;
    assert_eq!(world.person.refused.lock().unwrap().len(), 2);
    assert_eq!(world.peer.grants("authorization_code").len(), 1);
}

#[tokio::test]
async fn a_sign_in_ends_when_it_is_cancelled_or_takes_too_long() {
    let world = World::new(Behaviour::default()).await;
    world.person.plan([Act::Nothing, Act::Nothing]);
    let cancel = CancellationToken::new();
    let (server, oauth) = (world.server(), world.oauth());
    let options = SignInOptions::default();
    let signing_in = oauth.login(&server, &*world.person, options, cancel.clone());
    let cancelling = async {
        world.person.sees_a_page().await;
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(signing_in, cancelling);
    world.assert_error(result, &ErrorKind::Cancelled, &[]);

    let options = SignInOptions {
        timeout: std::time::Duration::from_millis(300),
        ..SignInOptions::default()
    };
    let result = oauth
        .login(&server, &*world.person, options, CancellationToken::new())
        .await;
    world.assert_error(result, &ErrorKind::Timeout, &["not finished within"]);
}

#[tokio::test]
async fn a_refresh_spares_the_browser() {
    let world = World::new(Behaviour::default()).await;
    world.login().await;
    let (server, oauth) = (world.server(), world.oauth());
    let login = || {
        oauth.login(
            &server,
            &*world.person,
            SignInOptions::default(),
            CancellationToken::new(),
        )
    };
    assert_eq!(login().await.unwrap().way, SignInWay::Refreshed);
    assert_eq!(world.person.pages().len(), 1);
    world.peer.end_refresh_tokens();
    assert_eq!(login().await.unwrap().way, SignInWay::Browser);
    assert_eq!(
        world.peer.seen("/register").len(),
        1,
        "the registration is still good"
    );
}

#[tokio::test]
async fn a_secret_of_a_registration_is_kept_and_used_after_a_restart() {
    let world = World::new(Behaviour {
        gives_secrets: true,
        metadata: json!({"token_endpoint_auth_methods_supported": ["client_secret_basic"]}),
        ..Behaviour::default()
    })
    .await;
    world.login().await;
    let registration = world.peer.seen("/register")[0].json();
    assert_eq!(
        registration["token_endpoint_auth_method"],
        "client_secret_basic"
    );
    world.peer.end_access_tokens();
    let authorizer = world.oauth().authorizer(world.server());
    assert_eq!(world.call(&authorizer).await.unwrap(), 200);
    let refreshes = world.peer.grants("refresh_token");
    assert_eq!(refreshes.len(), 1);
    assert!(
        refreshes[0]
            .authorization
            .as_ref()
            .unwrap()
            .starts_with("Basic ")
    );
    assert_eq!(refreshes[0].field("client_secret"), None);
}

#[tokio::test]
async fn a_client_of_the_settings_is_not_registered_and_not_stored() {
    let world = World::new(Behaviour {
        registers: false,
        metadata: json!({"token_endpoint_auth_methods_supported": ["client_secret_post"]}),
        ..Behaviour::default()
    })
    .await;
    world.peer.know("mine", Some("hidden-by-settings"));
    let server = world.server_with(OAuthSettings {
        client_id: Some("mine".to_owned()),
        client_secret: Some(Secret::new("hidden-by-settings")),
        scope: Some("write".to_owned()),
        ..OAuthSettings::default()
    });
    let signed_in = world.login_with(&server).await.unwrap();
    assert_eq!(signed_in.scope.as_deref(), Some("write"));
    let exchange = &world.peer.grants("authorization_code")[0];
    assert_eq!(exchange.field("client_secret"), Some("hidden-by-settings"));
    assert_eq!(world.stored().get("clientInformation"), None);
    world.peer.assert_no_secret(&format!("{server:?}"));

    world.peer.end_access_tokens();
    let authorizer = world.oauth().authorizer(server);
    assert_eq!(world.call(&authorizer).await.unwrap(), 200);
}

#[tokio::test]
async fn a_metadata_document_is_the_client_where_the_server_reads_them() {
    let url = "https://client.example.com/pirn.json";
    let world = World::new(Behaviour {
        metadata: json!({"client_id_metadata_document_supported": true}),
        ..Behaviour::default()
    })
    .await;
    world.peer.know(url, None);
    let settings = OAuthSettings {
        client_metadata_url: Some(url.to_owned()),
        ..OAuthSettings::default()
    };
    let server = world.server_with(settings);
    world.login_with(&server).await.unwrap();
    assert!(world.peer.seen("/register").is_empty());
    assert_eq!(
        world.peer.grants("authorization_code")[0].field("client_id"),
        Some(url)
    );
    world.peer.end_access_tokens();
    let authorizer = world.oauth().authorizer(server);
    assert_eq!(world.call(&authorizer).await.unwrap(), 200);
}

#[tokio::test]
async fn a_registration_the_server_forgot_is_made_anew() {
    let world = World::new(Behaviour::default()).await;
    world.login().await;
    world.peer.forget_clients();
    world.peer.know("client-1", Some("hidden-other-secret"));
    world.login().await;
    assert_eq!(world.peer.seen("/register").len(), 2);
    assert_ne!(world.stored()["clientInformation"]["client_id"], "client-1");
}

#[tokio::test]
async fn a_registration_that_does_not_fit_is_made_anew() {
    let world = World::new(Behaviour::default()).await;
    world.login().await;
    world.edit(|entry| {
        entry["clientInformation"]["client_secret_expires_at"] = 1_700_000_000.into();
    });
    world.login().await;
    assert_eq!(world.peer.seen("/register").len(), 2, "it had expired");

    let first = world.stored()["clientInformation"]["redirect_uris"][0].clone();
    let port: u16 = Url::parse(first.as_str().unwrap()).unwrap().port().unwrap();
    let taken = tokio::net::TcpListener::bind(("127.0.0.1", port))
        .await
        .unwrap();
    world.login().await;
    assert_eq!(world.peer.seen("/register").len(), 3, "its port is taken");
    drop(taken);
}

#[tokio::test]
async fn a_fixed_way_back_is_kept_to() {
    let world = World::new(Behaviour::default()).await;
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free.local_addr().unwrap().port();
    let server = world.server_with(OAuthSettings {
        callback_url: Some("http://localhost/back".to_owned()),
        callback_port: Some(port),
        ..OAuthSettings::default()
    });
    let result = world.login_with(&server).await;
    world.assert_error(
        result,
        &ErrorKind::Authorization,
        &["callbackPort", &port.to_string()],
    );
    drop(free);
    world.login_with(&server).await.unwrap();
    assert_eq!(
        world.peer.grants("authorization_code")[0].field("redirect_uri"),
        Some(&*format!("http://localhost:{port}/back"))
    );
}

#[tokio::test]
async fn a_refused_exchange_says_why_and_shows_no_secret() {
    for (status, body, part) in [
        (
            400,
            r#"{"error": "invalid_grant", "error_description": "too\nlate"}"#,
            "invalid_grant: too late",
        ),
        (500, "hidden", "status 500"),
        (200, "hidden", "without a token"),
    ] {
        let world = World::new(Behaviour {
            token_error: Some((status, body.to_owned())),
            ..Behaviour::default()
        })
        .await;
        let result = world.login_with(&world.server()).await;
        world.assert_error(
            result,
            &ErrorKind::Authorization,
            &[part, &world.peer.issuer],
        );
    }
    // A server that repeats the code.
    let world = World::new(Behaviour::default()).await;
    world.person.plan([Act::PasteText("hidden-code-of-mine")]);
    let result = tokio::time::timeout(PATIENCE, world.login_with(&world.server()))
        .await
        .unwrap();
    let error = result.unwrap_err();
    let shown = format!("{} {error:?}", world.shown(&error));
    assert!(shown.contains("cannot use … now"), "{shown}");
    assert!(!shown.contains("hidden-code-of-mine"), "{shown}");
}

#[tokio::test]
async fn servers_that_cannot_protect_a_code_are_refused() {
    for (metadata, part) in [
        (
            json!({"code_challenge_methods_supported": ["plain"]}),
            "PKCE S256",
        ),
        (
            json!({"response_types_supported": ["token"]}),
            "no authorization codes",
        ),
        (
            json!({"authorization_endpoint": "http://auth.example.com/authorize"}),
            "must be https",
        ),
        (
            json!({"authorization_endpoint": "javascript:alert(1)"}),
            "must not be opened",
        ),
        (
            json!({"registration_endpoint": "http://auth.example.com/register"}),
            "must be https",
        ),
        (json!({"registration_endpoint": null}), "clientId"),
    ] {
        let world = World::new(Behaviour {
            metadata,
            ..Behaviour::default()
        })
        .await;
        let result = world.login_with(&world.server()).await;
        world.assert_error(result, &ErrorKind::Authorization, &[part]);
        assert!(world.person.pages().is_empty());
    }
    let world = World::new(Behaviour {
        metadata: json!({"token_endpoint": "http://auth.example.com/token"}),
        ..Behaviour::default()
    })
    .await;
    let result = world.login_with(&world.server()).await;
    world.assert_error(
        result,
        &ErrorKind::Authorization,
        &["http://auth.example.com/token", "must be https"],
    );
}

#[tokio::test]
async fn consent_is_asked_for_where_the_token_is_to_last() {
    let world = World::new(Behaviour {
        metadata: json!({"scopes_supported": ["offline_access", "other"]}),
        ..Behaviour::default()
    })
    .await;
    world.login().await;
    let page = &world.person.pages()[0];
    assert!(page.contains("scope=read+offline_access"), "{page}");
    assert!(page.contains("prompt=consent"), "{page}");
}
