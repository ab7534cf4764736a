//! What must not be seen by anybody.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::peer::{LONG_SECONDS, Peer};
use crate::place::Run;

/// Everything that pirn printed.
#[derive(Default)]
struct Transcript(String);

impl Transcript {
    fn run(&mut self, peer: &Peer, arguments: &[&str]) -> Run {
        let mut command = peer.pirn(arguments);
        command.env("PIRN_MCP_TRACE", "1");
        let run = peer.place.ended(command.output().unwrap());
        write!(self.0, "{arguments:?}\n{}\n{}\n", run.stdout, run.stderr).unwrap();
        run
    }
}

/// The secrets that went to and from the authorization server.
fn secrets(peer: &mut Peer) -> Vec<String> {
    let mut secrets = Vec::new();
    let mut take = |from: &Value, names: &[&str]| {
        let found = names.iter().filter_map(|name| from[*name].as_str());
        secrets.extend(found.map(str::to_owned));
    };
    for path in ["/register", "/token", "/revoke"] {
        for request in peer.requests(path) {
            take(
                &request["form"],
                &[
                    "code",
                    "code_verifier",
                    "refresh_token",
                    "client_secret",
                    "token",
                ],
            );
            let answer = request["answer"].as_str().unwrap_or_default();
            take(
                &serde_json::from_str(answer).unwrap_or_default(),
                &["access_token", "refresh_token", "client_secret"],
            );
        }
    }
    secrets.sort();
    secrets.dedup();
    secrets
}

/// The files below a folder, with their contents.
fn files(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            let content = std::fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&content).into_owned();
            found.push((path.display().to_string(), text));
        }
    }
}

#[test]
fn secrets_are_in_one_file_only() {
    let mut peer = Peer::start(LONG_SECONDS);
    let mut transcript = Transcript::default();
    transcript.run(&peer, &["mcp", "login", "peer"]).good();
    // A refresh by a refusal, in the middle of a session.
    let code = "await tools.mcp__peer__expire(); return await tools.mcp__peer__add({a: 1, b: 2})";
    for arguments in [
        &["mcp", "list", "--json"][..],
        &["mcp", "tools", "--json"],
        &["mcp", "tools", "peer", "--json"],
        &["mcp", "call", "peer", "whoami", "--json"],
        &["exec", "--yes", "--json", "-e", code],
        &["mcp", "trace", "peer"],
    ] {
        transcript.run(&peer, arguments).good();
    }
    // Failures say much; they must not say too much.
    peer.tell("trouble");
    peer.tell("expire");
    assert_eq!(
        transcript.run(&peer, &["mcp", "list", "--json"]).code,
        Some(1)
    );
    peer.tell("up");
    peer.tell("revoke");
    assert_eq!(
        transcript
            .run(&peer, &["mcp", "call", "peer", "whoami"])
            .code,
        Some(1)
    );
    transcript.run(&peer, &["mcp", "login", "peer"]).good();
    let stored = std::fs::read_to_string(peer.credentials_file()).unwrap();
    let mut kept = Vec::new();
    files(&peer.place.pirn_home(), &mut kept);
    let traces = kept.iter().filter(|(name, _)| name.contains("logs/mcp"));
    assert!(traces.count() > 0, "{kept:#?}");
    transcript.run(&peer, &["mcp", "logout", "peer"]).good();

    let secrets = secrets(&mut peer);
    // One client; a sign-in with code, verifier and two tokens, twice; one refresh with two tokens.
    assert_eq!(secrets.len(), 1 + 2 * 4 + 2, "{secrets:#?}");
    assert!(secrets.iter().any(|secret| stored.contains(secret)));
    kept.retain(|(name, _)| !name.ends_with("/mcp-auth.json"));
    for folder in [peer.place.temp(), peer.place.path(), peer.place.pirn_home()] {
        files(&folder, &mut kept);
    }
    kept.push(("the output".to_owned(), transcript.0));
    for (name, text) in kept {
        for secret in &secrets {
            assert!(!text.contains(secret), "{secret} is in {name}");
        }
    }
}
