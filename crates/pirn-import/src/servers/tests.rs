use std::fs;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use pirn_mcp::{StdioEntry, StdioServer};

/// The plan for one file of a program, in the project `/project`.
fn plan(program: ImportProgram, text: &str) -> ImportPlan {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, text).unwrap();
    let source = ImportSource {
        program,
        file,
        scope: Scope::User,
    };
    plan_import(&[source], Path::new("/project"), &[])
}

/// The entries that one file becomes, by name, and the notes of all rows.
#[track_caller]
fn check(program: ImportProgram, text: &str, expected: &Value, notes: &[&str]) {
    let plan = plan(program, text);
    assert_eq!(plan.problems, []);
    let entries: Map<String, Value> = plan
        .rows
        .iter()
        .map(|row| (row.name.clone(), row.server.to_json()))
        .collect();
    assert_eq!(&Value::Object(entries), expected);
    let all: Vec<String> = plan.rows.into_iter().flat_map(|row| row.notes).collect();
    assert_eq!(all, notes);
}

#[test]
fn claude_code() {
    check(
        ImportProgram::ClaudeCode,
        r#"{
            "numStartups": 3,
            "mcpServers": {
                "a": {"type": "stdio", "command": "npx", "args": ["-y", "${PKG:-p}", "$A"], "env": {"T": "x$Y${Z}", "N": 1}},
                "b": {"type": "http", "url": "https://${HOST}/mcp", "headers": {"Authorization": "Bearer ${T}"},
                      "headersHelper": "x", "oauth": {"clientId": "c", "callbackPort": 8080}},
                "c": {"type": "sse", "url": "https://h/sse", "timeout": 120000}
            },
            "projects": {
                "/project": {"mcpServers": {"d e": {"command": "!x", "args": []}}},
                "/other": {"mcpServers": {"f": {"command": "x"}}}
            }
        }"#,
        &json!({
            "a": {"command": "npx", "args": ["-y", "${PKG:-p}", "$A"], "env": {"T": "x$$Y${Z}", "N": "1"}},
            "b": {
                "type": "http", "url": "https://${HOST}/mcp", "headers": {"Authorization": "Bearer ${T}"},
                "oauth": {"clientId": "c", "callbackPort": 8080}
            },
            "c": {"type": "sse", "url": "https://h/sse", "timeout": 120},
            "d-e": {"command": "!x"},
        }),
        &[
            "\"headersHelper\" has no counterpart and is left out",
            "is called \"d e\" there",
        ],
    );
}

#[test]
fn claude_desktop_has_no_variables() {
    check(
        ImportProgram::ClaudeDesktop,
        r#"{"mcpServers": {"a": {"command": "c", "args": ["${X}", "$X"], "env": {"A": "$X", "B": "!x", "C": "${X}$"}}}}"#,
        &json!({"a": {"command": "c", "args": ["$${X}", "$X"], "env": {"A": "$$X", "B": "$!x", "C": "$${X}$$"}}}),
        &[],
    );
}

#[test]
fn cursor() {
    check(
        ImportProgram::Cursor,
        r#"{
            // A comment.
            "mcpServers": {
                "a": {"command": "${userHome}/x", "args": ["${workspaceFolder}/y", "${workspaceFolderBasename}", "${other}"],
                      "env": {"T": "${env:TOKEN}"}, "envFile": ".env"},
                "b": {"url": "https://h/mcp", "headers": {"X": "${env:TOKEN}"}, "auth": {"CLIENT_ID": "i", "CLIENT_SECRET": "$s"}},
            }
        }"#,
        &json!({
            "a": {"command": "${HOME}/x", "args": ["/project/y", "project", "$${other}"], "env": {"T": "${TOKEN}"}},
            "b": {"url": "https://h/mcp", "headers": {"X": "${TOKEN}"}, "oauth": {"clientId": "i", "clientSecret": "$$s"}},
        }),
        &[
            "the workspace folder is written as /project",
            "${other} has no counterpart and stays as it is",
            "\"envFile\" has no counterpart and is left out",
        ],
    );
}

#[test]
fn vscode_asks_for_inputs() {
    let text = r#"{
        "inputs": [
            {"id": "api-key", "type": "promptString", "description": "The key", "password": true},
            {"id": "mode", "type": "pickString", "default": "fast"}
        ],
        "servers": {
            "a": {"type": "stdio", "command": "x", "env": {"K": "${input:api-key}", "M": "${input:mode}"}},
            "b": {"type": "http", "url": "https://h/mcp"},
            "c": {"url": "https://h/${input:api-key}"}
        }
    }"#;
    check(
        ImportProgram::VsCode,
        text,
        &json!({
            "a": {"command": "x", "env": {"K": "${API_KEY}", "M": "${MODE:-fast}"}},
            "b": {"url": "https://h/mcp"},
            "c": {"url": "https://h/${API_KEY}"},
        }),
        &[
            "the input \"mode\" is the variable MODE now",
            "set the variable API_KEY: it stands for the input \"api-key\" (The key)",
            "set the variable API_KEY: it stands for the input \"api-key\" (The key)",
        ],
    );
    let rows = plan(ImportProgram::VsCode, text).rows;
    let actions: Vec<&str> = rows.iter().map(|row| row.action.as_str()).collect();
    assert_eq!(actions, ["needs-value", "add", "needs-value"]);
}

#[test]
fn codex() {
    check(
        ImportProgram::Codex,
        r#"
            model = "x"
            [mcp_servers.z]
            command = "npx"
            args = ["-y", "${X}"]
            env_vars = ["TOKEN", { name = "OTHER", source = "local" }]
            startup_timeout_sec = 20.5
            tool_timeout_sec = 900
            enabled_tools = ["a", "b"]
            disabled_tools = ["b"]
            required = true
            [mcp_servers.z.env]
            A = "$1"
            [mcp_servers.b]
            url = "https://h/mcp"
            bearer_token_env_var = "T"
            http_headers = { X = "1" }
            env_http_headers = { Y = "V" }
            scopes = ["r", "w"]
            enabled = false
            disabled_tools = ["c"]
        "#,
        &json!({
            "z": {
                "command": "npx", "args": ["-y", "$${X}"],
                "env": {"A": "$$1", "TOKEN": "${TOKEN}", "OTHER": "${OTHER}"},
                "toolExposure": {"a": "codemode", "b": "hidden", "*": "hidden"},
                "timeout": 900, "startTimeout": 20.5
            },
            "b": {
                "type": "http", "url": "https://h/mcp",
                "headers": {"X": "1", "Y": "${V}", "Authorization": "Bearer ${T}"},
                "oauth": {"scope": "r w"}, "toolExposure": {"c": "hidden"}, "enabled": false
            },
        }),
        &["\"required\" has no counterpart and is left out"],
    );
}

#[test]
fn opencode() {
    let entries = json!({
        "a": {"command": "bun", "args": ["x", "${P:-}"], "env": {"T": "${TOKEN:-}", "F": "{file:~/key}"}, "enabled": false},
        "b": {"url": "https://h/mcp", "headers": {"A": "Bearer ${K:-}"}, "startTimeout": 40},
    });
    let notes = ["{file:~/key} has no counterpart and stays as it is"];
    let a = r#""type": "local", "command": ["bun", "x", "{env:P}"], "environment": {"T": "{env:TOKEN}", "F": "{file:~/key}"}"#;
    let b = r#""type": "remote", "url": "https://h/mcp", "headers": {"A": "Bearer {env:K}"}, "oauth": false, "timeout": 40000"#;
    check(
        ImportProgram::OpenCode,
        &format!(
            r#"{{"mcp": {{"a": {{{a}, "enabled": false}}, "b": {{{b}}}, "switch": {{"enabled": true}}}}}}"#
        ),
        &entries,
        &notes,
    );
    check(
        ImportProgram::OpenCode,
        &format!(
            r#"{{"mcp": {{"timeout": 1, "servers": {{"a": {{{a}, "disabled": true}}, "b": {{{b}}}}}}}}}"#
        ),
        &entries,
        &notes,
    );
}

#[test]
fn gemini() {
    check(
        ImportProgram::Gemini,
        r#"{"mcpServers": {
            "a": {"command": "x", "args": ["$A", "${B}"], "env": {"T": "$TOKEN!"}, "cwd": "./d", "timeout": 5000, "trust": true,
                  "includeTools": ["t(a)", "u"], "excludeTools": ["u"]},
            "b": {"httpUrl": "https://h/mcp", "headers": {"X": "${B:-c}"}},
            "c": {"url": "https://h/sse"}
        }}"#,
        &json!({
            "a": {
                "command": "x", "args": ["${A}", "${B}"], "env": {"T": "${TOKEN}!"}, "cwd": "./d",
                "toolExposure": {"t": "codemode", "u": "hidden", "*": "hidden"}, "timeout": 5
            },
            "b": {"type": "http", "url": "https://h/mcp", "headers": {"X": "${B:-c}"}},
            "c": {"type": "sse", "url": "https://h/sse"},
        }),
        &["\"trust\" has no counterpart and is left out"],
    );
}

#[test]
fn pi() {
    let text = r#"{"mcpServers": {
        "a": {"command": "x", "args": ["${X}"], "env": {"T": "$T", "U": "!cmd"}, "exposure": "codemode-deferred", "envs": {}},
        "b": {"url": "https://h/${X}", "toolExposure": {"t*": "direct"}, "timeout": 5},
        "c": {"enabled": false}
    }}"#;
    check(
        ImportProgram::Pi,
        text,
        &json!({
            "a": {"command": "x", "args": ["$${X}"], "env": {"T": "$T", "U": "!cmd"}},
            "b": {"url": "https://h/$${X}", "toolExposure": {"t*": "direct"}, "timeout": 5},
        }),
        &["envs is not a setting and is ignored; did you mean \"env\"?"],
    );
}

#[test]
fn what_cannot_be_converted_is_reported() {
    for (program, text, expected) in [
        (
            ImportProgram::Cursor,
            "{",
            "1: is not valid JSON: unterminated object",
        ),
        (
            ImportProgram::Codex,
            "[mcp_servers.a]\n= 1",
            "2: is not valid TOML: ",
        ),
        (
            ImportProgram::Cursor,
            "{\"mcpServers\": {\n\"a\": {\"args\": []}}}",
            "2: MCP server \"a\": has neither a command nor an address",
        ),
        (
            ImportProgram::ClaudeCode,
            r#"{"mcpServers": {"a": {"type": "ws", "url": "wss://h"}}}"#,
            "1: MCP server \"a\": servers of type ws cannot be used here",
        ),
        (
            ImportProgram::Cursor,
            r#"{"mcpServers": {"a": {"url": "https://u:p@h"}}}"#,
            "1: MCP server \"a\": url: must not hold a user's name or password: put them into headers.Authorization",
        ),
        (
            ImportProgram::OpenCode,
            r#"{"mcp": {"a": {"type": "local", "command": []}}}"#,
            "1: MCP server \"a\": its command is empty",
        ),
        (
            ImportProgram::Pi,
            r#"{"mcpServers": {"a": {"url": "https://h", "auth": {"provider": "p"}}}}"#,
            "1: MCP server \"a\": auth: is not supported here yet: use headers.Authorization or oauth",
        ),
    ] {
        let plan = plan(program, text);
        assert_eq!(plan.rows, [], "{text}");
        let problem = plan.problems[0].to_string();
        let problem = problem.rsplit_once("file:").map_or("", |(_, rest)| rest);
        assert!(problem.starts_with(expected), "{text}: {problem}");
    }
}

#[test]
fn servers_are_compared_with_existing_ones_and_each_other() {
    let existing = |name: &str, command: &str| {
        let text = json!({ "mcpServers": { name: { "command": command } } }).to_string();
        let document = parse_config(Scope::User, Path::new("F"), &text);
        document.servers.into_iter().next().unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let source = |program: ImportProgram, text: &str| {
        let file = folder.path().join(program.as_str());
        fs::write(&file, text).unwrap();
        let scope = Scope::User;
        ImportSource {
            program,
            file,
            scope,
        }
    };
    let sources = [
        source(
            ImportProgram::Cursor,
            r#"{"mcpServers": {"a": {"command": "x"}, "b-c": {"command": "x"}, "d": {"url": "https://h"}}}"#,
        ),
        source(
            ImportProgram::ClaudeCode,
            r#"{"mcpServers": {"a": {"command": "y"}, "d": {"type": "http", "url": "https://h"}}}"#,
        ),
    ];
    let existing = [existing("a", "x"), existing("b_c", "x")];
    let plan = plan_import(&sources, Path::new("/project"), &existing);
    let actions: Vec<(&str, &str)> = plan
        .rows
        .iter()
        .map(|row| (row.name.as_str(), row.action.as_str()))
        .collect();
    assert_eq!(
        actions,
        [
            ("a", "exists-same"),
            ("b-c", "exists-different"),
            ("d", "add"),
            ("a", "exists-different"),
            ("d", "exists-same"),
        ]
    );
}

#[test]
fn summaries_hide_secrets() {
    let stdio = |words: &[&str]| {
        TransportEntry::Stdio(StdioEntry {
            command: words[0].to_owned(),
            args: words[1..].iter().map(|&word| word.to_owned()).collect(),
            ..StdioEntry::default()
        })
    };
    let http = |url: &str, kind| {
        TransportEntry::Http(HttpEntry {
            url: url.to_owned(),
            kind,
            headers: Vec::new(),
            oauth: pirn_mcp::OAuthSettings::default(),
        })
    };
    for (transport, expected) in [
        (
            stdio(&["npx", "-y", "p", "--api-key", "abc", "--dir", "d"]),
            "npx -y p --api-key … --dir d",
        ),
        (
            stdio(&[
                "x",
                "--token=abc",
                "API_KEY=abc",
                "--header",
                "Authorization: Bearer abc",
            ]),
            "x --token=… API_KEY=… --header …",
        ),
        (
            stdio(&["x", "postgres://me:pw@h:1/db?x=y", "--no-auth", "--flag"]),
            "x postgres://h:1/db --no-auth --flag",
        ),
        (
            http("https://h:8/mcp?key=abc#f", HttpKind::Auto),
            "https://h:8/mcp",
        ),
        (
            http("https://h/s/0123456789abcdef0123456789/sse", HttpKind::Sse),
            "https://h/s/…/sse (sse)",
        ),
        (http("${URL}?key=abc", HttpKind::Auto), "${URL}"),
    ] {
        assert_eq!(summary::of(&transport), expected);
    }
}

#[test]
fn files_are_found_where_programs_keep_them() {
    let folder = tempfile::tempdir().unwrap();
    let [home, project, config] =
        ["home", "project", "config"].map(|name| folder.path().join(name));
    let files = [
        (ImportProgram::ClaudeCode, home.join(".claude.json")),
        (ImportProgram::ClaudeCode, project.join(".mcp.json")),
        (
            ImportProgram::ClaudeDesktop,
            config.join("Claude/claude_desktop_config.json"),
        ),
        (ImportProgram::VsCode, config.join("Code/User/mcp.json")),
        (ImportProgram::Codex, home.join(".codex/config.toml")),
        (ImportProgram::OpenCode, project.join("opencode.jsonc")),
    ];
    for (_, file) in &files {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
    }
    // Neither a folder nor another program's file counts.
    fs::create_dir_all(home.join(".gemini/settings.json")).unwrap();
    let config = [config, folder.path().join("none")];
    let sources = discover_imports(&home, &project, &config);
    let found: Vec<_> = sources
        .into_iter()
        .map(|source| (source.program, source.file))
        .collect();
    assert_eq!(found, files);
    let same = discover_imports(&home, &home, &[]);
    assert_eq!(same.len(), 2);
}

/// What is converted means the same to our own resolving.
#[tokio::test]
async fn converted_values_resolve_to_what_they_were() {
    let text = r#"{"mcpServers": {"a": {"command": "c", "args": ["${X}", "$X", "$${X}"],
        "env": {"A": "$X", "B": "!x", "C": "${X}$", "D": "$$", "E": "$!"}}}}"#;
    let row = plan(ImportProgram::ClaudeDesktop, text).rows.remove(0);
    let text = json!({ "mcpServers": { "a": row.server.to_json() } }).to_string();
    let document = parse_config(Scope::User, Path::new("F"), &text);
    let Some(entry) = document.servers.first() else {
        panic!("{text}");
    };
    let environment = pirn_mcp::ConfigEnvironment::new(Vec::new(), None, "/".into());
    let server = entry.resolve(&environment).await.unwrap();
    let pirn_mcp::Transport::Stdio(StdioServer {
        arguments,
        environment,
        ..
    }) = server.transport
    else {
        panic!("{text}");
    };
    assert_eq!(arguments, ["${X}", "$X", "$${X}"]);
    let expected = [
        ("A", "$X"),
        ("B", "!x"),
        ("C", "${X}$"),
        ("D", "$$"),
        ("E", "$!"),
    ];
    let expected = expected.map(|(name, value)| (name.into(), value.into()));
    assert_eq!(environment, expected);
}

proptest! {
    /// Whatever stands in a file that has no variables, it is still that after converting and resolving.
    #[test]
    fn literal_values_survive(text in "[$!{}:A-C_ é-]{0,20}") {
        let mut values = template::Values::new(template::Dialect::Literal, Path::new("/project"));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let stdio = StdioEntry {
            command: "c".to_owned(),
            args: vec![values.convert(template::Place::Plain, &text)],
            env: vec![("V".to_owned(), values.convert(template::Place::Value, &text))],
            ..StdioEntry::default()
        };
        let file = json!({ "mcpServers": { "a": NewServer::new(TransportEntry::Stdio(stdio)).to_json() } });
        let document = parse_config(Scope::User, Path::new("F"), &file.to_string());
        let Some(entry) = document.servers.first() else {
            panic!("{file}");
        };
        let environment = pirn_mcp::ConfigEnvironment::new(Vec::new(), None, "/".into());
        let pirn_mcp::Transport::Stdio(server) = runtime.block_on(entry.resolve(&environment)).unwrap().transport else {
            panic!("{file}");
        };
        prop_assert_eq!(server.arguments[0].to_str(), Some(text.as_str()));
        prop_assert_eq!(server.environment[0].1.to_str(), Some(text.as_str()));
    }

    #[test]
    fn any_text_is_converted(text in "(\\{\"(mcpServers|servers|mcp)\":\\{\"a\":)?[\\[\\]{}\":,$=\n a-f0-9é]{0,40}") {
        for program in ImportProgram::ALL {
            let rows = plan(program, &text).rows;
            prop_assert!(rows.len() <= text.len());
        }
    }
}
