//! `pirn mcp`, and scripts that call tools of MCP servers. The servers are real programs.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Child;

use serde_json::{Value, json};

use crate::ends::{interrupt, named_pipe, start};
use crate::place::{Place, Run};

/// A server on standard input and output. With the variable `PLACES` the tool `echo` says what the server can do there.
pub(crate) const SERVER: &str = r#"
import json, os, sys, time

TOOLS = [
    {"name": "echo", "description": "Says it again.\nIn full.", "annotations": {"readOnlyHint": True, "openWorldHint": False},
     "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}},
    {"name": "fail", "description": "Fails", "inputSchema": {"type": "object"}},
    {"name": "secret", "description": "Hidden", "inputSchema": {"type": "object"}},
    {"name": "ask", "description": "Asks", "annotations": {"readOnlyHint": True}, "inputSchema": {"type": "object"}},
]
PROMPTS = [{"name": "greet", "description": "Greets", "arguments": [{"name": "who", "required": True}, {"name": "how"}]}]

def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def text(value, **more):
    return {"content": [{"type": "text", "text": value}], **more}

def ask(params):
    send({"id": "q", "method": "elicitation/create", "params": params})
    while True:
        answer = json.loads(sys.stdin.readline())
        if answer.get("id") == "q":
            return text(json.dumps(answer.get("result", answer.get("error"))))

def attempts(places):
    import socket
    ways = {
        "inside": lambda: open("inside", "w").close(),
        "outside": lambda: open(places["outside"], "w").close(),
        "secret": lambda: open(places["secret"]).close(),
        "network": lambda: socket.create_connection(("127.0.0.1", places["port"]), 5).close(),
    }
    done = []
    for name, way in ways.items():
        try:
            way()
            done.append(name)
        except OSError:
            pass
    return text(" ".join(done))

def call(name, arguments):
    if name == "echo" and "PLACES" in os.environ:
        return attempts(json.loads(os.environ["PLACES"]))
    if name == "echo":
        return text(arguments["text"], structuredContent={"said": arguments["text"], "env": os.environ.get("WORD")})
    if name == "ask":
        return ask(arguments)
    if name == "secret" and "HANG" in os.environ:
        with open("pipe", "w") as pipe:
            print("here", file=pipe, flush=True)
            time.sleep(600)
    return text("it broke", isError=True) if name == "fail" else text("found")

for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if "id" not in message:
        continue
    results = {
        "initialize": lambda: {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "prompts": {}},
                               "serverInfo": {"name": "toy", "version": "1"}},
        "ping": lambda: {},
        "tools/list": lambda: {"tools": TOOLS},
        "tools/call": lambda: call(params["name"], params.get("arguments", {})),
        "prompts/list": lambda: {"prompts": PROMPTS},
        "prompts/get": lambda: {"messages": [{"role": "user", "content": {"type": "text", "text": "Hello " + params["arguments"]["who"]}}]},
    }
    if method in results:
        send({"id": message["id"], "result": results[method]()})
    else:
        send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
"#;

/// A place whose user has a server `toy` that works, and what else `more` holds.
fn place_with(more: &Value) -> Place {
    let place = Place::new();
    let script = place.write("server.py", SERVER);
    let mut servers = json!({
        "toy": {"command": "python3", "args": [script], "env": {"WORD": "word"}, "toolExposure": {"secret": "hidden"},
                "trustAnnotations": true},
    });
    for (name, entry) in more.as_object().unwrap() {
        servers[name] = entry.clone();
    }
    place.write_user_config(&json!({"mcpServers": servers}));
    place
}

pub(crate) fn place() -> Place {
    place_with(&json!({}))
}

pub(crate) fn ended(run: &Run) -> (Option<i32>, &str, &str) {
    (run.code, &run.stdout, &run.stderr)
}

#[test]
fn nothing_is_touched_without_servers() {
    let place = Place::new();
    let note = "note: no MCP servers are configured; `pirn mcp add` adds one\n";
    assert_eq!(ended(&place.run(&["mcp", "list"])), (Some(0), "", note));
    assert_eq!(ended(&place.run(&["mcp", "tools"])), (Some(0), "", note));
    assert_eq!(
        place.run(&["mcp", "list", "--json"]).json(),
        json!({"servers": [], "errors": []})
    );
    for arguments in [
        &["mcp", "call", "toy", "echo"][..],
        &["mcp", "tools", "toy"],
        &["mcp", "prompt", "toy"],
        &["mcp", "login", "toy"],
        &["mcp", "logout", "toy"],
    ] {
        assert_eq!(
            ended(&place.run(arguments)),
            (
                Some(2),
                "",
                "error: there is no MCP server `toy`\n\nhint: `pirn mcp add` adds one\n"
            ),
            "{arguments:?}"
        );
    }
    place.run(&["exec", "-e", "return 1"]).good();
    assert!(!place.pirn_home().exists());
}

#[test]
fn servers_are_listed() {
    let place = place();
    let table = place.run(&["mcp", "list"]).good();
    assert_eq!(
        table,
        "toy  connected  4 tools  python3 [PLACE]/project/server.py\n"
    );
    let list = place.run(&["mcp", "list", "--json"]).json();
    assert_eq!(
        list,
        json!({
            "servers": [{
                "name": "toy",
                "scope": "user",
                "source": "[PLACE]/home/.pirn/mcp.json:3",
                "enabled": true,
                "exposure": "codemode",
                "transport": "stdio",
                "target": "python3 [PLACE]/project/server.py",
                "state": "connected",
                "tools": ["echo", "fail", "secret", "ask"],
                "toolExposure": {"secret": "hidden"},
                "prompts": true,
                "server": {"name": "toy", "version": "1", "protocolVersion": "2025-11-25"},
            }],
            "errors": [],
        })
    );
}

#[test]
fn tools_that_are_left_out_are_told() {
    let place = Place::new();
    let odd = SERVER.replace(
        "TOOLS = [",
        r#"TOOLS = [
    {"name": "twice", "inputSchema": {"type": "object"}}, {"name": "twice", "inputSchema": {"type": "object"}},
    {"name": "", "inputSchema": {"type": "object"}}, {"description": "no name"}, 7,"#,
    );
    let script = place.write("server.py", odd);
    let entry = json!({"command": "python3", "args": [script]});
    place.write_user_config(&json!({"mcpServers": {"toy": entry}}));
    let left_out = [
        "tool number 3 of the list has no name and was left out",
        "tool number 4 of the list has no name and was left out",
        "tool number 5 of the list has no name and was left out",
        "the tool \"twice\" is listed more than once; the first one is used",
    ];
    let list = place.run(&["mcp", "list"]).good();
    for warning in left_out {
        assert!(
            list.contains(&format!("\n  warning: {warning}\n")),
            "{list}"
        );
    }
    let listed = place.run(&["mcp", "list", "--json"]).json();
    assert_eq!(listed["servers"][0]["warnings"], json!(left_out));
    let call = "return (await tools.mcp__toy__echo({text: 'x'})).structuredContent.said";
    for arguments in [
        &["mcp", "tools", "toy"][..],
        &["tools"],
        &["exec", "--yes", "-e", call],
    ] {
        let run = place.run(arguments);
        assert_eq!(run.code, Some(0), "{run:#?}");
        for warning in &left_out[..3] {
            let note = format!("note: MCP server \"toy\": {warning}\n");
            assert!(run.stderr.contains(&note), "{run:#?}");
        }
        let more = "note: MCP server \"toy\": 1 more, which `pirn mcp list` shows\n";
        assert!(run.stderr.contains(more), "{run:#?}");
    }
    // A script that does not name the server does not start it, and hears nothing of it.
    assert_eq!(place.run(&["exec", "-e", "return 1"]).stderr, "");
}

#[test]
fn what_a_server_says_of_its_tools_allows_nothing() {
    let place = Place::new();
    let script = place.write("server.py", SERVER);
    let call = "return (await tools.mcp__toy__echo({text: 'x'})).structuredContent.said";
    let run = |entry: &Value, flags: &[&str]| {
        let mut entry = entry.clone();
        entry["command"] = json!("python3");
        entry["args"] = json!([&script]);
        place.write_user_config(&json!({"mcpServers": {"toy": entry}}));
        place.run(&[&["exec", "-q"], flags, &["-e", call]].concat())
    };
    let untold = json!({});
    let told = json!({"effects": {"echo": ["read"]}});
    let believed = json!({"trustAnnotations": true});
    let confined = json!({"sandbox": true});
    let cases: [(&Value, &[&str], bool); 12] = [
        (&untold, &[], false),
        (&untold, &["--read-only"], false),
        (&untold, &["--yes=network"], false),
        (&untold, &["--yes=process"], false),
        (&untold, &["--yes"], true),
        (&untold, &["--yes", "--deny=process"], false),
        (&told, &["--read-only"], true),
        (&told, &["--deny=read"], false),
        (&believed, &["--read-only"], true),
        (&confined, &["--read-only"], false),
        (&confined, &["--yes=process"], true),
        (&confined, &["--yes=network"], false),
    ];
    for (entry, flags, allowed) in cases {
        let run = run(entry, flags);
        assert_eq!(run.code == Some(0), allowed, "{entry} {flags:?} {run:#?}");
        assert_eq!(run.stdout == "x\n", allowed, "{entry} {flags:?} {run:#?}");
    }
    let denied = run(&untold, &["--yes=process"]);
    assert!(
        denied
            .stderr
            .contains("nothing confines the tool: --yes without effects allows it"),
        "{denied:#?}"
    );
    // A project that was trusted has no say in it.
    let entry = json!({"command": "python3", "args": [&script], "trustAnnotations": true});
    place.write_user_config(&json!({"mcpServers": {}}));
    place.write(
        ".pirn/mcp.json",
        json!({"mcpServers": {"toy": entry}}).to_string(),
    );
    let run = place.run(&["exec", "--approve", "-e", call]);
    assert!(
        run.stderr
            .contains("trustAnnotations: can be said only in your own mcp.json"),
        "{run:#?}"
    );
}

#[test]
fn what_is_wrong_with_servers_is_told() {
    let place = place_with(&json!({
        "gone": {"command": "/no/such/program"},
        "off": {"command": "python3", "enabled": false},
        "odd": {"command": 1},
        "unset": {"command": "python3", "env": {"TOKEN": "$NO_SUCH_VARIABLE"}},
    }));
    let run = place.run(&["mcp", "list"]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    let rows: Vec<&str> = run.stdout.lines().collect();
    let starts = [
        "gone   failed",
        "  ",
        "off    disabled",
        "toy    connected  4 tools",
        "unset  failed",
    ];
    for start in starts {
        assert!(
            rows.iter().any(|row| row.starts_with(start)),
            "{start} {run:#?}"
        );
    }
    assert!(run.stdout.contains("/no/such/program"), "{run:#?}");
    assert!(run.stdout.contains("NO_SUCH_VARIABLE"), "{run:#?}");
    assert!(run.stdout.contains(".pirn/mcp.json:"), "{run:#?}");
    assert!(
        run.stderr.contains("MCP server \"odd\": command: ")
            && run
                .stderr
                .ends_with("error: 2 servers are not connected, 1 entry is invalid\n"),
        "{run:#?}"
    );
    let list = place.run(&["mcp", "list", "--json"]).json();
    let states: Vec<(&str, &str)> = list["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| {
            (
                server["name"].as_str().unwrap(),
                server["state"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        states,
        [
            ("gone", "failed"),
            ("off", "disabled"),
            ("toy", "connected"),
            ("unset", "failed")
        ]
    );
    assert_eq!(list["errors"][0]["server"], "odd");
}

#[test]
fn tools_are_listed() {
    let place = place();
    assert_eq!(
        place.run(&["mcp", "tools", "toy"]).good(),
        "toy  echo    codemode  Says it again.\n\
         toy  fail    codemode  Fails\n\
         toy  secret  hidden    Hidden\n\
         toy  ask     codemode  Asks\n"
    );
    let tools = place.run(&["mcp", "tools", "--json"]).json();
    assert_eq!(tools[0]["registryName"], "mcp__toy__echo");
    assert_eq!(tools[0]["inputSchema"]["required"], json!(["text"]));
    let all = place.run(&["tools"]).good();
    assert!(
        all.lines().any(|row| row.starts_with("mcp__toy__echo ")),
        "{all}"
    );
    assert!(!all.contains("mcp__toy__secret"), "{all}");
    let none = place.run(&["tools", "--no-mcp"]).good();
    assert!(!none.contains("mcp__"), "{none}");
}

#[test]
fn tools_are_called() {
    let place = place();
    let cases: [(&[&str], Option<i32>, &str, &str); 7] = [
        (&["echo", r#"{"text": "hi"}"#], Some(0), "hi\n", ""),
        (
            &["mcp__toy__echo", r#"{"text": "hi"}"#],
            Some(0),
            "hi\n",
            "",
        ),
        (&["secret"], Some(0), "found\n", ""),
        (
            &["fail"],
            Some(1),
            "it broke\n",
            "error: the tool fail failed\n",
        ),
        (
            &["ecko"],
            Some(2),
            "",
            "error: the MCP server toy has no tool `ecko`\n\nhint: did you mean `echo`?\nhint: `pirn mcp tools toy` lists all\n",
        ),
        (
            &["echo", "[]"],
            Some(2),
            "",
            "error: the argument is not a JSON object\n",
        ),
        (&["ask", r#"{"message": "?"}"#], Some(0), "", ""),
    ];
    for (arguments, code, stdout, stderr) in cases {
        let run = place.run(&[&["mcp", "call", "toy"], arguments].concat());
        assert_eq!(run.code, code, "{arguments:?} {run:#?}");
        assert!(run.stdout.starts_with(stdout), "{arguments:?} {run:#?}");
        assert!(run.stderr.starts_with(stderr), "{arguments:?} {run:#?}");
    }
    let run = place.run_with_input(
        &["mcp", "call", "toy", "echo", "-", "--json"],
        br#"{"text": "in"}"#,
    );
    assert_eq!(
        run.json(),
        json!({"content": [{"type": "text", "text": "in"}], "structuredContent": {"said": "in", "env": "word"}})
    );
    let run = place.run(&["mcp", "call", "tay", "echo"]);
    assert_eq!(
        ended(&run),
        (
            Some(2),
            "",
            "error: there is no MCP server `tay`\n\nhint: did you mean `toy`?\nhint: the servers are toy\n"
        )
    );
}

#[test]
fn prompts_are_listed_and_filled_in() {
    let place = place();
    assert_eq!(
        place.run(&["mcp", "prompt", "toy"]).good(),
        "greet  who [how]  Greets\n"
    );
    assert_eq!(
        place
            .run(&["mcp", "prompt", "toy", "greet", "who=you=all"])
            .good(),
        "user:\nHello you=all\n"
    );
    let prompt = place
        .run(&["mcp", "prompt", "toy", "greet", "who=x", "--json"])
        .json();
    assert_eq!(prompt["messages"][0]["content"]["text"], "Hello x");
    let run = place.run(&["mcp", "prompt", "toy", "greet", "who"]);
    assert_eq!(
        ended(&run),
        (Some(2), "", "error: `who` is not of the form KEY=VALUE\n")
    );
}

#[test]
fn scripts_call_tools_of_servers() {
    let place = place();
    let code = "const result = await tools.mcp__toy__echo({text: 'hi'}); return result.structuredContent.said";
    let run = place.run(&["exec", "-q", "--yes=process,network", "-e", code]);
    assert_eq!(ended(&run), (Some(0), "hi\n", ""));
    // What is not named is not waited for, and the names of tools can be chosen from.
    let run = place.run(&[
        "exec",
        "-q",
        "--yes",
        "--tools=mcp__toy__*",
        "-e",
        "return ALL_TOOLS.map((tool) => tool.name).join()",
    ]);
    assert_eq!(
        ended(&run),
        (Some(0), "mcp__toy__echo,mcp__toy__fail,mcp__toy__ask\n", "")
    );
    let run = place.run(&["exec", "--tools=mcp__tay__*", "-e", "return 1"]);
    assert_eq!(run.code, Some(2), "{run:#?}");
    let run = place.run(&["exec", "-q", "--no-mcp", "-e", code]);
    assert_eq!(run.code, Some(1), "{run:#?}");
}

#[test]
fn tools_of_servers_need_permission() {
    let place = place();
    let code = "await tools.mcp__toy__fail({})";
    let run = place.run(&["exec", "-q", "-e", code]);
    assert!(run.stderr.contains("was denied"), "{run:#?}");
    assert_eq!(run.code, Some(1));
}

#[test]
fn a_script_is_told_which_servers_are_not_there() {
    let place = place_with(&json!({
        "gone": {"command": "/no/such/program"},
        "idle": {"command": "/no/such/program", "start": "lazy"},
        "odd": {"command": 1},
    }));
    let stderr = |code: &str| place.run(&["exec", "-q", "-e", code]).stderr;
    assert_eq!(stderr("return 1"), "");
    let told = stderr("return typeof tools.mcp__gone__x + typeof tools.mcp__odd__x");
    assert!(
        told.contains("note: MCP server \"gone\" ([PLACE]/home/.pirn/mcp.json:"),
        "{told}"
    );
    assert!(
        told.contains("mcp.json:") && told.contains("MCP server \"odd\": command: "),
        "{told}"
    );
    assert!(!told.contains("idle"), "{told}");
    // Who calls a tool of such a server is told why that cannot be.
    let told = stderr("return await tools.mcp__gone__list({})");
    assert!(
        told.contains(
            "tools.mcp__gone__list is not available: the MCP server \"gone\" is not there: "
        ),
        "{told}"
    );
    let told = stderr("return typeof tools.mcp__idle__x");
    assert!(told.starts_with("note: MCP server \"idle\" "), "{told}");
}

#[test]
fn a_file_on_the_command_line_counts() {
    let place = place();
    let script = place.path().join("server.py");
    place.write(
        "more.json",
        json!({"mcpServers": {"extra": {"command": "python3", "args": [script]}}}).to_string(),
    );
    let code = "return (await tools.mcp__extra__secret({})).content[0].text";
    let run = place.run(&[
        "exec",
        "-q",
        "--yes",
        "--mcp-config",
        "more.json",
        "-e",
        code,
    ]);
    assert_eq!(ended(&run), (Some(0), "found\n", ""));
    let run = place.run(&["exec", "--mcp-config", "missing.json", "-e", code]);
    assert_eq!(run.code, Some(2), "{run:#?}");
    assert!(
        run.stderr
            .starts_with("error: [PLACE]/project/missing.json: "),
        "{run:#?}"
    );
}

#[test]
fn a_projects_servers_count_when_it_is_trusted() {
    let place = Place::new();
    let script = place.write("server.py", SERVER);
    place.write(
        ".pirn/mcp.json",
        json!({"mcpServers": {"local": {"command": "python3", "args": [script]}}}).to_string(),
    );
    let run = place.run(&["mcp", "list"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{run:#?}");
    assert!(run.stderr.contains("`pirn trust` decides"), "{run:#?}");
    let run = place.run(&["mcp", "list", "--approve"]);
    assert!(
        run.stdout.starts_with("local  connected  4 tools"),
        "{run:#?}"
    );
    place.run(&["trust", "--yes"]).good();
    place.run(&["mcp", "call", "local", "secret"]).good();
    let run = place.run(&["mcp", "list", "--no-approve"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{run:#?}");
}

#[test]
fn traces_are_shown() {
    let place = place();
    let run = place.run(&["mcp", "trace", "toy"]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(
        run.stderr
            .contains("hint: `pirn mcp` writes a trace when it connects"),
        "{run:#?}"
    );
    place
        .run(&["exec", "-q", "-e", "return typeof tools.mcp__toy__echo"])
        .good();
    assert_eq!(place.run(&["mcp", "trace", "toy"]).code, Some(1));
    place.run(&["mcp", "call", "toy", "secret"]).good();
    let trace = place.run(&["mcp", "trace", "toy"]).good();
    assert!(
        trace.contains("Z → tools/call #") && trace.contains("Z ← result #"),
        "{trace}"
    );
    let path = place.run(&["mcp", "trace", "toy", "--path"]).good();
    assert_eq!(path, "[PLACE]/home/.pirn/logs/mcp/toy.trace.jsonl\n");
}

#[test]
fn signing_in_needs_a_url() {
    let place = place();
    let run = place.run(&["mcp", "login", "toy"]);
    assert_eq!(run.code, Some(2), "{run:#?}");
    assert!(
        run.stderr
            .starts_with("error: the MCP server toy is a program on this machine"),
        "{run:#?}"
    );
}

/// A place whose server `slow` writes a line into the pipe when its tool is called, and never answers.
fn hanging() -> (Place, BufReader<File>, Child) {
    let place = Place::new();
    let script = place.write("server.py", SERVER);
    place.write_user_config(&json!({"mcpServers": {
        "slow": {"command": "python3", "args": [script], "env": {"HANG": "1"}},
    }}));
    let pipe = named_pipe(&place);
    let code = "text('before'); await tools.mcp__slow__secret({})";
    let child = start(&place, &["exec", "-q", "--yes", "-e", code]);
    let mut pipe = BufReader::new(File::open(pipe).unwrap());
    let mut line = String::new();
    pipe.read_line(&mut line).unwrap();
    assert_eq!(line, "here\n");
    (place, pipe, child)
}

#[test]
fn control_c_ends_servers() {
    let (place, mut pipe, child) = hanging();
    interrupt(&child);
    let run = place.ended(child.wait_with_output().unwrap());
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(130), "before\n"),
        "{run:#?}"
    );
    // The pipe ends when its last holder is gone.
    assert_eq!(pipe.read_to_string(&mut String::new()).unwrap(), 0);
}

#[test]
fn no_server_outlives_a_killed_pirn() {
    let (_place, mut pipe, mut child) = hanging();
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), None);
    assert_eq!(pipe.read_to_string(&mut String::new()).unwrap(), 0);
}

#[test]
fn a_deadline_holds_for_calls_of_servers() {
    let place = Place::new();
    let script = place.write("server.py", SERVER);
    place.write_user_config(&json!({"mcpServers": {
        "slow": {"command": "python3", "args": [script], "env": {"HANG": "1"}},
    }}));
    let code = "await tools.mcp__slow__secret({})";
    let run = place.run(&["exec", "-q", "--yes", "--timeout-ms", "300", "-e", code]);
    assert_eq!(run.code, Some(124), "{run:#?}");
    let run = place.run(&["mcp", "call", "slow", "secret", "--timeout", "1"]);
    assert_eq!(
        run.stderr,
        "error: the call did not end within 1 s\n\nhint: --timeout gives it more time\n"
    );
    assert_eq!(run.code, Some(1));
}
