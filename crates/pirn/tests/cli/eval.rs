//! `pirn eval` without a terminal.

use serde_json::{Value, json};

use crate::place::{Place, repository};

/// Writes the user's settings.
fn set(place: &Place, settings: &Value) {
    std::fs::create_dir_all(place.pirn_home()).unwrap();
    std::fs::write(
        place.pirn_home().join("settings.json"),
        settings.to_string(),
    )
    .unwrap();
}

#[test]
fn programs_print_and_give_a_value() {
    let place = Place::new();
    place.write(
        "sum.py",
        "import sys\nprint('out')\nprint('err', file=sys.stderr)\n1 + 1\n",
    );
    place.write("sum.mjs", "console.log('out'); return {sum: 1 + 1}\n");
    let run = place.run(&["eval", "--yes", "sum.py"]);
    assert_eq!(
        (run.stdout.as_str(), run.stderr.as_str()),
        ("out\n2\n", "err\n"),
        "{run:#?}"
    );
    let run = place.run(&["eval", "--yes", "sum.mjs"]);
    assert_eq!(run.good(), "out\n{\n  \"sum\": 2\n}\n");
    let run = place.run_with_input(
        &["eval", "--yes", "--python", "-"],
        b"  if True:\n      'dedented'\n",
    );
    assert_eq!(run.good(), "");
    let run = place.run(&["eval", "--yes", "--python", "-e", "None"]);
    assert_eq!(run.good(), "");
}

#[test]
fn nobody_to_ask_means_no() {
    let place = Place::new();
    let run = place.run(&["eval", "--python", "-e", "open('made', 'w')"]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(
        run.stderr
            .contains("approval denied: there is nobody to ask"),
        "{run:#?}"
    );
    assert!(
        run.stderr.contains("hint: --yes runs it without asking"),
        "{run:#?}"
    );
    assert!(!place.path().join("made").exists());
    // One gate does not open the other.
    set(&place, &json!({"eval": {"requireConfirmation": false}}));
    assert_eq!(place.run(&["eval", "--python", "-e", "1"]).code, Some(1));
    set(&place, &json!({"eval": {"allowNonInteractive": true}}));
    assert_eq!(place.run(&["eval", "--python", "-e", "1"]).good(), "1\n");
}

#[test]
fn failures_have_exit_codes_and_keep_the_output() {
    let place = Place::new();
    for (code, arguments, parts) in [
        (
            1,
            &["--python", "-e", "print('kept')\nraise ValueError('no')"][..],
            &["error: ValueError: no", "line 2, in <module>"][..],
        ),
        (
            124,
            &[
                "--python",
                "--timeout",
                "1",
                "-e",
                "print('kept', flush=True)\nwhile True: pass",
            ],
            &["timed out"],
        ),
        (
            2,
            &["-e", "1"],
            &[
                "the language of the code after -e is not known",
                "--python or --javascript",
            ],
        ),
        (2, &["missing.py"], &["missing.py cannot be read"]),
        (2, &["--python", "-e", "  "], &["is empty"]),
        (
            2,
            &["--python", "--javascript", "-e", "1"],
            &["cannot be used with"],
        ),
    ] {
        let run = place.run(&[&["eval", "--yes"], arguments].concat());
        assert_eq!(run.code, Some(code), "{run:#?}");
        for part in parts {
            assert!(run.stderr.contains(part), "{part}: {run:#?}");
        }
        if code != 2 {
            assert_eq!(run.stdout, "kept\n");
        }
    }
    place.write("script.ts", "1");
    let run = place.run(&["eval", "--yes", "script.ts"]);
    assert!(
        run.stderr.contains("`pirn exec` runs TypeScript"),
        "{run:#?}"
    );
}

#[test]
fn the_state_file_keeps_what_programs_that_succeed_leave() {
    let place = Place::new();
    let count = |more: &str| {
        let code = format!("state['n'] = state.get('n', 0) + 1\n{more}\nstate['n']");
        place.run(&[
            "eval",
            "--yes",
            "--python",
            "--state",
            "state.json",
            "-e",
            &code,
        ])
    };
    assert_eq!(count("").good(), "1\n");
    let failed = count("raise ValueError()");
    assert!(
        failed.stderr.contains("The state is as it was before."),
        "{failed:#?}"
    );
    assert_eq!(count("state['big'] = 2**53 + 1").good(), "2\n");
    assert!(place.read("state.json").contains("9007199254740993"));
    let reset = [
        "eval",
        "--yes",
        "--python",
        "--state",
        "state.json",
        "--reset",
        "-e",
        "len(state)",
    ];
    assert_eq!(place.run(&reset).good(), "0\n");
    place.write("state.json", "{\"another\": \"file\"}");
    let run = count("");
    assert_eq!(run.code, Some(2), "{run:#?}");
    assert_eq!(place.read("state.json"), "{\"another\": \"file\"}");
}

#[test]
fn programs_call_tools_within_what_is_admitted() {
    let place = Place::new();
    place.write("notes.txt", "one\ntwo\n");
    let code = "print(tool.read_text(path='notes.txt', offset=2)['text'], end='')\n\
                tool.run_process(command='echo', args=['run'])['stdout']";
    let run = place.run(&["eval", "--yes", "--python", "-e", code]);
    assert_eq!(run.stdout, "two\nrun\n", "{run:#?}");
    assert!(
        run.stderr.contains("ok read_text") && run.stderr.contains("ok run_process"),
        "{run:#?}"
    );
    let write = "tool.write(path='made', content='x')";
    let run = place.run(&["eval", "--yes", "--python", "-e", write]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("`write` is not admitted in evals")
            && run
                .stderr
                .contains("with --allow of `pirn eval`, or with the setting eval.effects"),
        "{run:#?}"
    );
    let run = place.run(&[
        "eval", "--yes", "--quiet", "--allow", "write", "--python", "-e", write,
    ]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:#?}");
    assert_eq!(place.read("made"), "x");
    // Neither of them can be called inside.
    for name in ["eval", "exec"] {
        let run = place.run(&[
            "eval",
            "--yes",
            "--python",
            "-e",
            &format!("tool.call('{name}', {{}})"),
        ]);
        assert!(
            run.stderr.contains(&format!("there is no tool `{name}`")),
            "{run:#?}"
        );
    }
}

#[test]
fn a_call_that_needs_asking_is_denied_where_nobody_is() {
    let place = Place::new();
    set(&place, &json!({"eval": {"allowNonInteractive": true}}));
    let code = "tool.run_process(command='true')['exitCode']";
    let run = place.run(&["eval", "--python", "-e", code]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(run.stderr.contains("--allow=process allows it"), "{run:#?}");
    let run = place.run(&["eval", "--python", "--allow", "process", "-e", code]);
    assert_eq!(run.good(), "0\n");
}

#[test]
fn javascript_uses_the_projects_packages_and_says_what_of_modules_it_has_not() {
    let place = Place::new();
    place.write(
        "node_modules/common/package.json",
        r#"{"name": "common", "version": "1.0.0", "main": "main.js"}"#,
    );
    place.write(
        "node_modules/common/main.js",
        "module.exports = (text) => `<${text}>`;\n",
    );
    place.write(
        "node_modules/modern/package.json",
        r#"{"name": "modern", "version": "1.0.0", "type": "module", "exports": "./main.js"}"#,
    );
    place.write(
        "node_modules/modern/main.js",
        "export const twice = (n) => 2 * n;\nexport default 'whole';\n",
    );
    place.write("own.cjs", "module.exports = { three: 3 };\n");
    let eval = |code: &str| place.run(&["eval", "--yes", "--javascript", "-e", code]);
    let code = "import whole, { twice } from 'modern';\nconst mark = require('common');\n\
                const later = await import('modern');\n\
                return [whole, twice(4), mark('x'), later.twice(1), require('./own.cjs').three].join(' ');";
    assert_eq!(eval(code).good(), "whole 8 <x> 2 3\n");
    for (code, told) in [
        (
            "export const a = 1;",
            "Unexpected token 'export'; a program is the body of a function: leave export out, and return the value (line 1, column 1)",
        ),
        (
            "import data from './data.json' with { type: 'json' };",
            "for anything else there is await import('PACKAGE')",
        ),
        ("return require('nowhere');", "Cannot find module 'nowhere'"),
        (
            "return process.pid;",
            "instead: const process = require('node:process')",
        ),
    ] {
        let run = eval(code);
        assert_eq!(run.code, Some(1), "{run:#?}");
        assert!(run.stderr.contains(told), "{run:#?}");
    }
    // What has no place in the program leaves no empty lines.
    let run = eval("return tools.reed({ path: 'a' });");
    assert!(
        run.stderr.contains("did you mean `read`?") && !run.stderr.contains("\n\n\n"),
        "{run:#?}"
    );
}

#[test]
fn programs_are_confined() {
    let place = Place::new();
    let outside = place.temp().join("outside");
    let outside = outside.display();
    let code = format!(
        "import os, socket\nseen = []\n\
         try:\n  open('{outside}', 'w')\nexcept OSError as error:\n  seen.append(type(error).__name__)\n\
         try:\n  socket.create_connection(('192.0.2.1', 80), 2)\nexcept OSError as error:\n  seen.append('no network')\n\
         open('inside', 'w').write('x')\nseen"
    );
    let run = place.run(&["eval", "--yes", "--json", "--python", "-e", &code]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    let result = run.json();
    assert!(
        result["value"]
            .as_array()
            .unwrap()
            .contains(&json!("no network")),
        "{result:#}"
    );
    assert_eq!(result["sandbox"]["profile"], "workspace-write");
    assert_eq!(place.read("inside"), "x");
    // Where it could be opened, it was a file of the private temporary folder.
    assert!(!place.temp().join("outside").exists());
}

#[test]
fn the_whole_result_is_one_object() {
    let place = Place::new();
    let code = "console.log('out'); await tool.list_directory({}); return [1]";
    let run = place.run(&["eval", "--yes", "--json", "--javascript", "-e", code]);
    let result = run.json();
    assert_eq!(
        (
            &result["ok"],
            &result["stdout"],
            &result["value"],
            &result["state"]
        ),
        (
            &json!(true),
            &json!("out\n"),
            &json!([1]),
            &json!("committed")
        )
    );
    assert_eq!(result["capabilityInvocations"][0]["name"], "list_directory");
    let run = place.run(&["eval", "--yes", "--json", "--python", "-e", "1/0"]);
    assert_eq!(run.code, Some(1));
    assert_eq!(run.json()["error"]["kind"], "user_error");
}

#[test]
fn without_node_pirns_own_engine_runs_javascript_and_says_so() {
    let place = Place::new();
    place.write("folder/file", "");
    let code = "state.n = 1; return (await tool.list_directory({path: 'folder'})).length";
    let run = place.ended(
        place
            .pirn(&["eval", "--yes", "--javascript", "-e", code])
            .env("PATH", place.temp())
            .output()
            .unwrap(),
    );
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "1\n"),
        "{run:#?}"
    );
    assert!(run.stderr.contains("pirn-vm ran it"), "{run:#?}");
}

#[test]
fn pictures_become_files() {
    const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let place = Place::new();
    let code = format!(
        "import base64\nclass Picture:\n  def _repr_png_(self): return base64.b64decode('{PIXEL}')\ndisplay(Picture())"
    );
    let run = place.run(&[
        "eval",
        "--yes",
        "--output",
        "new/pictures",
        "--python",
        "-e",
        &code,
    ]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert!(run.stderr.contains("new/pictures/eval-1.png"), "{run:#?}");
    let file = std::fs::read(place.path().join("new/pictures/eval-1.png")).unwrap();
    assert!(file.starts_with(b"\x89PNG"));
}

/// The programs in docs/eval.md, each in a folder with two text files.
#[test]
fn programs_of_the_documentation() {
    let place = Place::new();
    place.write("a.txt", "first\n");
    place.write("b.txt", "second\n");
    let page = std::fs::read_to_string(repository("docs/eval.md")).unwrap();
    let mut count = 0;
    for language in ["python", "javascript"] {
        let opening = format!("```{language} eval\n");
        for block in page.split(&opening).skip(1) {
            let program = block.split("```").next().unwrap();
            let run = place.run(&["eval", "--yes", &format!("--{language}"), "-e", program]);
            assert_eq!(run.code, Some(0), "{program}\n{run:#?}");
            assert!(!run.stdout.is_empty(), "{program}\n{run:#?}");
            count += 1;
        }
    }
    assert!(count > 8, "{count}");
}

#[test]
fn a_projects_interpreter_needs_trust_and_a_place_that_commands_cannot_write() {
    let place = Place::new();
    let python = place.path().join(".venv/bin/python");
    std::fs::create_dir_all(python.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("/usr/bin/python3", &python).unwrap();
    let code = "import sys; sys.executable";
    let eval = |flags: &[&str]| {
        place.run(&[&["eval", "--yes", "--python"], flags, &["-e", code]].concat())
    };
    let distrusted = eval(&[]);
    assert_eq!(distrusted.code, Some(0), "{distrusted:#?}");
    assert!(!distrusted.stdout.contains(".venv"), "{distrusted:#?}");
    assert!(
        distrusted.stderr.contains(".venv/bin/python in ")
            && distrusted.stderr.contains("was not loaded"),
        "{distrusted:#?}"
    );
    let trusted = eval(&["--approve"]);
    assert!(trusted.stdout.contains("/.venv/bin/python"), "{trusted:#?}");
    // A program in its place could have been put there by a command.
    std::fs::remove_file(&python).unwrap();
    place.write(".venv/bin/python", "#!/bin/sh\ntouch ran\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&python, mode).unwrap();
    let refused = eval(&["--approve"]);
    assert_eq!(refused.code, Some(1), "{refused:#?}");
    assert!(
        refused
            .stderr
            .contains("where commands can change it, so nothing was run"),
        "{refused:#?}"
    );
}
