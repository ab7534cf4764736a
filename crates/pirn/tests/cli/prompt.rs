//! `pirn -p` against a model that is a script, over HTTP on the loopback.

use std::process::Stdio;
use std::time::{Duration, Instant};

use pirn_testkit::{
    Act, FakeHttp, HttpStyle, On, Script, Speaks, begun, calls, event, model_script, says,
};
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::place::Place;

#[test]
fn an_answer_is_printed_and_kept() {
    let desk = Desk::new(vec![says("Four.")]);
    let run = desk.run(&["-p", "What is two and two?"]);
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (Some(0), "Four.\n", "")
    );
    let [request] = &desk.requests()[..] else {
        panic!()
    };
    let messages = request["messages"].as_array().unwrap();
    assert!(
        messages[0]["content"]
            .as_str()
            .unwrap()
            .starts_with("You are Pirn")
    );
    assert_eq!(
        messages[1],
        json!({"role": "user", "content": "What is two and two?"})
    );
    let names: Vec<&str> = request["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    for name in ["read", "write", "edit", "bash", "exec", "wait"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert_eq!(
        desk.server.log().all()[0].header("authorization"),
        Some("Bearer k3y")
    );
    let kinds: Vec<String> = desk
        .session()
        .iter()
        .map(|entry| {
            entry["message"]["role"]
                .as_str()
                .or(entry["type"].as_str())
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "session",
            "model_change",
            "thinking_level_change",
            "system",
            "user",
            "assistant"
        ]
    );
}

#[test]
fn calls_are_made_and_their_results_go_back() {
    let desk = Desk::new(vec![
        calls(&[
            ("1", "write", json!({"path": "a.txt", "content": "hello"})),
            ("2", "ls", json!({})),
        ]),
        calls(&[("3", "bash", json!({"command": "cat a.txt; echo done"}))]),
        says("Written."),
    ]);
    let run = desk.run(&["-p", "Write hello to a.txt"]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "Written.\n"),
        "{run:#?}"
    );
    assert_eq!(
        std::fs::read_to_string(desk.place.path().join("a.txt")).unwrap(),
        "hello"
    );
    let result = desk.last_result();
    assert!(result.starts_with("hellodone"), "{result}");
}

#[test]
fn a_script_makes_many_calls_in_one() {
    let code = "const names = ['a', 'b', 'c'];
        await Promise.all(names.map((name) => tools.write({ path: `${name}.txt`, content: name })));
        const texts = await Promise.all(names.map((name) => tools.read({ path: `${name}.txt` })));
        return texts.join('+');";
    let desk = Desk::new(vec![
        calls(&[("1", "exec", json!({"code": code}))]),
        says("a+b+c"),
    ]);
    let run = desk.run(&["-p", "Three files"]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "a+b+c\n"),
        "{run:#?}"
    );
    let result = desk.last_result();
    assert!(
        result.starts_with("Script completed\n") && result.contains("a+b+c"),
        "{result}"
    );
    let session = desk.session();
    let nested = &session
        .iter()
        .find(|entry| entry["message"]["role"] == "toolResult")
        .unwrap()["message"]["nestedCalls"];
    assert_eq!(nested["calls"].as_array().unwrap().len(), 6, "{nested}");
    assert_eq!(nested["calls"][0]["status"], "ok");
}

/// What is not allowed is denied at once, with the flag that allows it, also inside a script.
#[test]
fn nobody_is_asked_and_the_model_is_told_why_not() {
    let outside = json!({"path": "../outside.txt", "content": "x"});
    let code = "await tools.write({ path: '../outside.txt', content: 'x' });";
    for call in [
        ("1", "write", outside),
        ("1", "exec", json!({"code": code})),
    ] {
        let desk = Desk::new(vec![calls(&[call]), says("I may not.")]);
        let begun = Instant::now();
        let run = desk.run(&["-p", "Write outside"]);
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), "I may not.\n"));
        let result = desk.last_result();
        assert!(result.contains("--allow-write"), "{result}");
        assert!(!desk.place.path().join("../outside.txt").exists());
    }
}

#[test]
fn failures_are_tried_again_and_those_that_last_are_told() {
    let busy = vec![
        Act::Status(503),
        Act::header("retry-after-ms", "1"),
        Act::text(r#"{"error":{"message":"Overloaded"}}"#),
    ];
    let desk = Desk::new(vec![busy, says("Here.")]);
    assert_eq!(desk.run(&["-p", "Hello"]).good(), "Here.\n");
    assert_eq!(desk.requests().len(), 2);
    let edits = desk
        .session()
        .iter()
        .filter(|entry| entry["type"] == "context_edit")
        .count();
    assert_eq!(edits, 1);

    let denied = vec![
        Act::Status(401),
        Act::text(r#"{"error":{"message":"Incorrect API key provided"}}"#),
    ];
    let desk = Desk::new(vec![denied]);
    let run = desk.run(&["-p", "Hello"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(
        run.stderr
            .starts_with("error: Incorrect API key provided (HTTP status 401)\n"),
        "{}",
        run.stderr
    );
    assert_eq!(desk.requests().len(), 1);
}

#[test]
fn a_stream_that_fails_in_the_middle_is_tried_again() {
    let mut broken = begun();
    broken.push(event(json!({"content": "Hal"}), None));
    broken.push(Act::text(
        r#"{"error":{"message":"server_error: try again"}}"#,
    ));
    let desk = Desk::new(vec![broken, says("Whole.")]);
    let run = desk.run(&["-p", "--mode", "json", "Hello"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    let lines: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["type"], "session");
    let kinds: Vec<&str> = lines
        .iter()
        .map(|line| line["type"].as_str().unwrap())
        .collect();
    for kind in ["auto_retry_start", "auto_retry_end"] {
        assert_eq!(
            kinds.iter().filter(|known| **known == kind).count(),
            1,
            "{kinds:?}"
        );
    }
    assert_eq!(
        kinds
            .iter()
            .filter(|kind| **kind == "agent_settled")
            .count(),
        1
    );
    assert_eq!(kinds.last(), Some(&"agent_settled"));
    let end = lines
        .iter()
        .rfind(|line| line["type"] == "message_end")
        .unwrap();
    assert_eq!(end["message"]["content"][0]["text"], "Whole.");
}

#[test]
fn ctrl_c_ends_the_reply_and_keeps_what_came() {
    let mut endless = begun();
    endless.push(event(json!({"content": "Once upon"}), None));
    endless.push(Act::Never);
    let desk = Desk::new(vec![endless]);
    let child = desk
        .command(&["-p", "Tell a story"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let log = desk.server.log().clone();
    desk.event_loop
        .block_on(log.wait_for(1, |seen| seen.verb == "POST"));
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    desk.event_loop
        .block_on(log.wait_for(1, |seen| seen.method == "hang up"));
    let session = desk.session();
    assert_eq!(session.last().unwrap()["message"]["stopReason"], "aborted");
}

#[test]
fn what_is_piped_in_comes_before_the_message() {
    let desk = Desk::new(vec![says("Read.")]);
    let mut child = desk
        .command(&["-p", "Sum up"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"one\ntwo\n").unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    assert_eq!(
        desk.requests()[0]["messages"][1]["content"],
        "one\ntwo\n\nSum up"
    );
}

/// A pipe that stays open and says nothing does not hold the message up.
#[test]
fn an_open_pipe_does_not_hang() {
    let desk = Desk::new(vec![says("Here.")]);
    let mut child = desk
        .command(&["-p", "Hello"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pipe = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(pipe);
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(0), &b"Here.\n"[..])
    );
    assert!(String::from_utf8_lossy(&output.stderr).contains("said nothing for a second"));
}

#[test]
fn a_session_goes_on() {
    let desk = Desk::new(vec![says("One."), says("Two.")]);
    desk.run(&["-p", "First"]).good();
    let sessions = desk.place.pirn_home().join("sessions");
    let folder = std::fs::read_dir(sessions)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let file = std::fs::read_dir(folder)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    assert_eq!(
        desk.run(&["-p", "--session", file.to_str().unwrap(), "Second"])
            .good(),
        "Two.\n"
    );
    let messages = desk.requests()[1]["messages"].clone();
    let texts: Vec<&str> = messages.as_array().unwrap()[1..]
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["First", "One.", "Second"]);
}

#[test]
fn a_server_on_this_machine_is_found_without_a_key() {
    let desk = Desk::new(vec![says("Local.")]);
    std::fs::remove_file(desk.place.pirn_home().join("models.json")).unwrap();
    let list = json!({"object": "list", "data": [{"id": "text-embedder"}, {"id": "tiny", "meta": {"n_ctx": 4096}}]});
    // A second server, whose list is what Ollama would say.
    let script = model_script([says("Local.")]).on(
        pirn_testkit::On::Path("GET", "/v1/models"),
        [Act::text(list.to_string())],
    );
    let ollama = desk
        .event_loop
        .block_on(FakeHttp::start(script, HttpStyle::Json))
        .unwrap();
    let output = desk
        .command(&["-p", "Hello"])
        .env("OLLAMA_HOST", ollama.url("").trim_start_matches("http://"))
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "Local.\n",
        "{output:?}"
    );
    let request = ollama
        .log()
        .all()
        .into_iter()
        .find(|seen| seen.verb == "POST")
        .unwrap();
    assert_eq!(
        (
            request.message["model"].as_str(),
            request.message["max_tokens"].as_u64()
        ),
        (Some("tiny"), Some(2048))
    );
}

#[test]
fn without_any_model_three_lines_say_what_to_do() {
    let place = Place::new();
    let output = place
        .pirn(&["-p", "Hello"])
        .env("OLLAMA_HOST", "127.0.0.1:9")
        .env("LLAMA_BASE_URL", "http://127.0.0.1:9")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines[0], "error: there is no model to ask");
    assert!(
        lines.iter().any(|line| line.contains("ANTHROPIC_API_KEY")),
        "{stderr}"
    );
    assert!(lines.iter().any(|line| line.contains("Ollama")), "{stderr}");
}

#[test]
fn a_script_asks_a_classifier_and_keys_stay_outside() {
    const CODE: &str = "const [judge] = await models.getAvailableOfType('classifier');
const questions = {done: {type: 'bool', instructions: 'Done?', criteria: {true: 'closed', false: 'open'}}};
const asked = await models.classify(judge, {state: {title: 'x'}, questions});
const wrong = await models.classify({provider: 'desk', id: 'scripted'}, {state: {}, questions}).catch((error) => error.message);
return {judge, answers: asked.answers, cost: asked.usage.cost.total, stopReason: asked.stopReason, wrong}";
    let decision = json!({
        "answers": [{"name": "done", "probability": 0.25}],
        "usage": {"input_tokens": 500_000, "output_tokens": 0},
    });
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{decision}");
    let chat = || On::Path("POST", "/v1/chat/completions");
    let script = Script::new(Speaks::Legacy)
        .first(
            1,
            On::Path("POST", "/v1/decisions"),
            [Act::bytes(answer), Act::Cut],
        )
        .first(1, chat(), calls(&[("c1", "exec", json!({"code": CODE}))]))
        .first(1, chat(), says("Done."));
    let desk = Desk::with_script(script);
    desk.add_model(json!({"id": "judge", "api": "openai-decisions", "cost": {"input": 2.0}, "headers": {"x-own": "s3cret"}}));
    let run = desk.run(&["-p", "Is it done?"]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "Done.\n"),
        "{run:#?}"
    );
    let result = desk.last_result();
    for expected in [
        "0.25",
        "\"cost\":1",
        "\"stopReason\":\"stop\"",
        "there is no classifier desk/scripted",
    ] {
        assert!(result.contains(expected), "{expected} in {result}");
    }
    assert!(
        !result.contains("s3cret") && !result.contains("k3y"),
        "{result}"
    );
}
