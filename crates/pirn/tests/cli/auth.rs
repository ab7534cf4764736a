//! `pirn auth` and `pirn models`: which keys and models there are.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::place::{Place, Run};

const MODELS: &str = r#"{"providers": {"desk": {
    "baseUrl": "http://127.0.0.1:1/v1", "api": "openai-completions", "apiKey": "!printf desk-key",
    "models": [
        {"id": "big", "contextWindow": 32000, "headers": {"x-secret": "s3cret"}},
        {"id": "judge", "api": "openai-decisions", "headers": {"x-secret": "s3cret"}}
    ],
}}}"#;

fn place(models: &str) -> Place {
    let place = Place::new();
    std::fs::create_dir_all(place.pirn_home()).unwrap();
    std::fs::write(place.pirn_home().join("models.json"), models).unwrap();
    place
}

/// Runs with these variables besides the usual ones.
fn run(place: &Place, variables: &[(&str, &str)], arguments: &[&str]) -> Run {
    let mut command = place.pirn(arguments);
    command.envs(variables.iter().copied());
    place.ended(command.output().unwrap())
}

#[test]
fn a_key_is_kept_found_and_deleted() {
    let place = Place::new();
    let check = |expected: i32| {
        let run = place.run(&["auth", "check", "groq"]);
        assert_eq!(run.code, Some(expected), "{run:#?}");
    };
    check(1);
    let kept = place.run_with_input(&["auth", "login", "groq"], b" gsk-1 \n");
    assert_eq!(kept.code, Some(0), "{kept:#?}");
    assert!(!kept.stderr.contains("gsk-1"), "{kept:#?}");
    let mode = std::fs::metadata(place.pirn_home().join("auth.json"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    check(0);
    assert_eq!(
        place.run(&["auth", "print-api-key", "groq"]).good(),
        "gsk-1\n"
    );
    let token = place.run(&["auth", "print-bearer-token", "groq"]);
    assert_eq!(
        (token.code, token.stdout.as_str()),
        (Some(1), ""),
        "{token:#?}"
    );
    let out = place.run(&["auth", "logout", "groq"]);
    assert_eq!(out.code, Some(0), "{out:#?}");
    check(1);
}

#[test]
fn input_that_is_no_key_is_refused() {
    let place = Place::new();
    let cases: [(&str, &[u8], &str); 4] = [
        ("groq", b"\n", "no key was given"),
        ("groq", b"a\nb\n", "a key is one line"),
        ("groq", b"a\x1b[2Jb\n", "a key is one line"),
        ("nobody", b"k\n", "there is no provider `nobody`"),
    ];
    for (provider, input, expected) in cases {
        let run = place.run_with_input(&["auth", "login", provider], input);
        assert_eq!(run.code, Some(2), "{run:#?}");
        assert!(run.stderr.contains(expected), "{run:#?}");
        assert!(!place.pirn_home().join("auth.json").exists());
    }
}

#[test]
fn keys_that_others_can_read_are_not_used() {
    let place = place("{}");
    let path = place.pirn_home().join("auth.json");
    std::fs::write(&path, r#"{"groq": {"type": "api_key", "key": "gsk-1"}}"#).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let commands = [
        &["auth", "check", "groq"][..],
        &["auth", "list"],
        &["auth", "print-api-key", "groq"],
        &["models"],
        &["-p", "--model", "groq/x", "hello"],
    ];
    for arguments in commands {
        let run = place.run(arguments);
        assert_eq!(run.code, Some(2), "{arguments:?} {run:#?}");
        assert!(
            run.stderr.contains("can be used by others (mode 644)"),
            "{run:#?}"
        );
        assert!(run.stderr.contains("hint: `chmod 600 "), "{run:#?}");
        assert!(
            !run.stderr.contains("gsk-1") && run.stdout.is_empty(),
            "{run:#?}"
        );
    }
}

#[test]
fn a_command_may_print_the_key() {
    let place = place(MODELS);
    assert_eq!(
        place.run(&["auth", "print-api-key", "desk"]).good(),
        "desk-key\n"
    );
    let kept = place.run_with_input(&["auth", "login", "xai"], b"!exit 3\n");
    assert_eq!(kept.code, Some(0), "{kept:#?}");
    let run = place.run(&["auth", "check", "xai"]);
    assert_eq!(run.code, Some(2), "{run:#?}");
    assert!(
        run.stderr
            .contains("the key of xai: the command failed with exit code 3"),
        "{run:#?}"
    );
}

#[test]
fn providers_are_listed_with_where_their_keys_come_from() {
    let place = place(MODELS);
    let variables = [("OPENAI_API_KEY", "k"), ("ANTHROPIC_AUTH_TOKEN", "t0ken")];
    let listed = run(&place, &variables, &["auth", "list", "--json"]);
    let rows: Value = listed.json();
    let source = |name: &str| {
        let rows = rows.as_array().unwrap();
        let row = rows.iter().find(|row| row["provider"] == name).unwrap();
        (row["hasKey"].clone(), row["source"].clone())
    };
    assert_eq!(source("openai"), (json!(true), json!("OPENAI_API_KEY")));
    assert_eq!(
        source("anthropic"),
        (json!(true), json!("ANTHROPIC_AUTH_TOKEN"))
    );
    assert_eq!(source("desk"), (json!(true), json!("models.json")));
    assert_eq!(source("groq"), (json!(false), json!("")));
    let token = run(
        &place,
        &variables,
        &["auth", "print-bearer-token", "anthropic"],
    );
    assert_eq!(token.good(), "t0ken\n");
    let late = run(
        &place,
        &variables,
        &[
            "auth",
            "print-bearer-token",
            "anthropic",
            "--min-expiry",
            "60",
        ],
    );
    assert_eq!(
        (late.code, late.stdout.as_str()),
        (Some(1), ""),
        "{late:#?}"
    );
}

#[test]
fn models_are_found_by_words_and_show_no_headers() {
    let place = place(MODELS);
    let listed = run(&place, &[("OPENAI_API_KEY", "k")], &["models", "--json"]);
    assert!(!listed.stdout.contains("s3cret"));
    let first: Vec<(Value, Value)> = listed
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["provider"].clone(), row["available"].clone()))
        .collect();
    assert_eq!(first[0], (json!("desk"), json!(true)));
    assert!(first.contains(&(json!("anthropic"), json!(false))));
    let table = run(&place, &[], &["models", "desk"]).good();
    assert_eq!(
        table,
        "\
MODEL       KIND        CONTEXT  OUTPUT  IMAGES  IN/OUT PER 1M  KEY
desk/big    chat        32k      16k                            not needed
desk/judge  classifier                                          not needed
"
    );
    let none = place.run(&["models", "no-such"]);
    assert_eq!(none.code, Some(1), "{none:#?}");
    assert_eq!(place.run(&["models", "no-such", "--json"]).good(), "[]\n");
}

#[test]
fn a_name_of_several_providers_without_a_key_is_asked_back() {
    let place = Place::new();
    let run = place.run(&["-p", "--model", "5", "hello"]);
    assert_eq!(run.code, Some(2), "{run:#?}");
    assert!(
        run.stderr.contains("several models are called like `5`"),
        "{run:#?}"
    );
    assert!(run.stderr.contains("--provider NAME"), "{run:#?}");
}
