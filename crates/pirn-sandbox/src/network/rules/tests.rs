use super::*;

fn rules(texts: &[&str]) -> Vec<HostRule> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// `yes`, `no` for a rule that denies, `-` for nobody's business, `bad` for no host at all.
fn decide(allow: &[&str], deny: &[&str], host: &str, port: u16) -> &'static str {
    let rules = NetworkRules {
        allow: rules(allow),
        deny: rules(deny),
    };
    let Ok(host) = Host::parse(host) else {
        return "bad";
    };
    match rules.verdict(&host, port, AddressScope::Public) {
        RuleVerdict::Allowed(..) => "yes",
        RuleVerdict::Denied(_) => "no",
        RuleVerdict::Undecided => "-",
    }
}

#[test]
fn rules_and_hosts() {
    let long_label = "a".repeat(64);
    let long_name = ["abcdefg."; 32].concat();
    for (allow, deny, host, port, wanted) in [
        (&["example.com"][..], &[][..], "example.com", 443, "yes"),
        (&["example.com"], &[], "EXAMPLE.Com.", 80, "yes"),
        (&["Example.COM."], &[], "example.com", 80, "yes"),
        (&["example.com"], &[], "www.example.com", 443, "-"),
        (&["example.com"], &[], "notexample.com", 443, "-"),
        (&["example.com"], &[], "example.com.evil.net", 443, "-"),
        (&["*.example.com"], &[], "www.example.com", 443, "yes"),
        (&["*.example.com"], &[], "a.b.example.com", 443, "yes"),
        (&["*.example.com"], &[], "example.com", 443, "-"),
        (&["*.example.com"], &[], "badexample.com", 443, "-"),
        (&["*.example.com"], &[], ".example.com", 443, "bad"),
        (&["*.com"], &[], "example.com", 443, "yes"),
        (&["example.com:443"], &[], "example.com", 443, "yes"),
        (&["example.com:443"], &[], "example.com", 80, "-"),
        (&["*:443"], &[], "example.com", 443, "yes"),
        (&["*:443"], &[], "example.com", 22, "-"),
        (&["*"], &[], "example.com", 22, "yes"),
        (&["*"], &[], "192.0.2.1", 22, "yes"),
        (&["*.2.1"], &[], "192.0.2.1", 22, "unreadable"),
        (&["*"], &["example.com"], "example.com", 22, "no"),
        (&["*"], &["example.com:22"], "example.com", 22, "no"),
        (&["*"], &["example.com:22"], "example.com", 80, "yes"),
        (&["example.com"], &["*.com"], "example.com", 80, "no"),
        (&["www.a.net"], &["*.a.net"], "www.a.net", 80, "no"),
        (&["example.com"], &["*"], "example.com", 80, "no"),
        (&["192.0.2.1"], &[], "192.0.2.1", 80, "yes"),
        (&["192.0.2.1"], &[], "192.0.2.1.", 80, "yes"),
        (&["192.0.2.1"], &[], "[::ffff:192.0.2.1]", 80, "yes"),
        (&["[::ffff:192.0.2.1]:80"], &[], "192.0.2.1", 80, "yes"),
        (&["192.0.2.1:80"], &[], "192.0.2.1", 81, "-"),
        (&["2001:db8::1"], &[], "[2001:DB8:0::1]", 80, "yes"),
        (&["[2001:db8::1]:80"], &[], "2001:db8::1", 80, "yes"),
        (&["[2001:db8::1]:80"], &[], "2001:db8::1", 81, "-"),
        (&["*"], &[], "2130706433", 80, "bad"),
        (&["*"], &[], "0x7f000001", 80, "bad"),
        (&["*"], &[], "0X7F.0.0.1", 80, "bad"),
        (&["*"], &[], "017700000001", 80, "bad"),
        (&["*"], &[], "127.1", 80, "bad"),
        (&["*"], &[], "0177.0.0.1", 80, "bad"),
        (&["*"], &[], "127.0.0.1.nip.io", 80, "yes"),
        (&["*"], &[], "1.2.3.4.5", 80, "bad"),
        (&["*"], &[], "", 80, "bad"),
        (&["*"], &[], ".", 80, "bad"),
        (&["*"], &[], "a..b", 80, "bad"),
        (&["*"], &[], "a b", 80, "bad"),
        (&["*"], &[], "a\0b", 80, "bad"),
        (&["*"], &[], "a\r\nb", 80, "bad"),
        (&["*"], &[], "a/b", 80, "bad"),
        (&["*"], &[], "a%2eb", 80, "bad"),
        (&["*"], &[], "user@a", 80, "bad"),
        (&["*"], &[], "[fe80::1%eth0]", 80, "bad"),
        (&["*"], &[], "[::1", 80, "bad"),
        (&["*"], &[], "[a]", 80, "bad"),
        (&["*"], &[], "münchen.de", 80, "bad"),
        (&["*"], &[], "xn--mnchen-3ya.de", 80, "yes"),
        (&["*"], &[], "_service.example.com", 80, "yes"),
        (&["*"], &[], &long_label, 80, "bad"),
        (&["*"], &[], &long_name, 80, "bad"),
    ] {
        let found = if allow.iter().any(|rule| rule.parse::<HostRule>().is_err()) {
            "unreadable"
        } else {
            decide(allow, deny, host, port)
        };
        assert_eq!(found, wanted, "{allow:?} {deny:?} {host:?}:{port}");
    }
}

#[test]
fn rules_are_shown_as_they_are_meant() {
    for (text, shown) in [
        (" Example.COM. ", "example.com"),
        ("*", "*"),
        ("*:80", "*:80"),
        ("*.Example.com:8080", "*.example.com:8080"),
        ("::1", "[::1]"),
        ("[::1]:80", "[::1]:80"),
        ("[::ffff:127.0.0.1]:80", "127.0.0.1:80"),
        ("127.0.0.1", "127.0.0.1"),
    ] {
        let rule: HostRule = text.parse().unwrap();
        assert_eq!(rule.to_string(), shown);
        assert_eq!(rule.to_string().parse::<HostRule>().unwrap(), rule);
    }
}

#[test]
fn says_why_a_text_is_no_rule() {
    for (text, reason) in [
        ("", "there is no host name"),
        ("https://example.com", "without scheme and path"),
        ("example.com/path", "without scheme and path"),
        ("example.com:0", "from 1 to 65535"),
        ("example.com:65536", "from 1 to 65535"),
        ("example.com:+80", "from 1 to 65535"),
        ("example.com:", "from 1 to 65535"),
        ("*.*.com", "letters, digits"),
        ("ex*mple.com", "letters, digits"),
        ("me@example.com", "no place before the host"),
        ("bücher.de", "`xn--` form"),
        ("127.1", "four decimal numbers"),
        ("*.0.0.1", "four decimal numbers"),
        ("*.127.0.0.1", "four decimal numbers"),
        ("[::1", "brackets hold"),
        ("a\u{7}", "letters, digits"),
    ] {
        let error = text.parse::<HostRule>().unwrap_err().to_string();
        assert!(error.contains(reason), "{text:?}: {error}");
        assert!(!error.contains('\u{7}'), "{error:?}");
    }
}

#[test]
fn the_widest_rule_counts() {
    for (allow, host, port, wanted) in [
        (&["*"][..], "127.0.0.1", 80, AddressScope::Public),
        (
            &["*", "127.0.0.1:80"],
            "127.0.0.1",
            80,
            AddressScope::Anything,
        ),
        (
            &["127.0.0.1:80", "*"],
            "127.0.0.1",
            80,
            AddressScope::Anything,
        ),
        (
            &["127.0.0.1:80", "*"],
            "127.0.0.1",
            81,
            AddressScope::Public,
        ),
        (
            &["10.0.0.1"],
            "10.0.0.1",
            81,
            AddressScope::PublicAndPrivate,
        ),
        (&["localhost:80"], "localhost", 80, AddressScope::Public),
    ] {
        let rules = NetworkRules {
            allow: rules(allow),
            deny: Vec::new(),
        };
        let host = Host::parse(host).unwrap();
        let RuleVerdict::Allowed(_, scope) = rules.verdict(&host, port, AddressScope::Public)
        else {
            panic!("{allow:?} {host}");
        };
        assert_eq!(scope, wanted, "{allow:?} {host}:{port}");
    }
}
