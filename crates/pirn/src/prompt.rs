//! `pirn -p`: a model works with the tools until it has an answer.

pub(crate) mod answer_schema;
mod arguments;
pub(crate) mod choice;
mod output;
mod request;
mod resources;
mod server_notes;
pub(crate) mod session;

use std::path::PathBuf;
use std::sync::Arc;

use pirn_agent::{
    Agent, AgentEvent, AgentEvents, AgentOptions, AgentParts, CatalogModels, ClientTools,
    ContextFiles, End, MachineOptions, ModelChoice, Prompt, Resources, RpcServer, Wakes, WhileBusy,
};
use pirn_codemode::EXEC_TOOL_NAME;
use pirn_eval::{EVAL_TOOL_NAME, Gates, NonInteractive, ProgramQuestions};
use pirn_model::{Api, Block, FailureKind, UserContent, UserMessage};
use pirn_runtime::{
    AgentPolicy, Attendance, AttendedPolicy, Client, ClientOptions, CodemodeMode, Confinement,
    FileGrants, Otherwise, Permissions, Programs, Runtime, StartingServers,
};
use pirn_settings::{Settings, Trust};
use pirn_terminal::on_one_line;
use pirn_tool::{ApprovalQueue, CallRequest, ContentBlock};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::call_arguments::working_folder;
use crate::catalog;
use crate::eval::eval_options;
use crate::event_loop;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::invocation::Invocation;
use crate::mcp::{Configuration, TraceWhen, server_options};
use crate::standard;
use crate::trust::TrustQuestion;
use answer_schema::AnswerSchema;
use arguments::Mode;
use output::Output;
use request::Messages;
use server_notes::ServerNotes;

pub(crate) use arguments::PromptArguments;
pub(crate) use session::SESSIONS_FOLDER;

pub(crate) fn run(arguments: &PromptArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let named = session::own_folder(arguments, invocation)?;
    let cwd = working_folder(arguments.calls.cwd.as_ref().or(named.as_ref()), invocation)?;
    let project = arguments.project(&cwd, TrustQuestion::Never, invocation)?;
    let settings = project.settings_for_model();
    let configuration = if arguments.no_tools {
        None
    } else {
        arguments.calls.servers(&project, &cwd, invocation)?
    };
    let front = match arguments.mode {
        Mode::Rpc if arguments.messages.is_empty() => Front::program(invocation),
        Mode::Rpc => {
            return Err(Failure::usage("--mode rpc takes no messages")
                .hint("say them with the command `prompt` on standard input"));
        }
        Mode::Text | Mode::Json => {
            let resources = resources::read(arguments, &cwd, project.trust, invocation);
            Front::Printer(request::messages(arguments, invocation, &resources)?)
        }
    };
    let mut builder = Runtime::builder(invocation.host.clone(), &cwd)
        .settings(settings.clone())
        .evals(eval_options(project.trust)?);
    if let Some(configuration) = &configuration {
        builder = builder.servers(server_options(configuration, TraceWhen::Asked));
    }
    if let Front::Program { approvals, .. } = &front {
        builder = builder.approvals(approvals.clone());
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
            trust: project.trust,
            cwd: &cwd,
        };
        let ended = work
            .run(&runtime, configuration.as_ref(), front, &stopped)
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
    match (ended, interrupts.signal()) {
        (Err(failure), Some(exit)) if failure.exit == Exit::Interrupted => {
            Err(failure.with_exit(exit))
        }
        (Ok(_), Some(exit)) if arguments.mode == Mode::Rpc => Ok(exit),
        (ended, _) => ended,
    }
}

/// Who says what the model is to do.
enum Front {
    /// The command line, with these messages.
    Printer(Messages),
    /// Another program, which asks and answers in lines of JSON.
    Program {
        approvals: ApprovalQueue,
        attendance: Attendance,
    },
}

impl Front {
    /// Another program, which may show questions to a person.
    fn program(invocation: &Invocation) -> Self {
        let queue = ApprovalQueue::builder();
        let queue = match &invocation.host.pirn_home {
            Some(home) => queue.grants(Arc::new(FileGrants::new(home))),
            None => queue,
        };
        Self::Program {
            approvals: queue.build(),
            attendance: Attendance::default(),
        }
    }
}

/// A conversation that is to be had.
pub(crate) struct Work<'a> {
    pub(crate) arguments: &'a PromptArguments,
    pub(crate) invocation: &'a Invocation,
    pub(crate) settings: &'a Settings,
    /// Whether the project's files count.
    pub(crate) trust: Trust,
    pub(crate) cwd: &'a std::path::Path,
}

impl Work<'_> {
    async fn run(
        &self,
        runtime: &Runtime,
        configuration: Option<&Configuration>,
        front: Front,
        stopped: &CancellationToken,
    ) -> Result<Exit, Failure> {
        let http = crate::catalog::http_client()?;
        let chosen = choice::choose(self.arguments, self.invocation, &http).await?;
        for problem in configuration.iter().flat_map(|found| found.errors()) {
            standard::note(&on_one_line(&problem.to_string()));
        }
        let client = runtime.client(ClientOptions {
            tools: self.arguments.filter()?,
            starting_servers: StartingServers::AwaitedByCalls,
            ..match &front {
                Front::Printer(_) => ClientOptions::new(self.policy(runtime, denies())),
                Front::Program { attendance, .. } => ClientOptions::new(AttendedPolicy {
                    attendance: attendance.clone(),
                    asks: self.policy(runtime, Otherwise::Ask),
                    denies: self.policy(runtime, denies()),
                }),
            }
        });
        let wakes = match &front {
            Front::Printer(_) => Wakes::BeforeSettling,
            Front::Program { .. } => Wakes::AfterSettling,
        };
        let schema = match &self.arguments.output_schema {
            Some(path) => Some(AnswerSchema::read(&self.invocation.host.cwd.join(path))?),
            None => None,
        };
        let output = Output::new(self.arguments.mode, self.invocation);
        let (agent, mut events) = self.agent(client, chosen, http, wakes, schema.as_ref())?;
        let messages = match front {
            Front::Printer(messages) => messages,
            Front::Program {
                approvals,
                attendance,
            } => {
                let server = RpcServer {
                    agent,
                    events,
                    approvals,
                    attendance,
                    sessions: session::folder(self.arguments, self.invocation),
                    cwd: self.cwd.to_owned(),
                    output: Box::new(pirn_terminal::write_output),
                };
                let served = server.serve(std::io::stdin(), stopped).await;
                served.map_err(|error| Failure::from(anyhow::Error::new(error)))?;
                return Ok(Exit::Success);
            }
        };
        output.begin(&agent)?;
        let watch = {
            let (agent, stopped) = (agent.clone(), stopped.clone());
            tokio::spawn(async move {
                stopped.cancelled().await;
                agent.abort();
            })
        };
        let mut told = Told {
            output: &output,
            servers: ServerNotes::new(runtime.servers()),
        };
        let mut end = End::Done;
        if let Some(focus) = &self.arguments.compact {
            told.compact(&agent, &mut events, focus).await?;
        }
        let mut pictures = pictures(&user_client(runtime), &messages.images).await?;
        for text in messages.texts {
            if stopped.is_cancelled() {
                end = End::Aborted;
                break;
            }
            let message = with_pictures(text, std::mem::take(&mut pictures));
            end = say(&agent, &mut events, message, &mut told).await?;
            if end != End::Done {
                break;
            }
        }
        let mut fits = Ok(());
        if let (Some(schema), End::Done) = (&schema, &end) {
            fits = schema.read_answer(&output::answer(&agent)).map(drop);
            if let Err(why) = &fits {
                let repair = with_pictures(AnswerSchema::repair(why), Vec::new());
                end = say(&agent, &mut events, repair, &mut told).await?;
                fits = schema.read_answer(&output::answer(&agent)).map(drop);
            }
        }
        watch.abort();
        agent.close().await;
        output.finish(&agent)?;
        match (fits, end) {
            (Err(why), End::Done) => Err(Failure::new(
                Exit::Failed,
                format!("the answer does not fit --output-schema, also after another try: {why}"),
            )),
            (_, end) => conclude(end),
        }
    }

    pub(crate) fn policy(&self, runtime: &Runtime, otherwise: Otherwise) -> AgentPolicy {
        let sandbox = &self.settings.sandbox;
        let eval = &self.settings.eval;
        let permissions = self.arguments.permissions();
        permissions
            .agent_policy(otherwise, self.cwd, sandbox)
            .confined_as(runtime)
            .programs(Programs {
                are_asked_about: eval.require_confirmation,
                are_remembered: eval.remember_approvals,
                run_unattended: eval.allow_non_interactive,
            })
    }

    /// The way to all models that there is a key for.
    pub(crate) fn models(&self, http: reqwest::Client) -> Result<CatalogModels, Failure> {
        let catalog = catalog::read(self.invocation)?.with_given_key(self.arguments.given_key());
        Ok(CatalogModels::new(catalog, http, catalog::local_servers()))
    }

    fn agent(
        &self,
        client: Client,
        chosen: choice::Chosen,
        http: reqwest::Client,
        wakes: Wakes,
        schema: Option<&AnswerSchema>,
    ) -> Result<(Agent, AgentEvents), Failure> {
        let arguments = self.arguments;
        let models = self.models(http)?;
        let events = client.runtime().events().clone();
        let user = user_client(client.runtime());
        let tools = self.tools(client, user, &models, chosen.model.api, schema)?;
        let choice::Chosen { model, thinking } = chosen;
        let choice = ModelChoice::new(model, thinking);
        let options = AgentOptions {
            machine: MachineOptions {
                turns_max: arguments.max_turns,
                ..MachineOptions::default()
            },
            wakes,
            cost_max: arguments.max_cost,
            ..AgentOptions::default()
        };
        let parts = AgentParts {
            session: session::open(arguments, self.invocation, self.cwd)?,
            models: Arc::new(models),
            tools: Arc::new(tools),
            choice,
            options,
            runtime_events: Some(events),
            hooks: Vec::new(),
        };
        Agent::start(parts).map_err(|error| Failure::from(anyhow::Error::new(error)))
    }

    /// The skills and templates that there are.
    pub(crate) fn resources(&self) -> Resources {
        resources::read(self.arguments, self.cwd, self.trust, self.invocation)
    }

    /// The tools of the conversation: those of `client`, scripts and programs.
    pub(crate) fn tools(
        &self,
        client: Client,
        user: Client,
        models: &CatalogModels,
        api: Api,
        schema: Option<&AnswerSchema>,
    ) -> Result<ClientTools, Failure> {
        let codemode = &self.settings.codemode;
        let filter = self.arguments.filter()?;
        let mode = if filter.admits(EXEC_TOOL_NAME) {
            codemode.mode
        } else {
            CodemodeMode::Off
        };
        let mut scripts = models.script_tools(api);
        scripts.catalog.inline_budget_tokens =
            usize::try_from(codemode.inline_budget).unwrap_or(usize::MAX);
        if filter.admits(EVAL_TOOL_NAME) {
            client.offer_evals(self.gates(client.runtime()), self.settings.eval.effects())?;
        }
        let prompt = self.prompt(schema)?;
        Ok(ClientTools::new(client, user, scripts, mode, prompt)?)
    }

    /// What a program passes before it starts, after the policy has let its call through.
    fn gates(&self, runtime: &Runtime) -> Gates {
        let settings = &self.settings.eval;
        Gates {
            questions: ProgramQuestions::Never,
            non_interactive: if settings.allow_non_interactive {
                NonInteractive::Allowed
            } else {
                NonInteractive::Refused
            },
            ..Gates::new(runtime.approvals().cloned().unwrap_or_default())
        }
    }

    pub(crate) fn prompt(&self, schema: Option<&AnswerSchema>) -> Result<Prompt, Failure> {
        let arguments = self.arguments;
        let context_files = if arguments.no_context_files {
            ContextFiles::LeftOut
        } else {
            ContextFiles::Read
        };
        let home = self.invocation.host.pirn_home.as_deref();
        let project = resources::trusted_folder(self.cwd, self.trust, self.invocation);
        let mut prompt =
            Prompt::read(self.cwd, home, project.as_deref(), context_files).map_err(|error| {
                Failure::usage_because(error, "the system prompt cannot be made")
                    .hint("--no-context-files leaves AGENTS.md and its like out")
            })?;
        prompt.resources = self.resources();
        for problem in prompt.resources.problems() {
            standard::note(&on_one_line(problem));
        }
        if arguments.system_prompt.is_some() {
            prompt.preamble.clone_from(&arguments.system_prompt);
        }
        prompt
            .addenda
            .extend(arguments.append_system_prompt.iter().cloned());
        prompt.addenda.extend(schema.map(AnswerSchema::instruction));
        Ok(prompt)
    }
}

/// What becomes of calls that would have to be asked about, where nobody is there.
fn denies() -> Otherwise {
    Otherwise::Deny {
        because: "nobody can be asked here".to_owned(),
        allowed_by: Some("--yes".to_owned()),
    }
}

/// Where it is told what happens.
struct Told<'a> {
    output: &'a Output,
    servers: ServerNotes<'a>,
}

impl Told<'_> {
    fn event(&mut self, event: &AgentEvent) {
        self.output.event(event);
        self.servers.event(event);
    }

    /// Makes the session shorter, and tells what happens meanwhile.
    async fn compact(
        &mut self,
        agent: &Agent,
        events: &mut AgentEvents,
        focus: &str,
    ) -> Result<(), Failure> {
        let focus = (!focus.is_empty()).then(|| focus.to_owned());
        let mut compacting = std::pin::pin!(agent.compact(focus));
        let report = loop {
            tokio::select! {
                biased;
                event = events.next() => match event {
                    Some(event) => self.event(&event),
                    None => break compacting.await,
                },
                report = &mut compacting => break report,
            }
        };
        while let Some(event) = events.take() {
            self.event(&event);
        }
        report.map(drop).map_err(|error| {
            Failure::from(anyhow::Error::new(error).context("the session cannot be made shorter"))
        })
    }
}

/// Pictures as a model takes them: scaled down where they are too large.
async fn pictures(user: &Client, paths: &[PathBuf]) -> Result<Vec<Block>, Failure> {
    let mut pictures = Vec::new();
    for (number, path) in paths.iter().enumerate() {
        let arguments = json!({"path": path});
        let request = CallRequest::new(format!("file-{number}"), "read", arguments);
        let outcome = user.call(request).await;
        let images = outcome
            .result
            .content
            .into_iter()
            .filter_map(|block| match block {
                ContentBlock::Image { data, mime_type } => Some(Block::Image { data, mime_type }),
                ContentBlock::Text { .. } | ContentBlock::Audio { .. } => None,
            });
        let before = pictures.len();
        pictures.extend(images);
        if pictures.len() == before {
            return Err(Failure::usage(format!(
                "{} is no picture that a model can be shown",
                path.display()
            )));
        }
    }
    Ok(pictures)
}

/// What the user says, with what goes with it.
fn with_pictures(text: String, pictures: Vec<Block>) -> UserMessage {
    let mut message = UserMessage::text(text, pirn_session::now_ms());
    if !pictures.is_empty() {
        let mut blocks = message.content.to_blocks();
        blocks.extend(pictures);
        message.content = UserContent::Blocks(blocks);
    }
    message
}

/// A client whose calls are the user's own.
pub(crate) fn user_client(runtime: &Runtime) -> Client {
    runtime.client(ClientOptions::new(Permissions::of_user()))
}

/// Says one message, and tells what happens until the model has answered.
async fn say(
    agent: &Agent,
    events: &mut AgentEvents,
    message: UserMessage,
    told: &mut Told<'_>,
) -> Result<End, Failure> {
    let unsaid = |error| Failure::from(anyhow::Error::new(error));
    agent.prompt(message, WhileBusy::Refuse).map_err(unsaid)?;
    while let Some(event) = events.next().await {
        told.event(&event);
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
        End::Refused { message } | End::NotKept { message } => {
            Err(Failure::new(Exit::Failed, message))
        }
    }
}
