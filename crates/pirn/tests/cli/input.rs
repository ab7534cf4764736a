//! Input that cannot be used: a clear error, a hint, and nothing is lost.

use crate::place::{Place, transcript};

/// Runs each and shows all of it.
fn check(place: &Place, runs: &[&[&str]]) -> String {
    runs.iter()
        .map(|arguments| transcript(arguments, &place.run(arguments)))
        .collect()
}

#[test]
fn command_lines() {
    let place = Place::new();
    place.write("script.ts", "return 1");
    insta::assert_snapshot!(check(
        &place,
        &[
            &[],
            &["script.ts"],
            &["exce", "script.ts"],
            &["exec"],
            &["exec", "--jsno", "script.ts"],
            &["exec", "-e"],
            &["exec", "-e", "return 1", "script.ts"],
            &["exec", "--json", "--layout", "items", "script.ts"],
            &["exec", "--layout", "table", "script.ts"],
            &["exec", "--timeout-ms", "0", "script.ts"],
            &["exec", "--memory-mb", "1", "script.ts"],
            &["exec", "--cpu-ms", "soon", "script.ts"],
            &["exec", "--yes=writing", "script.ts"],
            &["exec", "--read-only", "--yes", "script.ts"],
            &["exec", "--deny", "", "script.ts"],
            &["exec", "--tools", "raed,bash", "script.ts"],
            &["exec", "--exclude-tools", "zzz", "script.ts"],
            &["exec", "--tools", "x*", "script.ts"],
            &["exec", "--cwd", "missing", "script.ts"],
            &["exec", "--cwd", "script.ts", "script.ts"],
            &["tools", "--json", "--declarations"],
            &["completions", "csh"],
        ]
    ));
}

#[test]
fn script_files() {
    let place = Place::new();
    place.write("folder/inner.ts", "return 1");
    place.write("empty.ts", "");
    place.write("blank.ts", " \n\t\n");
    place.write("latin.ts", b"// first line\nreturn 'caf\xe9'");
    place.write("utf16.ts", b"\xff\xfer\0e\0t\0u\0r\0n\0");
    place.write("large.ts", vec![b'/'; (1 << 20) + 1]);
    place.write("options.ts", "// @options: {\"timeout\": 5}\nreturn 1");
    place.write("late.ts", "return 1\n// @options: {\"timeout_ms\": 5}");
    insta::assert_snapshot!(check(
        &place,
        &[
            &["exec", "missing.ts"],
            &["exec", "return 1 + 1"],
            &["exec", "folder"],
            &["exec", "empty.ts"],
            &["exec", "blank.ts"],
            &["exec", "latin.ts"],
            &["exec", "utf16.ts"],
            &["exec", "large.ts"],
            &["exec", "options.ts"],
            &["exec", "late.ts"],
            &["exec", "-e", ""],
            &["exec", "-"],
        ]
    ));
}

#[test]
fn scripts_that_fail() {
    let place = Place::new();
    place.write("broken.ts", "const a = 1;\nconst b = (;\n");
    place.write(
        "throws.ts",
        "interface A { b: number }\nconst a: A = { b: 1 };\nthrow new RangeError(`b is ${a.b}`);\n",
    );
    insta::assert_snapshot!(check(
        &place,
        &[
            &["exec", "broken.ts"],
            &["exec", "throws.ts"],
            &["exec", "-e", "await tools.raed({path: 'a'})"],
            &["exec", "-e", "await tools['no tool']({})"],
            &["exec", "-e", "fetch('http://localhost')"],
            &["exec", "-e", "import fs from 'fs'"],
            &["exec", "-e", "throw undefined"],
            &["exec", "-e", "await new Promise(() => {})"],
            &["exec", "-q", "-e", "await tools.read({path: 1, file: 'x'})"],
            &[
                "exec",
                "-q",
                "-e",
                "await tools.write({path: 'a', content: 'b'})"
            ],
        ]
    ));
    assert!(!place.path().join("a").exists());
}
