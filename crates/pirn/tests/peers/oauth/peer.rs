//! The server with its authorization server, and a user who has it in the configuration.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::installed::Installed;
use crate::place::{Place, Run};

/// A browser without a window: it goes to the page, which sends it back at once.
pub(super) const BROWSER: &str = "curl -sL";
/// Tokens that do not end while a test runs.
pub(super) const LONG_SECONDS: u64 = 600;
/// Tokens that are soon over.
pub(super) const SHORT_SECONDS: u64 = 2;
/// What pirn says where only a person can help.
pub(super) const LOGIN_HINT: &str = "sign in with: pirn mcp login peer";

pub(super) struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    pub(super) place: Place,
    /// Where tools are called.
    pub(super) url: String,
    /// Where signing in happens.
    pub(super) issuer: String,
}

impl Peer {
    /// Starts the server; its tokens last for so long. The user has added it.
    pub(super) fn start(lifetime_s: u64) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/oauth/server.py");
        let mut child = Command::new(Installed::find().python())
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let address = answer(&mut output);
        let text = |name: &str| address[name].as_str().unwrap().to_owned();
        let mut peer = Self {
            child,
            input,
            output,
            place: Place::new(),
            url: text("url"),
            issuer: text("issuer"),
        };
        peer.set_lifetime(lifetime_s);
        peer.run(&["mcp", "add", "peer", "--url", &peer.url]).good();
        peer
    }

    /// Starts the server and signs in.
    pub(super) fn start_signed_in(lifetime_s: u64) -> Self {
        let peer = Self::start(lifetime_s);
        peer.sign_in();
        peer
    }

    /// Commands the server, see there.
    pub(super) fn tell(&mut self, command: &str) -> Value {
        writeln!(self.input, "{command}").unwrap();
        answer(&mut self.output)
    }

    /// How long tokens last that are given from now on.
    pub(super) fn set_lifetime(&mut self, lifetime_s: u64) {
        self.tell(&format!("lifetime {lifetime_s}"));
    }

    /// All requests so far to this path.
    pub(super) fn requests(&mut self, path: &str) -> Vec<Value> {
        let Value::Array(requests) = self.tell("requests") else {
            panic!("no list of requests");
        };
        let is_there = |request: &Value| request["path"] == path;
        requests.into_iter().filter(is_there).collect()
    }

    /// How often a token was to be replaced so far.
    pub(super) fn refreshes(&mut self) -> usize {
        let requests = self.requests("/token");
        let is_refresh = |request: &&Value| request["form"]["grant_type"] == "refresh_token";
        requests.iter().filter(is_refresh).count()
    }

    pub(super) fn registrations(&mut self) -> usize {
        self.requests("/register").len()
    }

    pub(super) fn pirn(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.pirn(arguments);
        command.env("PIRN_BROWSER", BROWSER);
        command
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Run {
        self.place.ended(self.pirn(arguments).output().unwrap())
    }

    /// Signs in by the browser.
    pub(super) fn sign_in(&self) {
        let run = self.run(&["mcp", "login", "peer"]);
        assert_eq!(run.code, Some(0), "{run:#?}");
        assert!(
            run.stderr.ends_with("\nnote: signed in to peer\n"),
            "{run:#?}"
        );
    }

    pub(super) fn call(&self) -> Run {
        self.run(&["mcp", "call", "peer", "add", r#"{"a": 1, "b": 2}"#])
    }

    /// Calls a tool, which works.
    pub(super) fn call_well(&self) {
        let run = self.call();
        assert_eq!(
            (run.code, run.stdout.as_str(), run.stderr.as_str()),
            (Some(0), "3\n", "")
        );
    }

    /// Calls a tool, which fails because the user must sign in.
    pub(super) fn call_unauthorized(&self, why: &str) {
        let run = self.call();
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:#?}");
        assert!(
            run.stderr.contains(why) && run.stderr.contains(LOGIN_HINT),
            "{run:#?}"
        );
    }

    /// The file with credentials.
    pub(super) fn credentials_file(&self) -> PathBuf {
        self.place.pirn_home().join("mcp-auth.json")
    }

    /// What is stored for the server; nothing where there is no entry.
    pub(super) fn credentials(&self) -> Value {
        let text = std::fs::read_to_string(self.credentials_file()).unwrap();
        let all: Value = serde_json::from_str(&text).unwrap();
        all[format!("mcp__peer|{}", self.url)].clone()
    }

    /// Waits until the stored token is over.
    pub(super) fn wait_for_expiry(&self) {
        let end_ms = self.credentials()["tokensExpireAt"].as_u64().unwrap();
        let left = (UNIX_EPOCH + Duration::from_millis(end_ms)).duration_since(SystemTime::now());
        std::thread::sleep(left.unwrap_or_default()); // sleeps: a token lives for whole seconds
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // One that has ended already is fine, too.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn answer(output: &mut BufReader<ChildStdout>) -> Value {
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
}
