//! Tokens, refusals and redirects of HTTP servers.

use super::server::{json, response};
use super::*;

fn authorization(received: &Received) -> String {
    received.header("authorization").unwrap_or("-").to_owned()
}

/// A server that wants this token.
async fn guarded(token: &'static str, status: u16, challenge: Option<&'static str>) -> Server {
    Server::start(move |received| {
        if authorization(received) == format!("Bearer {token}") {
            return well_behaved(received);
        }
        let headers: Vec<_> = challenge
            .iter()
            .map(|challenge| ("www-authenticate", *challenge))
            .collect();
        response(status, &headers, "no")
    })
    .await
}

#[derive(Clone)]
struct Case {
    name: &'static str,
    status: u16,
    challenge: Option<&'static str>,
    tokens: Option<&'static [&'static str]>,
    after: Next,
    header: Option<&'static str>,
    expected: Result<(), ErrorKind>,
    sent: &'static [&'static str],
}

async fn check(case: Case) {
    let name = case.name;
    let server = guarded("good", case.status, case.challenge).await;
    let mut parts = parts(server.url("/mcp"));
    let tokens = case.tokens.map(|tokens| Tokens::new(tokens, case.after));
    parts.authorizer = tokens.clone().map(|tokens| tokens as Arc<dyn Authorizer>);
    parts.headers = case
        .header
        .iter()
        .map(|value| ("Authorization".to_owned(), Secret::new(*value)))
        .collect();
    let mut transport = http_transport(&parts).unwrap();
    let outcome = match call(&mut transport, initialize(1)).await {
        Outcome::Answer(_) => Ok(()),
        Outcome::Failed(error) => Err(error.kind().clone()),
    };
    assert_eq!(outcome, case.expected, "{name}");
    let sent: Vec<_> = server.received().iter().map(authorization).collect();
    assert_eq!(sent, case.sent, "{name}");
    if let Some(challenge) = tokens
        .iter()
        .flat_map(|tokens| tokens.challenges.lock().unwrap().clone())
        .next()
    {
        assert_eq!(challenge.status, case.status, "{name}");
        assert_eq!(
            challenge.www_authenticate.as_deref(),
            case.challenge,
            "{name}"
        );
    }
}

#[tokio::test]
async fn refusals_go_to_the_authorizer() {
    let scope = Some("Bearer error=\"insufficient_scope\", scope=\"a b\"");
    let plain = Case {
        name: "a token that is good",
        status: 401,
        challenge: None,
        tokens: Some(&["good"]),
        after: Next::GiveUp,
        header: None,
        expected: Ok(()),
        sent: &["Bearer good"],
    };
    check(plain.clone()).await;
    check(Case {
        name: "401 without a challenge",
        tokens: Some(&["old", "good"]),
        sent: &["Bearer old", "Bearer good"],
        ..plain.clone()
    })
    .await;
    check(Case {
        name: "401 with a challenge",
        challenge: Some("Bearer error=\"invalid_token\""),
        tokens: Some(&["old", "good"]),
        sent: &["Bearer old", "Bearer good"],
        ..plain.clone()
    })
    .await;
    check(Case {
        name: "step up",
        status: 403,
        challenge: scope,
        tokens: Some(&["small", "good"]),
        sent: &["Bearer small", "Bearer good"],
        ..plain.clone()
    })
    .await;
    check(Case {
        name: "403 that no token helps",
        status: 403,
        challenge: Some("Bearer error=\"other\""),
        tokens: Some(&["old", "good"]),
        expected: Err(ErrorKind::Http { status: 403 }),
        sent: &["Bearer old"],
        ..plain.clone()
    })
    .await;
    check(Case {
        name: "given up",
        tokens: Some(&["old"]),
        expected: Err(ErrorKind::NeedsAuthorization),
        sent: &["Bearer old"],
        ..plain.clone()
    })
    .await;
    check(Case {
        name: "no end of retries",
        tokens: Some(&["old"]),
        after: Next::Retry,
        expected: Err(ErrorKind::NeedsAuthorization),
        sent: &["Bearer old"; 4],
        ..plain.clone()
    })
    .await;
    check(Case {
        name: "nobody has tokens",
        tokens: None,
        expected: Err(ErrorKind::NeedsAuthorization),
        sent: &["-"],
        ..plain.clone()
    })
    .await;
    check(Case {
        name: "a configured header",
        tokens: None,
        header: Some("Basic YTpi"),
        expected: Err(ErrorKind::Http { status: 401 }),
        sent: &["Basic YTpi"],
        ..plain.clone()
    })
    .await;
    check(Case {
        name: "a token replaces the configured header",
        header: Some("Basic YTpi"),
        ..plain.clone()
    })
    .await;
}

#[tokio::test]
async fn the_token_is_asked_for_each_request() {
    let server = Server::start(|received| match authorization(received).as_str() {
        "Bearer one" if received.what() == "POST tools/list" => response(401, &[], ""),
        _ => well_behaved(received),
    })
    .await;
    let mut parts = parts(server.url("/mcp"));
    let tokens = Tokens::new(&["one", "two"], Next::GiveUp);
    parts.authorizer = Some(Arc::clone(&tokens) as Arc<dyn Authorizer>);
    let mut transport = connected(&parts).await;
    server.wait_for("GET", 1).await;
    for id in [2, 3] {
        let outcome = call(&mut transport, request(id, "tools/list")).await;
        assert!(matches!(outcome, Outcome::Answer(_)), "{outcome:?}");
    }
    tokens.left.lock().unwrap().clear();
    transport.close().await.unwrap();
    let sent: Vec<_> = server
        .received()
        .iter()
        .map(|one| format!("{} {}", one.what(), authorization(one)))
        .collect();
    assert_eq!(
        sent.join("\n"),
        [
            "POST initialize Bearer one",
            "POST notifications/initialized Bearer one",
            "GET Bearer one",
            "POST tools/list Bearer one",
            "POST tools/list Bearer two",
            "POST tools/list Bearer two",
            "DELETE Bearer two",
        ]
        .join("\n"),
        "the farewell asks for no token",
    );
}

#[tokio::test]
async fn configured_headers_go_with_every_request() {
    let server = Server::start(well_behaved).await;
    let mut parts = parts(server.url("/mcp"));
    parts.headers = vec![
        ("X-Key".to_owned(), Secret::new("k")),
        ("Accept".to_owned(), Secret::new("text/html")),
    ];
    let mut transport = connected(&parts).await;
    server.wait_for("GET", 1).await;
    transport.close().await.unwrap();
    let received = server.received();
    for one in &received {
        assert_eq!(one.header("x-key"), Some("k"), "{one:?}");
        assert_eq!(one.header("user-agent"), Some("pirn-test/1"), "{one:?}");
    }
    let accepts: Vec<_> = received
        .iter()
        .filter_map(|one| one.header("accept"))
        .collect();
    let post = "application/json, text/event-stream";
    assert_eq!(accepts[..3], [post, post, "text/event-stream"]);
    let [_, initialized, get, delete] = received.as_slice() else {
        panic!("four requests: {:?}", server.log());
    };
    for one in [initialized, get, delete] {
        assert_eq!(one.header("mcp-session-id"), Some("session-1"), "{one:?}");
        assert_eq!(
            one.header("mcp-protocol-version"),
            Some("2025-11-25"),
            "{one:?}"
        );
    }
}

#[test]
fn headers_that_http_does_not_know_are_refused() {
    for (name, value, words) in [
        ("X Key", "k", "name of the header \"X Key\""),
        ("X-Key", "k\nl", "value of the header \"X-Key\""),
    ] {
        let mut parts = parts("http://localhost/".parse().unwrap());
        parts.headers = vec![(name.to_owned(), Secret::new(value))];
        let error = Exchange::new(&parts, CancellationToken::new())
            .err()
            .expect("refused");
        assert_eq!(*error.kind(), ErrorKind::Config);
        assert!(error.message().contains(words), "{error}");
        assert!(!error.message().contains("k\nl"), "{error}");
    }
}

#[test]
fn redirects_stay_at_home() {
    use http::{Method, StatusCode};
    let check = |method: Method, from: &str, status: u16, to: Option<&str>, expected: &str| {
        let hop = redirect::next_hop(
            &method,
            &from.parse().unwrap(),
            StatusCode::from_u16(status).unwrap(),
            to,
        );
        let hop = match hop {
            Ok(None) => "no redirect".to_owned(),
            Ok(Some(target)) => target.to_string(),
            Err(problem) => format!("{problem:?}"),
        };
        assert_eq!(hop, expected, "{status} {from} {to:?}");
    };
    let post = || Method::POST;
    let from = "http://a.test/mcp";
    for status in [301, 302, 307, 308] {
        check(post(), from, status, Some("/mcp/"), "http://a.test/mcp/");
    }
    check(
        post(),
        from,
        303,
        Some("/mcp/"),
        "SeeOther { target: \"http://a.test/mcp/\" }",
    );
    check(Method::GET, from, 303, Some("/mcp/"), "http://a.test/mcp/");
    check(post(), from, 200, Some("/mcp/"), "no redirect");
    check(post(), from, 304, Some("/mcp/"), "no redirect");
    check(post(), from, 307, None, "NoTarget");
    check(post(), from, 307, Some("http://:x"), "NoTarget");
    check(
        post(),
        from,
        307,
        Some("https://a.test/mcp"),
        "https://a.test/mcp",
    );
    check(
        post(),
        "http://a.test:8000/",
        307,
        Some("https://a.test:8000/"),
        "https://a.test:8000/",
    );
    check(
        post(),
        "http://a.test:8000/",
        307,
        Some("https://a.test/"),
        "OtherOrigin { target: \"https://a.test/\" }",
    );
    check(
        post(),
        "https://a.test/",
        307,
        Some("http://a.test/"),
        "OtherOrigin { target: \"http://a.test/\" }",
    );
    check(
        post(),
        from,
        307,
        Some("//b.test/x?token=1"),
        "OtherOrigin { target: \"http://b.test/x\" }",
    );
    check(
        post(),
        from,
        307,
        Some("http://a.test:81/"),
        "OtherOrigin { target: \"http://a.test:81/\" }",
    );
}

#[tokio::test]
async fn a_post_follows_its_redirect_as_a_post() {
    let server = Server::start(|received| match received.path.as_str() {
        "/mcp" => response(307, &[("location", "/mcp/")], ""),
        _ => well_behaved(received),
    })
    .await;
    let mut parts = parts(server.url("/mcp"));
    parts.authorizer = Some(Tokens::new(&["t"], Next::GiveUp));
    let mut transport = http_transport(&parts).unwrap();
    let outcome = call(&mut transport, initialize(1)).await;
    assert!(matches!(outcome, Outcome::Answer(_)), "{outcome:?}");
    let received: Vec<_> = server
        .received()
        .iter()
        .map(|one| format!("{} {} {}", one.what(), one.path, authorization(one)))
        .collect();
    assert_eq!(
        received,
        [
            "POST initialize /mcp Bearer t",
            "POST initialize /mcp/ Bearer t"
        ]
    );
}

#[tokio::test]
async fn a_redirect_elsewhere_is_refused_and_names_both() {
    let other = Server::start(well_behaved).await;
    let target = other.url("/stolen?x=1").to_string();
    let server = Server::start(move |_| response(307, &[("location", &target)], "")).await;
    let mut transport = http_transport(&parts(server.url("/mcp?key=secret"))).unwrap();
    let Outcome::Failed(error) = call(&mut transport, initialize(1)).await else {
        panic!("refused");
    };
    assert_eq!(*error.kind(), ErrorKind::Protocol);
    let expected = format!(
        "{} redirects to {}, which is another origin",
        server.url("/mcp"),
        other.url("/stolen")
    );
    assert!(error.message().starts_with(&expected), "{error}");
    assert_eq!(other.log(), [""; 0]);
}

#[tokio::test]
async fn redirects_in_a_circle_end() {
    let server = Server::start(|_| response(308, &[("location", "/mcp")], "")).await;
    let mut transport = http_transport(&parts(server.url("/mcp"))).unwrap();
    let Outcome::Failed(error) = call(&mut transport, initialize(1)).await else {
        panic!("refused");
    };
    assert!(error.message().ends_with("redirects too often"), "{error}");
    assert_eq!(server.log().len(), 6);
}

#[tokio::test]
async fn an_authorizer_that_fails_explains_itself() {
    struct Broken;
    impl Authorizer for Broken {
        fn token(&self) -> BoxFuture<'_, Result<Option<Secret>, Error>> {
            Box::pin(async {
                Err(
                    Error::new(ErrorKind::NeedsAuthorization, "fake", "please sign in")
                        .with_hint("Do it."),
                )
            })
        }
        fn challenged(&self, _: Challenge) -> BoxFuture<'_, Result<Next, Error>> {
            Box::pin(async { Ok(Next::GiveUp) })
        }
    }
    let server = Server::start(|_| json(200, &json!({}))).await;
    let mut parts = parts(server.url("/mcp"));
    parts.authorizer = Some(Arc::new(Broken));
    let mut transport = http_transport(&parts).unwrap();
    let Outcome::Failed(error) = call(&mut transport, initialize(1)).await else {
        panic!("refused");
    };
    assert_eq!(*error.kind(), ErrorKind::NeedsAuthorization);
    assert_eq!(
        (error.message(), error.hints()),
        ("please sign in", &["Do it.".to_owned()][..])
    );
    assert_eq!(server.log(), [""; 0]);
}
