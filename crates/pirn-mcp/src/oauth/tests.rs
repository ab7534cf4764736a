use super::Clock;

/// A client for loopback servers, without redirects.
pub(super) fn client() -> reqwest::Client {
    // Another test of this process may have installed it.
    drop(rustls::crypto::ring::default_provider().install_default());
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .unwrap()
}

#[test]
fn the_systems_clock_is_of_this_century() {
    assert!(Clock::system().now_ms() > 1_600_000_000_000);
}
