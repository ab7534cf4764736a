use super::BearerChallenge;

#[track_caller]
fn check(header: &str, expected: [Option<&str>; 3]) {
    let challenge = BearerChallenge::parse(header);
    assert_eq!(
        [
            challenge.resource_metadata.as_deref(),
            challenge.scope.as_deref(),
            challenge.error.as_deref(),
        ],
        expected,
        "{header}"
    );
}

#[test]
fn reads_what_matters() {
    check(
        r#"Bearer error="insufficient_scope", scope="a b", resource_metadata="https://h/x?a=1,2""#,
        [
            Some("https://h/x?a=1,2"),
            Some("a b"),
            Some("insufficient_scope"),
        ],
    );
    check("bearer scope=a, error=x", [None, Some("a"), Some("x")]);
    check(r#"DPoP algs="ES256", scope="a""#, [None, Some("a"), None]);
    check(
        r#"Bearer scope = "a \"b\" c", error="x""#,
        [None, Some(r#"a "b" c"#), Some("x")],
    );
}

#[test]
fn other_schemes_say_nothing() {
    check(r#"Basic realm="x", scope="a""#, [None, None, None]);
    check(
        r#"Negotiate abc==, Basic realm="a, b", Bearer scope="c""#,
        [None, Some("c"), None],
    );
    check(
        r#"Bearer scope="c", Basic scope="d", error="e""#,
        [None, Some("c"), None],
    );
}

#[test]
fn nonsense_is_absent() {
    for header in [
        "",
        ",,,",
        "Bearer",
        "Bearer scope=\"\"",
        "Bearer =",
        "\"",
        "Bearer scope=\" \"",
    ] {
        check(header, [None, None, None]);
    }
    check(
        "Bearer scope=\"never closed",
        [None, Some("never closed"), None],
    );
}
