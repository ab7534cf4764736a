//! Tools as values: what a tool is called, what it takes, what it may do, and how it is run.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::approval::{Subject, value_hash};
use crate::content::ToolResult;
use crate::context::{CallContext, Origin};
use crate::loadout::LoadoutHook;
use crate::pipeline::{CallOutcome, CallRequest, Pipeline};
use crate::registry::Registry;

/// Runs a tool. Implemented by types with state; for a plain async function use [`Tool::from_fn`].
pub trait ToolHandler: Send + Sync + 'static {
    /// Runs one call. `arguments` have passed the input schema. When `context.cancel` fires the call should end soon
    /// with an error result; it is awaited for a bounded time only.
    fn call(&self, arguments: Value, context: CallContext) -> BoxFuture<'static, ToolResult>;

    /// Rewrites arguments of older or sloppy shapes before they are validated (a JSON string where a list is wanted).
    fn prepare_arguments(&self, arguments: Value) -> Value {
        arguments
    }

    /// What a person is shown in place of the tool's name and arguments when the policy asks about a call, such as the program
    /// that it would run. `None`, the default, is the call itself.
    fn approval_subject(&self, _arguments: &Value) -> Option<Subject> {
        None
    }
}

/// A tool: its description for models and people, and the handler behind it. Cheap to clone.
#[derive(Clone)]
pub struct Tool {
    spec: Arc<ToolSpec>,
    handler: Arc<dyn ToolHandler>,
    loadout_hook: Option<Arc<dyn LoadoutHook>>,
}

impl Tool {
    /// Joins a description and a handler.
    pub fn new(spec: ToolSpec, handler: impl ToolHandler) -> Self {
        Self {
            spec: Arc::new(spec),
            handler: Arc::new(handler),
            loadout_hook: None,
        }
    }

    /// Registers a loadout hook with the tool: it runs while the tool is declared to the model.
    #[must_use]
    pub fn with_loadout_hook(mut self, hook: Arc<dyn LoadoutHook>) -> Self {
        self.loadout_hook = Some(hook);
        self
    }

    /// Makes a tool of an async function.
    ///
    /// ```
    /// use pirn_tool::{Tool, ToolResult, ToolSpec};
    /// let echo = Tool::from_fn(ToolSpec::new("echo", "Returns its argument"), |arguments, _context| async move {
    ///     ToolResult::text(arguments.to_string())
    /// });
    /// assert_eq!(echo.spec().name, "echo");
    /// ```
    pub fn from_fn<F, Fut>(spec: ToolSpec, function: F) -> Self
    where
        F: Fn(Value, CallContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ToolResult> + Send + 'static,
    {
        struct FnHandler<F>(F);
        impl<F, Fut> ToolHandler for FnHandler<F>
        where
            F: Fn(Value, CallContext) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = ToolResult> + Send + 'static,
        {
            fn call(
                &self,
                arguments: Value,
                context: CallContext,
            ) -> BoxFuture<'static, ToolResult> {
                Box::pin((self.0)(arguments, context))
            }
        }
        Self::new(spec, FnHandler(function))
    }

    /// What the tool says about itself.
    pub fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// The same tool, shown otherwise.
    #[must_use]
    pub fn with_exposure(&self, exposure: Exposure) -> Self {
        Self {
            spec: Arc::new(ToolSpec {
                exposure,
                ..ToolSpec::clone(&self.spec)
            }),
            ..self.clone()
        }
    }

    pub(crate) fn loadout_hook(&self) -> Option<&Arc<dyn LoadoutHook>> {
        self.loadout_hook.as_ref()
    }

    /// Makes one call by itself: a person's, through a pipeline of its own in which nothing has to be asked.
    pub async fn call_alone(&self, arguments: Value) -> CallOutcome {
        let registry = Registry::new();
        registry.register(self.clone());
        let request = CallRequest::new("1", self.spec.name.as_str(), arguments);
        Pipeline::builder(registry)
            .build()
            .call(request.origin(Origin::User))
            .await
    }

    /// The code behind the tool. Only the pipeline runs it.
    pub(crate) fn handler(&self) -> &Arc<dyn ToolHandler> {
        &self.handler
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Tool")
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}

/// What a tool says about itself.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// Unique within a registry.
    pub name: String,
    /// For models; the first line is the summary.
    pub description: String,
    /// The group the tool belongs to, such as an MCP server.
    pub namespace: Option<Arc<Namespace>>,
    /// JSON Schema of the arguments; an object schema.
    pub input_schema: Value,
    /// A Lark grammar of the input as one text, for models that are held to one; others get the schema.
    pub grammar: Option<String>,
    /// JSON Schema of [`ToolResult::structured`]. A tool with one resolves to that value in scripts, others to their text.
    pub output_schema: Option<Value>,
    /// Hints of the tool's author, unverified.
    pub annotations: Annotations,
    /// The strongest truthful statement of what a call can do. Policy decides by it.
    pub effects: Effects,
    /// What holds the processes that a call may start.
    pub containment: Containment,
    /// Who sees and who may call the tool.
    pub exposure: Exposure,
    /// Advice for the system prompt, one sentence each.
    pub guidelines: Vec<String>,
    /// Whether calls may overlap.
    pub concurrency: Concurrency,
}

/// What holds the processes that a call may start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Containment {
    /// Pirn's own confinement, or none is needed.
    #[default]
    Held,
    /// Nothing that Pirn knows of: the tool is a program that may do what the user may. Whoever allows processes because they are
    /// confined has not allowed it.
    Free,
}

impl ToolSpec {
    /// A tool without parameters, effects or output schema, exposed directly.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            namespace: None,
            input_schema: json!({"type": "object", "properties": {}}),
            grammar: None,
            output_schema: None,
            annotations: Annotations::default(),
            effects: Effects::NONE,
            containment: Containment::Held,
            exposure: Exposure::Direct,
            guidelines: Vec::new(),
            concurrency: Concurrency::Parallel,
        }
    }

    /// A hash of everything the tool says of itself to models and policies. A grant is bound to it: a tool that changed is asked
    /// about again.
    pub fn definition_hash(&self) -> String {
        let effects: Vec<_> = self.effects.names().collect();
        value_hash(&json!({
            "name": self.name,
            "description": self.description,
            "namespace": self.namespace.as_deref().map(|namespace| &namespace.name),
            "input": self.input_schema,
            "output": self.output_schema,
            "annotations": self.annotations,
            "effects": effects,
            "containment": self.containment,
        }))
    }

    /// Sets what holds the processes that a call may start.
    #[must_use]
    pub fn containment(mut self, containment: Containment) -> Self {
        self.containment = containment;
        self
    }

    /// Sets the input schema.
    #[must_use]
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.input_schema = schema;
        self
    }

    /// Sets the output schema.
    #[must_use]
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// Sets what a call can do to the world.
    #[must_use]
    pub fn effects(mut self, effects: Effects) -> Self {
        self.effects = effects;
        self
    }

    /// Sets who sees and who may call the tool.
    #[must_use]
    pub fn exposure(mut self, exposure: Exposure) -> Self {
        self.exposure = exposure;
        self
    }

    /// Sets the group that the tool belongs to.
    #[must_use]
    pub fn namespace(mut self, namespace: Arc<Namespace>) -> Self {
        self.namespace = Some(namespace);
        self
    }

    /// Sets the hints of the tool's author.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = annotations;
        self
    }

    /// Adds one line of advice for the system prompt.
    #[must_use]
    pub fn guideline(mut self, guideline: impl Into<String>) -> Self {
        self.guidelines.push(guideline.into());
        self
    }

    /// Offers the input as a text of this Lark grammar. The handler's `prepare_arguments` makes arguments of such a text.
    #[must_use]
    pub fn grammar(mut self, grammar: impl Into<String>) -> Self {
        self.grammar = Some(grammar.into());
        self
    }

    /// Sets whether calls may overlap.
    #[must_use]
    pub fn concurrency(mut self, concurrency: Concurrency) -> Self {
        self.concurrency = concurrency;
        self
    }
}

/// A named group of tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespace {
    /// The name, such as `mcp__docs`.
    pub name: String,
    /// Other names it is found by.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// What the group is for.
    #[serde(default)]
    pub description: Option<String>,
    /// How to use the group; read on request, never part of a description.
    #[serde(default)]
    pub instructions: Option<String>,
}

/// Hints of a tool's author, as in the Model Context Protocol. `None` means the author said nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// The tool changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// The tool may delete or overwrite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// A second identical call changes nothing more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// The tool reaches systems outside this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// Who sees a tool and who may call it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exposure {
    /// Declared to the model and callable by scripts while active; active from the start.
    #[default]
    Direct,
    /// Declared to the model while active, never callable by scripts.
    ModelOnly,
    /// Callable by scripts and listed for them; declared to the model only when activated.
    Codemode,
    /// Callable by scripts, found by searching; declared to the model only when activated.
    Deferred,
    /// Neither declared nor callable.
    Hidden,
}

/// Whether calls of a tool may overlap with others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Concurrency {
    /// Calls may run at the same time.
    #[default]
    Parallel,
    /// At most one call of all sequential tools runs at a time. Calls made inside one queue among themselves.
    Sequential,
}

/// What a call can do to the world; a set. As JSON it is the list of the effects' names; an unknown name is refused, since a set
/// that lost an effect would allow more than was meant.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "Vec<String>", try_from = "Vec<String>")]
pub struct Effects(u8);

impl Effects {
    /// No effect: the tool only computes.
    pub const NONE: Self = Self(0);
    /// Reads files or other state of the machine.
    pub const READ: Self = Self(1);
    /// Changes files or other state of the machine.
    pub const WRITE: Self = Self(1 << 1);
    /// Starts processes, which can do whatever their confinement lets them.
    pub const PROCESS: Self = Self(1 << 2);
    /// Reaches other machines over the network.
    pub const NETWORK: Self = Self(1 << 3);
    /// Runs other tools or agents.
    pub const ORCHESTRATION: Self = Self(1 << 4);

    /// Every effect with its name, weakest first.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::READ, "read"),
        (Self::WRITE, "write"),
        (Self::PROCESS, "process"),
        (Self::NETWORK, "network"),
        (Self::ORCHESTRATION, "orchestration"),
    ];

    /// The effects that are in one of the sets or in both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every effect of `other` is in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the sets share an effect.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The names for people, weakest first: `read, write`.
    pub fn listed(self) -> String {
        self.names().collect::<Vec<_>>().join(", ")
    }

    /// The names of the effects, weakest first.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::ALL
            .into_iter()
            .filter(move |(effect, _)| self.contains(*effect))
            .map(|(_, name)| name)
    }

    /// Looks an effect up by its name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|(_, known)| *known == name)
            .map(|(effect, _)| effect)
    }
}

impl From<Effects> for Vec<String> {
    fn from(effects: Effects) -> Self {
        effects.names().map(str::to_owned).collect()
    }
}

impl TryFrom<Vec<String>> for Effects {
    type Error = String;

    fn try_from(names: Vec<String>) -> Result<Self, String> {
        names.iter().try_fold(Self::NONE, |sum, name| {
            Self::from_name(name)
                .map(|effect| sum | effect)
                .ok_or_else(|| format!("`{name}` is not an effect"))
        })
    }
}

impl std::ops::BitOr for Effects {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl fmt::Debug for Effects {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.names()).finish()
    }
}
