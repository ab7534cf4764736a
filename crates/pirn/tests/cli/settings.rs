//! Settings in files, and flags that win over them.

use crate::place::Place;

const COMMAND: &str = "return (await tools.bash({command: 'true'})).sandbox ?? 'none'";

/// What a run says about its confinement, and what it says to people.
fn confinement(place: &Place, flags: &[&str]) -> (String, String) {
    let mut arguments = vec!["exec", "--yes", "-q", "--json"];
    arguments.extend(flags);
    arguments.extend(["-e", COMMAND]);
    let run = place.run(&arguments);
    if run.code != Some(0) {
        return (format!("exit code {:?}", run.code), run.stderr);
    }
    let sandbox = &run.json()["sandbox"];
    let words = ["profile", "network"].map(|key| sandbox[key].as_str().unwrap().to_owned());
    (words.join(" "), run.stderr)
}

#[test]
fn flags_win_over_settings() {
    let place = Place::new();
    let check = |flags: &[&str], expected: &str| {
        let (found, said) = confinement(&place, flags);
        let bare = "note: commands run without confinement, with all your rights: --sandbox off or the setting \
                    sandbox.profile says so\n";
        let note = if expected.starts_with("off") {
            bare
        } else {
            ""
        };
        assert_eq!(
            (found.as_str(), said.as_str()),
            (expected, note),
            "{flags:?}"
        );
    };
    check(&[], "workspace-write on");
    check(&["--sandbox", "off"], "off on");
    place.write_settings(
        "{\n  // Careful\n  \"sandbox\": {\"profile\": \"read-only\", \"network\": \"off\",},\n}",
    );
    check(&[], "read-only off");
    check(&["--sandbox", "workspace-write"], "workspace-write off");
    check(&["--network", "on"], "read-only on");
    let (_, said) = confinement(&place, &["--sandbox", "off", "--network", "allow-list"]);
    assert!(
        said.starts_with("error: --network: sandbox.network: allow-list needs a sandbox, and it is off (flag --sandbox)"),
        "{said}"
    );
    let (_, said) = confinement(&place, &["--sandbox", "off"]);
    assert!(
        said.starts_with("note: [PLACE]/home/.pirn/settings.json:3: sandbox.network: off, but nothing keeps commands from the network"),
        "{said}"
    );
}

#[test]
fn scripts_have_the_limits_of_the_settings() {
    let place = Place::new();
    place.write_settings("{\"codemode\": {\"callsMax\": 1, \"timeoutSeconds\": 1}}");
    let calls = "await tools.ls({}); return await tools.ls({}).then(() => 'made', () => 'refused')";
    assert_eq!(
        place.run(&["exec", "-q", "-e", calls]).good().trim(),
        "refused"
    );
    let waits = "await new Promise((done) => setTimeout(done, 100_000))";
    assert_eq!(place.run(&["exec", "-q", "-e", waits]).code, Some(124));
    let flags = ["exec", "-q", "--timeout-ms", "60000", "-e"];
    let short = "await new Promise((done) => setTimeout(done, 1_200)); return 'ended'";
    let run = place.run(&[&flags[..], &[short]].concat());
    assert_eq!(run.good().trim(), "ended", "flags win");
}

#[test]
fn wrong_settings_stop_everything() {
    let place = Place::new();
    place.write_settings("{\"sandbox\": {\n\"network\": \"none\"}}");
    let run = place.run(&["exec", "-e", "return 1"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert!(
        run.stderr.starts_with(
            "error: [PLACE]/home/.pirn/settings.json:2: sandbox.network: must be \"off\", \"allow-list\" or \"on\"\n"
        ),
        "{run:#?}"
    );
    let doctor = place.run(&["doctor"]).good();
    assert!(doctor.contains("warning  settings "), "{doctor}");
    place.write_settings("{\"sandbx\": {}}");
    let run = place.run(&["exec", "-e", "return 1"]);
    assert_eq!(run.code, Some(0));
    assert_eq!(
        run.stderr,
        "note: [PLACE]/home/.pirn/settings.json:1: sandbx: is not a setting and is ignored; did you mean sandbox?\n"
    );
}

#[test]
fn a_project_counts_when_it_is_trusted_and_only_stricter() {
    let place = Place::new();
    place.write(
        ".pirn/settings.json",
        "{\"sandbox\": {\"profile\": \"off\", \"network\": \"off\"}}",
    );
    let (found, said) = confinement(&place, &[]);
    assert_eq!(found, "workspace-write on");
    assert!(
        said.contains(".pirn/settings.json in [PLACE]/project was not loaded"),
        "{said}"
    );
    let (found, said) = confinement(&place, &["--approve"]);
    assert_eq!(found, "workspace-write off");
    assert_eq!(
        said,
        "note: [PLACE]/project/.pirn/settings.json:1: sandbox.profile: is ignored: it is weaker than your own settings, and a \
         project can only make them stricter\n"
    );
}
