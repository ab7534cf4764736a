//! Signing in with a browser on another machine.

use super::peer::{LONG_SECONDS, Peer};
use crate::session::Session;

/// Where the page sends the browser, which does not go there.
fn redirect_of(peer: &Peer, page: &str) -> String {
    let output = peer
        .place
        .program("curl")
        .args(["-s", "-o", "/dev/null", "-w", "%{redirect_url}", page])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_address_at_the_end_can_be_pasted() {
    let mut peer = Peer::start(LONG_SECONDS);
    let opened = peer.place.temp().join("opened");
    let browser = format!("touch {}", opened.display());
    let mut session = Session::start_with(
        &peer.place,
        &["mcp", "login", "--no-browser", "peer"],
        &[("PIRN_BROWSER", &browser)],
    );
    session.until("Sign in on this page:");
    session.until("  ");
    let page = session.until("\r\n");
    assert!(
        page.starts_with(&format!("{}/authorize?", peer.issuer)),
        "{page}"
    );
    session.until("paste the address it ended at: ");
    let redirect = redirect_of(&peer, &page);
    // Half of it is refused, and asked for again.
    let (half, _) = redirect.split_once("?code=").unwrap();
    session.answer(&format!("{half}\n"));
    session.until("paste the address it ended at: ");
    session.answer(&format!("{redirect}\n"));
    let (code, stdout, seen) = session.end();
    assert_eq!((code, stdout.as_str()), (Some(0), ""), "{seen}");
    assert!(seen.ends_with(" signed in to peer\r\n"), "{seen:?}");
    assert!(!opened.exists());
    peer.call_well();
    assert_eq!(peer.registrations(), 1);
}
