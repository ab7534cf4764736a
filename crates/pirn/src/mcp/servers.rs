//! Running servers, for as long as one command needs them.

use pirn_file::SpillFolder;
use pirn_mcp::{ServerOrigin, ServerSelection, ServerState, ServerStatus, Tracing};
use pirn_runtime::{BuiltinTools, LOGIN_COMMAND, Runtime, ServerOptions, Servers};
use pirn_tui::Asker;
use tokio_util::sync::CancellationToken;

use super::configuration::Configuration;
use super::progress;
use crate::failure::Failure;
use crate::interrupt::interruptible;
use crate::invocation::{Display, Invocation};
use crate::questions;
use crate::standard;
use crate::variables::PIRN_MCP_TRACE;
use pirn_settings::Problem;
use pirn_terminal::on_one_line;

/// Warnings about one server that commands show besides what they do: the first say enough to look at the rest.
const WARNINGS_TOLD_MAX: usize = 3;

/// Whether the traffic of servers is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TraceWhen {
    /// It is: the command tries servers out.
    Always,
    /// It is where the user wants that.
    Asked,
}

/// What a runtime needs to know about these servers.
pub(crate) fn server_options(configuration: &Configuration, trace: TraceWhen) -> ServerOptions {
    ServerOptions {
        entries: configuration.loaded.servers.clone(),
        tracing: match (trace, PIRN_MCP_TRACE.read()) {
            (TraceWhen::Always, _) | (TraceWhen::Asked, Some(_)) => Tracing::On,
            (TraceWhen::Asked, None) => Tracing::Off,
        },
    }
}

/// Waits until these servers have connected or failed, and shows how they are doing.
pub(crate) async fn settle(
    servers: &Servers,
    waiting: ServerSelection<'_>,
    cancel: &CancellationToken,
    display: Display,
) {
    progress::settle(servers.manager(), waiting, cancel, display).await;
}

/// Waits for these servers, and tells which of them are not there and why, and what is wrong in their files.
pub(crate) async fn settle_and_tell(
    servers: &Servers,
    problems: &[Problem],
    waiting: ServerSelection<'_>,
    cancel: &CancellationToken,
    display: Display,
) {
    for problem in problems {
        let server = problem.server.as_deref();
        if server.is_none_or(|server| waiting.includes(server)) {
            standard::note(&on_one_line(&problem.to_string()));
        }
    }
    settle(servers, waiting, cancel, display).await;
    if cancel.is_cancelled() {
        return;
    }
    for server in servers.missing(waiting) {
        standard::note(&missing_note(&server));
    }
    for server in servers.manager().servers() {
        if waiting.includes(&server.name) {
            for note in warnings(&server) {
                standard::note(&note);
            }
        }
    }
}

/// What was repaired of a server or left out of it, as far as a command that is about something else says it.
fn warnings(server: &ServerStatus) -> Vec<String> {
    let mut notes: Vec<String> = server
        .warnings
        .iter()
        .take(WARNINGS_TOLD_MAX)
        .map(|warning| format!("MCP server \"{}\": {}", server.name, on_one_line(warning)))
        .collect();
    if server.warnings.len() > WARNINGS_TOLD_MAX {
        notes.push(format!(
            "MCP server \"{}\": {} more, which `pirn mcp list` shows",
            server.name,
            server.warnings.len() - WARNINGS_TOLD_MAX
        ));
    }
    notes
}

/// Why a server is not connected, on one line.
pub(super) fn problem_text(server: &ServerStatus) -> String {
    on_one_line(&pirn_runtime::problem_text(server))
}

/// What to do about a server that is not connected.
pub(super) fn remedies(server: &ServerStatus) -> Vec<String> {
    let mut hints = match &server.problem {
        Some(problem) => problem.hints.clone(),
        None => Vec::new(),
    };
    if hints.is_empty() && server.state == ServerState::NeedsAuth {
        hints.push(format!("sign in with: {LOGIN_COMMAND} {}", server.name));
    }
    hints
}

/// What to tell about a server that a command needs and does not get.
pub(crate) fn missing_note(server: &ServerStatus) -> String {
    let place = place(&server.origin)
        .map(|place| format!(" ({place})"))
        .unwrap_or_default();
    let mut note = format!(
        "MCP server \"{}\"{place} is not there: {}",
        server.name,
        problem_text(server)
    );
    for remedy in remedies(server) {
        note.push_str("; ");
        note.push_str(&on_one_line(&remedy));
    }
    note
}

/// `FILE:LINE` of an entry.
pub(super) fn place(origin: &ServerOrigin) -> Option<String> {
    let file = origin.file.as_ref()?;
    let file = on_one_line(&file.to_string_lossy());
    Some(match origin.line {
        Some(line) => format!("{file}:{line}"),
        None => file,
    })
}

/// A server's failure, with where the server is defined.
pub(super) fn failure(error: pirn_mcp::Error, origin: Option<&ServerOrigin>) -> Failure {
    let hints = error.hints().to_vec();
    let mut failure = Failure::from(anyhow::Error::from(error));
    if let Some(place) = origin.and_then(place) {
        failure = failure.detail(format!("The server is defined in {place}."));
    }
    hints.into_iter().fold(failure, Failure::hint)
}

/// Does work with a runtime that has these servers and no tools besides theirs. Their traffic is written down.
pub(super) fn with_servers<T>(
    configuration: &Configuration,
    invocation: &Invocation,
    work: impl AsyncFnOnce(&Runtime, &Servers, CancellationToken) -> Result<T, Failure>,
) -> Result<T, Failure> {
    interruptible(async |stopped| {
        let options = server_options(configuration, TraceWhen::Always);
        let runtime = Runtime::builder(invocation.host.clone(), &invocation.host.cwd)
            .settings(configuration.settings.clone())
            .builtin_tools(BuiltinTools::None)
            // The user reads them afterwards.
            .spill(SpillFolder::new(&invocation.host.temp_dir))
            .servers(options);
        let queue = questions::queue(invocation);
        let runtime = match &queue {
            Some(queue) => runtime.approvals(queue.clone()).build()?,
            None => runtime.build()?,
        };
        let asker = Asker {
            name: "The command",
            screen: None,
        };
        let _questions = queue.map(|queue| questions::show(&queue, asker, invocation));
        let result = match runtime.servers() {
            Some(servers) => work(&runtime, servers, stopped).await,
            None => Err(Failure::usage("no MCP servers are configured")),
        };
        runtime.shutdown().await;
        result
    })
}
