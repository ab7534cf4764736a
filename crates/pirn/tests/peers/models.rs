//! The agent with a model server that others wrote: it speaks the wires of the vendors, fails as it is told to, and judges how its
//! client behaved.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::installed::Installed;
use crate::place::{Place, Run};

/// Each wire: the provider here, where the server speaks it, and its API.
const WIRES: [(&str, &str, &str); 4] = [
    ("chat", "/v1", "openai-completions"),
    ("responses", "/v1", "openai-responses"),
    ("messages", "/anthropic", "anthropic-messages"),
    ("gemini", "/gemini/v1beta", "google-generative-ai"),
];

/// The server, for as long as this lives.
struct ModelServer {
    child: Child,
    url: String,
    place: Place,
}

impl ModelServer {
    /// Starts it; `None` where it is not installed.
    fn start() -> Option<Self> {
        let program = Installed::find().model_server()?;
        let port = {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().port()
        };
        let mut child = Command::new(program)
            .args(["serve", "--host", "127.0.0.1", "--port", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("running on") {
            line.clear();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "the server ended");
        }
        // Its log has to be read to its end, or it would stand still.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        let url = format!("http://127.0.0.1:{port}");
        let providers: serde_json::Map<String, Value> = WIRES
            .iter()
            .map(|(name, path, api)| {
                let provider = json!({
                    "baseUrl": format!("{url}{path}"), "api": api, "apiKey": "k", "models": [{"id": "model"}],
                });
                ((*name).to_owned(), provider)
            })
            .collect();
        let place = Place::lasting();
        std::fs::create_dir_all(place.pirn_home()).unwrap();
        let models = json!({"providers": providers}).to_string();
        std::fs::write(place.pirn_home().join("models.json"), models).unwrap();
        Some(Self { child, url, place })
    }

    /// Says something to the server itself, and gives its answer.
    fn say(&self, verb: &str, path: &str, body: &Value) -> Value {
        let output = Command::new("curl")
            .args(["-sS", "-X", verb, "-d", &body.to_string()])
            .arg(format!("{}/_llmock/{path}", self.url))
            .output()
            .unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    }

    /// Forgets what happened, and behaves like this for the requests that follow.
    fn behave(&self, behaviors: &[Value]) {
        self.say("POST", "reset", &json!({}));
        if !behaviors.is_empty() {
            self.say("POST", "scenario", &json!({"behaviors": behaviors}));
        }
    }

    fn ask(&self, provider: &str) -> Run {
        let model = format!("{provider}/model");
        let flags = [
            "-p",
            "--no-session",
            "--mode",
            "json",
            "--tools",
            "ls,exec,wait",
        ];
        let said = ["--model", &model, "List the files"];
        self.place.run(&[&flags[..], &said].concat())
    }

    /// Fails where the client did something that no vendor would like.
    fn assert_content(&self, of: &str) {
        let verdict = self.say("GET", "verdict", &json!({}));
        assert_eq!(verdict["passed"], true, "{of}: {verdict:#}");
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn events(run: &Run) -> Vec<Value> {
    let lines = run.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What the calls of a run gave, with the name of each tool.
fn results(run: &Run) -> Vec<(String, String)> {
    let ends = events(run).into_iter().filter(|event| {
        event["type"] == "tool_execution_end" && event["parentToolCallId"].is_null()
    });
    ends.map(|event| {
        let name = event["toolName"].as_str().unwrap().to_owned();
        (name, event["result"]["content"].to_string())
    })
    .collect()
}

#[test]
fn every_wire_carries_a_script_its_result_and_an_answer() {
    let Some(server) = ModelServer::start() else {
        return;
    };
    server.place.write("note.txt", "x");
    let code = "return (await tools.ls({})).map((entry) => entry.name)";
    for (provider, ..) in WIRES {
        server.behave(&[json!({
            "type": "reply", "tool_calls": [{"name": "exec", "arguments": {"code": code}}],
        })]);
        let run = server.ask(provider);
        assert_eq!(run.code, Some(0), "{provider}: {run:#?}");
        let results = results(&run);
        let [(name, result)] = &results[..] else {
            panic!("{provider}: {results:?}");
        };
        assert_eq!(name, "exec");
        assert!(result.contains("note.txt"), "{provider}: {result}");
        let answers = events(&run).into_iter().filter(|event| {
            event["type"] == "message_end" && event["message"]["stopReason"] == "stop"
        });
        assert_eq!(answers.count(), 1, "{provider}");
        server.assert_content(provider);
    }
}

#[test]
fn what_breaks_is_tried_again_or_told() {
    let Some(server) = ModelServer::start() else {
        return;
    };
    let faults = [
        (json!({"type": "stream_fault", "kind": "disconnect"}), 0),
        (json!({"type": "stream_fault", "kind": "truncate"}), 0),
        (json!({"type": "stream_fault", "kind": "malformed"}), 0),
        (json!({"type": "fail", "status": 429, "retry_after": 1}), 0),
        (json!({"type": "fail", "status": 503}), 0),
        (json!({"type": "fail", "status": 401}), 1),
        (
            json!({"type": "tool_fault", "kind": "malformed_arguments"}),
            0,
        ),
        (json!({"type": "tool_fault", "kind": "unknown_tool"}), 0),
    ];
    for (provider, ..) in WIRES {
        for (fault, code) in &faults {
            server.behave(std::slice::from_ref(fault));
            let run = server.ask(provider);
            assert_eq!(run.code, Some(*code), "{provider}, {fault}: {run:#?}");
            server.assert_content(&format!("{provider}, {fault}"));
        }
    }
}
