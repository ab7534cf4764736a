//! Signing in and out where everything works.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use super::peer::{LOGIN_HINT, LONG_SECONDS, Peer};

#[test]
fn nothing_happens_before_somebody_signs_in() {
    let mut peer = Peer::start(LONG_SECONDS);
    let opened = peer.place.temp().join("opened");
    let mut list = peer.pirn(&["mcp", "list"]);
    list.env("PIRN_BROWSER", format!("touch {}", opened.display()));
    let run = peer.place.ended(list.output().unwrap());
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert_eq!(
        run.stdout,
        format!(
            "peer  needs-auth    {}\n  it wants you to sign in ([PLACE]/home/.pirn/mcp.json:3)\n  {LOGIN_HINT}\n",
            peer.url
        )
    );
    peer.call_unauthorized("it wants you to sign in");
    let list = peer.run(&["mcp", "list", "--json"]).json();
    assert_eq!(list["servers"][0]["state"], "needs-auth", "{list}");
    assert!(!opened.exists());
    assert!(!peer.credentials_file().exists());
    for path in ["/register", "/authorize", "/token"] {
        assert_eq!(peer.requests(path), Vec::<Value>::new());
    }
}

#[test]
fn signing_in_is_enough() {
    let mut peer = Peer::start_signed_in(LONG_SECONDS);
    let mode = peer.credentials_file().metadata().unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    let table = peer.run(&["mcp", "list"]).good();
    assert_eq!(table, format!("peer  connected  3 tools  {}\n", peer.url));
    peer.call_well();
    let who = peer.run(&["mcp", "call", "peer", "whoami"]).good();
    let client_id = &peer.credentials()["clientInformation"]["client_id"];
    assert_eq!(Some(who.trim_end()), client_id.as_str());
    assert_eq!((peer.registrations(), peer.refreshes()), (1, 0));
}

#[test]
fn whoever_is_signed_in_needs_no_browser() {
    let mut peer = Peer::start_signed_in(LONG_SECONDS);
    let run = peer.run(&["mcp", "login", "peer"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert_eq!(run.stderr, "note: peer was signed in to already\n");
    assert_eq!(
        (peer.requests("/authorize").len(), peer.refreshes()),
        (1, 1)
    );
    peer.call_well();
}

#[test]
fn signing_out_ends_the_tokens() {
    let mut peer = Peer::start_signed_in(LONG_SECONDS);
    let run = peer.run(&["mcp", "logout", "peer"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert_eq!(
        run.stderr,
        "note: signed out of peer; its credentials are deleted\n"
    );
    assert_eq!(peer.credentials(), Value::Null);
    let tokens = peer.tell("tokens");
    assert_eq!(tokens, serde_json::json!({"access": [], "refresh": []}));
    peer.call_unauthorized("it wants you to sign in");
    let run = peer.run(&["mcp", "logout", "peer"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert_eq!(run.stderr, "note: there were no credentials for peer\n");
    peer.sign_in();
    peer.call_well();
}

#[test]
fn signing_out_works_without_the_server() {
    let mut peer = Peer::start_signed_in(LONG_SECONDS);
    peer.tell("down");
    let run = peer.run(&["mcp", "logout", "peer"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    let (first, second) = run.stderr.split_once('\n').unwrap();
    assert_eq!(
        first,
        "note: signed out of peer; its credentials are deleted"
    );
    assert!(
        second.starts_with(&format!(
            "note: the server was not told: {}/revoke: ",
            peer.issuer
        )) && second.ends_with("; the old token may live on there until it expires\n"),
        "{second}"
    );
    assert_eq!(peer.credentials(), Value::Null);
}
