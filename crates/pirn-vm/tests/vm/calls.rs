//! Calls, results and errors.

use crate::support::run;

#[test]
fn values_come_back() {
    for (source, expected) in [
        ("return 6 * 7;", "42"),
        (
            "return await tools.echo({a: [1, null]});",
            r#"{"a":[1,null]}"#,
        ),
        (
            "return (await Promise.all([1, 2, 3].map(tools.echo))).map((n) => n * 2);",
            "[2,4,6]",
        ),
        (
            "return [typeof await tools.echo(), await tools.echo(null)];",
            r#"["undefined",null]"#,
        ),
        (
            "return await tools.fail('x').catch((e) => [e instanceof Error, e.message, e.tool, e.kind, e.callId, Object.keys(e)]);",
            r#"[true,"\"x\"","fail","failed","call/1",[]]"#,
        ),
        (
            "await new Promise((done) => setTimeout(done, 5)); return 'slept';",
            r#""slept""#,
        ),
        (
            "return (1234567.891).toLocaleString();",
            r#""1,234,567.891""#,
        ),
        (
            "return new TextDecoder().decode(new TextEncoder().encode('h\u{e9}\u{1f600}'));",
            "\"h\u{e9}\u{1f600}\"",
        ),
        (
            "const a = {m: new Map([[1, {d: new Date(0)}]])}; return structuredClone(a).m.get(1).d.getTime();",
            "0",
        ),
    ] {
        assert_eq!(run(source).value(), expected, "{source}");
    }
}

#[test]
fn a_failed_call_points_at_the_line_that_made_it() {
    let failure = run("const one = 1;\n\nawait tools.fail({why: 'no'});").failure();
    assert!(failure.contains("script.js:3:"), "{failure}");
    assert!(failure.starts_with("Error: {\"why\":\"no\"}"), "{failure}");
}

#[test]
fn errors_have_true_lines_and_columns() {
    for (source, expected) in [
        ("throw new Error('first')", "script.js:1:7"),
        ("const a = 1;\n  throw new TypeError('x');", "script.js:2:9"),
        ("function f() {\n  null.x;\n}\nf();", "script.js:2"),
    ] {
        let failure = run(source).failure();
        assert!(failure.contains(expected), "{source}: {failure}");
        assert!(!failure.contains("prelude"), "{failure}");
    }
}

#[test]
fn a_script_that_can_never_go_on_fails_at_once() {
    assert!(
        run("await new Promise(() => {});")
            .failure()
            .contains("nothing can settle")
    );
}

#[test]
fn exit_ends_the_script_whatever_surrounds_it() {
    let finished =
        run("try { exit(); } catch { text('caught'); } finally { text('finally'); } return 1;");
    assert_eq!(finished.end, pirn_vm::End::Returned(None));
    assert!(finished.output.is_empty(), "{finished:?}");
}

#[test]
fn dynamic_import_says_what_to_do_instead() {
    let value = run("return import('fs').catch((e) => e.name + ': ' + e.message);");
    assert!(value.value().contains("tools.<name>"), "{}", value.value());
}
