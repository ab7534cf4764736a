//! Tokens that are revoked, and an authorization server that is away.

use serde_json::Value;

use super::peer::{LONG_SECONDS, Peer, SHORT_SECONDS};

#[test]
fn a_revoked_sign_in_keeps_the_registration() {
    let mut peer = Peer::start_signed_in(LONG_SECONDS);
    let client = peer.credentials()["clientInformation"].clone();
    peer.tell("expire");
    peer.tell("revoke");
    peer.call_unauthorized("invalid_grant");
    let stored = peer.credentials();
    assert_eq!(stored["clientInformation"], client);
    assert_eq!(stored["tokens"], Value::Null);
    peer.call_unauthorized("it wants you to sign in");
    assert_eq!(peer.refreshes(), 1);
    peer.sign_in();
    peer.call_well();
    assert_eq!(peer.registrations(), 1);
}

#[test]
fn a_server_that_forgot_everybody_gets_a_new_registration() {
    let mut peer = Peer::start_signed_in(LONG_SECONDS);
    peer.tell("forget");
    peer.call_unauthorized("invalid_client");
    peer.sign_in();
    peer.call_well();
    assert_eq!(peer.registrations(), 2);
}

/// What happens while the authorization server answers no request for a token.
fn while_away(command: &str, why: &str) {
    let mut peer = Peer::start_signed_in(LONG_SECONDS);
    peer.tell(command);
    // The token at hand is still good.
    peer.call_well();
    peer.tell("up");
    peer.set_lifetime(SHORT_SECONDS);
    peer.run(&["mcp", "login", "peer"]).good();
    peer.set_lifetime(LONG_SECONDS);
    peer.tell(command);
    let stored = peer.credentials();
    peer.wait_for_expiry();
    let run = peer.call();
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:#?}");
    let expected = format!("{}/token {why}", peer.issuer);
    assert!(run.stderr.contains(&expected), "{run:#?}");
    assert!(run.stderr.contains("what is stored is kept"), "{run:#?}");
    assert_eq!(peer.credentials(), stored);
    peer.tell("up");
    peer.call_well();
    assert_eq!(
        (peer.registrations(), peer.requests("/authorize").len()),
        (1, 1)
    );
}

#[test]
fn an_authorization_server_may_be_down() {
    while_away("down", "could not be asked: Connection refused");
}

#[test]
fn an_authorization_server_may_be_in_trouble() {
    while_away("trouble", "answered with status 503");
}
