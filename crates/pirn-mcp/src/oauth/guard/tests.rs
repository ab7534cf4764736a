use url::Url;

use super::{AddressClass, Guard, class_of, is_loopback};

const SERVERS: &[&str] = &[
    "https://mcp.example.com/mcp",
    "http://127.0.0.1:8000/mcp",
    "http://localhost:8000/mcp",
    "https://10.0.0.4/mcp",
];

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

/// One letter per server: `+` allowed, `-` refused.
#[track_caller]
fn check(target: &str, expected: &str) {
    let found: String = SERVERS
        .iter()
        .map(
            |server| match Guard::new(&url(server), false).check(&url(target)) {
                Ok(()) => '+',
                Err(_) => '-',
            },
        )
        .collect();
    assert_eq!(found, expected, "{target}");
}

#[test]
fn only_safe_urls_are_asked() {
    check("https://auth.example.com/token", "++++");
    check("https://93.184.216.34/token", "++++");
    check("http://auth.example.com/token", "----");
    check("http://10.0.0.9/token", "----");
    check("http://127.0.0.1:9/token", "-++-");
    check("http://127.8.9.1:9/token", "-++-");
    check("http://[::1]:9/token", "-++-");
    check("http://localhost:9/token", "-++-");
    check("https://sub.localhost/token", "-++-");
    check("https://localhost./token", "-++-");
    check("https://10.0.0.9/token", "-+++");
    check("https://10.0.0.4/token", "-+++");
    check("https://[fd00::1]/token", "-+++");
    check("https://100.64.0.1/token", "-+++");
    check("https://169.254.169.254/latest", "----");
    check("https://[::ffff:169.254.169.254]/latest", "----");
    check("https://0.0.0.0/", "----");
    check("https://metadata.google.internal/", "----");
    check("https://user@auth.example.com/", "----");
    check("ftp://auth.example.com/", "----");
    check("file:///etc/passwd", "----");
}

#[test]
fn private_networks_can_be_allowed() {
    let guard = Guard::new(&url(SERVERS[0]), true);
    assert_eq!(guard.check(&url("https://10.0.0.9/token")), Ok(()));
    assert!(guard.check(&url("https://127.0.0.1/token")).is_err());
    assert!(guard.check(&url("http://10.0.0.9/token")).is_err());
}

#[test]
fn the_servers_own_host_is_not_looked_up() {
    let guard = Guard::new(&url(SERVERS[0]), false);
    let name = |text: &str| guard.name_to_resolve(&url(text)).map(str::to_owned);
    assert_eq!(name("https://mcp.example.com/token"), None);
    assert_eq!(name("https://93.184.216.34/"), None);
    assert_eq!(name("http://localhost/"), None);
    assert_eq!(
        name("https://auth.example.com/token"),
        Some("auth.example.com".to_owned())
    );
    assert!(guard.check_address("10.0.0.1".parse().unwrap()).is_err());
    assert!(guard.check_address("127.0.0.1".parse().unwrap()).is_err());
    assert!(
        guard
            .check_address("93.184.216.34".parse().unwrap())
            .is_ok()
    );
}

#[test]
fn classes() {
    for (address, class) in [
        ("93.184.216.34", AddressClass::Public),
        ("2606:4700::1111", AddressClass::Public),
        ("64:ff9b::5db8:d822", AddressClass::Public),
        ("127.0.0.1", AddressClass::Loopback),
        ("::1", AddressClass::Loopback),
        ("::ffff:127.0.0.1", AddressClass::Loopback),
        ("2002:7f00:1::", AddressClass::Loopback),
        ("192.168.1.1", AddressClass::Private),
        ("64:ff9b::a00:9", AddressClass::Private),
        ("169.254.169.254", AddressClass::Special),
        ("::169.254.169.254", AddressClass::Special),
        ("fe80::1", AddressClass::Special),
        ("ff02::1", AddressClass::Special),
        ("::", AddressClass::Special),
        ("198.18.0.1", AddressClass::Special),
        ("255.255.255.255", AddressClass::Special),
        ("2001:0:4136:e378::1", AddressClass::Special),
        ("64:ff9b:1::a9fe:a9fe", AddressClass::Special),
    ] {
        assert_eq!(class_of(address.parse().unwrap()), class, "{address}");
    }
    assert!(is_loopback(&url("http://127.0.0.1/")));
    assert!(!is_loopback(&url("http://example.com/")));
}
