//! `pirn` on a terminal: the interface, over a conversation.

use std::sync::{Arc, Mutex, PoisonError};

use clap::Parser as _;
use pirn_agent::{Agent, AgentEvents, AgentOptions, AgentParts, CatalogModels, ModelChoice, Wakes};
use pirn_runtime::{ClientOptions, Confinement, Otherwise, Runtime, StartingServers};
use pirn_settings::TuiMode;
use pirn_terminal::{ColorDepth, Connection, Style};
use pirn_tool::ApprovalQueue;
use pirn_tui::{
    AppOptions, Conversation, ConversationParts, Cursor, EventSender, Guardian, Keymap,
    Presentation, RunOptions, Storage, UiEvent,
};
use tokio_util::sync::CancellationToken;

use crate::arguments::{Command, CommandLine};
use crate::command_line;
use crate::eval::eval_options;
use crate::event_loop;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::invocation::{Display, Invocation, Stream, message_style};
use crate::mcp::{TraceWhen, server_options};
use crate::prompt::{PromptArguments, Work, choice, session, user_client};
use crate::questions;
use crate::trust::TrustQuestion;
use crate::variables::{ACCESSIBLE, COLORTERM, SSH_CONNECTION, TERM};

/// The user's keys, in Pirn's folder.
const KEYS_FILE: &str = "keybindings.json";
/// A file of keys; all actions with several keys each need less than a tenth of it.
const KEYS_BYTES_MAX: u64 = 256 << 10;

/// Whether the interface can be shown: people sit at all three streams.
pub(crate) fn is_possible(invocation: &Invocation) -> bool {
    cfg!(unix)
        && invocation.stdin == Stream::Terminal
        && invocation.stdout == Stream::Terminal
        && invocation.stderr == Stream::Terminal
}

/// What `pirn` alone means: no flag was given.
fn no_arguments() -> Result<Box<PromptArguments>, Failure> {
    let typed = ["pirn", "-p"].map(std::ffi::OsString::from);
    let command_line = CommandLine::try_parse_from(command_line::normalised(typed));
    match command_line.map(|line| line.command) {
        Ok(Command::Prompt(arguments)) => Ok(arguments),
        Ok(_) => Err(Failure::new(
            Exit::Failed,
            "the command line is not understood",
        )),
        Err(error) => Err(Failure::from_clap(&error)),
    }
}

/// Shows the interface until it is left.
pub(crate) fn run(invocation: &Invocation) -> Result<Exit, Failure> {
    let arguments = no_arguments()?;
    let cwd = invocation.host.cwd.clone();
    let project = arguments.project(&cwd, TrustQuestion::Asked, invocation)?;
    let settings = project.settings_for_model();
    let configuration = arguments.calls.servers(&project, &cwd, invocation)?;
    let mut builder = Runtime::builder(invocation.host.clone(), &cwd)
        .settings(settings.clone())
        .evals(eval_options(project.trust)?);
    if let Some(configuration) = &configuration {
        builder = builder.servers(server_options(configuration, TraceWhen::Asked));
    }
    let approvals = questions::queue(invocation);
    if let Some(approvals) = &approvals {
        builder = builder.approvals(approvals.clone());
    }
    let event_loop = event_loop::beside_main_thread()?;
    let runtime = {
        let _entered = event_loop.enter();
        builder.build()?
    };
    let work = Work {
        arguments: &arguments,
        invocation,
        settings: &settings,
        trust: project.trust,
        cwd: &cwd,
    };
    let guardian = {
        let _entered = event_loop.enter();
        Guardian::start(invocation.host.environment.clone(), cursor(invocation)).ok()
    };
    let conversation = event_loop.block_on(begin(&work, &runtime));
    let ended = conversation.and_then(|conversation| {
        let shown = {
            let _entered = event_loop.enter();
            show(conversation, approvals, guardian, &runtime, &work)
        };
        shown.map_err(|error| Failure::from(anyhow::Error::new(error)))
    });
    event_loop.block_on(async {
        if let Ok(agent) = &ended {
            agent.close().await;
        }
        runtime.shutdown().await;
    });
    event_loop.shutdown_background();
    ended.map(|_| Exit::Success)
}

/// A conversation that has begun.
struct Begun {
    agent: Agent,
    events: AgentEvents,
    models: Arc<CatalogModels>,
    user: pirn_runtime::Client,
}

async fn begin(work: &Work<'_>, runtime: &Runtime) -> Result<Begun, Failure> {
    let http = crate::catalog::http_client()?;
    let chosen = choice::choose(work.arguments, work.invocation, &http).await?;
    let models = Arc::new(work.models(http)?);
    let client = runtime.client(ClientOptions {
        tools: work.arguments.filter()?,
        starting_servers: StartingServers::AwaitedByCalls,
        ..ClientOptions::new(work.policy(runtime, Otherwise::Ask))
    });
    let user = user_client(runtime);
    let tools = work.tools(client, user.clone(), &models, chosen.model.api, None)?;
    let parts = AgentParts {
        session: session::open(work.arguments, work.invocation, work.cwd)?,
        models: Arc::clone(&models) as Arc<dyn pirn_agent::Models>,
        tools: Arc::new(tools),
        choice: ModelChoice::new(chosen.model, chosen.thinking),
        options: AgentOptions {
            wakes: Wakes::AfterSettling,
            ..AgentOptions::default()
        },
        runtime_events: Some(runtime.events().clone()),
        hooks: Vec::new(),
    };
    let (agent, events) =
        Agent::start(parts).map_err(|error| Failure::from(anyhow::Error::new(error)))?;
    Ok(Begun {
        agent,
        events,
        models,
        user,
    })
}

/// Shows the conversation on the main thread. Gives the agent back to be closed.
fn show(
    begun: Begun,
    approvals: Option<ApprovalQueue>,
    guardian: Option<Guardian>,
    runtime: &Runtime,
    work: &Work<'_>,
) -> std::io::Result<Agent> {
    let invocation = work.invocation;
    let Begun {
        agent,
        events,
        models,
        user,
    } = begun;
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        pirn_terminal::restore();
        before(panic);
    }));
    let (mut options, mut problems) = options(work);
    let home = invocation.host.pirn_home.as_deref();
    let storage = home.and_then(|home| {
        let opened = Storage::open(home, &invocation.host.cwd);
        opened
            .map_err(|error| {
                problems.push(format!("drafts and what you say are not kept: {error}"));
            })
            .ok()
    });
    let storage = storage.map(|(storage, left)| {
        options.app.draft = left.draft;
        options.app.history = left.history;
        Arc::new(storage)
    });
    let kept = agent.clone();
    let warning = runtime.confinement().and_then(Confinement::warning);
    let guardian = guardian.and_then(|mut guardian| guardian.wait().then_some(guardian));
    let guardian = guardian.map(|guardian| Arc::new(Mutex::new(guardian)));
    let guarded = guardian.clone();
    let ended = pirn_tui::run(options, |ui| {
        for problem in problems.into_iter().chain(warning) {
            ui.send(UiEvent::Note(problem));
        }
        watch_signals(&ui);
        let parts = ConversationParts {
            agent,
            models,
            user,
            approvals,
            runtime: runtime.clone(),
            cwd: invocation.host.cwd.clone(),
            text_editor: invocation.text_editor(),
            guardian: guarded,
            storage,
            sessions: invocation
                .host
                .pirn_home
                .as_ref()
                .map(|home| home.join(crate::prompt::SESSIONS_FOLDER)),
        };
        Conversation::start(parts, events, ui)
    });
    if let Some(guardian) = guardian {
        let mut guardian = guardian.lock().unwrap_or_else(PoisonError::into_inner);
        guardian.finish();
    }
    ended.map(|()| kept)
}

fn options(work: &Work<'_>) -> (RunOptions, Vec<String>) {
    let host = &work.invocation.host;
    let mut problems = Vec::new();
    let mut keymap = Keymap::default();
    if let Some(home) = &host.pirn_home {
        let path = home.join(KEYS_FILE);
        if path.exists() {
            match pirn_jsonc::read_bounded(&path, KEYS_BYTES_MAX) {
                Ok(text) => (keymap, problems) = Keymap::parse(&text),
                Err(error) => problems.push(format!("{KEYS_FILE} cannot be read: {error}")),
            }
        }
    }
    let folder = match &host.home {
        Some(home) => match host.cwd.strip_prefix(home) {
            Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => host.cwd.display().to_string(),
        },
        None => host.cwd.display().to_string(),
    };
    let options = RunOptions {
        app: AppOptions {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            folder,
            keymap,
            history: Vec::new(),
            draft: String::new(),
            cursor: cursor(work.invocation),
            presentation: match (ACCESSIBLE.read(), work.settings.tui.mode) {
                (Some(_), _) | (None, TuiMode::Plain) => Presentation::Plain,
                (None, TuiMode::FullScreen) => Presentation::FullScreen,
                (None, TuiMode::Inline) => Presentation::Inline,
            },
        },
        depth: depth(),
        theme: None,
        connection: match SSH_CONNECTION.read() {
            Some(_) => Connection::Remote,
            None => Connection::Local,
        },
    };
    (options, problems)
}

fn cursor(invocation: &Invocation) -> Cursor {
    match invocation.display {
        Display::Moving => Cursor::Moves,
        Display::Lines => Cursor::Stays,
    }
}

/// How many colours the terminal shows, by what it says of itself in the environment.
fn depth() -> ColorDepth {
    let contains = |value: Option<std::ffi::OsString>, part: &str| {
        value.is_some_and(|value| value.to_string_lossy().contains(part))
    };
    if message_style() == Style::Plain {
        ColorDepth::None
    } else if contains(COLORTERM.read(), "truecolor") || contains(COLORTERM.read(), "24bit") {
        ColorDepth::True
    } else if contains(TERM.read(), "256") {
        ColorDepth::Indexed
    } else {
        ColorDepth::Ansi
    }
}

/// A new size and the wish to end come as signals.
fn watch_signals(ui: &EventSender) {
    use tokio::signal::unix::{SignalKind, signal};
    let stopped = CancellationToken::new();
    let ended = ui.clone();
    if let Err(error) = interrupt::watch(stopped, move || ended.send(UiEvent::Leave)) {
        ui.send(UiEvent::Failure(format!("{error:#}")));
    }
    match signal(SignalKind::window_change()) {
        Ok(mut changes) => {
            let ui = ui.clone();
            tokio::spawn(async move {
                while changes.recv().await.is_some() {
                    ui.resized();
                }
            });
        }
        Err(error) => ui.send(UiEvent::Note(format!(
            "a new size is noticed late: {error}"
        ))),
    }
}
