//! `pirn mcp add` and what else changes files.

use serde_json::{Value, json};

use crate::mcp::ended;
use crate::place::Place;

fn user_config(place: &Place) -> Value {
    let text = std::fs::read_to_string(place.pirn_home().join("mcp.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn servers_are_added() {
    let cases: [(&[&str], Value); 6] = [
        (
            &["--", "npx", "-y", "x"],
            json!({"command": "npx", "args": ["-y", "x"]}),
        ),
        (
            &["npx", "--url", "x"],
            json!({"command": "npx", "args": ["--url", "x"]}),
        ),
        (
            &[
                "--env",
                "A=1=2",
                "--env=B=${B}",
                "--cwd",
                "~/x",
                "--inherit-env",
                "--start",
                "lazy",
                "--timeout",
                "90",
                "--exposure",
                "deferred",
                "--description",
                "Says things",
                "--",
                "x",
            ],
            json!({
                "command": "x", "env": {"A": "1=2", "B": "${B}"}, "cwd": "~/x", "inheritEnv": true, "start": "lazy",
                "timeout": 90, "exposure": "deferred", "description": "Says things",
            }),
        ),
        (&["--url", "https://a/mcp"], json!({"url": "https://a/mcp"})),
        (
            &[
                "--url",
                "https://a/mcp",
                "--type",
                "sse",
                "--header",
                "X-A: b=c",
                "--header",
                "X-B=d:e",
                "--bearer-token-env-var",
                "TOKEN",
            ],
            json!({
                "type": "sse", "url": "https://a/mcp",
                "headers": {"X-A": "b=c", "X-B": "d:e", "Authorization": "Bearer ${TOKEN}"},
            }),
        ),
        (
            &[
                "--url",
                "https://a/mcp",
                "--oauth-client-id",
                "i",
                "--oauth-client-secret",
                "$S",
                "--oauth-scope",
                "a b",
                "--oauth-callback-port",
                "8765",
                "--oauth-client-name",
                "n",
                "--oauth-client-registration",
                "dcr",
            ],
            json!({
                "url": "https://a/mcp",
                "oauth": {
                    "clientId": "i", "clientSecret": "$S", "scope": "a b", "clientName": "n", "callbackPort": 8765,
                    "clientRegistration": "dcr",
                },
            }),
        ),
    ];
    for (arguments, entry) in cases {
        let place = Place::new();
        let run = place.run(&[&["mcp", "add", "new"], arguments].concat());
        assert_eq!(
            ended(&run),
            (
                Some(0),
                "",
                "note: new is added to [PLACE]/home/.pirn/mcp.json; run `pirn mcp list` to test it\n"
            ),
            "{arguments:?}"
        );
        assert_eq!(
            user_config(&place),
            json!({"mcpServers": {"new": entry}}),
            "{arguments:?}"
        );
    }
}

#[test]
fn what_cannot_be_added() {
    let place = Place::new();
    let cases: [(&[&str], &str); 10] = [
        (
            &["new", "--url", "ftp://a"],
            "error: MCP server \"new\": url: must be an http or https address, not ftp:\n",
        ),
        (&["new"], "error: the server's program or URL is missing\n"),
        (
            &["new", "--url", "https://a", "--", "x"],
            "error: a server has a program or a URL, not both\n",
        ),
        (
            &["new", "--url", "https://a", "--env", "A=1"],
            "error: --env does not go with --url\n",
        ),
        (
            &["new", "--header", "A=1", "--", "x"],
            "error: --header does not go with a program\n",
        ),
        (
            &["new", "--env", "A", "--", "x"],
            "error: `A` is not of the form NAME=VALUE\n",
        ),
        (
            &["new", "--frob", "x"],
            "error: there is no option `--frob`\n",
        ),
        (
            &["n w", "--", "x"],
            "error: MCP server \"n w\": the name may hold only letters, digits, _ and -\n",
        ),
        (
            &["new", "--timeout", "0", "--", "x"],
            "error: invalid value '0' for '--timeout <SECONDS>'",
        ),
        (
            &["new", "--exposure", "none", "--", "x"],
            "error: invalid value 'none' for '--exposure <EXPOSURE>'",
        ),
    ];
    for (arguments, expected) in cases {
        let run = place.run(&[&["mcp", "add"], arguments].concat());
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(2), ""),
            "{arguments:?} {run:#?}"
        );
        assert!(run.stderr.starts_with(expected), "{arguments:?} {run:#?}");
    }
    assert!(!place.pirn_home().exists());
}

#[test]
fn servers_are_switched_and_removed() {
    let place = Place::new();
    place.run(&["mcp", "add", "one", "--", "x"]).good();
    let steps: [(&[&str], &str, Value); 5] = [
        (
            &["disable", "one"],
            "one is switched off in",
            json!({"command": "x", "enabled": false}),
        ),
        (
            &["disable", "one"],
            "one was switched off in",
            json!({"command": "x", "enabled": false}),
        ),
        (
            &["enable", "one"],
            "one is switched on in",
            json!({"command": "x"}),
        ),
        (
            &["add", "one", "--", "y"],
            "one is replaced in",
            json!({"command": "y"}),
        ),
        (&["remove", "one"], "one is removed from", Value::Null),
    ];
    for (arguments, told, entry) in steps {
        let run = place.run(&[&["mcp"], arguments].concat());
        assert_eq!(run.code, Some(0), "{arguments:?} {run:#?}");
        let start = format!("note: {told} [PLACE]/home/.pirn/mcp.json");
        assert!(run.stderr.starts_with(&start), "{arguments:?} {run:#?}");
        assert_eq!(
            user_config(&place)["mcpServers"]["one"],
            entry,
            "{arguments:?}"
        );
    }
    for command in ["remove", "enable", "disable"] {
        let run = place.run(&["mcp", command, "one"]);
        assert_eq!(
            ended(&run),
            (
                Some(2),
                "",
                "error: MCP server \"one\": is not in [PLACE]/home/.pirn/mcp.json\n"
            ),
            "{command}"
        );
    }
}

#[test]
fn the_projects_file_is_changed_where_that_is_said() {
    let place = Place::new();
    place.run(&["mcp", "add", "mine", "--", "x"]).good();
    let run = place.run(&["mcp", "add", "-l", "ours", "--", "y"]);
    assert_eq!(
        run.stderr,
        "note: ours is added to [PLACE]/project/.pirn/mcp.json; run `pirn mcp list` to test it\n\
         note: the project's file counts when the project is trusted; `pirn trust` decides\n"
    );
    place.run(&["trust", "--yes"]).good();
    place.run(&["mcp", "disable", "--local", "mine"]).good();
    let local: Value = serde_json::from_str(&place.read(".pirn/mcp.json")).unwrap();
    assert_eq!(
        local,
        json!({"mcpServers": {"ours": {"command": "y"}, "mine": {"enabled": false}}})
    );
    for (arguments, hint) in [
        (
            &["mcp", "remove", "ours"][..],
            "[PLACE]/project/.pirn/mcp.json: add --local",
        ),
        (
            &["mcp", "disable", "ours"],
            "[PLACE]/project/.pirn/mcp.json: add --local",
        ),
    ] {
        let run = place.run(arguments);
        assert!(
            run.stderr.ends_with(&format!("hint: it is in {hint}\n")),
            "{run:#?}"
        );
    }
    place.run(&["mcp", "remove", "-l", "mine"]).good();
    let run = place.run(&["mcp", "remove", "-l", "mine"]);
    assert!(
        run.stderr
            .ends_with("hint: it is in [PLACE]/home/.pirn/mcp.json: leave --local out\n"),
        "{run:#?}"
    );
}

#[test]
fn servers_of_other_programs_are_taken_over() {
    let place = Place::new();
    let cursor = place.pirn_home().parent().unwrap().join(".cursor");
    std::fs::create_dir(&cursor).unwrap();
    let servers = json!({"mcpServers": {"a": {"command": "x", "env": {"TOKEN": "s3cret"}}, "b": {"url": "https://b/mcp"}}});
    std::fs::write(cursor.join("mcp.json"), servers.to_string()).unwrap();
    place.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"c": {"command": "z"}}}"#,
    );
    let table = place.run(&["mcp", "import", "--dry-run"]).good();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|row| row.split_whitespace().collect())
        .collect();
    assert_eq!(rows[0][..3], ["a", "add", "cursor"], "{table}");
    assert_eq!(rows[1][..3], ["b", "add", "cursor"], "{table}");
    assert!(
        !table.contains("s3cret") && !table.contains("c  add"),
        "{table}"
    );
    assert!(!place.pirn_home().exists());
    let run = place.run(&["mcp", "import"]);
    assert_eq!(run.code, Some(2), "{run:#?}");
    assert!(
        run.stderr.contains("hint: --yes adds without asking"),
        "{run:#?}"
    );
    let run = place.run(&["mcp", "import", "--yes", "--from", "cursor"]);
    assert!(
        run.stderr
            .contains("note: added 2 servers to [PLACE]/home/.pirn/mcp.json"),
        "{run:#?}"
    );
    assert_eq!(user_config(&place), servers);
    let run = place.run(&["mcp", "import", "--yes"]);
    assert!(
        run.stdout.contains("is there") && run.stderr == "note: there is nothing to add\n",
        "{run:#?}"
    );
    let run = place.run(&["mcp", "import", "--local", "--yes"]);
    assert!(run.stdout.starts_with("c  add  cursor"), "{run:#?}");
    let run = place.run(&["mcp", "import", "--from", "cursr"]);
    assert_eq!(run.code, Some(2), "{run:#?}");
    assert!(
        run.stderr.contains("hint: did you mean `cursor`?"),
        "{run:#?}"
    );
}
