//! Tokens that end while they are used.

use std::process::Stdio;

use serde_json::Value;

use super::peer::{LONG_SECONDS, Peer, SHORT_SECONDS};

/// Five rounds of calls beside each other, each longer than a quarter of [`SESSION_LIFETIME_S`].
const ROUNDS: &str = "
    let sum = 0;
    for (let round = 0; round < 5; round++) {
        const calls = [0, 0, 1.25].map((seconds) => tools.mcp__peer__add({a: 1, b: 1, seconds}));
        for (const result of await Promise.all(calls)) sum += result.structuredContent.result;
    }
    return sum;
";
/// Pirn replaces a token at half of so short a life.
const SESSION_LIFETIME_S: u64 = 4;

#[test]
fn a_session_outlives_its_tokens() {
    let mut peer = Peer::start_signed_in(SESSION_LIFETIME_S);
    let run = peer.run(&["exec", "-q", "--yes", "-e", ROUNDS]);
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (Some(0), "30\n", "")
    );
    let given: Vec<f64> = peer
        .requests("/token")
        .iter()
        .map(|request| {
            assert_eq!(request["status"], 200, "{request}");
            request["at"].as_f64().unwrap()
        })
        .collect();
    // The sign-in; then at least twice, because the calls began over more than a whole life.
    assert!(given.len() >= 3, "{given:?}");
    for pair in given.windows(2) {
        assert!(pair[1] - pair[0] >= 2.0, "too early: {given:?}");
    }
    // The refusals before the sign-in are the only ones.
    for request in peer.requests("/mcp") {
        let was_signed_in = request["at"].as_f64().unwrap() > given[0];
        assert!(!was_signed_in || request["status"] == 200, "{request}");
    }
}

#[test]
fn a_session_outlives_tokens_that_end_early() {
    let mut peer = Peer::start_signed_in(LONG_SECONDS);
    let code = "
        await tools.mcp__peer__expire();
        const calls = [1, 2, 3, 4, 5].map((a) => tools.mcp__peer__add({a, b: 1}));
        return (await Promise.all(calls)).map((result) => result.structuredContent.result).join();
    ";
    let run = peer.run(&["exec", "-q", "--yes", "-e", code]);
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (Some(0), "2,3,4,5,6\n", "")
    );
    assert_eq!(peer.refreshes(), 1);
}

#[test]
fn another_process_goes_on_with_what_is_stored() {
    let mut peer = Peer::start_signed_in(SHORT_SECONDS);
    let before = peer.credentials();
    peer.set_lifetime(LONG_SECONDS);
    peer.wait_for_expiry();
    peer.call_well();
    let after = peer.credentials();
    for token in ["access_token", "refresh_token"] {
        assert_ne!(before["tokens"][token], after["tokens"][token]);
    }
    assert_eq!(before["clientInformation"], after["clientInformation"]);
    peer.call_well();
    assert_eq!(peer.credentials(), after);
    assert_eq!((peer.refreshes(), peer.registrations()), (1, 1));
}

#[test]
fn processes_share_one_refresh() {
    let mut peer = Peer::start_signed_in(SHORT_SECONDS);
    peer.set_lifetime(LONG_SECONDS);
    peer.wait_for_expiry();
    let started: Vec<_> = (0..4)
        .map(|_| {
            peer.pirn(&["mcp", "call", "peer", "add", r#"{"a": 1, "b": 2}"#])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in started {
        let run = peer.place.ended(child.wait_with_output().unwrap());
        assert_eq!(
            (run.code, run.stdout.as_str(), run.stderr.as_str()),
            (Some(0), "3\n", "")
        );
    }
    assert_eq!(peer.refreshes(), 1);
    let refused = |request: &&Value| request["status"] == 401;
    assert_eq!(
        peer.requests("/mcp").iter().filter(refused).count(),
        1,
        "only the question before the sign-in is refused"
    );
}
