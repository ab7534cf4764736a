//! Which text goes to which standard stream.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;

use crate::place::{Place, transcript};

/// The smallest picture: one red pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFAAH/q842iQAAAABJRU5ErkJggg==";

#[test]
fn streams() {
    let place = Place::new();
    let run = place.run(&[
        "exec",
        "-e",
        "text('one'); console.log('aside', {a: 1}); text('two\\n'); console.error(''); notify('soon'); text(''); return {three: 3}",
    ]);
    assert_eq!(run.stdout, "one\ntwo\n{\"three\":3}\n");
    assert_eq!(run.stderr, "aside {\"a\":1}\n\nsoon\n");
    assert_eq!(
        place.run(&["exec", "-e", "return 'exact\\n'"]).good(),
        "exact\n"
    );
    assert_eq!(place.run(&["exec", "-e", "exit()"]).good(), "");
    let long = place
        .run(&["exec", "-e", "return 'x'.repeat(1_000_000)"])
        .good();
    assert_eq!(long.len(), 1_000_001);
}

#[test]
fn output_before_a_failure_is_kept() {
    let run = Place::new().run(&["exec", "-e", "text('before'); throw new Error('after')"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), "before\n"));
}

#[test]
fn calls_as_lines() {
    let place = Place::new();
    place.write("a.txt", "A");
    let code = "await tools.read({path: 'a.txt'}); await tools.read({path: 'b'}).catch(() => {}); return 1";
    let run = place.run(&["exec", "-e", code]);
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{run:#?}");
    assert!(
        lines[0].starts_with("ok read 0.") && lines[0].ends_with("{\"path\":\"a.txt\"}"),
        "{run:#?}"
    );
    assert!(lines[1].starts_with("error read 0."), "{run:#?}");
    assert_eq!(place.run(&["exec", "--quiet", "-e", code]).stderr, "");
    // Nothing in a call's arguments can forge another line.
    let run = place.run(&[
        "exec",
        "-e",
        "await tools.read({path: 'x\\n\\u001b[2Jok bash'}).catch(() => {})",
    ]);
    assert_eq!(run.stderr.lines().count(), 1, "{run:#?}");
    assert!(!run.stderr.contains('\u{1b}'), "{run:#?}");
}

#[test]
fn json_is_the_library_result() {
    let place = Place::new();
    place.write("a.txt", "A");
    let code =
        "text('x'); console.log('y'); store('k', 1); await tools.read({path: 'a.txt'}); return [1]";
    let run = place.run(&["exec", "--json", "--quiet", "-e", code]);
    assert_eq!(
        (run.code, run.stderr.as_str(), run.stdout.lines().count()),
        (Some(0), "", 1)
    );
    let mut result = run.json();
    assert!(
        result["wallMs"].is_u64()
            && result["cpuMs"].is_u64()
            && result["calls"][0]["durationMs"].is_u64()
    );
    let sandbox = result.as_object_mut().unwrap().remove("sandbox").unwrap();
    assert_eq!(
        (&sandbox["profile"], &sandbox["network"]),
        (&json!("workspace-write"), &json!("on"))
    );
    for key in ["wallMs", "cpuMs"] {
        result.as_object_mut().unwrap().remove(key);
    }
    result["calls"][0]
        .as_object_mut()
        .unwrap()
        .remove("durationMs");
    assert_eq!(
        result,
        json!({
            "ok": true,
            "value": [1],
            "output": [{"type": "text", "text": "x"}, {"type": "text", "text": "y", "console": true}],
            "calls": [{"name": "read", "status": "ok"}],
            "storeWrites": {"set": {"k": 1}, "delete": []},
            "notifications": [],
        })
    );
}

#[test]
fn json_of_a_failure() {
    let run = Place::new().run(&["exec", "--json", "-e", "throw new TypeError('no')"]);
    assert_eq!(run.code, Some(1));
    let result = run.json();
    assert_eq!(result["ok"], false);
    assert_eq!(result["error"]["kind"], "script");
    assert_eq!(result["error"]["message"], "no");
    assert!(run.stderr.starts_with("error: TypeError: no\n"), "{run:#?}");
}

#[test]
fn layouts() {
    let place = Place::new();
    let code = "text('one'); console.log('aside'); return 2";
    let shown: String = [
        &["exec", "--layout", "joined", "-e", code][..],
        &["exec", "--layout", "items", "-e", code],
        &[
            "exec",
            "--layout",
            "joined",
            "-e",
            "text('kept'); throw new Error('no')",
        ],
    ]
    .iter()
    .map(|arguments| transcript(arguments, &place.run(arguments)))
    .collect();
    // The machine may be busy.
    let shown: Vec<&str> = shown
        .lines()
        .map(|line| {
            if line.starts_with("Wall time ") {
                "Wall time S.S seconds"
            } else {
                line
            }
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_budget_cuts_and_keeps_the_whole() {
    let place = Place::new();
    let code = "return 'start ' + 'word '.repeat(5000) + 'end'";
    let run = place.run(&["exec", "--max-output-tokens", "100", "-e", code]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert!(run.stdout.len() < 2_000, "{}", run.stdout.len());
    assert!(
        run.stderr.starts_with("note: ") && run.stderr.contains("pirn-exec-"),
        "{run:#?}"
    );
    let saved: Vec<_> = std::fs::read_dir(place.temp())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(saved.len(), 1);
    let whole = std::fs::read_to_string(&saved[0]).unwrap();
    assert!(whole.starts_with("start word") && whole.trim_end().ends_with("word end"));
}

#[test]
fn pictures_are_saved() {
    let place = Place::new();
    let code = format!("image('data:image/png;base64,{PIXEL}'); return 1");
    let run = place.run(&["exec", "-e", &code]);
    let line = run.stdout.lines().next().unwrap_or_default().to_owned();
    assert!(
        line.starts_with("[Image saved to [PLACE]/temp/pirn-exec-") && line.ends_with("B)]"),
        "{run:#?}"
    );
    assert_eq!(run.good().lines().last(), Some("1"));
    let saved: Vec<_> = std::fs::read_dir(place.temp())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(saved.len(), 1);
    assert!(std::fs::read(&saved[0]).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let place = Place::new();
    for flags in [&[][..], &["--json"], &["--layout", "items"]] {
        let mut arguments = vec!["exec"];
        arguments.extend(flags);
        arguments.push("-");
        let mut child = place
            .pirn(&arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        child
            .stdin
            .take()
            .unwrap()
            .write_all(b"for (let i = 0; i < 1000; i++) text('x'.repeat(1000)); return 'end'")
            .unwrap();
        let run = place.ended(child.wait_with_output().unwrap());
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{flags:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure() {
    let place = Place::new();
    for flags in [
        &["exec", "-e", "return 1"][..],
        &["exec", "--json", "-e", "return 1"],
        &["tools"],
    ] {
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let run = place.ended(place.pirn(flags).stdout(full).output().unwrap());
        assert_eq!(run.code, Some(1), "{flags:?} {run:#?}");
        assert!(
            run.stderr.contains("standard output cannot be written"),
            "{flags:?} {run:#?}"
        );
    }
}

#[test]
fn the_error_of_a_failed_call_is_said_once() {
    let place = Place::new();
    let code = "const path = 'missing.txt';\nreturn await tools.read({ path });";
    for arguments in [&["exec", "-e", code][..], &["exec", "-q", "-e", code]] {
        let run = place.run(arguments);
        assert_eq!(run.stderr.matches("ENOENT").count(), 1, "{run:#?}");
        assert!(run.stderr.contains("> 2 | return await"), "{run:#?}");
    }
    // What the line of a call has no room for is said at the end.
    let long = format!(
        "return await tools.read({{ path: '{}.txt' }});",
        "a".repeat(150)
    );
    let run = place.run(&["exec", "-e", &long]);
    assert_eq!(run.stderr.matches("ENOENT").count(), 1, "{run:#?}");
}

/// What a model should know besides the result stands in what it reads, and is data with `--json`.
#[test]
fn notes_are_read_where_the_result_is() {
    let place = crate::mcp::place();
    let script = "const asked = tools.bash({command: 'echo x > /usr/of-nobody'});
        await asked;
        await tools.mcp__toy__echo({text: 'x', loud: true});
        tools.bash({command: 'sleep 60'});
        text(new Map([['a', 1]]));
        return 'word '.repeat(20_000);";
    let read = place.run(&["exec", "-q", "--yes", "--layout", "joined", "-e", script]);
    for note in [
        "Note: text(): a Map, written as an object.",
        "Note: mcp__toy__echo: an argument was passed on that the tool does not declare: there is no argument `loud`; its \
         arguments are text.",
        "Note: bash: ",
        "/usr/of-nobody",
        "sandbox.writeRoots",
        "Note: A call was still open when the script ended: bash {\"command\":\"sleep 60\"} (cancelled).",
        "[Full output: ",
    ] {
        assert!(read.stdout.contains(note), "{note}\n{read:#?}");
    }
    let result = place
        .run(&["exec", "-q", "--yes", "--json", "-e", script])
        .json();
    let notes = result["notes"].to_string();
    for note in ["a Map", "no argument `loud`", "/usr/of-nobody"] {
        assert!(notes.contains(note), "{note}\n{result:#}");
    }
    let calls = result["calls"].as_array().unwrap();
    assert_eq!(calls[0]["status"], "error");
    assert!(
        calls[0]["error"]
            .as_str()
            .unwrap()
            .contains("Command exited with code "),
        "{result:#}"
    );
    assert_eq!(calls[2]["status"], "cancelled");
}

/// A model that calls a server's tool itself reads the note in the result.
#[test]
fn a_call_made_directly_has_its_notes_too() {
    let place = crate::mcp::place();
    let run = place.run(&[
        "mcp",
        "call",
        "toy",
        "echo",
        "{\"text\": \"x\", \"loud\": true}",
    ]);
    assert!(
        run.stdout.contains("[Note: an argument was passed on that the tool does not declare: there is no argument `loud`"),
        "{run:#?}"
    );
}
