//! Refusals that ask for more permissions.

use std::sync::Arc;

use pirn_mcp::{Authorizer, Challenge, ErrorKind, Next};

use crate::peer::Behaviour;
use crate::world::World;

fn scopes(world: &World) -> Vec<String> {
    let authorized = world.peer.seen("/authorize");
    let scope = |seen: &crate::peer::Seen| seen.field("scope").unwrap_or_default().to_owned();
    authorized.iter().map(scope).collect()
}

#[tokio::test]
async fn the_next_sign_in_asks_for_what_was_missing() {
    let world = World::new(Behaviour::default()).await;
    world.login().await;
    world
        .peer
        .change(|behaviour| behaviour.wanted_scope = Some("write".to_owned()));
    let authorizer = world.oauth().authorizer(world.server());
    let result = world.call(&authorizer).await;
    world.assert_error(
        result,
        &ErrorKind::NeedsAuthorization,
        &[
            "more permissions (read write)",
            "pirn mcp login git-handler",
        ],
    );
    let status = world.oauth().status(&world.server()).await.unwrap();
    assert!(status.has_credentials);
    assert_eq!(status.missing_scope.as_deref(), Some("read write"));
    assert_eq!(world.peer.grants("refresh_token").len(), 0);

    world.login().await;
    assert_eq!(scopes(&world), ["read", "read write"]);
    assert_eq!(world.call(&authorizer).await.unwrap(), 200);
    let status = world.oauth().status(&world.server()).await.unwrap();
    assert_eq!(status.missing_scope, None);
    assert_eq!(status.scope.as_deref(), Some("read write"));
}

#[tokio::test]
async fn a_front_end_can_sign_in_at_once() {
    let world = World::new(Behaviour {
        challenge: Some(", scope=\"list\"".to_owned()),
        wanted_scope: Some("write".to_owned()),
        ..Behaviour::default()
    })
    .await;
    let person = Arc::clone(&world.person);
    let authorizer = world.oauth().interactive_authorizer(world.server(), person);
    assert_eq!(world.call(&authorizer).await.unwrap(), 200);
    assert_eq!(scopes(&world), ["list", "list write"]);
}

#[tokio::test]
async fn a_server_that_is_never_content_gets_three_sign_ins() {
    let world = World::new(Behaviour {
        wanted_scope: Some("write".to_owned()),
        never_content: true,
        ..Behaviour::default()
    })
    .await;
    let person = Arc::clone(&world.person);
    let authorizer = world.oauth().interactive_authorizer(world.server(), person);
    for _ in 0..2 {
        let result = world.call(&authorizer).await;
        world.assert_error(result, &ErrorKind::NeedsAuthorization, &["3 sign-ins"]);
        assert_eq!(scopes(&world).len(), 3);
    }
    world.pass(601);
    drop(world.call(&authorizer).await);
    assert_eq!(scopes(&world).len(), 6);
}

#[tokio::test]
async fn other_refusals_are_answers() {
    let world = World::new(Behaviour::default()).await;
    world.login().await;
    let authorizer = world.oauth().authorizer(world.server());
    for (status, header) in [(403, None), (403, Some("Bearer error=\"x\"")), (500, None)] {
        let challenge = Challenge {
            status,
            www_authenticate: header.map(str::to_owned),
            token: authorizer.token().await.unwrap(),
        };
        assert_eq!(
            authorizer.challenged(challenge).await.unwrap(),
            Next::GiveUp
        );
    }
}
