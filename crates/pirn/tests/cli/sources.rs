//! Where scripts come from, and the wrappings they come in.

use crate::place::Place;

#[test]
fn files_in_every_wrapping() {
    let place = Place::new();
    let cases: [(&str, &[u8]); 8] = [
        ("plain.js", b"return 42"),
        (
            "typed.ts",
            b"type A = { a: number };\nconst a = { a: 42 } satisfies A;\nreturn a!.a as number;",
        ),
        ("crlf.ts", b"const a: number = 42;\r\nreturn a;\r\n"),
        ("mark.ts", b"\xef\xbb\xbfreturn 42"),
        ("shebang.ts", b"#!/usr/bin/env -S pirn exec\nreturn 42"),
        ("fenced.md", b"```ts\nreturn 42 as number\n```\n"),
        ("wrapped.json", br#"{"code": "return 42"}"#),
        (
            "options.ts",
            b"// @options: {\"timeout_ms\": 60000}\nreturn 42",
        ),
    ];
    for (name, content) in cases {
        place.write(name, content);
        let run = place.run(&["exec", name]);
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(0), "42\n"),
            "{name}: {run:#?}"
        );
        let is_unusual = matches!(name, "fenced.md" | "wrapped.json");
        assert_eq!(
            run.stderr.starts_with("note: "),
            is_unusual,
            "{name}: {run:#?}"
        );
    }
}

#[test]
fn standard_input() {
    let place = Place::new();
    let run = place.run_with_input(&["exec", "-"], b"const a: number = 6;\nreturn a * 7;\n");
    assert_eq!(run.good(), "42\n");
    let run = place.run_with_input(&["exec", "-"], b"\n\nthrow new Error('no')");
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.starts_with("error: no\n") && run.stderr.contains("<stdin>:3:"),
        "{run:#?}"
    );
    let run = place.run_with_input(&["exec", "-"], b"\xff");
    assert_eq!(run.code, Some(2));
}

#[test]
fn frames_name_the_file() {
    let place = Place::new();
    place.write(
        "deep/script.ts",
        "const f = (): never => {\n  throw new Error('here');\n};\nf();",
    );
    let run = place.run(&["exec", "deep/script.ts"]);
    assert!(run.stderr.contains("(deep/script.ts:2:"), "{run:#?}");
    assert!(
        place
            .run(&["exec", "-e", "throw new Error('x')"])
            .stderr
            .contains("codemode.js:1:")
    );
}

#[test]
fn the_working_folder() {
    let place = Place::new();
    place.write("inner/file.txt", "found");
    place.write("script.js", "return tools.read({path: 'file.txt'})");
    assert_eq!(
        place
            .run(&["exec", "-q", "--cwd", "inner", "script.js"])
            .good(),
        "found\n"
    );
}

#[test]
fn flags_win_over_the_options_line() {
    let place = Place::new();
    place.write("slow.js", "// @options: {\"timeout_ms\": 1}\nawait new Promise((done) => setTimeout(done, 50)); return 1");
    assert_eq!(place.run(&["exec", "slow.js"]).code, Some(124));
    assert_eq!(
        place
            .run(&["exec", "--timeout-ms", "60000", "slow.js"])
            .good(),
        "1\n"
    );
}

#[test]
fn mistakes_are_told_line_by_line() {
    let place = Place::new();
    let script = "await tools.raed({path: 'a'});\nreturn missing";
    let run = place.run(&["exec", "-e", script]);
    assert_eq!(run.code, Some(1));
    let hint = "hint: Found before anything ran; no call was made.\n  Line 2, column 8: missing is not defined";
    assert!(run.stderr.contains(hint), "{}", run.stderr);
}
