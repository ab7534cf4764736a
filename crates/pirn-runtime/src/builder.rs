//! Putting a runtime together.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pirn_codemode::{EngineOptions, ScriptStore, StoreBackend};
use pirn_file::SpillFolder;
use pirn_mcp::Elicitor;
use pirn_sandbox::{BackgroundChildren, NetworkAsker, Sandbox};
use pirn_settings::{HostEnv, Settings};
use pirn_tool::{ApprovalQueue, EventBus, EventSubscription, Hook, Registry, Tool, ToolResult};
use pirn_tools::{ToolsOptions, builtin_tools};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::confinement::{ChildEnvironment, Confinement, Preparation};
use crate::engine::EngineSource;
use crate::error::Error;
use crate::evals::{EvalOptions, Evals, eval_sandbox};
use crate::host_questions::HostQuestions;
use crate::runtime::{Inner, Runtime};
use crate::script_limits::{board_limits, engine_options, script_limits};
use crate::server_questions::ServerQuestions;
use crate::servers::{ServerOptions, ServerPlace, Servers};

/// Which of the built-in tools a runtime has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BuiltinTools {
    /// `read`, `write`, `edit`, `bash`, `grep`, `find` and `ls`.
    #[default]
    All,
    /// What they are called and take, to be listed: calling them fails, so that no confinement is needed.
    Listed,
    /// None of them, and then no confinement of commands either.
    None,
}

/// Puts a [`Runtime`] together. Everything has a default: the built-in tools, confined as the default settings say, no servers
/// and no evals.
pub struct RuntimeBuilder {
    env: HostEnv,
    folder: PathBuf,
    settings: Settings,
    builtin: BuiltinTools,
    preparation: Preparation,
    tools: Vec<Tool>,
    hooks: Vec<Arc<dyn Hook>>,
    servers: Option<ServerOptions>,
    evals: Option<EvalOptions>,
    approvals: Option<ApprovalQueue>,
    engine: Option<EngineOptions>,
    script_store: Arc<dyn StoreBackend>,
    spill: Option<SpillFolder>,
}

impl std::fmt::Debug for RuntimeBuilder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("RuntimeBuilder")
            .field("folder", &self.folder)
            .field("builtin", &self.builtin)
            .field("tools", &self.tools.len())
            .field("servers", &self.servers)
            .finish_non_exhaustive()
    }
}

impl RuntimeBuilder {
    pub(crate) fn new(env: HostEnv, folder: PathBuf) -> Self {
        Self {
            env,
            folder,
            settings: Settings::default(),
            builtin: BuiltinTools::default(),
            preparation: Preparation::default(),
            tools: Vec::new(),
            hooks: Vec::new(),
            servers: None,
            evals: None,
            approvals: None,
            engine: None,
            script_store: Arc::new(ScriptStore::default()),
            spill: None,
        }
    }

    /// Sets what is set: confinement, evals, limits.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets which of the built-in tools there are.
    #[must_use]
    pub fn builtin_tools(mut self, builtin: BuiltinTools) -> Self {
        self.builtin = builtin;
        self
    }

    /// Sets when the confinement of commands is prepared.
    #[must_use]
    pub fn confinement(mut self, preparation: Preparation) -> Self {
        self.preparation = preparation;
        self
    }

    /// Adds a tool of the embedding program's own.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds a hook for the calls of all clients; hooks run in the order they were added.
    #[must_use]
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.push(hook);
        self
    }

    /// Sets the MCP servers.
    #[must_use]
    pub fn servers(mut self, servers: ServerOptions) -> Self {
        self.servers = Some(servers);
        self
    }

    /// Makes evals possible, which are off without it.
    #[must_use]
    pub fn evals(mut self, evals: EvalOptions) -> Self {
        self.evals = Some(evals);
        self
    }

    /// Sets the queue of everything that is asked. Without one nobody can be asked: hosts that no rule names are refused, servers
    /// are told that there is nobody, and calls that need an answer are denied.
    #[must_use]
    pub fn approvals(mut self, approvals: ApprovalQueue) -> Self {
        self.approvals = Some(approvals);
        self
    }

    /// Sets how many scripts run at the same time, and how much memory each may have.
    #[must_use]
    pub fn engine(mut self, engine: EngineOptions) -> Self {
        self.engine = Some(engine);
        self
    }

    /// Sets where `store()` keeps values; without it they last as long as the runtime.
    #[must_use]
    pub fn script_store(mut self, store: Arc<dyn StoreBackend>) -> Self {
        self.script_store = store;
        self
    }

    /// Sets where files go that hold what results cannot show: for a front end whose user or session reads them when the runtime
    /// is gone. Without it they go into a folder of the runtime's own, and with it.
    #[must_use]
    pub fn spill(mut self, folder: SpillFolder) -> Self {
        self.spill = Some(folder);
        self
    }

    fn read_variables(&self) -> BTreeSet<String> {
        let servers = self.servers.as_ref();
        servers
            .map(ServerOptions::read_variables)
            .unwrap_or_default()
    }

    fn tools_options(
        &self,
        sandbox: Option<&Sandbox>,
        background: &BackgroundChildren,
        spill: &SpillFolder,
    ) -> ToolsOptions {
        ToolsOptions {
            environment: ChildEnvironment::new(&self.env, &self.read_variables())
                .variables(&self.settings.sandbox),
            shell: self.settings.bash.shell.as_ref().map(PathBuf::from),
            home: self.env.home.clone(),
            picture_program: self.env.picture_program.clone(),
            sandbox: sandbox.cloned(),
            background: background.clone(),
            spill: spill.clone(),
            command_timeout: Some(Duration::from_secs(self.settings.bash.timeout_seconds)),
            ..ToolsOptions::new(&self.folder, &self.env.temp_dir)
        }
    }

    /// Finishes the runtime. Must be called inside an event loop. Fails where the settings ask for a confinement that this
    /// machine cannot give, and where something given cannot be used.
    pub fn build(self) -> Result<Runtime, Error> {
        let registry = Registry::new();
        let read_variables = self.read_variables();
        let codemode = &self.settings.codemode;
        let script_limits = script_limits(codemode);
        let board = board_limits(codemode);
        let engine = EngineSource::new(
            self.engine
                .unwrap_or_else(|| default_engine(&self.settings)),
        );
        let project = self.folder.to_string_lossy().into_owned();
        let asker = |who| -> Option<Arc<dyn NetworkAsker>> {
            let queue = self.approvals.clone()?;
            Some(Arc::new(HostQuestions::new(queue, project.clone(), who)))
        };
        let elicitor = self.approvals.clone().map(|queue| {
            Arc::new(ServerQuestions::new(queue, project.clone())) as Arc<dyn Elicitor>
        });
        // Commands that a program runs are confined as it is.
        let is_for_programs =
            self.evals.is_some() && eval_sandbox(&self.settings) == self.settings.sandbox;
        let who = if is_for_programs {
            "The program"
        } else {
            "A command"
        };
        let confinement = match self.builtin {
            BuiltinTools::All => Some(Arc::new(Confinement::prepare(
                &self.settings.sandbox,
                &self.folder,
                &self.env,
                self.preparation,
                asker(who),
            )?)),
            BuiltinTools::Listed | BuiltinTools::None => None,
        };
        let sandbox = confinement.as_deref().and_then(Confinement::sandbox);
        let background = BackgroundChildren::new();
        let spill = self
            .spill
            .clone()
            .unwrap_or_else(|| SpillFolder::temporary(&self.env.temp_dir));
        let tools_options = self.tools_options(sandbox, &background, &spill);
        register_builtin(&registry, self.builtin, tools_options.clone());
        register_all(&registry, self.tools);
        let servers = self
            .servers
            .map(|options| {
                let place = ServerPlace {
                    folder: &self.folder,
                    sandbox: &self.settings.sandbox,
                    env: &self.env,
                    spill: &spill,
                };
                Servers::prepare(options, elicitor, &registry, &place)
            })
            .transpose()?;
        let evals = match self.evals {
            None => None,
            Some(options) => {
                let shared = confinement.clone();
                let confinement = of_programs(
                    &self.settings,
                    &self.folder,
                    &self.env,
                    self.preparation,
                    shared,
                    || asker("The program"),
                )?;
                Some(Evals::new(
                    options,
                    &engine,
                    &self.settings,
                    confinement,
                    &self.folder,
                    ChildEnvironment::new(&self.env, &read_variables),
                )?)
            }
        };
        let events = EventBus::new();
        let told = told_by(self.approvals.as_ref(), servers.as_ref(), &events);
        Ok(Runtime::from_parts(Inner {
            registry,
            tools_options: Arc::new(tools_options),
            hooks: self.hooks,
            project: Arc::from(project.as_str()),
            approvals: self.approvals.clone(),
            events,
            _told: told,
            confinement,
            servers,
            evals,
            engine,
            script_limits,
            script_store: self.script_store,
            board,
            scripts: OnceLock::new(),
            spill,
            lifetime: CancellationToken::new(),
            work: TaskTracker::new(),
            background,
        }))
    }
}

/// The confinement of programs: that of commands where they are confined alike.
fn of_programs(
    settings: &Settings,
    folder: &Path,
    env: &HostEnv,
    preparation: Preparation,
    of_commands: Option<Arc<Confinement>>,
    asker: impl FnOnce() -> Option<Arc<dyn NetworkAsker>>,
) -> Result<Arc<Confinement>, Error> {
    let wanted = eval_sandbox(settings);
    if let Some(shared) = of_commands.filter(|_| wanted == settings.sandbox) {
        return Ok(shared);
    }
    let own = Confinement::prepare(&wanted, folder, env, preparation, asker())?;
    Ok(Arc::new(own))
}

/// The engine as the settings bound it; a client may give a script more memory than they do.
fn default_engine(settings: &Settings) -> EngineOptions {
    let codemode = &settings.codemode;
    EngineOptions {
        memory_bytes_max: EngineOptions::default().memory_bytes_max,
        ..engine_options(codemode, &script_limits(codemode))
    }
}

fn register_builtin(registry: &Registry, builtin: BuiltinTools, options: ToolsOptions) {
    match builtin {
        BuiltinTools::All => register_all(registry, builtin_tools(options)),
        BuiltinTools::Listed => {
            register_all(registry, builtin_tools(options).iter().map(listed));
        }
        BuiltinTools::None => {}
    }
}

/// Brings what the queue and the servers tell onto the stream, as long as what is given back lives.
fn told_by(
    approvals: Option<&ApprovalQueue>,
    servers: Option<&Servers>,
    events: &EventBus,
) -> Vec<EventSubscription> {
    let questions = approvals.map(ApprovalQueue::events);
    let states = servers.map(|servers| servers.manager().events());
    questions
        .into_iter()
        .chain(states)
        .map(|from| from.subscribe(events.sink()))
        .collect()
}

fn register_all(registry: &Registry, tools: impl IntoIterator<Item = Tool>) {
    for tool in tools {
        registry.register(tool);
    }
}

/// A tool that can be looked at only.
fn listed(tool: &Tool) -> Tool {
    Tool::from_fn(tool.spec().clone(), |_, _| async {
        ToolResult::error("This tool can only be listed here.")
    })
}
