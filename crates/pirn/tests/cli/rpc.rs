//! `pirn --mode rpc`, driven as another program drives it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use pirn_testkit::{Act, begun, calls, event, says};
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::protocol::check_rpc_line;

/// A program that drives a conversation.
pub(crate) struct Driver {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    seen: Vec<Value>,
}

impl Driver {
    pub(crate) fn start(desk: &Desk, flags: &[&str]) -> Self {
        let mut arguments = vec!["--mode", "rpc"];
        arguments.extend(flags);
        let mut child = desk
            .command(&arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            seen: Vec::new(),
        }
    }

    fn send(&mut self, command: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{command}").unwrap();
    }

    /// Reads until a line fits, and gives it.
    fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(
                self.output.read_line(&mut line).unwrap(),
                0,
                "{:#?}",
                self.seen
            );
            let line: Value = serde_json::from_str(&line).unwrap();
            check_rpc_line(&line);
            self.seen.push(line.clone());
            if fits(&line) {
                return line;
            }
        }
    }

    pub(crate) fn until_kind(&mut self, kind: &str) -> Value {
        self.until(|line| line["type"] == kind)
    }

    /// Says a command and gives what it answers.
    pub(crate) fn ask(&mut self, command: &Value) -> Value {
        let name = command["type"].clone();
        self.send(command);
        self.until(|line| line["type"] == "response" && line["command"] == name)
    }

    /// Says a command that works and gives its data.
    pub(crate) fn data(&mut self, command: &Value) -> Value {
        let answer = self.ask(command);
        assert_eq!(answer["success"], true, "{answer}");
        answer["data"].clone()
    }

    /// Closes standard input and waits for the end.
    pub(crate) fn end(mut self) -> (Option<i32>, Vec<Value>) {
        drop(self.input.take());
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            let told: Value = serde_json::from_str(&line).unwrap();
            check_rpc_line(&told);
            self.seen.push(told);
            line.clear();
        }
        (self.child.wait().unwrap().code(), self.seen)
    }
}

#[test]
fn a_conversation_is_driven_from_outside() {
    let desk = Desk::new(vec![
        calls(&[("1", "exec", json!({"code": "return await tools.ls({})"}))]),
        says("Nothing here."),
        says("Still nothing."),
    ]);
    let mut driver = Driver::start(&desk, &[]);
    let state = driver.data(&json!({"id": "a", "type": "get_state"}));
    assert_eq!(
        (
            &state["model"]["id"],
            &state["isStreaming"],
            &state["messageCount"]
        ),
        (&json!("scripted"), &json!(false), &json!(0)),
        "{state}"
    );
    let told = driver.data(&json!({"id": "b", "type": "prompt", "message": "What is here?"}));
    assert_eq!(told["disposition"], "started");
    driver.until_kind("agent_settled");
    let nested: Vec<&Value> = driver
        .seen
        .iter()
        .filter(|line| line["parentToolCallId"] == "1")
        .collect();
    assert_eq!(
        nested.iter().map(|line| &line["type"]).collect::<Vec<_>>(),
        ["tool_execution_start", "tool_execution_end"],
        "{:#?}",
        driver.seen
    );
    assert_eq!(
        driver.data(&json!({"type": "get_last_assistant_text"}))["text"],
        "Nothing here."
    );
    // A fork begins before a message of the user, which is given back.
    let messages = driver.data(&json!({"type": "get_fork_messages"}))["messages"].clone();
    let entry = messages[0]["entryId"].clone();
    let forked = driver.data(&json!({"type": "fork", "entryId": entry}));
    assert_eq!(forked["text"], "What is here?");
    driver.data(&json!({"type": "prompt", "message": "And now?"}));
    driver.until_kind("agent_settled");
    let stats = driver.data(&json!({"type": "get_session_stats"}));
    assert_eq!(
        (&stats["userMessages"], &stats["assistantMessages"]),
        (&json!(1), &json!(1)),
        "{stats}"
    );
    let run = driver.data(&json!({"type": "bash", "command": "echo from the user"}));
    assert_eq!(
        (run["output"].as_str(), &run["exitCode"]),
        (Some("from the user\n"), &json!(0)),
        "{run}"
    );
    let unknown = driver.ask(&json!({"id": "z", "type": "dance"}));
    assert_eq!(unknown["error"], "Unknown command: dance");
    driver.send(&json!("no command"));
    let (code, seen) = driver.end();
    assert_eq!(code, Some(0), "{seen:#?}");
    assert_eq!(seen.last().unwrap()["command"], "parse", "{seen:#?}");
}

#[test]
fn messages_steer_and_follow_and_an_abort_is_answered_when_all_is_still() {
    let mut endless = begun();
    endless.push(event(json!({"content": "Once upon"}), None));
    endless.push(Act::Never);
    let desk = Desk::new(vec![endless, says("Two."), says("Three.")]);
    let mut driver = Driver::start(&desk, &[]);
    driver.data(&json!({"type": "prompt", "message": "Tell a story"}));
    driver.until(|line| line["assistantMessageEvent"]["type"] == "text_delta");
    let refused = driver.ask(&json!({"type": "prompt", "message": "And?"}));
    assert_eq!(refused["success"], false);
    let queued = driver
        .data(&json!({"type": "prompt", "message": "Later", "streamingBehavior": "followUp"}));
    assert_eq!(queued["disposition"], "queued");
    let waiting = driver.until_kind("queue_update");
    assert_eq!(waiting["followUp"], json!(["Later"]));
    driver.data(&json!({"type": "abort"}));
    let settled = driver
        .seen
        .iter()
        .filter(|line| line["type"] == "agent_settled")
        .count();
    assert_eq!(settled, 1, "{:#?}", driver.seen);
    // Nothing that was said is lost: it waits for the next run.
    driver.data(&json!({"type": "prompt", "message": "Go on"}));
    driver.until_kind("agent_settled");
    let users: Vec<String> = driver.data(&json!({"type": "get_messages"}))["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "user")
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(users, ["Tell a story", "Go on", "Later"]);
    assert_eq!(driver.end().0, Some(0));
}

/// Demand: headless questions hang, or end with 0 and nothing.
#[test]
fn questions_go_to_who_shows_them_and_are_denied_at_once_otherwise() {
    let outside = json!({"path": "../outside-rpc.txt", "content": "x"});
    for (capabilities, value, found) in [
        (json!([]), None, "--allow-write"),
        (json!(["ui"]), Some("Deny"), "denied"),
        (json!(["ui"]), Some("Allow once"), "rote"),
    ] {
        let desk = Desk::new(vec![
            calls(&[("1", "write", outside.clone())]),
            says("Done."),
        ]);
        let mut driver = Driver::start(&desk, &[]);
        driver.data(&json!({"type": "initialize", "capabilities": capabilities}));
        driver.data(&json!({"type": "prompt", "message": "Write outside"}));
        if let Some(value) = value {
            let question = driver.until_kind("extension_ui_request");
            assert_eq!(question["method"], "select");
            assert_eq!(question["timeout"], 300_000);
            let id = question["id"].clone();
            driver.send(&json!({"type": "extension_ui_response", "id": id, "value": value}));
        }
        let asked = Instant::now();
        driver.until_kind("agent_settled");
        assert!(asked.elapsed() < Duration::from_secs(5));
        let result = desk.last_result();
        assert!(result.contains(found), "{value:?}: {result}");
        let outside = desk.place.path().join("../outside-rpc.txt");
        assert_eq!(outside.exists(), value == Some("Allow once"));
        drop(std::fs::remove_file(outside));
        assert_eq!(driver.end().0, Some(0));
    }
}

#[test]
fn a_conversation_is_made_shorter_when_asked() {
    let desk = Desk::new(vec![
        says("One."),
        says("Two."),
        says("## Goal\nTo count."),
        says("Three."),
    ]);
    let mut driver = Driver::start(&desk, &[]);
    let long = "count ".repeat(20_000);
    driver.data(&json!({"type": "prompt", "message": long}));
    driver.until_kind("agent_settled");
    let last = "more ".repeat(20_000);
    driver.data(&json!({"type": "prompt", "message": last}));
    driver.until_kind("agent_settled");
    driver.data(&json!({"type": "set_auto_compaction", "enabled": false}));
    let report = driver.data(&json!({"type": "compact", "customInstructions": "numbers"}));
    let summary = report["summary"].as_str().unwrap();
    assert!(summary.contains("To count."), "{summary}");
    driver.data(&json!({"type": "prompt", "message": "Go on"}));
    driver.until_kind("agent_settled");
    let requests = desk.requests();
    let asked = requests[2]["messages"].to_string();
    assert!(asked.contains("Additional focus: numbers"));
    let system = |number: usize| requests[number]["messages"][0].clone();
    assert_eq!(system(0), system(3), "the instructions stay byte for byte");
    assert_eq!(requests[0]["tools"], requests[3]["tools"]);
    // What the user said last stays word for word, and what came before is a summary.
    let after = requests[3]["messages"].to_string();
    assert!(after.contains(last.as_str()), "{}", after.len());
    assert!(after.contains("To count."), "{}", after.len());
    assert!(!after.contains("count count"), "{}", after.len());
    let (code, seen) = driver.end();
    assert_eq!(code, Some(0));
    for kind in ["compaction_start", "compaction_end"] {
        let told = seen.iter().filter(|line| line["type"] == kind).count();
        assert_eq!(told, 1, "{kind}");
    }
}

#[test]
fn a_page_of_the_conversation_is_written() {
    let desk = Desk::new(vec![says("<b>An answer</b>")]);
    let mut driver = Driver::start(&desk, &[]);
    driver.data(&json!({"type": "prompt", "message": "hello"}));
    driver.until_kind("agent_settled");
    let told = driver.data(&json!({"type": "export_html", "outputPath": "page.html"}));
    assert!(
        told["path"].as_str().unwrap().ends_with("/page.html"),
        "{told}"
    );
    let page = desk.place.read("page.html");
    assert!(page.contains("&lt;b&gt;An answer&lt;/b&gt;"), "{page}");
    assert_eq!(driver.end().0, Some(0));
}
