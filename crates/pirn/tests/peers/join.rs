//! Scripts that use several servers at once.

use serde_json::json;

use crate::installed::{Installed, entry, write_servers};
use crate::place::Place;

/// Calls all servers at once, and joins what they say. The first call answers only when the last one has been made.
const JOIN: &str = r#"
const text = (result) => result.content[0].text;
const release = FOLDER + "/release";
const held = tools.mcp__held__until({ path: release });
const [sum, time, note, memory, thinking, log, rows] = await Promise.all([
  tools.mcp__everything__get_sum({ a: 2, b: 3 }),
  tools.mcp__time__convert_time({ source_timezone: "UTC", time: "12:00", target_timezone: "Asia/Tokyo" }),
  tools.mcp__filesystem__read_text_file({ path: FOLDER + "/note.txt" }),
  tools.mcp__memory__create_entities({
    entities: [{ name: "Pirn", entityType: "spool", observations: ["holds the weft"] }],
  }),
  tools.mcp__sequential_thinking__sequentialthinking({
    thought: "one", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1,
  }),
  tools.mcp__git__git_log({ repo_path: FOLDER, max_count: 1 }),
  tools.mcp__sqlite__read_query({ query: "select 6 * 7 as answer" }),
]);
await tools.mcp__filesystem__write_file({ path: release, content: "go" });
return {
  everything: text(sum),
  time: time.structuredContent.target.datetime.slice(10),
  filesystem: text(note),
  memory: memory.structuredContent.entities,
  sequential_thinking: thinking.structuredContent.thoughtHistoryLength,
  git: text(log).match(/Message: (.*)/)[1],
  sqlite: text(rows),
  held: text(await held),
};
"#;

/// Makes the place's folder a repository with one commit.
fn commit(place: &Place) {
    let person = [
        "-c",
        "user.name=weaver",
        "-c",
        "user.email=weaver@localhost",
    ];
    for arguments in [
        &["init", "--quiet"][..],
        &[
            "commit",
            "--quiet",
            "--allow-empty",
            "--message",
            "first pick",
        ],
    ] {
        let status = place
            .program("git")
            .args(person)
            .args(arguments)
            .status()
            .unwrap();
        assert!(status.success(), "{arguments:?}");
    }
}

#[test]
fn answers_of_eight_servers_are_joined() {
    let (installed, place) = (Installed::find(), Place::new());
    let folder = place.path().canonicalize().unwrap();
    place.write("note.txt", "warp");
    commit(&place);
    write_servers(
        &place,
        &json!({
            "everything": installed.everything(),
            "filesystem": installed.filesystem(&folder),
            "git": installed.git(),
            "held": installed.rude("held", "none", &place),
            "memory": installed.memory(&folder.join("memory.jsonl")),
            "sequential-thinking": installed.sequential_thinking(),
            "sqlite": installed.sqlite(&folder.join("data.db")),
            "time": installed.time(),
        }),
    );
    let code = format!("const FOLDER = {};\n{JOIN}", json!(folder));
    let script = place.write("join.js", code);
    let run = place.run(&[
        "exec",
        "--quiet",
        "--yes",
        "--json",
        script.to_str().unwrap(),
    ]);
    assert_eq!(run.stderr, "", "{run:#?}");
    let result = run.json();
    assert_eq!(
        result["value"],
        json!({
            "everything": "The sum of 2 and 3 is 5.",
            "time": "T21:00:00+09:00",
            "filesystem": "warp",
            "memory": [{"name": "Pirn", "entityType": "spool", "observations": ["holds the weft"]}],
            "sequential_thinking": 1,
            "git": "first pick",
            "sqlite": "[{'answer': 42}]",
            "held": "it is there",
        }),
        "{result:#}"
    );
    let calls = result["calls"].as_array().unwrap();
    let servers: Vec<&str> = calls
        .iter()
        .map(|call| call["name"].as_str().unwrap().split("__").nth(1).unwrap())
        .collect();
    assert_eq!(
        servers,
        [
            "held",
            "everything",
            "time",
            "filesystem",
            "memory",
            "sequential_thinking",
            "git",
            "sqlite",
            "filesystem"
        ]
    );
    assert!(
        calls.iter().all(|call| call["status"] == "ok"),
        "{calls:#?}"
    );
    // One after the other they would take at least as long as all of them together.
    let together: u64 = calls
        .iter()
        .map(|call| call["durationMs"].as_u64().unwrap())
        .sum();
    assert!(result["wallMs"].as_u64().unwrap() < together, "{result:#}");
}

#[test]
fn only_the_named_server_starts() {
    let (installed, place) = (Installed::find(), Place::new());
    let lazy = |name| {
        let mut server = installed.rude(name, "none", &place);
        server["start"] = json!("lazy");
        server
    };
    write_servers(&place, &json!({"warp": lazy("warp"), "weft": lazy("weft")}));
    let code = "return (await tools.mcp__weft__hello({})).content[0].text";
    let run = place.run(&["exec", "--quiet", "--yes", "-e", code]);
    assert_eq!(run.good(), "hello from weft\n");
    let was_started = |name: &str| place.path().join(format!("{name}.started")).exists();
    assert!(was_started("weft"));
    assert!(!was_started("warp"));
}

#[test]
fn a_server_that_cannot_start_disturbs_nobody() {
    let (installed, place) = (Installed::find(), Place::new());
    write_servers(
        &place,
        &json!({
            "broken": entry(&installed.python(), &["-c", "raise SystemExit(3)"]),
            "time": installed.time(),
        }),
    );
    let config = std::fs::read_to_string(place.pirn_home().join("mcp.json")).unwrap();
    let line = 1 + config
        .lines()
        .position(|line| line.contains("\"broken\""))
        .unwrap();
    let code = r#"
        const broken = await Promise.resolve().then(() => tools.mcp__broken__query({})).catch((error) => error.name);
        const time = await tools.mcp__time__convert_time(
            { source_timezone: "UTC", time: "12:00", target_timezone: "Asia/Tokyo" });
        return { broken, time: time.structuredContent.time_difference };
    "#;
    let run = place.run(&["exec", "--quiet", "--yes", "-e", code]);
    let reason = "its process ended (exit code 3)";
    let entry = format!("[PLACE]/home/.pirn/mcp.json:{line}");
    assert_eq!(
        run.stderr,
        format!("note: MCP server \"broken\" ({entry}) is not there: {reason}\n")
    );
    assert_eq!(run.json(), json!({"broken": "TypeError", "time": "+9.0h"}));
    let run = place.run(&["mcp", "call", "broken", "query"]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    let told = format!(
        "error: MCP server \"broken\" is not there: {reason}\n\nThe server is defined in {entry}.\n"
    );
    assert!(run.stderr.starts_with(&told), "{run:#?}");
    let run = place.run(&[
        "mcp",
        "call",
        "time",
        "get_current_time",
        r#"{"timezone": "UTC"}"#,
    ]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:#?}");
}

#[test]
fn a_server_of_the_newer_protocol_may_start_slowly() {
    let (installed, place) = (Installed::find(), Place::new());
    let mut time = installed.time();
    let words: Vec<String> = std::iter::once(time["command"].take())
        .chain(time["args"].as_array().unwrap().iter().cloned())
        .map(|word| word.as_str().unwrap().to_owned())
        .collect();
    time["command"] = json!("sh");
    time["args"] = json!(["-c", format!("sleep 6; exec {}", words.join(" "))]);
    write_servers(&place, &json!({"time": time}));
    let arguments = ["get_current_time", r#"{"timezone": "UTC"}"#];
    let run = place.run(&[&["mcp", "call", "time"][..], &arguments].concat());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:#?}");
}
