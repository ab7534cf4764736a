//! Tokens that end, and how they are renewed.

use std::sync::Arc;

use pirn_mcp::{Authorizer, ErrorKind, OAuth};
use serde_json::json;

use crate::peer::{Behaviour, Refresh};
use crate::world::World;

async fn token(authorizer: &dyn Authorizer) -> String {
    authorizer
        .token()
        .await
        .unwrap()
        .unwrap()
        .expose()
        .to_owned()
}

fn refreshes(world: &World) -> usize {
    world.peer.grants("refresh_token").len()
}

#[tokio::test]
async fn a_token_is_replaced_before_it_ends() {
    let world = World::new(Behaviour::default()).await;
    world.login().await;
    let authorizer = world.oauth().authorizer(world.server());
    let first = token(&authorizer).await;
    world.pass(3569);
    assert_eq!(token(&authorizer).await, first);
    world.pass(2);
    let second = token(&authorizer).await;
    assert_ne!(second, first);
    assert_eq!(
        world.stored()["tokens"]["access_token"],
        *second,
        "stored before it is used"
    );
    assert_eq!(world.call(&authorizer).await.unwrap(), 200);
    let seen = world.peer.grants("refresh_token");
    assert_eq!(seen.len(), 1);
    assert_eq!(
        seen[0].field("resource"),
        Some(&*format!("{}/mcp", world.peer.resource))
    );
    assert_eq!(seen[0].field("scope"), None);

    // The refresh token was replaced too.
    world.pass(3600);
    assert_ne!(token(&authorizer).await, second);
    assert_eq!(world.call(&authorizer).await.unwrap(), 200);
    assert_eq!(world.stored()["tokens"]["scope"], "read");
}

#[tokio::test]
async fn short_lives_are_not_replaced_all_the_time() {
    let world = World::new(Behaviour {
        expires_in: Some(8),
        ..Behaviour::default()
    })
    .await;
    world.login().await;
    let authorizer = world.oauth().authorizer(world.server());
    let first = token(&authorizer).await;
    world.pass(3);
    assert_eq!(token(&authorizer).await, first);
    world.pass(1);
    assert_ne!(token(&authorizer).await, first);
}

#[tokio::test]
async fn a_restart_asks_for_no_documents() {
    let world = World::new(Behaviour::default()).await;
    world.login().await;
    let documents = world.peer.documents();
    world.pass(4000);
    let authorizer = world.oauth().authorizer(world.server());
    assert_eq!(world.call(&authorizer).await.unwrap(), 200);
    assert_eq!(refreshes(&world), 1);
    assert_eq!(world.peer.documents(), documents);
}

#[tokio::test]
async fn a_refused_token_is_replaced_once() {
    for challenge in [Some(String::new()), None] {
        let world = World::new(Behaviour {
            challenge,
            expires_in: None,
            refresh: Refresh::Keep,
            ..Behaviour::default()
        })
        .await;
        world.login().await;
        let authorizer = world.oauth().authorizer(world.server());
        world.peer.end_access_tokens();
        assert_eq!(world.call(&authorizer).await.unwrap(), 200);
        let kept = world.stored()["tokens"]["refresh_token"].clone();
        assert!(kept.is_string(), "none came back, so the old one stays");

        // The new one is refused at once: a third would be too.
        world.peer.end_access_tokens();
        let result = world.call(&authorizer).await;
        world.assert_error(result, &ErrorKind::NeedsAuthorization, &["just refreshed"]);
        assert_eq!(refreshes(&world), 1);
    }
}

#[tokio::test]
async fn processes_at_once_share_one_refresh() {
    let world = Arc::new(World::new(Behaviour::default()).await);
    world.login().await;
    world.pass(4000);
    let processes: Vec<OAuth> = (0..3).map(|_| world.oauth()).collect();
    let calls = processes.iter().flat_map(|oauth| {
        let authorizer = Arc::new(oauth.authorizer(world.server()));
        (0..3).map(move |_| Arc::clone(&authorizer))
    });
    let calls: Vec<_> = calls
        .map(|authorizer| {
            let world = Arc::clone(&world);
            tokio::spawn(async move { world.call(&*authorizer).await.unwrap() })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), 200);
    }
    assert_eq!(refreshes(&world), 1);
}

#[tokio::test]
async fn a_token_of_another_process_is_taken_without_a_request() {
    let world = World::new(Behaviour::default()).await;
    world.login().await;
    let authorizer = world.oauth().authorizer(world.server());
    token(&authorizer).await;
    world.peer.end_access_tokens();
    let other = world.oauth().authorizer(world.server());
    assert_eq!(world.call(&other).await.unwrap(), 200);
    assert_eq!(world.call(&authorizer).await.unwrap(), 200);
    assert_eq!(refreshes(&world), 1);
}

#[tokio::test]
async fn a_revoked_sign_in_is_forgotten_and_a_new_one_noticed() {
    let world = World::new(Behaviour::default()).await;
    world.login().await;
    let authorizer = world.oauth().authorizer(world.server());
    world.peer.end_access_tokens();
    world.peer.end_refresh_tokens();
    let result = world.call(&authorizer).await;
    world.assert_error(
        result,
        &ErrorKind::NeedsAuthorization,
        &[
            "invalid_grant: cannot use … now",
            "pirn mcp login git-handler",
        ],
    );
    let stored = world.stored();
    assert_eq!(stored.get("tokens"), None);
    assert_eq!(stored["clientInformation"]["client_id"], "client-1");
    let result = world.call(&authorizer).await;
    world.assert_error(result, &ErrorKind::NeedsAuthorization, &[]);
    assert_eq!(refreshes(&world), 1, "a dead token is not tried again");

    world.login().await;
    assert_eq!(world.call(&authorizer).await.unwrap(), 200);
    assert_eq!(world.peer.seen("/register").len(), 1);
}

#[tokio::test]
async fn a_forgotten_client_is_forgotten_here_too() {
    let world = World::new(Behaviour::default()).await;
    world.login().await;
    world.peer.end_access_tokens();
    world.peer.forget_clients();
    let authorizer = world.oauth().authorizer(world.server());
    let result = world.call(&authorizer).await;
    world.assert_error(result, &ErrorKind::NeedsAuthorization, &["invalid_client"]);
    assert_eq!(world.stored(), json!({}));
    world.login().await;
    assert_eq!(world.call(&authorizer).await.unwrap(), 200);
    assert_eq!(world.peer.seen("/register").len(), 2);
}

#[tokio::test]
async fn trouble_of_the_server_costs_no_credentials() {
    for (status, body) in [
        (500, "hidden"),
        (503, r#"{"error": "temporarily_unavailable"}"#),
        (429, ""),
        (200, "<html>hidden</html>"),
        (404, ""),
    ] {
        let world = World::new(Behaviour {
            refresh: Refresh::Fail(status, body),
            ..Behaviour::default()
        })
        .await;
        world.login().await;
        let before = world.stored();
        let authorizer = world.oauth().authorizer(world.server());
        // It is still good for a moment: nobody notices.
        world.pass(3580);
        assert_eq!(world.call(&authorizer).await.unwrap(), 200);
        assert_eq!(world.call(&authorizer).await.unwrap(), 200);
        assert_eq!(refreshes(&world), 1, "not with every request");
        world.pass(100);
        let result = world.call(&authorizer).await;
        world.assert_error(
            result,
            &ErrorKind::Authorization,
            &["could not be refreshed", "what is stored is kept"],
        );
        assert_eq!(world.stored()["tokens"], before["tokens"], "{status}");
        world
            .peer
            .change(|behaviour| behaviour.refresh = Refresh::Rotate);
        assert_eq!(world.call(&authorizer).await.unwrap(), 200, "{status}");
    }
}

#[tokio::test]
async fn a_server_that_is_down_costs_no_credentials() {
    let mut world = World::new(Behaviour::default()).await;
    world.login().await;
    world.peer.stop_issuer().await;
    world.pass(4000);
    let before = world.stored();
    let authorizer = world.oauth().authorizer(world.server());
    let result = world.call(&authorizer).await;
    world.assert_error(
        result,
        &ErrorKind::Authorization,
        &[&format!("{}/token", world.peer.issuer), "refused"],
    );
    assert_eq!(world.stored(), before);
}

#[tokio::test]
async fn a_refresh_whose_call_was_given_up_is_stored_all_the_same() {
    let world = World::new(Behaviour::default()).await;
    world.login().await;
    world.pass(4000);
    let oauth = world.oauth();
    let authorizer = oauth.authorizer(world.server());
    let before = world.stored()["tokens"].clone();
    tokio::select! {
        biased;
        _ = authorizer.token() => panic!("nobody waits for this"),
        () = async {
            while refreshes(&world) == 0 {
                tokio::task::yield_now().await;
            }
        } => {}
    }
    oauth.close().await;
    assert_ne!(world.stored()["tokens"], before);
    assert_eq!(refreshes(&world), 1);
}

#[tokio::test]
async fn a_sign_out_is_not_undone_by_a_refresh() {
    let world = World::new(Behaviour::default()).await;
    world.login().await;
    world.pass(4000);
    world
        .peer
        .change(|behaviour| behaviour.metadata = json!({}));
    let oauth = world.oauth();
    let authorizer = oauth.authorizer(world.server());
    tokio::select! {
        biased;
        _ = authorizer.token() => panic!("nobody waits for this"),
        () = async {
            while refreshes(&world) == 0 {
                tokio::task::yield_now().await;
            }
            std::fs::write(world.store(), "{}").unwrap();
        } => {}
    }
    oauth.close().await;
    assert_eq!(world.stored(), json!(null));
}

#[tokio::test]
async fn a_file_that_is_not_understood_is_an_error_that_names_it() {
    let world = World::new(Behaviour::default()).await;
    std::fs::write(world.store(), "{\"hidden").unwrap();
    let authorizer = world.oauth().authorizer(world.server());
    for result in [
        authorizer.token().await.map(|_| ()),
        world.login_with(&world.server()).await.map(|_| ()),
        world.oauth().logout(&world.server()).await.map(|_| ()),
        world.oauth().status(&world.server()).await.map(|_| ()),
    ] {
        world.assert_error(
            result,
            &ErrorKind::Authorization,
            &["mcp-auth.json", "not JSON", "repair the file"],
        );
    }
    assert_eq!(std::fs::read_to_string(world.store()).unwrap(), "{\"hidden");
}
