//! Running a row: its server, its calls, and the end.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_mcp::{
    ElicitationAnswer, ElicitationRequest, Elicitor, ErrorKind, HttpEntry, OAuthSettings,
    ServerEvent, StdioEntry, TransportEntry,
};
use pirn_testkit::{FakeHttp, HttpStyle, Log, Seen};
use serde_json::json;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio_util::sync::CancellationToken;

use crate::row::{Call, Healthy, Over, Place, Row};
use crate::session::{self, Called, Session, Stop};
use crate::{LOG_VARIABLE, SERVER_VARIABLE, check};

/// How long a change that a server announces may take to arrive.
const CHANGES_WITHIN: Duration = Duration::from_secs(5);

/// What happened in a row.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) connected: Result<(), (ErrorKind, String)>,
    /// Names in the registry and at the server.
    pub(crate) tools: Vec<(String, String)>,
    pub(crate) calls: Vec<Called>,
    /// The call of `ok` at the end; `None` where there is no such tool.
    pub(crate) healthy: Option<Called>,
    pub(crate) closing_took: Duration,
    pub(crate) processes_left: usize,
    pub(crate) seen: Vec<Seen>,
    pub(crate) warnings: Vec<String>,
}

/// Answers every question alike.
struct User(ElicitationAnswer);

impl Elicitor for User {
    fn elicit(
        &self,
        _: ElicitationRequest,
        _: CancellationToken,
    ) -> BoxFuture<'static, ElicitationAnswer> {
        let answer = self.0.clone();
        Box::pin(async move { answer })
    }
}

/// Runs a row over one transport.
pub(crate) async fn run(row: &Row, over: Over) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder for the row");
    let log_file = folder.path().join("seen.jsonl");
    let http = start_http(row, over).await;
    let transport = match over {
        Over::Stdio => TransportEntry::Stdio(stdio(row, &log_file)),
        Over::Json | Over::Events | Over::Old => {
            TransportEntry::Http(http_entry(row, http.as_ref()))
        }
    };
    let user = row
        .user
        .clone()
        .map(|answer| Arc::new(User(answer)) as Arc<dyn Elicitor>);
    let entry = session::entry("fake", row.limits, transport);
    let session = Session::start(entry, folder.path(), user);
    let mut events = session.events();

    let mut outcome = Outcome {
        connected: session.connect().await,
        tools: Vec::new(),
        calls: Vec::new(),
        healthy: None,
        closing_took: Duration::ZERO,
        processes_left: 0,
        seen: Vec::new(),
        warnings: Vec::new(),
    };
    for call in &row.calls {
        outcome.calls.push(make(&session, call).await);
    }
    settle_tools(&session, &mut events, row, &mut outcome).await;
    let is_there = outcome.tools.iter().any(|(_, server)| server == "ok");
    if is_there || !matches!(row.healthy, Healthy::Absent | Healthy::IfPresent) {
        let mut called = session.call("ok", json!({}), Stop::Never).await;
        if called.is_error && matches!(row.healthy, Healthy::Again) {
            called = session.call("ok", json!({}), Stop::Never).await;
        }
        outcome.healthy = Some(called);
    }
    outcome.closing_took = session.close().await;
    let variable = format!("{LOG_VARIABLE}={}", log_file.display());
    outcome.processes_left = session::processes_left(&variable).await;
    outcome.seen = match &http {
        Some(http) => http.log().all(),
        None => Log::read(&log_file).expect("what the processes wrote"),
    };
    outcome
}

async fn make(session: &Session, call: &Call) -> Called {
    let mut arguments = call.arguments.clone();
    if call.padding > 0 {
        arguments["text"] = "x".repeat(call.padding).into();
    }
    session.call(call.tool, arguments, call.stop).await
}

/// Waits until the tools are the row's, or until nothing more is to be expected.
async fn settle_tools(
    session: &Session,
    events: &mut broadcast::Receiver<ServerEvent>,
    row: &Row,
    outcome: &mut Outcome,
) {
    let deadline = tokio::time::Instant::now() + CHANGES_WITHIN;
    loop {
        outcome.tools = session.tools();
        if check::tools(row, outcome).is_ok() {
            break;
        }
        match tokio::time::timeout_at(deadline, events.recv()).await {
            Ok(Ok(event)) => note(event, outcome),
            Ok(Err(RecvError::Lagged(_))) => {}
            Ok(Err(RecvError::Closed)) | Err(_) => break,
        }
    }
    while let Ok(event) = events.try_recv() {
        note(event, outcome);
    }
}

fn note(event: ServerEvent, outcome: &mut Outcome) {
    if let ServerEvent::Warning { message, .. } = event {
        outcome.warnings.push(message);
    }
}

async fn start_http(row: &Row, over: Over) -> Option<FakeHttp> {
    let style = match over {
        Over::Stdio => return None,
        Over::Json => HttpStyle::Json,
        Over::Events => HttpStyle::Events,
        Over::Old => HttpStyle::Old,
    };
    match &row.place {
        Place::Fake(script) => {
            let fake = FakeHttp::start((**script).clone(), style).await;
            Some(fake.expect("a free port"))
        }
        Place::Program(_) | Place::ClosedPort => None,
    }
}

fn http_entry(row: &Row, http: Option<&FakeHttp>) -> HttpEntry {
    HttpEntry {
        url: http.map_or_else(closed_port, |http| http.url("/mcp")),
        kind: row.kind,
        headers: Vec::new(),
        oauth: OAuthSettings::default(),
    }
}

fn stdio(row: &Row, log_file: &Path) -> StdioEntry {
    let this_program = || {
        let program = std::env::current_exe().expect("this program");
        program.to_string_lossy().into_owned()
    };
    StdioEntry {
        command: match row.place {
            Place::Fake(_) => this_program(),
            Place::Program(program) => program.to_owned(),
            Place::ClosedPort => panic!("{}: a process has no port", row.name),
        },
        env: vec![
            (SERVER_VARIABLE.to_owned(), row.name.to_owned()),
            (
                LOG_VARIABLE.to_owned(),
                log_file.to_string_lossy().into_owned(),
            ),
        ],
        ..StdioEntry::default()
    }
}

/// A URL on which nobody listens.
fn closed_port() -> String {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = listener.local_addr().expect("its address");
    format!("http://{address}/mcp")
}
