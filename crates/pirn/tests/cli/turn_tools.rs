//! What the model of a turn is told of tools: modes of scripts, searching, servers, programs.

use pirn_testkit::{calls, says};
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::mcp::SERVER;

/// The desk's user has the server `toy`, shown in this way.
fn add_server(desk: &Desk, exposure: &str) {
    let script = desk.place.write("server.py", SERVER);
    let entry = json!({"command": "python3", "args": [script], "exposure": exposure, "trustAnnotations": true});
    desk.place
        .write_user_config(&json!({"mcpServers": {"toy": entry}}));
}

fn set_mode(desk: &Desk, mode: &str) {
    desk.place
        .write_settings(&json!({"codemode": {"mode": mode}}).to_string());
}

fn names(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect()
}

fn description<'a>(request: &'a Value, name: &str) -> &'a str {
    let tools = request["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["function"]["name"] == name);
    tool.unwrap()["function"]["description"].as_str().unwrap()
}

fn system(request: &Value) -> &str {
    request["messages"][0]["content"].as_str().unwrap()
}

#[test]
fn the_mode_says_whether_tools_are_called_by_scripts() {
    for mode in ["off", "on", "only"] {
        let desk = Desk::new(vec![says("Yes.")]);
        set_mode(&desk, mode);
        desk.run(&["-p", "Hello"]).good();
        let request = &desk.requests()[0];
        let names = names(request);
        let has = |name: &str| names.contains(&name);
        assert_eq!(
            (has("exec"), has("wait"), has("read"), has("eval")),
            (mode != "off", mode != "off", mode != "only", true),
            "{mode}: {names:?}"
        );
        if mode == "on" {
            let read = description(request, "read");
            assert!(read.contains("Codemode: `tools.read(args)`"), "{read}");
        }
        if mode == "only" {
            let exec = description(request, "exec");
            assert!(exec.contains("### `read`"), "{exec}");
        }
        assert_eq!(system(request).contains("exec"), mode != "off", "{mode}");
    }
}

#[test]
fn the_budget_bounds_what_exec_lists() {
    let desk = Desk::new(vec![says("Yes.")]);
    desk.place
        .write_settings(r#"{"codemode": {"mode": "only", "inlineBudget": 0}}"#);
    desk.run(&["-p", "Hello"]).good();
    let requests = desk.requests();
    let exec = description(&requests[0], "exec");
    assert!(!exec.contains("### `read`"), "{exec}");
}

/// What a search found is declared from then on, also when the session goes on in another process or as a fork; and not in a
/// conversation that goes on from before the search.
#[test]
fn a_search_declares_tools_and_the_session_keeps_that() {
    let search = || {
        calls(&[(
            "1",
            "tool_search",
            json!({"query": "say it again", "limit": 1}),
        )])
    };
    let echo = || calls(&[("2", "mcp__toy__echo", json!({"text": "hi"}))]);
    let desk = Desk::new(vec![
        search(),
        echo(),
        says("One."),
        echo(),
        says("Two."),
        says("Three."),
    ]);
    add_server(&desk, "deferred");
    let first = desk.run(&["-p", "First"]);
    assert_eq!((first.code, first.stdout.as_str()), (Some(0), "One.\n"));
    let requests = desk.requests();
    assert!(names(&requests[0]).contains(&"tool_search"));
    assert!(system(&requests[0]).contains("mcp_servers"));
    assert!(system(&requests[0]).contains("toy (tool_search)"));
    assert!(!names(&requests[0]).contains(&"mcp__toy__echo"));
    assert_eq!(names(&requests[1]).last(), Some(&"mcp__toy__echo"));
    assert!(desk.last_result().contains("hi"), "{}", desk.last_result());

    desk.run(&["-p", "--continue", "Second"]).good();
    let requests = desk.requests();
    assert_eq!(names(&requests[3]), names(&requests[2]));
    assert_eq!(requests[3]["messages"][0], requests[2]["messages"][0]);
    assert!(desk.last_result().contains("hi"), "{}", desk.last_result());

    let session = desk.session();
    let id = session[0]["id"].as_str().unwrap();
    desk.run(&["-p", "--fork", id, "Third"]).good();
    let requests = desk.requests();
    assert_eq!(names(&requests[5]), names(&requests[2]));
}

/// Servers whose tools are found later hold nothing up; a script that names one of theirs waits for them.
#[test]
fn the_first_message_waits_for_direct_servers_only() {
    let code = "return (await tools.mcp__toy__echo({text: 'late'})).structuredContent.said";
    let desk = Desk::new(vec![
        calls(&[("1", "exec", json!({"code": code}))]),
        says("Done."),
    ]);
    let server = desk.place.write("server.py", SERVER);
    // Starts once the model was asked.
    let slow = desk.place.write(
        "slow.py",
        format!(
            "import os, time\nwhile not os.path.exists('asked'): time.sleep(0.01)\nexec(open({:?}).read())",
            server.to_str().unwrap()
        ),
    );
    let entry = |script: &std::path::Path, exposure: &str| json!({"command": "python3", "args": [script], "exposure": exposure, "trustAnnotations": true});
    desk.place.write_user_config(&json!({"mcpServers": {
        "now": entry(&server, "direct"), "toy": entry(&slow, "codemode"),
    }}));
    let mut child = desk
        .command(&["-p", "Hello"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let log = desk.server.log().clone();
    desk.event_loop
        .block_on(log.wait_for(1, |seen| seen.verb == "POST"));
    desk.place.write("asked", "");
    assert!(child.wait().unwrap().success());
    let requests = desk.requests();
    let first = names(&requests[0]);
    assert!(first.contains(&"mcp__now__echo"), "{first:?}");
    assert!(!first.contains(&"mcp__toy__echo"), "{first:?}");
    assert!(system(&requests[0]).contains("toy (exec)"));
    assert!(
        desk.last_result().contains("late"),
        "{}",
        desk.last_result()
    );
}

#[test]
fn a_server_that_is_not_there_is_told_once() {
    let desk = Desk::new(vec![says("Yes."), says("Again.")]);
    let entry = json!({"command": "/does/not/exist", "exposure": "direct"});
    desk.place
        .write_user_config(&json!({"mcpServers": {"gone": entry}}));
    let run = desk.run(&["-p", "Hello", "Once more"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    let told = run.stderr.matches("MCP server \"gone\"").count();
    assert_eq!(told, 1, "{}", run.stderr);
}

/// A program runs where nobody can see it only if both the setting and the flag say so.
#[test]
fn programs_of_the_model_need_the_setting_and_the_flag() {
    let program = || {
        calls(&[(
            "1",
            "eval",
            json!({"language": "python", "code": "print(6 * 7)"}),
        )])
    };
    let desk = Desk::new(vec![program(), says("No."), program(), says("Yes.")]);
    desk.run(&["-p", "--yes=process", "Reckon"]).good();
    let denied = desk.last_result();
    for word in ["eval.allowNonInteractive", "--yes=process"] {
        assert!(denied.contains(word), "{denied}");
    }
    desk.place
        .write_settings(r#"{"eval": {"allowNonInteractive": true}}"#);
    desk.run(&["-p", "--yes=process", "Reckon"]).good();
    assert!(desk.last_result().contains("42"), "{}", desk.last_result());
}
