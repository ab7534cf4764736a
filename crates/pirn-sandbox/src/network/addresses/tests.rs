use super::AddressKind as Kind;
use super::*;

/// Addresses of each kind.
const KINDS: &[(&str, Kind)] = &[
    ("1.1.1.1", Kind::Public),
    ("172.15.255.255", Kind::Public),
    ("172.32.0.0", Kind::Public),
    ("192.169.0.1", Kind::Public),
    ("100.63.255.255", Kind::Public),
    ("100.128.0.0", Kind::Public),
    ("223.255.255.255", Kind::Public),
    ("10.0.0.1", Kind::Private),
    ("10.255.255.255", Kind::Private),
    ("172.16.0.1", Kind::Private),
    ("172.31.255.255", Kind::Private),
    ("192.168.1.1", Kind::Private),
    ("100.64.0.1", Kind::Private),
    ("198.18.0.1", Kind::Private),
    ("127.0.0.1", Kind::Loopback),
    ("127.255.255.255", Kind::Loopback),
    ("0.0.0.0", Kind::Unspecified),
    ("0.1.2.3", Kind::Unspecified),
    ("169.254.1.1", Kind::LinkLocal),
    ("169.254.169.254", Kind::Metadata),
    ("100.100.100.200", Kind::Metadata),
    ("192.0.0.192", Kind::Metadata),
    ("192.0.0.8", Kind::Reserved),
    ("192.88.99.1", Kind::Reserved),
    ("224.0.0.1", Kind::Multicast),
    ("239.255.255.255", Kind::Multicast),
    ("240.0.0.1", Kind::Reserved),
    ("255.255.255.255", Kind::Reserved),
    ("2606:4700::1111", Kind::Public),
    ("::", Kind::Unspecified),
    ("::1", Kind::Loopback),
    ("::2", Kind::Unspecified),
    ("fe80::1", Kind::LinkLocal),
    ("febf::1", Kind::LinkLocal),
    ("fec0::1", Kind::Private),
    ("fc00::1", Kind::Private),
    ("fdff::1", Kind::Private),
    ("fd00:ec2::254", Kind::Metadata),
    ("fd20:ce::254", Kind::Metadata),
    ("ff02::1", Kind::Multicast),
    ("100::1", Kind::Reserved),
    ("4000::1", Kind::Reserved),
    ("64:ff9b:1::1", Kind::Reserved),
    // The same places as IPv6 carries them.
    ("::ffff:127.0.0.1", Kind::Loopback),
    ("::ffff:169.254.169.254", Kind::Metadata),
    ("::ffff:10.0.0.1", Kind::Private),
    ("::ffff:0.0.0.0", Kind::Unspecified),
    ("::ffff:1.1.1.1", Kind::Public),
    ("::127.0.0.1", Kind::Loopback),
    ("::169.254.169.254", Kind::Metadata),
    ("::1.1.1.1", Kind::Reserved),
    ("::ffff:0:127.0.0.1", Kind::Loopback),
    ("::ffff:0:1.1.1.1", Kind::Reserved),
    ("64:ff9b::127.0.0.1", Kind::Loopback),
    ("64:ff9b::169.254.169.254", Kind::Metadata),
    ("64:ff9b::10.0.0.1", Kind::Private),
    ("64:ff9b::1.1.1.1", Kind::Public),
    ("2002:7f00:1::1", Kind::Loopback),
    ("2002:a9fe:a9fe::1", Kind::Metadata),
    ("2002:c0a8:101::1", Kind::Private),
    ("2002:101:101::1", Kind::Public),
    ("2001:0:1:2:3:4:80ff:fffe", Kind::Loopback),
    ("2001:0:1:2:3:4:5601:5601", Kind::Metadata),
    ("2001:0:1:2:3:4:fefe:fefe", Kind::Public),
    ("2606:4700::5efe:127.0.0.1", Kind::Loopback),
    ("2606:4700::200:5efe:10.0.0.1", Kind::Private),
];

#[test]
fn kinds_of_addresses() {
    for (address, wanted) in KINDS {
        assert_eq!(
            kind_by_number(address.parse().unwrap()),
            *wanted,
            "{address}"
        );
    }
}

#[test]
fn nobody_has_an_address_for_documentation() {
    assert!(!is_own(FOREIGN_V4.into()));
    assert!(is_own(Ipv4Addr::LOCALHOST.into()));
    assert_eq!(kind_here(FOREIGN_V4.into()), Kind::Public);
}

#[test]
fn scopes_include_each_other() {
    for (kind, public, private) in [
        (Kind::Public, true, true),
        (Kind::Private, false, true),
        (Kind::Loopback, false, false),
        (Kind::Unspecified, false, false),
        (Kind::LinkLocal, false, false),
        (Kind::Metadata, false, false),
        (Kind::Multicast, false, false),
        (Kind::Reserved, false, false),
        (Kind::Own, false, false),
    ] {
        assert_eq!(AddressScope::Public.includes(kind), public, "{kind:?}");
        let scope = AddressScope::PublicAndPrivate;
        assert_eq!(scope.includes(kind), private, "{kind:?}");
        assert!(AddressScope::Anything.includes(kind), "{kind:?}");
    }
}
