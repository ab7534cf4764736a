//! Where an error is said to be: the line and the column of what failed, whatever stands before it.

use crate::support::Lab;

/// Runs a script in which `¦` stands before the place that the error must name, and gives its message.
async fn fails_there(marked: &str) -> String {
    let (before, after) = marked.split_once('¦').unwrap();
    let code = format!("{before}{after}");
    let line = before.matches('\n').count() + 1;
    let last = before.rsplit('\n').next().unwrap();
    let column = last.encode_utf16().count() + 1;
    let expected = [line, column].map(|number| u32::try_from(number).unwrap());
    let result = Lab::new().run(&code).await;
    let error = result.outcome.unwrap_err();
    let stack = error.stack.clone().unwrap_or_default();
    let place = error.location("codemode.js").unwrap();
    assert_eq!([place.0, place.1], expected, "{marked}\n{stack}");
    // The frame shows the very line, with the mark below the place.
    let mark = stack.lines().skip_while(|shown| !shown.starts_with('>'));
    assert!(mark.count() >= 2, "{marked}\n{stack}");
    error.message.to_string()
}

/// Each of these fails at the mark.
async fn all_fail_there(scripts: &[(&str, &str)]) {
    for (marked, message) in scripts {
        let told = fails_there(marked).await;
        assert!(told.contains(message), "{marked}: {told}");
    }
}

#[tokio::test]
async fn after_other_line_ends_and_wide_characters() {
    let long = format!("/*{}*/ const n = null; n.¦x;", "y".repeat(10_000));
    all_fail_there(&[
        ("const a = 1;\r\nconst n = null;\r\nn.¦x;\r\n", "n is null"),
        ("const s = '😀😀'; const n = null; n.¦x;", "n is null"),
        (
            "const s = 'é漢';\n/* 😀 */ const n = null; n.¦x;",
            "n is null",
        ),
        (long.as_str(), "n is null"),
    ])
    .await;
}

#[tokio::test]
async fn after_types() {
    all_fail_there(&[
        (
            "interface A { x: number }\ntype B = A | null;\nconst n: B = null as B;\nn!.¦x;",
            "cannot read property 'x' of null",
        ),
        (
            "function f<T extends object>(value: T | null): number { return (value as any).¦size; }\nf<Date>(null);",
            "cannot read property 'size' of null",
        ),
    ])
    .await;
}

#[tokio::test]
async fn in_every_kind_of_expression() {
    all_fail_there(&[
        ("const n = null;\nconst ¦{ x } = n;", "cannot destructure n"),
        ("const n = undefined;\nreturn [...¦n];", "n is not iterable"),
        ("const o = { a: null };\nreturn o?.a.¦b;", "o?.a is null"),
        ("const n = null;\nreturn `a ${n.¦x}`;", "n is null"),
        (
            "const o = { get x() { return this.y.¦z; } };\nreturn o.x;",
            "this.y is undefined",
        ),
        (
            "async function f(n) {\n  await 0;\n  return n.¦x;\n}\nawait f(null);",
            "n is null",
        ),
        (
            "return [1, null].map((entry) => entry.x.¦y);",
            "cannot read property",
        ),
        (
            "return JSON.parse('[1]', (key, value) => value.x.¦y);",
            "cannot read property",
        ),
        (
            "return 'abc'.replace(/b/, (found) => found.x.¦y);",
            "found.x is undefined",
        ),
        (
            "return new Promise((resolve) => setTimeout(resolve, 1)).then(() => ¦missing.x);",
            "missing",
        ),
    ])
    .await;
}

#[tokio::test]
async fn what_a_call_gave_is_named_and_not_what_it_was_called_on() {
    let result = Lab::new()
        .run("const version = 'abc'.match(/(x)/)[1];\nreturn version;")
        .await;
    let error = result.outcome.unwrap_err();
    assert_eq!(error.location("codemode.js").map(|(line, _)| line), Some(1));
    assert_eq!(
        error.message.to_string(),
        "cannot read property '1' of null: 'abc'.match(/(x)/) is null"
    );
}
