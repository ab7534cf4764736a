use std::net::SocketAddr;

use super::{Port, Redirect};

#[track_caller]
fn check(setting: &str, callback_port: Option<u16>, expected: Result<(&str, Port), &str>) {
    let found = Redirect::from_setting(setting, callback_port);
    match (found, expected) {
        (Ok(plan), Ok((url, port))) => {
            assert_eq!(plan.port, port);
            assert_eq!(plan.url(SocketAddr::new(plan.address, 77)), url);
        }
        (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
        (found, _) => panic!("{setting}: {found:?}"),
    }
}

#[test]
fn settings() {
    check(
        "http://localhost:77/a/callback",
        None,
        Ok(("http://localhost:77/a/callback", Port::Fixed(77))),
    );
    check(
        "http://127.0.0.1/callback",
        Some(77),
        Ok(("http://127.0.0.1:77/callback", Port::Fixed(77))),
    );
    check("http://[::1]", None, Ok(("http://[::1]:77/", Port::Any)));
    check("http://localhost:77/", Some(78), Err("`callbackPort`, 78"));
    for refused in [
        "https://localhost:77/",
        "http://example.com:77/",
        "http://localhost:77/?a=b",
        "http://localhost:77/#a",
        "http://user@localhost:77/",
    ] {
        check(refused, None, Err("not an http URL of this machine"));
    }
    check("localhost", None, Err("not a URL"));
}

#[test]
fn registrations() {
    let plan = Redirect::from_registration("http://localhost:77/callback/x").unwrap();
    assert_eq!(plan.port, Port::Preferred(77));
    assert_eq!(plan.path, "/callback/x");
    assert_eq!(Redirect::from_registration("myapp://callback"), None);
    assert_eq!(
        Redirect::from_registration("https://example.com/callback"),
        None
    );
}
