//! `pirn config`, with files that have comments.

use crate::place::Place;

#[test]
fn values_are_listed_with_where_they_come_from() {
    let place = Place::new();
    place.write_settings("{\n  \"sandbox\": {\n    \"network\": \"off\"\n  }\n}");
    let list = place.run(&["config", "list"]).good();
    let row = |key: &str| {
        let row = list.lines().find(|line| line.starts_with(key)).unwrap();
        row.split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .collect::<Vec<_>>()
            .join(" | ")
    };
    assert_eq!(
        row("sandbox.network"),
        "sandbox.network | off | user [PLACE]/home/.pirn/settings.json:3"
    );
    assert_eq!(row("sandbox.require"), "sandbox.require | - | default");
    assert_eq!(
        row("eval.timeoutSeconds"),
        "eval.timeoutSeconds | 30 | default"
    );
    let all = place.run(&["config", "list", "--json"]);
    let network = all
        .json()
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["key"] == "sandbox.network")
        .cloned()
        .unwrap();
    assert_eq!(network["value"], "off");
    assert_eq!(network["default"], "on");
    assert_eq!(network["sources"][0]["from"], "user");
    assert_eq!(network["sources"][0]["line"], 3);
    assert_eq!(
        place.run(&["config", "get", "sandbox.network"]).good(),
        "off\n"
    );
    assert_eq!(
        place.run(&["config", "get", "eval.effects"]).good(),
        "[\"read\",\"process\"]\n"
    );
}

#[test]
fn a_variable_that_stands_for_a_setting_is_a_source() {
    let place = Place::new();
    place.write_settings("{\"bash\": {\"shell\": \"/bin/dash\"}}");
    let run = |arguments: &[&str], shell: &str| {
        let mut pirn = place.pirn(arguments);
        pirn.env("PIRN_SHELL", shell);
        place.ended(pirn.output().unwrap())
    };
    let list = run(&["config", "list"], "/bin/sh").good();
    let row = list.lines().find(|line| line.starts_with("bash.shell"));
    let cells: Vec<&str> = row.unwrap().split_whitespace().collect();
    assert_eq!(
        cells,
        ["bash.shell", "/bin/sh", "environment", "PIRN_SHELL"]
    );
    let shell = run(&["config", "get", "bash.shell", "--json"], "/bin/sh").json();
    assert_eq!(shell["value"], "/bin/sh");
    assert_eq!(
        shell["sources"],
        serde_json::json!([{"from": "environment", "name": "PIRN_SHELL"}])
    );
    let wrong = run(&["config", "list"], " ");
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong
            .stderr
            .starts_with("error: PIRN_SHELL: bash.shell: must be a path or a name"),
        "{wrong:#?}"
    );
    let doctor = run(&["doctor"], "/no/shell");
    assert!(
        doctor
            .stdout
            .contains("/no/shell was not found, from bash.shell (environment PIRN_SHELL)"),
        "{doctor:#?}"
    );
}

#[test]
fn a_change_keeps_comments_and_wrong_values_are_refused() {
    let place = Place::new();
    place.write_settings("{\n  // Careful\n  \"sandbox\": {\"network\": \"off\"},\n}\n");
    let run = place.run(&["config", "set", "sandbox.network", "allow-list"]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (
            Some(0),
            "note: sandbox.network is set in [PLACE]/home/.pirn/settings.json\n"
        )
    );
    place
        .run(&[
            "config",
            "set",
            "sandbox.allowedHosts",
            "a.example",
            "b.example:443",
        ])
        .good();
    let text = || std::fs::read_to_string(place.pirn_home().join("settings.json")).unwrap();
    assert_eq!(
        text(),
        "{\n  // Careful\n  \"sandbox\": {\"network\": \"allow-list\", \"allowedHosts\": [\"a.example\", \"b.example:443\"]},\n}\n"
    );
    place
        .run(&["config", "unset", "sandbox.allowedHosts"])
        .good();
    assert_eq!(
        text(),
        "{\n  // Careful\n  \"sandbox\": {\"network\": \"allow-list\"},\n}\n"
    );
    let before = text();
    let refused = |arguments: &[&str], expected: &str| {
        let run = place.run(arguments);
        assert_eq!(run.code, Some(2), "{run:#?}");
        assert!(run.stderr.contains(expected), "{run:#?}");
    };
    refused(
        &["config", "set", "sandbox.network", "onn"],
        "sandbox.network: must be \"off\", \"allow-list\" or \"on\"; did you mean \"on\"?",
    );
    refused(
        &["config", "set", "sandbox.netwrok", "on"],
        "error: there is no setting `sandbox.netwrok`\n\nhint: did you mean `sandbox.network`?",
    );
    refused(
        &["config", "get", "colour"],
        "hint: `pirn config list` shows all",
    );
    assert_eq!(text(), before);
}

#[test]
fn a_projects_file_is_written_where_it_makes_things_stricter() {
    let place = Place::new();
    let path = place.run(&["config", "path", "--project"]).good();
    assert_eq!(path, "[PLACE]/project/.pirn/settings.json\n");
    let run = place.run(&["config", "set", "--project", "sandbox.profile", "off"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr
            .contains("sandbox.profile: is ignored: it is weaker than your own settings"),
        "{run:#?}"
    );
    let run = place.run(&["config", "set", "--project", "sandbox.network", "off"]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (
            Some(0),
            "note: sandbox.network is set in [PLACE]/project/.pirn/settings.json\n\
             note: the project's file counts when the project is trusted; `pirn trust` decides\n"
        )
    );
    assert_eq!(
        place.run(&["config", "get", "sandbox.network"]).stdout,
        "on\n"
    );
    place.run(&["trust", "--yes"]).good();
    assert_eq!(
        place.run(&["config", "get", "sandbox.network"]).good(),
        "off\n"
    );
}

#[cfg(unix)]
#[test]
fn an_editor_is_opened_and_what_it_left_is_checked() {
    let place = Place::new();
    let edit =
        |word: &str| {
            let script = place.write("editor.sh", format!(
            "#!/bin/sh\nprintf '%s' '{{\"sandbox\": {{\"network\": \"{word}\"}}}}' > \"$2\"\n"
        ));
            let mut pirn = place.pirn(&["config", "edit"]);
            pirn.env("EDITOR", format!("sh {} --wait", script.display()));
            place.ended(pirn.output().unwrap())
        };
    assert_eq!(edit("off").code, Some(0));
    assert_eq!(
        place.run(&["config", "get", "sandbox.network"]).good(),
        "off\n"
    );
    let run = edit("none");
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr
            .contains("settings.json:1: sandbox.network: must be"),
        "{run:#?}"
    );
}

#[test]
fn the_setting_decides_about_projects_nobody_decided_about() {
    let place = Place::new();
    place.write(
        ".pirn/settings.json",
        "{\"sandbox\": {\"network\": \"off\"}, \"defaultProjectTrust\": \"always\"}",
    );
    let network = || place.run(&["config", "get", "sandbox.network"]).stdout;
    // What a project says about itself does not count.
    assert_eq!(network(), "on\n");
    place
        .run(&["config", "set", "defaultProjectTrust", "always"])
        .good();
    assert_eq!(network(), "off\n");
    let show = place.run(&["trust", "--show"]).good();
    assert!(
        show.starts_with("[PLACE]/project: trusted, by the setting defaultProjectTrust\n"),
        "{show}"
    );
    place
        .run(&["config", "set", "defaultProjectTrust", "never"])
        .good();
    assert_eq!(network(), "on\n");
}
