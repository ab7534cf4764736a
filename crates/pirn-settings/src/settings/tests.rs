use std::path::Path;

use pirn_sandbox::{Level, NetworkMode, Profile};
use serde_json::Value;

use super::{Loaded, Paths, read};
use crate::rows::{Form, Kind, ROWS};
use crate::values::Settings;

/// What both files give, and what is said about them, with `U` and `P` for the files.
fn loaded(user: &str, project: &str) -> (Settings, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["U", "P"].map(|name| folder.path().join(name));
    for (path, text) in paths.iter().zip([user, project]) {
        if !text.is_empty() {
            std::fs::write(path, text).unwrap();
        }
    }
    let [user, project] = &paths;
    let Loaded {
        settings, problems, ..
    } = read(
        Some(user),
        Some(project),
        &Paths {
            home: Some(Path::new("/home/me")),
            folder: Path::new("/srv/project"),
        },
    );
    let prefix = format!("{}/", folder.path().display());
    let said = problems
        .iter()
        .map(|problem| format!("{} {problem}", problem.severity.as_str()).replace(&prefix, ""));
    (settings, said.collect())
}

/// A file with one setting.
fn written(key: &str, value: &str) -> String {
    key.rsplit('.').fold(value.to_owned(), |value, name| {
        format!("{{\"{name}\": {value}}}")
    })
}

/// What is said about one value of the user's, if anything.
#[track_caller]
fn check_said(text: &str, expected: &[&str]) {
    let (_, said) = loaded(text, "");
    assert_eq!(said, expected, "{text}");
}

#[test]
fn values_count() {
    let user = r#"{
      // A comment
      "$schema": "x",
      "defaultProjectTrust": "never",
      "sandbox": {
        "profile": "read-only", "network": "allow-list", "require": "standard", "writeRoots": ["~/cache", "/srv/out"],
        "readable": "listed", "readRoots": ["/opt"], "unreadable": ["...", "**/*.pem"],
        "unwritable": ["**/.x"], "homeReadable": ["~/.x"], "environment": ["A_KEY"], "filesMax": 5000, "placesMax": 500,
        "allowedHosts": ["a.example:443"],
        "deniedHosts": ["*.b.example"], "privateNetworks": true, "memoryMb": 512, "processes": 64,
      },
      "codemode": {"memoryMb": 64, "memoryTotalMb": 512, "cpuSeconds": 5, "timeoutSeconds": 60, "callsInFlight": 8,
        "callsMax": 100, "cellsMax": 4, "mode": "only", "inlineBudget": 500,
        "sourceKb": 500, "stackKb": 512, "outputCharacters": 5000, "outputItems": 50, "callMb": 8, "resultsMb": 64, "storeValueCharacters": 1000, "storeCharacters": 2000},
      "tui": {"mode": "plain"},
      "bash": {"shell": "/bin/dash", "timeoutSeconds": 30},
      "eval": {
        "python": "python3.12", "node": "/opt/node", "engine": "persistent", "allowNonInteractive": true,
        "requireConfirmation": false, "rememberApprovals": true, "effects": ["read"], "network": "on", "timeoutSeconds": 60
      }
    }"#;
    let (settings, said) = loaded(user, "");
    assert_eq!(said, Vec::<String>::new());
    let sandbox = &settings.sandbox;
    assert_eq!(sandbox.profile, Profile::ReadOnly);
    assert_eq!(sandbox.network, NetworkMode::AllowList);
    assert_eq!(sandbox.require, Some(Level::Standard));
    assert_eq!(
        sandbox.write_roots,
        [Path::new("/home/me/cache"), Path::new("/srv/out")]
    );
    assert_eq!(sandbox.memory_mb, Some(512));
    assert_eq!(settings.eval.python.as_deref(), Some("python3.12"));
    // Every key was given: nothing is as it is by default.
    let (defaults, _) = loaded("", "");
    assert_eq!(defaults, Settings::default());
    let given: Value =
        serde_json::from_str(&user.replace("// A comment", "").replace("64,\n", "64\n")).unwrap();
    for row in ROWS {
        let value = row.key.split('.').fold(&given, |value, name| &value[name]);
        assert!(!value.is_null(), "{} is not tried", row.key);
        let without = written(row.key, &value.to_string());
        assert_ne!(loaded(&without, "").0, Settings::default(), "{}", row.key);
    }
}

#[test]
fn defaults_are_as_documented() {
    for row in ROWS {
        let (settings, said) = loaded(&written(row.key, row.default), "");
        assert_eq!(
            row.value(&settings).to_string(),
            row.default.replace(", ", ",")
        );
        assert_eq!(
            (settings, said),
            (Settings::default(), Vec::new()),
            "{}",
            row.key
        );
    }
}

#[test]
fn every_word_is_understood() {
    for row in ROWS {
        let (Kind::Word(words, ..) | Kind::Texts(Form::Word(words), _)) = row.kind else {
            continue;
        };
        for word in words {
            let value = match row.kind {
                Kind::Word(..) => format!("\"{word}\""),
                _ => format!("[\"{word}\"]"),
            };
            check_said(&written(row.key, &value), &[]);
        }
    }
    let all = |names: &[&str], key: &str| {
        let row = ROWS.iter().find(|row| row.key == key).unwrap();
        let Kind::Word(words, ..) = row.kind else {
            panic!("{key}");
        };
        let (mut words, mut names) = (words.to_vec(), names.to_vec());
        words.sort_unstable();
        names.sort_unstable();
        assert_eq!(words, names);
    };
    all(&Profile::ALL.map(Profile::as_str), "sandbox.profile");
    all(
        &NetworkMode::ALL.map(NetworkMode::as_str),
        "sandbox.network",
    );
    all(&NetworkMode::ALL.map(NetworkMode::as_str), "eval.network");
    all(&Level::ALL.map(Level::as_str), "sandbox.require");
}

#[test]
fn what_is_wrong_is_named() {
    check_said("", &[]);
    check_said("// nothing yet", &[]);
    check_said(
        "[]",
        &["error U:1: must hold an object: {\"sandbox\": {…}}"],
    );
    check_said(
        "{\n  \"sandbox\": 1\n}",
        &["error U:2: sandbox: must be an object"],
    );
    check_said(
        "{\"sandbox\": {\n\"profile\": \"none\"}}",
        &["error U:2: sandbox.profile: must be \"off\", \"workspace-write\" or \"read-only\""],
    );
    check_said(
        "{\"sandbox\": {\"processes\": 1.5}}",
        &["error U:1: sandbox.processes: must be a whole number from 8 to 4194304"],
    );
    check_said(
        "{\"eval\": {\"timeoutSeconds\": 121, \"engine\": 1}}",
        &[
            "error U:1: eval.timeoutSeconds: must be a whole number from 1 to 120",
            "error U:1: eval.engine: must be \"fresh\" or \"persistent\"",
        ],
    );
    check_said(
        "{\"sandbox\": {\"allowedHosts\": [\"https://a/\"], \"writeRoots\": [\"x\"], \"readRoots\": [\"/a/../b\"]}}",
        &[
            "error U:1: sandbox.allowedHosts: `https://a/` is not a rule for hosts: it is a host with an optional port, without \
             scheme and path",
            "error U:1: sandbox.writeRoots: \"x\" must be absolute or begin with ~/",
            "error U:1: sandbox.readRoots: \"/a/../b\" must be written without ..",
        ],
    );
    check_said(
        "{\"sandbox\": {\"require\": \"min\"}}",
        &["note U:1: sandbox.require: \"min\" is called \"strict\" now"],
    );
    check_said(
        "{\"sandbox\": {\"profil\": 1, \"rememberApprovals\": 1, \"x\": 1}, \"sandbox.profile\": 1, \"evla\": 1, \"theme\": 1}",
        &[
            "note U:1: sandbox.profil: is not a setting and is ignored; did you mean sandbox.profile?",
            "note U:1: sandbox.rememberApprovals: is not a setting and is ignored; did you mean eval.rememberApprovals?",
            "note U:1: sandbox.x: is not a setting and is ignored",
            "note U:1: sandbox.profile: is not a setting here; it is written {\"sandbox\": {\"profile\": …}}",
            "note U:1: evla: is not a setting and is ignored; did you mean eval?",
            "note U:1: theme: is not a setting and is ignored",
        ],
    );
    check_said(
        "{\"sandbox\": {\"network\": \"off\",\n\"network\": \"on\"}}",
        &["error U:2: sandbox.network: is given twice; line 1 has it already"],
    );
}

/// A setting in the user's file, the same in the project's, and what counts then; `!` where something is left out.
const PROJECT: &str = r#"
defaultProjectTrust     | null                | "always"            | "ask" !
sandbox.profile         | null                | "read-only"         | "read-only"
sandbox.profile         | null                | "off"               | "workspace-write" !
sandbox.profile         | "off"               | "off"               | "off"
sandbox.network         | null                | "allow-list"        | "allow-list"
sandbox.network         | "off"               | "on"                | "off" !
sandbox.require         | null                | "strict"            | "strict"
sandbox.require         | "standard"          | "basic"             | "standard" !
sandbox.writeRoots      | ["/srv/a"]          | ["/srv/a/b", "/x"]  | ["/srv/a/b"] !
sandbox.writeRoots      | ["/srv/a"]          | []                  | []
sandbox.writeRoots      | null                | ["out"]             | [] !
sandbox.readable        | null                | "listed"            | "listed"
sandbox.readable        | "listed"            | "everything"        | "listed" !
sandbox.readRoots       | null                | ["/opt"]            | ["/opt"]
sandbox.unreadable      | null                | ["/srv/x"]          | ["...", "/srv/x"]
sandbox.unreadable      | ["/a"]              | ["..."]             | ["/a", "..."]
sandbox.unwritable      | null                | ["**/x"]            | ["...", "**/x"]
sandbox.homeReadable    | null                | ["~/.x"]            | ["..."] !
sandbox.environment     | null                | ["A_KEY"]           | [] !
sandbox.filesMax        | null                | 5000                | 2000000 !
sandbox.placesMax       | null                | 500                 | 20000 !
sandbox.allowedHosts    | ["a", "b"]          | ["b", "c"]          | ["b"] !
sandbox.deniedHosts     | ["a"]               | ["b"]               | ["a", "b"]
sandbox.privateNetworks | null                | true                | false !
sandbox.privateNetworks | true                | false               | false
sandbox.memoryMb        | null                | 100                 | 100
sandbox.memoryMb        | 100                 | 200                 | 100 !
sandbox.processes       | null                | 100                 | 100
sandbox.processes       | null                | 5000                | 4096 !
codemode.memoryMb       | null                | 255                 | 255
codemode.memoryMb       | null                | 257                 | 256 !
codemode.memoryTotalMb  | null                | 1023                | 1023
codemode.memoryTotalMb  | null                | 1025                | 1024 !
codemode.cpuSeconds     | null                | 59                  | 59
codemode.cpuSeconds     | null                | 61                  | 60 !
codemode.timeoutSeconds | null                | 1799                | 1799
codemode.timeoutSeconds | null                | 1801                | 1800 !
codemode.callsInFlight  | null                | 63                  | 63
codemode.callsInFlight  | null                | 65                  | 64 !
codemode.callsMax       | null                | 99999               | 99999
codemode.callsMax       | null                | 100001              | 100000 !
codemode.cellsMax       | null                | 127                 | 127
codemode.cellsMax       | null                | 129                 | 128 !
codemode.mode           | "only"              | "off"               | "off"
codemode.inlineBudget   | 500                 | 4000                | 4000
codemode.sourceKb       | null                | 1023                | 1023
codemode.sourceKb       | null                | 1025                | 1024 !
codemode.stackKb        | null                | 1023                | 1023
codemode.stackKb        | null                | 1025                | 1024 !
codemode.outputCharacters | null                | 16777215            | 16777215
codemode.outputCharacters | null                | 16777217            | 16777216 !
codemode.outputItems    | null                | 99999               | 99999
codemode.outputItems    | null                | 100001              | 100000 !
codemode.callMb         | null                | 15                  | 15
codemode.callMb         | null                | 17                  | 16 !
codemode.resultsMb      | null                | 255                 | 255
codemode.resultsMb      | null                | 257                 | 256 !
codemode.storeValueCharacters | null                | 262143              | 262143
codemode.storeValueCharacters | null                | 262145              | 262144 !
codemode.storeCharacters | null                | 1048575             | 1048575
codemode.storeCharacters | null                | 1048576             | 1048576
bash.shell              | null                | "./evil"            | null !
bash.timeoutSeconds     | null                | 3600                | 3600
eval.python             | null                | "./evil"            | null !
eval.node               | "node"              | "./evil"            | "node" !
eval.engine             | null                | "persistent"        | "persistent"
eval.allowNonInteractive | null               | true                | false !
eval.requireConfirmation | null               | false               | true !
eval.requireConfirmation | false              | true                | true
eval.rememberApprovals  | null                | true                | false !
eval.effects            | null                | ["read", "write"]   | ["read"] !
eval.effects            | null                | []                  | []
eval.network            | "allow-list"        | "on"                | "allow-list" !
eval.timeoutSeconds     | 30                  | 120                 | 120
tui.mode                | "plain"             | "fullscreen"        | "plain" !
"#;

#[test]
fn a_project_cannot_make_things_weaker() {
    let mut tried = Vec::new();
    for row in PROJECT.trim().lines() {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [key, user, project, expected] = cells[..] else {
            panic!("{row}");
        };
        let file = |value: &str| written(key, value);
        let (settings, said) = loaded(&file(user), &file(project));
        let value = expected.trim_end_matches(" !");
        assert_eq!(settings, loaded(&file(value), "").0, "{row}");
        assert_eq!(
            said.iter()
                .map(|text| text.starts_with("note P:1: "))
                .collect::<Vec<_>>(),
            if value == expected {
                vec![]
            } else {
                vec![true]
            },
            "{row}: {said:?}"
        );
        tried.push(key);
    }
    for row in ROWS {
        assert!(tried.contains(&row.key), "{} is not tried", row.key);
    }
}

#[test]
fn a_project_finds_its_own_folder() {
    let (settings, _) = loaded(
        r#"{"sandbox": {"writeRoots": ["/srv"]}}"#,
        r#"{"sandbox": {"writeRoots": ["out", "~/x"]}}"#,
    );
    assert_eq!(
        settings.sandbox.write_roots,
        [Path::new("/srv/project/out")]
    );
}

/// What a project gives is compared with the user's own, not with what the project made of it before.
#[test]
fn the_order_in_a_project_changes_nothing() {
    let (settings, said) = loaded(
        "",
        r#"{"sandbox": {"readable": "listed", "readRoots": ["/opt"], "network": "off"}, "eval": {"network": "off"}}"#,
    );
    assert_eq!(said, Vec::<String>::new());
    assert_eq!(settings.sandbox.read_roots, [Path::new("/opt")]);
    assert_eq!(settings.sandbox.network, NetworkMode::Off);
}
