//! Confinement of commands, by flags and by answers.

use serde_json::json;

use crate::place::Place;
use crate::session::Session;

/// A script that does what the command does, and fails when it fails.
fn command(command: &str) -> String {
    format!(
        "const done = await tools.bash({});
        if (done.exit_code !== 0) throw new Error(done.output + (done.denied ?? []).join('\\n'));
        return done.output",
        json!({"command": command})
    )
}

#[test]
fn a_command_writes_where_it_may() {
    let place = Place::lasting();
    let outside = place.home().join("x");
    let code = command(&format!("echo a > in; echo b > {}", outside.display()));
    let arguments = |profile: &'static str| {
        ["exec", "--yes", "-q", "--sandbox", profile, "-e", &code].map(str::to_owned)
    };
    let run = |profile: &'static str| {
        let arguments = arguments(profile);
        place.run(&arguments.each_ref().map(String::as_str))
    };
    let refused = run("workspace-write");
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("Sandbox: ") && refused.stderr.contains("sandbox.writeRoots"),
        "{refused:#?}"
    );
    assert_eq!(place.read("in"), "a\n");
    assert!(!outside.exists());
    place.write_settings(&json!({"sandbox": {"writeRoots": [place.home()]}}).to_string());
    assert_eq!(run("workspace-write").code, Some(0));
    std::fs::remove_file(&outside).unwrap();
    std::fs::remove_file(place.path().join("in")).unwrap();
    assert_eq!(run("read-only").code, Some(1));
    assert!(!place.path().join("in").exists());
    assert_eq!(run("off").code, Some(0));
    assert!(outside.exists());
}

#[test]
fn json_tells_the_layers_once() {
    let place = Place::new();
    let code = command("true");
    let run = place.run(&[
        "exec",
        "--yes",
        "-q",
        "--json",
        "--network",
        "off",
        "-e",
        &code,
    ]);
    let sandbox = &run.json()["sandbox"];
    assert_eq!(
        (&sandbox["profile"], &sandbox["network"]),
        (&json!("workspace-write"), &json!("off"))
    );
    assert!(
        sandbox["layers"]
            .as_array()
            .unwrap()
            .contains(&json!("seccomp")),
        "{sandbox}"
    );
    let off = place.run(&[
        "exec",
        "--yes",
        "-q",
        "--json",
        "--sandbox",
        "off",
        "-e",
        &code,
    ]);
    assert_eq!(
        off.json()["sandbox"],
        json!({"profile": "off", "network": "on", "layers": []})
    );
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    let place = Place::new();
    for (flags, words) in [
        (
            &["--sandbox", "off", "--network", "off"][..],
            "needs a sandbox",
        ),
        (
            &["--network", "on", "--allow-host", "a"],
            "only with --network allow-list",
        ),
        (&["--allow-host", "http://a/"], "not a rule for hosts"),
        (
            &["--sandbox", "none"],
            "possible values: off, workspace-write, read-only",
        ),
    ] {
        let mut arguments = vec!["exec"];
        arguments.extend(flags);
        arguments.extend(["-e", "return 1"]);
        let run = place.run(&arguments);
        assert_eq!(run.code, Some(2), "{flags:?}");
        assert!(run.stderr.contains(words), "{run:#?}");
    }
}

/// Asks a proxy of this machine for a page of a host that answers nothing: the proxy's answer is enough.
const FETCH: &str = "curl -sS -o /dev/null -w '%{http_code}' http://refused.invalid/ 2>&1; echo";

#[test]
fn hosts_that_are_not_listed_are_refused() {
    let place = Place::new();
    let code = command(&format!("{FETCH}; false"));
    let run = place.run(&[
        "exec",
        "--yes",
        "-q",
        "--network",
        "allow-list",
        "-e",
        &code,
    ]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("refused.invalid:80"), "{run:#?}");
    assert!(run.stderr.contains("sandbox.allowedHosts"), "{run:#?}");
    assert!(
        run.stderr
            .contains("note: hosts that commands could not reach: refused.invalid:80; "),
        "{run:#?}"
    );
}

#[test]
fn an_answer_about_a_host_is_kept() {
    let place = Place::new();
    place.write_settings("{\n  // Mine\n  \"sandbox\": { \"network\": \"allow-list\" }\n}\n");
    let code = command(FETCH);
    let run = |answer: &str| {
        let mut session = Session::start(&place, &["exec", "--yes", "-q", "-e", &code]);
        session.until("A command wants to reach refused.invalid:80\r\n");
        session.until("Allow? [o]nce, [s]ession, [a]lways, [n]o: ");
        session.answer(answer);
        session.end()
    };
    let settings = || std::fs::read_to_string(place.pirn_home().join("settings.json")).unwrap();
    let before = settings();
    // The host does not exist, so an allowed request fails behind the proxy.
    let (_, output, _) = run("n\n");
    assert_eq!(output.trim(), "403");
    let (_, output, _) = run("o\n");
    assert_ne!(output.trim(), "403");
    assert_eq!(settings(), before);
    let (_, output, _) = run("always\n");
    assert_ne!(output.trim(), "403");
    assert_eq!(
        settings(),
        "{\n  // Mine\n  \"sandbox\": { \"network\": \"allow-list\", \"allowedHosts\": [\"refused.invalid:80\"] }\n}\n"
    );
    let run = place.run(&["exec", "--yes", "-q", "-e", &code]);
    assert_ne!(run.stdout.trim(), "403");
}

#[test]
fn nothing_is_prepared_for_a_script_without_commands() {
    let place = Place::new();
    place.write("a.txt", "A");
    place.write(".env", "secret");
    let code = "const seen = await tools.read({path: 'a.txt'});
        let refused = '';
        try { await tools.read({path: '.env'}); } catch (error) { refused = error.message; }
        return [seen, refused]";
    let run = place.run(&["exec", "-q", "--json", "-e", code]);
    let answer = run.json();
    assert_eq!(answer["value"][0], "A", "{run:#?}");
    let refused = answer["value"][1].as_str().unwrap();
    assert!(
        refused.contains(".env") && refused.contains("sandbox.unreadable"),
        "{refused}"
    );
    assert_eq!(
        answer["sandbox"],
        json!({"profile": "workspace-write", "network": "on", "prepared": false, "layers": []})
    );
    let run = place.run(&["exec", "-q", "--json", "--sandbox", "off", "-e", code]);
    assert_eq!(run.json()["value"][1], "", "{run:#?}");
}
