//! Signing out, and what listings show.

use pirn_mcp::{CredentialStatus, Revocation};
use serde_json::json;

use crate::peer::Behaviour;
use crate::world::World;

#[tokio::test]
async fn a_sign_out_revokes_and_forgets() {
    let world = World::new(Behaviour::default()).await;
    let oauth = world.oauth();
    let nothing = oauth.logout(&world.server()).await.unwrap();
    assert!(!nothing.had_credentials);
    world.login().await;
    let before = world.stored()["tokens"].clone();
    let status = oauth.status(&world.server()).await.unwrap();
    assert_eq!(
        status,
        CredentialStatus {
            has_credentials: true,
            expires_at_ms: Some(1_800_003_600_000),
            can_refresh: true,
            scope: Some("read".to_owned()),
            missing_scope: None,
            issuer: Some(world.peer.issuer.clone()),
        }
    );
    world
        .peer
        .assert_no_secret(&format!("{status:?} {oauth:?}"));

    let signed_out = oauth.logout(&world.server()).await.unwrap();
    assert!(signed_out.had_credentials);
    assert_eq!(signed_out.revocation, Revocation::Done);
    assert_eq!(world.stored(), json!(null));
    let seen = world.peer.seen("/revoke");
    let sent: Vec<_> = seen
        .iter()
        .map(|seen| {
            (
                seen.field("token_type_hint").unwrap(),
                seen.field("token").unwrap(),
            )
        })
        .collect();
    assert_eq!(
        sent,
        [
            ("refresh_token", before["refresh_token"].as_str().unwrap()),
            ("access_token", before["access_token"].as_str().unwrap()),
        ]
    );
    assert_eq!(
        oauth.status(&world.server()).await.unwrap(),
        CredentialStatus::default()
    );
}

#[tokio::test]
async fn what_cannot_be_revoked_is_forgotten_all_the_same() {
    let failed = |part: &'static str| Some(part);
    for (metadata, revocation, expected) in [
        (json!({"revocation_endpoint": null}), (200, ""), None),
        (json!({}), (503, "hidden"), failed("status 503")),
        (
            json!({}),
            (400, r#"{"error": "invalid_client"}"#),
            failed("invalid_client"),
        ),
        (
            json!({"revocation_endpoint": "http://auth.example.com/revoke"}),
            (200, ""),
            failed("must be https"),
        ),
    ] {
        let world = World::new(Behaviour {
            metadata,
            revocation: (revocation.0, revocation.1.to_owned()),
            ..Behaviour::default()
        })
        .await;
        world.login().await;
        let signed_out = world.oauth().logout(&world.server()).await.unwrap();
        match (&signed_out.revocation, expected) {
            (Revocation::NotOffered, None) => {}
            (Revocation::Failed(why), Some(part)) => assert!(why.contains(part), "{why}"),
            (other, _) => panic!("{other:?}"),
        }
        assert_eq!(world.stored(), json!(null));
    }
}

#[tokio::test]
async fn a_sign_in_of_another_process_shows() {
    let world = World::new(Behaviour::default()).await;
    let oauth = world.oauth();
    let needs_sign_in = async || {
        let status = oauth.status(&world.server()).await.unwrap();
        status.needs_sign_in(1_800_000_000_000)
    };
    assert!(needs_sign_in().await);
    world.login().await;
    assert!(!needs_sign_in().await);
    world.edit(|entry| {
        entry["tokensExpireAt"] = 1.into();
    });
    assert!(!needs_sign_in().await, "a refresh will do");
    world.edit(|entry| {
        entry["tokens"]
            .as_object_mut()
            .unwrap()
            .remove("refresh_token");
    });
    assert!(needs_sign_in().await);
}
