//! Values that JSON does not keep: their written forms, the notes about them, and integers beyond 2^53.

use pirn_codemode::ScriptResult;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Lab, failure, texts, value};

async fn noted(code: &str) -> (ScriptResult, String) {
    let result = Lab::new().run(code).await;
    let notes = result.notes.join("\n");
    (result, notes)
}

#[tokio::test]
async fn what_json_does_not_keep_has_a_written_form_and_a_note() {
    for (code, expected, note) in [
        (
            "return new Map([['a', 1]])",
            json!({"a": 1}),
            "return: a Map, written as an object.",
        ),
        (
            "return new Map([[1, 2]])",
            json!([[1, 2]]),
            "return: a Map, written as pairs.",
        ),
        (
            "return {s: new Set(['x'])}",
            json!({"s": ["x"]}),
            "return: $.s is a Set, written as an array.",
        ),
        (
            "return [/x/g]",
            json!(["/x/g"]),
            "return: $[0] is a RegExp, written as a string.",
        ),
        (
            "return new Uint8Array([1, 2])",
            json!([1, 2]),
            "return: a Uint8Array, written as an array.",
        ),
        (
            "return {n: NaN, i: -Infinity}",
            json!({"n": null, "i": null}),
            "return: $.n is NaN, written as null; $.i is -Infinity, written as null.",
        ),
        (
            "class P { constructor() { this.x = 1 } } return new P()",
            json!({"x": 1}),
            "return: an instance of P, written as its fields.",
        ),
        (
            "const a = {b: {}}; a.b.c = a.b; return a",
            json!({"b": {"c": "[Circular $.b]"}}),
            "return: $.b.c is a circular reference, written as \"[Circular $.b]\".",
        ),
        (
            "return {f() {}, g: 1}",
            json!({"g": 1}),
            "return: $.f is a function, left out.",
        ),
        (
            "return [1, undefined]",
            json!([1, null]),
            "return: $[1] is undefined, written as null.",
        ),
        (
            "return {when: new Date(0)}",
            json!({"when": "1970-01-01T00:00:00.000Z"}),
            "",
        ),
        (
            "return {gone: undefined, kept: [null, true, 'x', 1.5]}",
            json!({"kept": [null, true, "x", 1.5]}),
            "",
        ),
        (
            "return new Map([['a', 1]]).keys()",
            json!({}),
            "return: a Map Iterator, written as {}: [...value] makes a list of it.",
        ),
    ] {
        let (result, notes) = noted(code).await;
        assert_eq!((value(&result), notes.as_str()), (expected, note), "{code}");
    }
}

#[tokio::test]
async fn an_error_is_written_with_what_it_holds() {
    let (result, notes) = noted("return new RangeError('far', {cause: 'c'})").await;
    let written = value(&result);
    assert_eq!(
        (&written["name"], &written["message"], &written["cause"]),
        (&json!("RangeError"), &json!("far"), &json!("c"))
    );
    assert!(
        written["stack"]
            .as_str()
            .unwrap()
            .contains("codemode.js:1:8"),
        "{written}"
    );
    assert_eq!(
        notes,
        "return: an error, written as its name, message and stack."
    );
}

#[tokio::test]
async fn a_promise_where_a_value_is_meant_is_an_error() {
    for (code, message) in [
        (
            "text(tools.echo(1))",
            "text(): the value is a promise: await it first",
        ),
        (
            "let p; p = tools.echo([1]); return p.length",
            "A promise has no member length: await it first, as in (await value).length",
        ),
        (
            "return `got ${tools.echo(1)}`",
            "A promise was used as a value: await it first",
        ),
        (
            "await tools.echo({x: tools.echo(1)})",
            "The argument of echo: $.x is a promise: await it first",
        ),
    ] {
        let failed = failure(&Lab::new().run(code).await);
        assert_eq!(failed, format!("script: {message}"), "{code}");
    }
}

#[tokio::test]
async fn integers_keep_their_digits() {
    let code = "const id = JSON.parse('[1]'); const r = load('id'); text(typeof r.id + ' ' + r.id); return {id: r.id + 1n, big: 5n}";
    let script = pirn_codemode::Script {
        store: vec![(
            "id".into(),
            pirn_vm::JsonText::new(r#"{"id":9007199254740993}"#),
        )],
        ..pirn_codemode::Script::new(code)
    };
    let lab = Lab::new();
    let result = pirn_codemode::run_script(
        crate::support::engine(),
        &script,
        &lab.environment(),
        pirn_codemode::RunOptions::default(),
    )
    .await;
    assert_eq!(texts(&result.output), ["bigint 9007199254740993"]);
    assert_eq!(
        result.value().unwrap().as_str(),
        r#"{"id":9007199254740994,"big":5}"#
    );
}

#[tokio::test]
async fn return_and_text_write_a_bigint_alike() {
    let (result, _) =
        noted("text(9007199254740993n); text({n: 5n}); return 9007199254740993n").await;
    assert_eq!(texts(&result.output), ["9007199254740993", "{\"n\":5}"]);
    assert_eq!(result.value().unwrap().as_str(), "9007199254740993");
}

#[tokio::test]
async fn the_console_formats_counts_and_indents() {
    let code = "console.log('%s has %d%% of %j', 'a', 5, {b: 1}, 'rest'); console.log('%d'); console.group('g'); console.log('in'); \
                console.groupEnd(); console.count(); console.count(); console.assert(true); console.assert(false, 'why'); \
                console.table([{a: 1}, {b: 'x'}])";
    let (result, _) = noted(code).await;
    assert_eq!(
        texts(&result.output),
        [
            "console: a has 5% of {\"b\":1} rest",
            "console: %d",
            "console: g",
            "console:   in",
            "console: default: 1",
            "console: default: 2",
            "console: Assertion failed: why",
            "console: (index) | a | b\n--------|---|--\n0       | 1 |\n1       |   | x",
        ]
    );
}

#[tokio::test]
async fn what_every_host_has_is_there() {
    let code = r#"
        const url = new URL("../b?x=1&y=a%20b#h", "https://user@example.org:8443/a/c/d");
        url.searchParams.append("z", "ü&");
        const digest = async (name) => new Uint8Array(await crypto.subtle.digest(name, new TextEncoder().encode("abc"))).toHex().slice(0, 8);
        const controller = new AbortController();
        const call = tools.gate({ name: "never" }, { signal: controller.signal });
        controller.abort(new Error("enough"));
        return [
            url.href, url.host, [...url.searchParams.keys()].join(), URL.canParse("nope"),
            await Promise.all(["SHA-1", "SHA-256", "SHA-512"].map(digest)),
            /^[0-9a-f]{8}-[0-9a-f]{4}-4/.test(crypto.randomUUID()), crypto.getRandomValues(new Uint8Array(4)).length,
            await call.catch((error) => error.message),
            await parallel([1, 2, 3, 4], 2, async (n, at) => { await sleep(1); return n * 10 + at; }),
            atob(btoa("hi")), structuredClone(new Map([[1, 2]])).get(1), performance.now() % 1,
            (1234567.891).toLocaleString(), (0.256).toLocaleString("en-US", { style: "percent" }),
            (1234.5).toLocaleString("en-US", { style: "currency", currency: "USD" }),
            new Date(0).toLocaleDateString("en-US", { month: "long", day: "numeric", year: "numeric", timeZone: "UTC" }),
            ["ä", "a10", "a2", "B", "b"].sort((x, y) => x.localeCompare(y, undefined, { numeric: true })),
        ];
    "#;
    let (result, _) = noted(code).await;
    assert_eq!(
        value(&result),
        json!([
            "https://user@example.org:8443/a/b?x=1&y=a+b&z=%C3%BC%26#h",
            "example.org:8443",
            "x,y,z",
            false,
            ["a9993e36", "ba7816bf", "ddaf35a1"],
            true,
            4,
            "enough",
            [10, 21, 32, 43],
            "hi",
            2,
            0,
            "1,234,567.891",
            "26%",
            "$1,234.50",
            "January 1, 1970",
            ["ä", "a2", "a10", "b", "B"]
        ])
    );
    for (code, message) in [
        (
            "(5).toLocaleString('de-DE')",
            "toLocaleString: the locale \"de-DE\" is not available here, only \"en-US\"; format it by hand",
        ),
        (
            "new Date().toLocaleString('en-US', {timeZone: 'Europe/Berlin'})",
            "toLocaleString: timeZone can be \"UTC\", \"Etc/UTC\", \"GMT\", \"Etc/GMT\" here, not \"Europe/Berlin\"",
        ),
        (
            "new Intl.Segmenter()",
            "Intl.Segmenter does not exist. Available: Intl.NumberFormat, Intl.DateTimeFormat, Intl.Collator. Scripts have English and UTC only.",
        ),
    ] {
        let failed = failure(&Lab::new().run(code).await);
        assert_eq!(failed, format!("script: {message}"), "{code}");
    }
}

/// JavaScript for a value, and whether JSON keeps it as it is.
fn any_value() -> impl Strategy<Value = (String, Option<Value>)> {
    let leaf = prop_oneof![
        any::<i32>().prop_map(|number| (number.to_string(), Some(json!(number)))),
        any::<bool>().prop_map(|flag| (flag.to_string(), Some(json!(flag)))),
        "[a-z\"\\\\\u{e9}\u{1f600}]{0,6}"
            .prop_map(|text| (json!(text).to_string(), Some(json!(text)))),
        Just(("null".to_owned(), Some(Value::Null))),
        Just(("NaN".to_owned(), None)),
        Just(("new Date(NaN)".to_owned(), None)),
        Just(("Symbol('s')".to_owned(), None)),
        Just(("() => 1".to_owned(), None)),
        Just(("new Set([1])".to_owned(), None)),
        Just(("/x/".to_owned(), None)),
        Just(("new Error('e')".to_owned(), None)),
        Just(("new Float64Array(2)".to_owned(), None)),
        Just(("2n ** 70n".to_owned(), None)),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|items| {
                let code = items
                    .iter()
                    .map(|(code, _)| code.as_str())
                    .collect::<Vec<_>>()
                    .join(",");
                let kept = items
                    .into_iter()
                    .map(|(_, kept)| kept)
                    .collect::<Option<Vec<_>>>();
                (format!("[{code}]"), kept.map(Value::Array))
            }),
            proptest::collection::btree_map("[a-z]{1,3}", inner.clone(), 0..4).prop_map(
                |members| {
                    let code = members
                        .iter()
                        .map(|(key, (code, _))| format!("{}: {code}", json!(key)))
                        .collect::<Vec<_>>()
                        .join(",");
                    let kept = members
                        .into_iter()
                        .map(|(key, (_, kept))| kept.map(|kept| (key, kept)))
                        .collect::<Option<serde_json::Map<_, _>>>();
                    (format!("({{{code}}})"), kept.map(Value::Object))
                }
            ),
            inner.prop_map(|(code, _)| (format!("new Map([['m', {code}]])"), None)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// What JSON keeps comes back the same from everywhere, without a note; anything else is named in one, or refused with its place.
    #[test]
    fn values_are_kept_or_named((code, kept) in any_value()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for road in ["return V;", "text(V); return load('none');", "store('v', V); return load('v');", "return tools.echo({v: V}).then((r) => r.v);"] {
            let source = road.replace('V', &code);
            let result = runtime.block_on(Lab::new().run(&source));
            if let Some(kept) = &kept {
                    prop_assert!(result.is_ok(), "{source}: {:?}", result.outcome);
                    prop_assert!(result.notes.is_empty(), "{source}: {:?}", result.notes);
                    let is_text = road.starts_with("text");
                    let shown = if is_text { json!(texts(&result.output)) } else { value(&result) };
                    let expected = match kept {
                        Value::String(text) if is_text => json!([text]),
                        _ if is_text => {
                            let whole: Value = serde_json::from_str(texts(&result.output)[0].as_str()).unwrap();
                            prop_assert_eq!(&whole, kept);
                            shown.clone()
                        }
                        _ => kept.clone(),
                    };
                    prop_assert_eq!(shown, expected);
            } else {
                    let is_told = !result.notes.is_empty() || !result.is_ok();
                    // A text shows a primitive as it is.
                    let is_shown = road.starts_with("text") && !code.contains(['(', '[']) || code == "Symbol('s')" || code == "2n ** 70n" || code == "() => 1";
                    prop_assert!(is_told || is_shown, "{source} was changed without a word");
            }
        }
    }
}
