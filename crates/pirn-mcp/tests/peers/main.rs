//! The client against real servers: connect, list, call a tool, close, and nothing is left. `make peers` installs them.

#![allow(
    clippy::disallowed_methods,
    reason = "tests prepare and inspect what they test"
)]
#![expect(
    clippy::expect_used,
    clippy::match_wild_err_arm,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

#[path = "../matrix/session.rs"]
#[expect(dead_code, reason = "the other test looks at more")]
mod session;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use pirn_mcp::{HttpEntry, HttpKind, OAuthSettings, StdioEntry, Timeouts, TransportEntry};
use pirn_sandbox::{Child, Command};
use serde_json::{Value, json};

use session::{Called, Session, Stop};

/// By which the processes of one test are found.
const MARK_VARIABLE: &str = "PIRN_PEER";
/// A cold Node on a busy machine is slow; within the guard of the tests all the same.
const LIMITS: Timeouts = Timeouts {
    start: Duration::from_secs(9),
    request: Duration::from_secs(9),
    total: Duration::from_secs(9),
};
/// How long a server of its own may take to listen.
const LISTENS_WITHIN: Duration = Duration::from_secs(20);

struct Peer {
    name: &'static str,
    program: Program,
    /// `$FOLDER` is a folder of the test's own.
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
    over: Over,
    /// How many tools it has for a client that answers no questions.
    tools: usize,
    tool: &'static str,
    call: Value,
    answer: Answer,
}

/// Where a server's program lies below the folder of the peers.
enum Program {
    Node(&'static str),
    Python(&'static str),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Stdio,
    /// It listens by itself, on the port that `PORT` says, and this is the path.
    Http(HttpKind, &'static str),
}

enum Answer {
    Text(&'static str),
    Error(&'static str),
}

fn everything(name: &'static str, mode: &'static [&'static str], over: Over) -> Peer {
    Peer {
        name,
        program: Program::Node("mcp-server-everything"),
        arguments: mode,
        environment: &[],
        over,
        tools: 13,
        tool: "echo",
        call: json!({"message": "is anybody there?"}),
        answer: Answer::Text("is anybody there?"),
    }
}

fn peers() -> Vec<Peer> {
    let node = |name, program, arguments, tools, tool, call, answer| Peer {
        name,
        program: Program::Node(program),
        arguments,
        environment: &[],
        over: Over::Stdio,
        tools,
        tool,
        call,
        answer: Answer::Text(answer),
    };
    let python = |name, program, arguments, tools, tool, call, answer| Peer {
        program: Program::Python(program),
        answer,
        ..node(name, "", arguments, tools, tool, call, "")
    };
    vec![
        everything("everything", &[], Over::Stdio),
        everything(
            "everything_over_http",
            &["streamableHttp"],
            Over::Http(HttpKind::Auto, "/mcp"),
        ),
        everything(
            "everything_over_sse",
            &["sse"],
            Over::Http(HttpKind::Auto, "/sse"),
        ),
        node(
            "filesystem",
            "mcp-server-filesystem",
            &["$FOLDER"],
            14,
            "list_allowed_directories",
            json!({}),
            "Allowed directories",
        ),
        Peer {
            // It writes beside its own program otherwise.
            environment: &[("MEMORY_FILE_PATH", "$FOLDER/memory.jsonl")],
            ..node(
                "memory",
                "mcp-server-memory",
                &[],
                9,
                "create_entities",
                json!({"entities": [{"name": "Ada", "entityType": "person", "observations": ["counts"]}]}),
                "Ada",
            )
        },
        node(
            "sequential_thinking",
            "mcp-server-sequential-thinking",
            &[],
            1,
            "sequentialthinking",
            json!({"thought": "One.", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}),
            "thoughtNumber",
        ),
        python(
            "git",
            "python/bin/mcp-server-git",
            &["--repository", "$FOLDER"],
            12,
            "git_status",
            json!({"repo_path": "$FOLDER"}),
            Answer::Text("On branch"),
        ),
        python(
            "time",
            "python/bin/mcp-server-time",
            &["--local-timezone", "UTC"],
            2,
            "get_current_time",
            json!({"timezone": "UTC"}),
            Answer::Text("UTC"),
        ),
        python(
            "fetch",
            "python/bin/mcp-server-fetch",
            &[],
            1,
            "fetch",
            // It fetches nothing from this machine, which is an answer as well.
            json!({"url": "http://127.0.0.1:1/"}),
            Answer::Error("127.0.0.1"),
        ),
        python(
            "sqlite",
            "python-old/bin/mcp-server-sqlite",
            &["--db-path", "$FOLDER/test.db"],
            6,
            "read_query",
            json!({"query": "select 6 * 7 as answer"}),
            Answer::Text("42"),
        ),
    ]
}

fn main() -> ExitCode {
    let trials = peers()
        .into_iter()
        .map(|peer| {
            Trial::test(peer.name, move || {
                let runtime = tokio::runtime::Builder::new_multi_thread()
                    .worker_threads(2)
                    .enable_all()
                    .build()?;
                runtime.block_on(run(&peer))
            })
        })
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

async fn run(peer: &Peer) -> Result<(), Failed> {
    let peers = folder_of_peers()?;
    let folder = tempfile::tempdir()?;
    if peer.name == "git" {
        start_repository(folder.path()).await?;
    }
    let mark = folder.path().display().to_string();
    let (transport, own) = match peer.over {
        Over::Stdio => {
            let (command, args) = command_line(peer, &peers, folder.path());
            let stdio = StdioEntry {
                command,
                args,
                env: environment(peer, folder.path()),
                ..StdioEntry::default()
            };
            (TransportEntry::Stdio(stdio), None)
        }
        Over::Http(kind, path) => {
            let (port, child) = listen(peer, &peers, folder.path()).await?;
            let http = HttpEntry {
                url: format!("http://127.0.0.1:{port}{path}"),
                kind,
                headers: Vec::new(),
                oauth: OAuthSettings::default(),
            };
            (TransportEntry::Http(http), Some(child))
        }
    };
    let entry = session::entry("peer", LIMITS, transport);
    let session = Session::start(entry, folder.path(), None);
    let connected = session.connect().await;
    let tools = session.tools();
    let called = session
        .call(peer.tool, filled(&peer.call, folder.path()), Stop::Never)
        .await;
    let closing_took = session.close().await;
    drop(own);
    let left = session::processes_left(&format!("{MARK_VARIABLE}={mark}")).await;

    if let Err((kind, text)) = connected {
        return Err(format!("connecting failed with {kind:?}: {text}").into());
    }
    if tools.len() != peer.tools {
        return Err(format!(
            "wanted {} tools, found {}: {tools:?}",
            peer.tools,
            tools.len()
        )
        .into());
    }
    check_answer(&peer.answer, &called)?;
    if left > 0 {
        return Err(format!("{left} processes are left").into());
    }
    if closing_took > Duration::from_secs(5) {
        return Err(format!("closing took {closing_took:?}").into());
    }
    Ok(())
}

fn check_answer(answer: &Answer, called: &Called) -> Result<(), Failed> {
    let (is_error, wanted) = match answer {
        Answer::Text(text) => (false, *text),
        Answer::Error(text) => (true, *text),
    };
    if called.is_error == is_error && called.text.contains(wanted) {
        Ok(())
    } else {
        Err(format!("wanted {wanted:?} in the answer, got {called:?}").into())
    }
}

/// Where `make peers` has put the servers.
fn folder_of_peers() -> Result<PathBuf, Failed> {
    let folder = std::env::var_os("PIRN_MCP_PEERS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers"),
        PathBuf::from,
    );
    if folder.join("installed.json").is_file() {
        Ok(folder.canonicalize()?)
    } else {
        Err(format!(
            "the real servers are not in {}: install them with `make peers`",
            folder.display()
        )
        .into())
    }
}

fn command_line(peer: &Peer, peers: &Path, folder: &Path) -> (String, Vec<String>) {
    let path = |path: &str| peers.join(path).to_string_lossy().into_owned();
    let arguments = peer.arguments.iter().map(|argument| fill(argument, folder));
    match peer.program {
        Program::Node(name) => (
            path("node_modules/node/bin/node"),
            std::iter::once(path(&format!("node_modules/.bin/{name}")))
                .chain(arguments)
                .collect(),
        ),
        Program::Python(name) => (path(name), arguments.collect()),
    }
}

fn environment(peer: &Peer, folder: &Path) -> Vec<(String, String)> {
    peer.environment
        .iter()
        .copied()
        .chain([(MARK_VARIABLE, "$FOLDER")])
        .map(|(name, value)| (name.to_owned(), fill(value, folder)))
        .collect()
}

fn fill(text: &str, folder: &Path) -> String {
    text.replace("$FOLDER", &folder.display().to_string())
}

fn filled(value: &Value, folder: &Path) -> Value {
    serde_json::from_str(&fill(&value.to_string(), folder)).expect("a path without quotes")
}

/// Starts a server that listens by itself, and waits until it does.
async fn listen(peer: &Peer, peers: &Path, folder: &Path) -> Result<(u16, Child), Failed> {
    let port = std::net::TcpListener::bind(("127.0.0.1", 0))?
        .local_addr()?
        .port();
    let (program, arguments) = command_line(peer, peers, folder);
    let child = Command::new(program)
        .args(arguments)
        .env("PORT", port.to_string())
        .env(MARK_VARIABLE, folder.as_os_str())
        .current_dir(folder)
        .spawn()?;
    let deadline = Instant::now() + LISTENS_WITHIN;
    while tokio::net::TcpStream::connect(("127.0.0.1", port))
        .await
        .is_err()
    {
        if child.status().is_some() || Instant::now() > deadline {
            return Err(format!("the server does not listen: {:?}", child.status()).into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await; // sleeps: no event tells that another process listens
    }
    Ok((port, child))
}

async fn start_repository(folder: &Path) -> Result<(), Failed> {
    let child = Command::new("git")
        .args(["init", "--quiet"])
        .current_dir(folder)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder.as_os_str())
        .spawn()?;
    child.wait().await;
    Ok(())
}
