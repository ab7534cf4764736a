use super::{Expected, Verdict};
use crate::secret::Secret;

fn expected() -> Expected {
    Expected {
        path: "/callback".to_owned(),
        state: Secret::new("s1"),
        issuer: Some("https://h".to_owned()),
        is_issuer_promised: false,
    }
}

fn code(text: &str) -> Verdict {
    Verdict::Code(Secret::new(text))
}

#[track_caller]
fn failed(verdict: &Verdict, part: &str) {
    match verdict {
        Verdict::Failed(why) => assert!(why.contains(part), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn foreign(verdict: &Verdict) {
    assert!(matches!(verdict, Verdict::Foreign(_)), "{verdict:?}");
}

#[test]
fn requests() {
    let target = |text: &str| expected().judge_target(text);
    assert_eq!(target("/callback?code=c%201&state=s1"), Some(code("c 1")));
    assert_eq!(
        target("/callback?code=c&state=s1&iss=https%3A%2F%2Fh"),
        Some(code("c"))
    );
    assert_eq!(target("/favicon.ico"), None);
    assert_eq!(target("/callback/more?code=c&state=s1"), None);
    for other in [
        "/callback",
        "/callback?code=c",
        "/callback?code=c&state=s2",
        "/callback?error=x",
    ] {
        foreign(&target(other).unwrap());
    }
    failed(
        &target("/callback?error=access_denied&error_description=no%0Away&state=s1").unwrap(),
        "the server refused: access_denied: no way",
    );
    failed(&target("/callback?state=s1").unwrap(), "no code");
    failed(&target("/callback?state=s1&code=").unwrap(), "no code");
}

#[test]
fn issuers() {
    let judge = |expected: &Expected, issuer: &str| {
        let target = format!("/callback?code=c&state=s1{issuer}");
        expected.judge_target(&target).unwrap()
    };
    for wrong in ["&iss=https://evil", "&iss=https://h/", "&iss=HTTPS://h"] {
        failed(&judge(&expected(), wrong), "not from https://h");
    }
    let promised = Expected {
        is_issuer_promised: true,
        ..expected()
    };
    failed(&judge(&promised, ""), "`iss`");
    assert_eq!(judge(&promised, "&iss=https://h"), code("c"));
    foreign(&promised.judge_pasted("c1"));
    let unknown = Expected {
        issuer: None,
        ..expected()
    };
    failed(&judge(&unknown, "&iss=https://h"), "nothing confirms");
    assert_eq!(judge(&unknown, ""), code("c"));
}

#[test]
fn pasted_texts() {
    let pasted = |text: &str| expected().judge_pasted(text);
    assert_eq!(
        pasted(" http://127.0.0.1:9/callback?code=c&state=s1\n"),
        code("c")
    );
    assert_eq!(
        pasted("'http://localhost:9/callback?code=c&state=s1'"),
        code("c")
    );
    assert_eq!(pasted("?code=c&state=s1"), code("c"));
    assert_eq!(pasted("code=c&state=s1"), code("c"));
    assert_eq!(pasted("abc-1"), code("abc-1"));
    failed(
        &pasted("http://h/callback?error=access_denied&state=s1"),
        "access_denied",
    );
    for other in [
        "",
        "no code here",
        "http://127.0.0.1:9/callback",
        "http://127.0.0.1:9/other?code=c&state=s1",
        "http://127.0.0.1:9/callback?code=c&state=old",
        "code=c",
    ] {
        foreign(&pasted(other));
    }
}
