//! `pirn -p`: a model works with the tools until it has an answer.

mod arguments;
pub(crate) mod choice;
mod model;
mod output;
mod request;

use std::sync::Arc;

use pirn_agent::{
    Agent, AgentEvents, AgentOptions, AgentParts, ClientTools, ContextFiles, End, MachineOptions,
    ModelChoice, Prompt, Wakes, WhileBusy,
};
use pirn_model::{ClientLimits, FailureKind, ModelClient};
use pirn_runtime::{
    AgentPolicy, Client, ClientOptions, Commands, Confinement, EffectPolicy, Otherwise, Runtime,
    ScriptTools,
};
use pirn_sandbox::{NetworkMode, Profile};
use pirn_session::{NewSession, Session};
use pirn_settings::Settings;
use pirn_tool::Effects;
use tokio_util::sync::CancellationToken;

use crate::arguments::union;
use crate::event_loop;
use crate::exec::working_folder;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::invocation::Invocation;
use crate::mcp::{Configuration, TraceWhen, server_options, settle_and_tell};
use crate::project::Project;
use crate::standard;
use output::Output;

pub(crate) use arguments::PromptArguments;

/// The folder of sessions, in Pirn's own.
pub(crate) const SESSIONS_FOLDER: &str = "sessions";

pub(crate) fn run(arguments: &PromptArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let cwd = working_folder(arguments.cwd.as_ref(), invocation)?;
    let gates = arguments.mcp.file_kinds();
    let project = Project::open(&cwd, gates, &arguments.approval, invocation)?;
    let mut settings = project.settings.clone();
    let sources = Settings::load(&cwd, project.trust, &invocation.host).sources;
    if sources.of("sandbox.network").is_empty() {
        // Nobody sees where commands of a model reach to: only hosts that somebody named.
        settings.sandbox.network = NetworkMode::AllowList;
    }
    arguments.confinement.apply(&mut settings.sandbox)?;
    let configuration = arguments.mcp.configuration(&project, &cwd, invocation)?;
    let messages = request::messages(arguments, invocation)?;
    let mut builder = Runtime::builder(invocation.host.clone(), &cwd).settings(settings.clone());
    if let Some(configuration) = &configuration {
        builder = builder.servers(server_options(configuration, TraceWhen::Asked));
    }
    let event_loop = event_loop::beside_main_thread()?;
    let runtime = {
        let _entered = event_loop.enter();
        builder.build()?
    };
    if let Some(warning) = runtime.confinement().and_then(Confinement::warning) {
        standard::note(&warning);
    }
    let stopped = CancellationToken::new();
    let interrupts = interrupt::watch(stopped.clone(), || {})?;
    let ended = event_loop.block_on(async {
        let work = Work {
            arguments,
            invocation,
            settings: &settings,
            cwd: &cwd,
        };
        let ended = work
            .run(&runtime, configuration.as_ref(), messages, &stopped)
            .await;
        runtime.shutdown().await;
        ended
    });
    for note in runtime
        .confinement()
        .iter()
        .flat_map(|confinement| confinement.take_notes())
    {
        standard::note(&note);
    }
    interrupts.work_ended();
    event_loop.shutdown_background();
    ended
}

/// A conversation that is to be had.
pub(crate) struct Work<'a> {
    pub(crate) arguments: &'a PromptArguments,
    pub(crate) invocation: &'a Invocation,
    pub(crate) settings: &'a Settings,
    pub(crate) cwd: &'a std::path::Path,
}

impl Work<'_> {
    async fn run(
        &self,
        runtime: &Runtime,
        configuration: Option<&Configuration>,
        messages: Vec<String>,
        stopped: &CancellationToken,
    ) -> Result<Exit, Failure> {
        let http = crate::catalog::http_client()?;
        let chosen = choice::choose(self.arguments, self.invocation, &http).await?;
        if let (Some(servers), Some(configuration)) = (runtime.servers(), configuration) {
            let problems: Vec<_> = configuration.errors().cloned().collect();
            let all = pirn_mcp::ServerSelection::Visible;
            settle_and_tell(servers, &problems, all, stopped, self.invocation.display).await;
        }
        let client = runtime.client(ClientOptions {
            tools: self.arguments.filter(),
            ..ClientOptions::new(self.policy(denies()))
        });
        let output = Output::new(self.arguments.mode, self.invocation);
        let (agent, mut events) = self.agent(&client, chosen, http)?;
        output.begin(&agent)?;
        let watch = {
            let (agent, stopped) = (agent.clone(), stopped.clone());
            tokio::spawn(async move {
                stopped.cancelled().await;
                agent.abort();
            })
        };
        let mut end = End::Done;
        for message in messages {
            if stopped.is_cancelled() {
                end = End::Aborted;
                break;
            }
            end = say(&agent, &mut events, message, &output).await?;
            if end != End::Done {
                break;
            }
        }
        watch.abort();
        agent.close().await;
        output.finish(&agent)?;
        conclude(end)
    }

    pub(crate) fn policy(&self, otherwise: Otherwise) -> AgentPolicy {
        let arguments = self.arguments;
        let (allowed, otherwise) = if arguments.read_only {
            (
                Effects::NONE,
                Otherwise::deny("--read-only allows reading only"),
            )
        } else {
            (union(&arguments.yes), otherwise)
        };
        let mut effects = EffectPolicy::new(allowed, otherwise);
        if arguments.read_only {
            let changing = Effects::WRITE | Effects::PROCESS | Effects::NETWORK;
            effects = effects.deny(changing, "--read-only");
        } else {
            effects = effects.deny(union(&arguments.deny), "--deny");
        }
        let sandbox = &self.settings.sandbox;
        let holds = sandbox.profile != Profile::Off && sandbox.network != NetworkMode::On;
        AgentPolicy::new(effects, self.cwd)
            .write_roots(&sandbox.write_roots)
            .allow_tools(arguments.allow_tool.clone())
            .commands(if holds {
                Commands::Confined
            } else {
                Commands::Unconfined
            })
    }

    fn agent(
        &self,
        client: &Client,
        chosen: choice::Chosen,
        http: reqwest::Client,
    ) -> Result<(Agent, AgentEvents), Failure> {
        let user = client
            .runtime()
            .client(ClientOptions::new(EffectPolicy::new(
                union(&Effects::ALL.map(|(effect, _)| effect)),
                Otherwise::deny("the user's own commands only run"),
            )));
        let tools = ClientTools::new(client.clone(), user, ScriptTools::default(), self.prompt()?)?;
        let choice::Chosen {
            model,
            credential,
            thinking,
        } = chosen;
        let choice = ModelChoice::new(model, thinking);
        let models = model::HttpModels {
            client: ModelClient::new(http, ClientLimits::default()),
            credential,
        };
        let options = AgentOptions {
            machine: MachineOptions {
                turns_max: self.arguments.max_turns,
                ..MachineOptions::default()
            },
            wakes: Wakes::BeforeSettling,
            ..AgentOptions::default()
        };
        let parts = AgentParts {
            session: self.session()?,
            models: Arc::new(models),
            tools: Arc::new(tools),
            choice,
            options,
            runtime_events: Some(client.runtime().events().clone()),
        };
        Agent::start(parts).map_err(|error| Failure::from(anyhow::Error::new(error)))
    }

    pub(crate) fn prompt(&self) -> Result<Prompt, Failure> {
        let arguments = self.arguments;
        let context_files = if arguments.no_context_files {
            ContextFiles::LeftOut
        } else {
            ContextFiles::Read
        };
        let home = self.invocation.host.pirn_home.as_deref();
        let mut prompt = Prompt::read(self.cwd, home, None, context_files).map_err(|error| {
            Failure::usage_because(error, "the system prompt cannot be made")
                .hint("--no-context-files leaves AGENTS.md and its like out")
        })?;
        if arguments.system_prompt.is_some() {
            prompt.preamble.clone_from(&arguments.system_prompt);
        }
        prompt
            .addenda
            .extend(arguments.append_system_prompt.iter().cloned());
        Ok(prompt)
    }

    pub(crate) fn session(&self) -> Result<Session, Failure> {
        let unusable = |error| Failure::from(anyhow::Error::new(error));
        let home = self.invocation.host.pirn_home.as_ref();
        match &self.arguments.session {
            Some(path) => {
                let session =
                    Session::open(&self.invocation.host.cwd.join(path)).map_err(unusable)?;
                for problem in session.problems() {
                    standard::note(problem);
                }
                Ok(session)
            }
            None => Session::create(NewSession {
                cwd: self.cwd.to_owned(),
                sessions: home
                    .filter(|_| !self.arguments.no_session)
                    .map(|home| home.join(SESSIONS_FOLDER)),
                ..NewSession::default()
            })
            .map_err(unusable),
        }
    }
}

/// What becomes of calls that would have to be asked about, where nobody is there.
fn denies() -> Otherwise {
    Otherwise::Deny {
        because: "nobody can be asked here".to_owned(),
        allowed_by: Some("--yes".to_owned()),
    }
}

/// Says one message, and tells what happens until the model has answered.
async fn say(
    agent: &Agent,
    events: &mut AgentEvents,
    message: String,
    output: &Output,
) -> Result<End, Failure> {
    let unsaid = |error| Failure::from(anyhow::Error::new(error));
    let message = pirn_model::UserMessage::text(message, pirn_session::now_ms());
    agent.prompt(message, WhileBusy::Refuse).map_err(unsaid)?;
    while let Some(event) = events.next().await {
        output.event(&event);
        if matches!(event, pirn_agent::AgentEvent::AgentSettled { .. }) {
            break;
        }
    }
    Ok(agent.settled().await.unwrap_or(End::Aborted))
}

fn conclude(end: End) -> Result<Exit, Failure> {
    match end {
        End::Done => Ok(Exit::Success),
        End::Length => {
            standard::note("the answer reached the limit on its length and is not complete");
            Ok(Exit::Failed)
        }
        End::Aborted => Err(Failure::new(Exit::Interrupted, "interrupted")),
        End::Failed { kind, message } => {
            let failure = Failure::new(Exit::Failed, message);
            Err(match kind {
                FailureKind::Authentication => {
                    failure.hint("docs/models.md says where each provider's key is looked for")
                }
                FailureKind::Overflow => failure
                    .hint("the conversation is larger than the model can hold; begin a new one, or say less at once"),
                _ => failure,
            })
        }
        End::TurnsUsedUp => Err(Failure::new(
            Exit::Failed,
            "the model was asked as often as --max-turns allows, and wants to go on",
        )),
        End::CostUsedUp => Err(Failure::new(
            Exit::Failed,
            "the conversation has cost what --max-cost allows, and the model wants to go on",
        )),
        End::NotKept { message } => Err(Failure::new(Exit::Failed, message)),
    }
}
