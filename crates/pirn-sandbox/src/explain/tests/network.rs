//! Complaints about the network, as programs write them.

use super::*;
use crate::network::{NetworkOptions, NetworkProxy, NetworkReason, NetworkRules};

/// Outputs, with the host that is named.
const UNREACHABLE: &[(&str, &str)] = &[
    (
        "curl: (6) Could not resolve host: example.com",
        "example.com",
    ),
    (
        "curl: (7) Failed to connect to 93.184.216.34 port 80 after 0 ms: Couldn't connect to server",
        "93.184.216.34",
    ),
    (
        "Resolving example.com (example.com)... failed: Temporary failure in name resolution.\n\
          wget: unable to resolve host address ‘example.com’",
        "example.com",
    ),
    (
        "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com",
        "github.com",
    ),
    (
        "ssh: Could not resolve hostname github.com: Temporary failure in name resolution\n\
          fatal: Could not read from remote repository.",
        "github.com",
    ),
    (
        "npm error code EAI_AGAIN\nnpm error errno EAI_AGAIN\nnpm error request to https://registry.npmjs.org/left-pad failed, \
          reason: getaddrinfo EAI_AGAIN registry.npmjs.org",
        "registry.npmjs.org",
    ),
    (
        "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>",
        "the network",
    ),
    ("OSError: [Errno 101] Network is unreachable", "the network"),
    (
        "[cause]: Error: getaddrinfo EAI_AGAIN example.com\n  errno: -3001,\n  hostname: 'example.com'",
        "example.com",
    ),
    (
        "Error: connect ENETUNREACH 93.184.216.34:80 - Local (0.0.0.0:0)",
        "93.184.216.34",
    ),
    (
        "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='example.com', port=443): Max retries exceeded \
          (Caused by NameResolutionError(\"Failed to resolve 'example.com' ([Errno -3] Temporary failure in name resolution)\"))",
        "example.com",
    ),
    (
        "Err:1 http://deb.debian.org/debian bookworm InRelease\n  Temporary failure resolving 'deb.debian.org'",
        "deb.debian.org",
    ),
    (
        "go: example.com/x: Get \"https://proxy.golang.org/x\": dial tcp: lookup proxy.golang.org on 127.0.0.53:53: \
          dial udp: connect: network is unreachable",
        "proxy.golang.org",
    ),
    (
        "error: failed to lookup address information: Temporary failure in name resolution",
        "the network",
    ),
];

#[test]
fn complaints_about_the_network() {
    let proxy = NetworkProxy::new(NetworkRules::default(), NetworkOptions::default());
    for (output, host) in UNREACHABLE {
        let off = format!("reaching {host}: the network is off [sandbox.network allow-list]");
        let listed = format!(
            "reaching {host}: only the proxy in HTTP_PROXY, HTTPS_PROXY and ALL_PROXY leads outside, \
             and this program did not use it [sandbox.network on]"
        );
        for (network, wanted) in [
            (Network::Off, vec![off]),
            (Network::AllowList(proxy.clone()), vec![listed]),
            (Network::On, vec![]),
        ] {
            assert_eq!(
                Case::new(Level::Strict, network).notes(output),
                wanted,
                "{output}"
            );
        }
    }
    for output in [
        "curl: (7) Failed to connect to localhost port 80 after 0 ms: Couldn't connect to server",
        "curl: (7) Failed to connect to 127.0.0.1 port 80 after 0 ms: Couldn't connect to server",
        "ConnectionRefusedError: [Errno 111] Connection refused",
    ] {
        assert_eq!(
            Case::new(Level::Strict, Network::Off).notes(output),
            [""; 0],
            "{output}"
        );
    }
}

#[test]
fn what_the_proxy_refused_is_certain() {
    let proxy = NetworkProxy::new(NetworkRules::default(), NetworkOptions::default());
    let case = Case::new(Level::Strict, Network::AllowList(proxy));
    let decision = |host: &str, verdict, reason, at| NetworkDecision {
        host: host.to_owned(),
        port: 443,
        verdict,
        reason,
        at,
    };
    let decisions = [
        decision("a.net", NetworkVerdict::Refused, NetworkReason::NoRule, 1),
        decision("a.net", NetworkVerdict::Refused, NetworkReason::NoRule, 2),
        decision(
            "b.net",
            NetworkVerdict::Allowed,
            NetworkReason::AllowedByAnswer,
            3,
        ),
    ];
    let output = "curl: (56) CONNECT tunnel failed, response 403\ncurl: (6) Could not resolve host: b.net\n\
                  curl: (6) Could not resolve host: a.net";
    let sentence = "Sandbox: the network proxy refused a.net:443: it is not among the allowed hosts; \
                    the setting sandbox.allowedHosts would allow it.";
    let denial = Denial {
        subject: DenialSubject::Host("a.net".to_owned()),
        evidence: Evidence::Certain,
        setting: Some("sandbox.allowedHosts"),
        suggested: Some("a.net".to_owned()),
        sentence: sentence.to_owned(),
    };
    assert_eq!(case.explain(output, &decisions), [denial]);
}
