//! `pirn -p`: a model works with the tools until it has an answer.

pub(crate) mod answer_schema;
mod arguments;
pub(crate) mod choice;
mod model;
mod output;
mod request;
pub(crate) mod session;

use std::sync::Arc;

use pirn_agent::{
    Agent, AgentEvents, AgentOptions, AgentParts, ClientTools, ContextFiles, End, MachineOptions,
    ModelChoice, Prompt, RpcServer, Wakes, WhileBusy,
};
use pirn_model::FailureKind;
use pirn_runtime::{
    AgentPolicy, Attendance, AttendedPolicy, Client, ClientOptions, Confinement, FileGrants,
    Otherwise, Permissions, Runtime,
};
use pirn_settings::{FlagValues, Settings};
use pirn_tool::ApprovalQueue;
use tokio_util::sync::CancellationToken;

use crate::call_arguments::working_folder;
use crate::event_loop;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::invocation::Invocation;
use crate::mcp::{Configuration, TraceWhen, server_options, settle_and_tell};
use crate::standard;
use answer_schema::AnswerSchema;
use arguments::Mode;
use output::Output;

pub(crate) use arguments::PromptArguments;
pub(crate) use model::CatalogModels;
pub(crate) use session::SESSIONS_FOLDER;

pub(crate) fn run(arguments: &PromptArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let named = session::own_folder(arguments, invocation)?;
    let cwd = working_folder(arguments.calls.cwd.as_ref().or(named.as_ref()), invocation)?;
    let project = arguments
        .calls
        .project(&cwd, FlagValues::default(), invocation)?;
    let settings = project.settings_for_model();
    let configuration = arguments.calls.servers(&project, &cwd, invocation)?;
    let front = match arguments.mode {
        Mode::Rpc if arguments.messages.is_empty() => Front::program(invocation),
        Mode::Rpc => {
            return Err(Failure::usage("--mode rpc takes no messages")
                .hint("say them with the command `prompt` on standard input"));
        }
        Mode::Text | Mode::Json => Front::Printer(request::messages(arguments, invocation)?),
    };
    let mut builder = Runtime::builder(invocation.host.clone(), &cwd).settings(settings.clone());
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
    Printer(Vec<String>),
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
        if let (Some(servers), Some(configuration)) = (runtime.servers(), configuration) {
            let problems: Vec<_> = configuration.errors().cloned().collect();
            let all = pirn_mcp::ServerSelection::Visible;
            settle_and_tell(servers, &problems, all, stopped, self.invocation.display).await;
        }
        let client = runtime.client(ClientOptions {
            tools: self.arguments.calls.filter(),
            ..match &front {
                Front::Printer(_) => ClientOptions::new(self.policy(denies())),
                Front::Program { attendance, .. } => ClientOptions::new(AttendedPolicy {
                    attendance: attendance.clone(),
                    asks: self.policy(Otherwise::Ask),
                    denies: self.policy(denies()),
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
        let (agent, mut events) = self.agent(&client, chosen, http, wakes, schema.as_ref())?;
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
        let mut fits = Ok(());
        if let (Some(schema), End::Done) = (&schema, &end) {
            fits = schema.read_answer(&output::answer(&agent)).map(drop);
            if let Err(why) = &fits {
                end = say(&agent, &mut events, AnswerSchema::repair(why), &output).await?;
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

    pub(crate) fn policy(&self, otherwise: Otherwise) -> AgentPolicy {
        let sandbox = &self.settings.sandbox;
        let permissions = self.arguments.permissions();
        permissions.agent_policy(otherwise, self.cwd, sandbox)
    }

    fn agent(
        &self,
        client: &Client,
        chosen: choice::Chosen,
        http: reqwest::Client,
        wakes: Wakes,
        schema: Option<&AnswerSchema>,
    ) -> Result<(Agent, AgentEvents), Failure> {
        let arguments = self.arguments;
        let user = client
            .runtime()
            .client(ClientOptions::new(Permissions::of_user()));
        let models = CatalogModels::new(self.invocation, http)?;
        let choice::Chosen { model, thinking } = chosen;
        let scripts = models.script_tools(model.api);
        let tools = ClientTools::new(client.clone(), user, scripts, self.prompt(schema)?)?;
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
            runtime_events: Some(client.runtime().events().clone()),
        };
        Agent::start(parts).map_err(|error| Failure::from(anyhow::Error::new(error)))
    }

    pub(crate) fn prompt(&self, schema: Option<&AnswerSchema>) -> Result<Prompt, Failure> {
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
