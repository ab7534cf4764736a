//! A place with a model that is a script, over HTTP on the loopback.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use pirn_testkit::{Act, FakeHttp, HttpStyle, Script, model_script};
use serde_json::{Value, json};

use crate::place::{Place, Run};
use crate::protocol::check_json_line;

/// A place, and a model that the place's `models.json` names.
pub(crate) struct Desk {
    pub(crate) place: Place,
    pub(crate) server: FakeHttp,
    pub(crate) event_loop: tokio::runtime::Runtime,
}

impl Desk {
    pub(crate) fn new(replies: Vec<Vec<Act>>) -> Self {
        Self::with_script(model_script(replies))
    }

    /// A model that answers by this script.
    pub(crate) fn with_script(script: Script) -> Self {
        let event_loop = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let server = event_loop
            .block_on(FakeHttp::start(script, HttpStyle::Events))
            .unwrap();
        let place = Place::lasting();
        let models = json!({"providers": {"desk": {
            "baseUrl": server.url("/v1"), "api": "openai-completions", "apiKey": "$DESK_KEY",
            "models": [{"id": "scripted", "cost": {"input": 1.0, "output": 2.0}}],
        }}});
        std::fs::create_dir_all(place.pirn_home()).unwrap();
        std::fs::write(place.pirn_home().join("models.json"), models.to_string()).unwrap();
        Self {
            place,
            server,
            event_loop,
        }
    }

    /// Adds a model to those of the place.
    pub(crate) fn add_model(&self, model: Value) {
        let path = self.place.pirn_home().join("models.json");
        let mut models: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let listed = models["providers"]["desk"]["models"].as_array_mut();
        listed.unwrap().push(model);
        std::fs::write(path, models.to_string()).unwrap();
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = self.place.pirn(arguments);
        command.env("DESK_KEY", "k3y").stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        let output = self.command(arguments).output().unwrap();
        let run = Run {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        if arguments.contains(&"json") {
            for line in run.stdout.lines() {
                check_json_line(&serde_json::from_str(line).unwrap());
            }
        }
        run
    }

    /// The bodies of the requests so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        let seen = self.server.log().all();
        seen.into_iter()
            .filter(|seen| seen.verb == "POST")
            .map(|seen| seen.message)
            .collect()
    }

    /// What the model was told that its last call gave.
    pub(crate) fn last_result(&self) -> String {
        let requests = self.requests();
        let messages = requests.last().unwrap()["messages"].as_array().unwrap();
        let results = messages
            .iter()
            .rev()
            .find(|message| message["role"] == "tool");
        results.unwrap()["content"].as_str().unwrap().to_owned()
    }

    /// The entries of the only session, the header first.
    pub(crate) fn session(&self) -> Vec<Value> {
        let sessions = self.place.pirn_home().join("sessions");
        // The index of all sessions lies beside the folders.
        let is_session = |path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl");
        let file = paths_in(&sessions)
            .iter()
            .filter(|path| path.is_dir())
            .flat_map(|folder| paths_in(folder))
            .find(is_session);
        let text = std::fs::read_to_string(file.unwrap()).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

fn paths_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}
