//! `pirn tools`, `pirn doctor` and `pirn completions`.

use serde_json::{Value, json};

use crate::place::{Place, repository};

#[test]
fn the_name_alone_says_what_it_is_for() {
    let place = Place::new();
    let run = place.run(&[]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(run.stdout.lines().count(), 4, "{run:#?}");
    assert!(
        run.stdout.contains("pirn exec -e ") && run.stdout.contains("pirn help"),
        "{run:#?}"
    );
    let code = "return (await tools.ls({})).length";
    assert!(run.stdout.contains(code));
    place.run(&["exec", "-e", code]).good();
    let help = place.run(&["help"]).good();
    assert_eq!(help, place.run(&["--help"]).good());
    assert!(
        help.starts_with("Runs small programs that use your tools"),
        "{help}"
    );
    assert_eq!(
        place.run(&["help", "exec"]).good(),
        place.run(&["exec", "--help"]).good()
    );
}

#[test]
fn a_script_is_run_by_its_name_and_effects_may_follow_yes() {
    let place = Place::new();
    place.write(
        "made.ts",
        "await tools.write({path: 'x', content: ''}); return 'ran' as string",
    );
    let run = place.run(&["made.ts"]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(run.stderr.contains("--yes=write allows it"), "{run:#?}");
    place.write("plain.mjs", "return 'ran'");
    assert_eq!(place.run(&["plain.mjs"]).good(), "ran\n");
    assert_eq!(
        place
            .run(&["exec", "-q", "--yes", "write", "made.ts"])
            .good(),
        "ran\n"
    );
    assert_eq!(place.run(&["gone.ts"]).code, Some(2));
}

#[test]
fn tools_as_a_table() {
    let place = Place::new();
    let table = place.run(&["tools"]).good();
    let names: Vec<&str> = table
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(
        names,
        ["read", "bash", "edit", "write", "grep", "find", "ls"]
    );
    assert!(
        table
            .lines()
            .nth(1)
            .unwrap()
            .starts_with("bash   read, write, process, network  Run a bash command")
    );
}

#[test]
fn tools_are_searched() {
    let place = Place::new();
    let first = |query: &[&str]| {
        let mut arguments = vec!["tools"];
        arguments.extend(query);
        place
            .run(&arguments)
            .good()
            .split_whitespace()
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(first(&["grep"]), "grep");
    assert_eq!(first(&["run", "command"]), "bash");
    let run = place.run(&["tools", "xylophone"]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (
            Some(1),
            "error: no tool matches `xylophone`\n\nhint: `pirn tools` lists all\n"
        )
    );
}

#[test]
fn tools_as_json() {
    let tools = Place::new().run(&["tools", "--json"]).json();
    let tools = tools.as_array().unwrap();
    assert_eq!(tools.len(), 7);
    for tool in tools {
        let keys: Vec<&str> = tool
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let expected = [
            "name",
            "identifier",
            "description",
            "inputSchema",
            "outputSchema",
            "effects",
            "exposure",
        ];
        assert_eq!(keys, expected, "{tool}");
    }
    let write = tools.iter().find(|tool| tool["name"] == "write").unwrap();
    assert_eq!(
        (&write["effects"], &write["exposure"]),
        (&json!(["read", "write"]), &json!("direct"))
    );
}

#[test]
fn declarations_are_typescript() {
    let place = Place::new();
    let declarations = place.run(&["tools", "--declarations"]).good();
    assert!(
        declarations.starts_with("declare const tools: {\n"),
        "{declarations}"
    );
    // A script may hold them: types vanish.
    place.write("typed.ts", format!("{declarations}\nreturn 'fine'"));
    assert_eq!(place.run(&["exec", "typed.ts"]).good(), "fine\n");
}

#[test]
fn the_doctor_finds_this_machine_well() {
    let place = Place::new();
    let run = place.run(&["doctor", "--json"]);
    let report = run.json();
    assert_eq!(
        (run.code, &report["ok"]),
        (Some(0), &json!(true)),
        "{run:#?}"
    );
    let checks = report["checks"].as_array().unwrap();
    let names: Vec<&str> = checks
        .iter()
        .filter_map(|check| check["name"].as_str())
        .collect();
    let expected = [
        "version",
        "script engine",
        "temporary folder",
        "child processes",
        "bash",
        "git",
        "terminal",
        "PIRN_HOME",
        "settings",
        "confinement",
        "python",
        "node",
        "project trust",
        "MCP servers",
    ];
    assert_eq!(names, expected);
    let levels = checks[9]["levels"].as_array().unwrap();
    let of = |key: &str| {
        levels
            .iter()
            .map(|level| level[key].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(of("level"), ["strict", "standard", "basic"]);
    let text = place.run(&["doctor"]).good();
    for name in names {
        assert!(text.contains(&format!("  {name} ")), "{name}: {text}");
    }
    for level in ["strict    ", "standard  ", "basic     "] {
        assert!(
            text.lines()
                .any(|line| line.trim_start().starts_with(level)),
            "{text}"
        );
    }
}

#[test]
fn the_doctor_has_remedies() {
    let place = Place::new();
    let output = place
        .pirn(&["doctor", "--json"])
        .env("TMPDIR", place.path().join("missing"))
        .env("PATH", place.path())
        .env("PIRN_SHELL", "/no/shell")
        .output()
        .unwrap();
    let run = place.ended(output);
    assert_eq!(run.code, Some(1));
    assert_eq!(
        run.stderr,
        "error: Pirn does not work here: temporary folder, child processes\n"
    );
    let report = run.json();
    let states: Vec<(&str, &str, bool)> = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| {
            (
                check["name"].as_str().unwrap(),
                check["status"].as_str().unwrap(),
                check["remedy"].is_string(),
            )
        })
        .filter(|(_, status, _)| *status != "ok")
        .collect();
    let expected = [
        ("temporary folder", "failed", true),
        ("child processes", "failed", true),
        ("bash", "warning", true),
        ("git", "warning", true),
        ("confinement", "warning", true),
        ("python", "warning", true),
        ("node", "warning", true),
    ];
    assert_eq!(states, expected);
}

#[test]
fn variables_move_things() {
    let place = Place::new();
    let shell = place.write("shell", "#!/bin/sh\necho own shell\n");
    assert!(
        place
            .program("chmod")
            .arg("+x")
            .arg(&shell)
            .status()
            .unwrap()
            .success()
    );
    let code = "return (await tools.bash({command: 'true'})).output";
    let output = place
        .pirn(&["exec", "-q", "--yes", "-e", code])
        .env("PIRN_SHELL", &shell)
        .output()
        .unwrap();
    assert_eq!(place.ended(output).good(), "own shell\n");
    let output = place
        .pirn(&["doctor", "--json"])
        .env("PIRN_HOME", "/elsewhere")
        .output()
        .unwrap();
    let report: Value = place.ended(output).json();
    let home = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["name"] == "PIRN_HOME")
        .unwrap();
    assert_eq!(home["text"], "/elsewhere, which does not exist yet");
}

#[test]
fn completions_name_the_commands() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = place.run(&["completions", shell]).good();
        for word in ["exec", "doctor", "max-output-tokens"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let script = place.write(
        "completion.bash",
        place.run(&["completions", "bash"]).good(),
    );
    assert!(
        place
            .program("bash")
            .arg("-n")
            .arg(script)
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn the_manual_names_no_flag_that_is_gone() {
    let help = Place::new().run(&["exec", "--help"]).good();
    for file in ["README.md", "docs/scripting.md", "Makefile"] {
        let text = std::fs::read_to_string(repository(file)).unwrap();
        for line in text.lines().filter(|line| line.contains("pirn exec")) {
            for flag in line
                .split_whitespace()
                .filter(|word| word.starts_with("--"))
            {
                let flag = flag
                    .split('=')
                    .next()
                    .unwrap_or(flag)
                    .trim_end_matches(['`', ',', '.']);
                assert!(help.contains(flag), "{file}: {line}");
            }
        }
    }
}
