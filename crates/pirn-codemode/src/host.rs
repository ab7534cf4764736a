//! What a script runs in: the tools and globals it sees, and the seam through which its calls are performed.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pirn_tool::{CallStage, CallStatus, WaitClock, to_identifier};
use pirn_vm::{
    CallTarget, GlobalArguments, GlobalBinding, JsonText, MissingTools, Settlement, ToolBinding,
    ToolTable,
};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::check::Surroundings;
use crate::shape::ResultShape;

/// A call a script makes.
#[derive(Debug, Clone)]
pub struct HostCall {
    /// Counts the script's tool calls from 1; for globals, 0.
    pub number: u32,
    /// Which tool or global is called.
    pub target: CallTarget,
    /// The tool's own name, or the global's.
    pub name: String,
    /// The argument as JSON; `None` for `undefined`.
    pub arguments: Option<JsonText>,
    /// Fires when the call should stop.
    pub cancel: CancellationToken,
    /// Where the host says how far the call has come. A host that says nothing has begun it, as far as anybody knows.
    pub stage: watch::Sender<CallStage>,
    /// The question that the call had open when its script was saved, to be met again.
    pub question_id: Option<String>,
}

/// What becomes of a call of a script that is resumed.
pub enum ResumedCall {
    /// It is made, within the script's limits.
    Make,
    /// It goes on where it was.
    Continue(BoxFuture<'static, CallEnd>),
    /// Nobody knows what became of it; it rejects.
    Unknown,
}

impl fmt::Debug for ResumedCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Make => "Make",
            Self::Continue(_) => "Continue",
            Self::Unknown => "Unknown",
        })
    }
}

/// How a call ended.
#[derive(Debug, Clone)]
pub struct CallEnd {
    /// What the script gets.
    pub settlement: Settlement,
    /// What became of the call, for the record.
    pub status: CallStatus,
    /// What the record says of a call that failed though the script got data of it.
    pub error: Option<String>,
    /// What the script's result tells of it besides.
    pub notes: Vec<String>,
}

impl CallEnd {
    /// A call that succeeded; `None` is `undefined`.
    pub fn ok(value: Option<JsonText>) -> Self {
        Self {
            settlement: Settlement::Resolved(value),
            status: CallStatus::Ok,
            error: None,
            notes: Vec::new(),
        }
    }

    /// A call that failed with a message.
    pub fn error(message: impl Into<String>) -> Self {
        Self::rejected(message, CallStatus::Error)
    }

    /// A call that was stopped and says so.
    pub fn cancelled(message: impl Into<String>) -> Self {
        Self::rejected(message, CallStatus::Cancelled)
    }

    /// Bytes of what the script gets.
    pub(crate) fn bytes(&self) -> usize {
        let json = match &self.settlement {
            Settlement::Resolved(value) => value.as_ref(),
            Settlement::Rejected { message, data, .. } => {
                return message.len() + data.as_ref().map_or(0, |data| data.as_str().len());
            }
        };
        json.map_or(0, |json| json.as_str().len())
    }

    fn rejected(message: impl Into<String>, status: CallStatus) -> Self {
        let settlement = Settlement::Rejected {
            message: message.into(),
            tool: None,
            call_id: None,
            kind: None,
            data: None,
        };
        Self {
            settlement,
            status,
            error: None,
            notes: Vec::new(),
        }
    }
}

/// Performs a script's calls.
pub trait ScriptHost: Send + Sync + 'static {
    /// Performs one call. When `call.cancel` fires the future should end soon; it is dropped after a bounded time.
    fn call(&self, call: HostCall) -> BoxFuture<'static, CallEnd>;

    /// Decides about a call that was open when the script was saved, and had come so far. The default makes what had not begun
    /// and gives up what had: nothing is ever repeated. A host that keeps a journal of its own knows more: what was saved is
    /// how far the call had come *then*.
    fn resume_call(&self, _call: &HostCall, stage: &CallStage) -> ResumedCall {
        match stage {
            CallStage::Waiting | CallStage::Asking { .. } => ResumedCall::Make,
            CallStage::Begun => ResumedCall::Unknown,
        }
    }

    /// What is wrong with an argument for a tool, by the tool's own name, as far as can be told without calling it; the default
    /// finds nothing wrong.
    fn arguments_complaint(&self, _tool: &str, _argument: &Value) -> Option<String> {
        None
    }

    /// The clock of the script's waiting time, which stands still while all its open calls ask a person. The default never does.
    fn clock(&self) -> WaitClock {
        WaitClock::default()
    }

    /// The id of the tool call with this number, for `error.callId`; `None`, the default, for hosts without ids.
    fn call_id(&self, _number: u32) -> Option<String> {
        None
    }
}

/// The surroundings of scripts: what they see and who performs their calls. Cheap to clone.
#[derive(Clone)]
pub struct Environment {
    pub(crate) tools: Arc<KnownTools>,
    pub(crate) globals: Arc<[GlobalBinding]>,
    pub(crate) missing: Arc<[MissingTools]>,
    pub(crate) host: Arc<dyn ScriptHost>,
}

/// The tools of scripts, with what is known of them before a script runs.
#[derive(Default)]
pub(crate) struct KnownTools {
    pub(crate) table: ToolTable,
    /// By identifier and by name: the tool's own name and what its result is.
    by_member: HashMap<String, (String, ResultShape)>,
}

impl KnownTools {
    pub(crate) fn new(tools: impl IntoIterator<Item = (ToolBinding, ResultShape)>) -> Self {
        let mut by_member = HashMap::new();
        let mut bindings = Vec::new();
        for (binding, shape) in tools {
            let known = (binding.name.clone(), shape);
            if let Some(identifier) = &binding.identifier {
                by_member.insert(identifier.clone(), known.clone());
            }
            by_member.entry(binding.name.clone()).or_insert(known);
            bindings.push(binding);
        }
        Self {
            table: ToolTable::new(bindings),
            by_member,
        }
    }

    /// What a call of the member gives.
    pub(crate) fn shape(&self, member: &str) -> Option<&ResultShape> {
        self.by_member.get(member).map(|(_, shape)| shape)
    }

    /// The member as the table spells it, and what a call of it gives.
    pub(crate) fn member(&self, member: &str) -> Option<(&str, &ResultShape)> {
        let (member, (_, shape)) = self.by_member.get_key_value(member)?;
        Some((member, shape))
    }

    /// The own name of the member's tool.
    pub(crate) fn name(&self, member: &str) -> Option<&str> {
        self.by_member.get(member).map(|(name, _)| name.as_str())
    }

    /// The identifiers, in the order of `ALL_TOOLS`.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &str> {
        let tools = self.table.tools().iter();
        tools.filter_map(|tool| tool.identifier.as_deref())
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Environment")
            .field("tools", &self.tools.table)
            .field("globals", &self.globals.len())
            .finish_non_exhaustive()
    }
}

/// A global that cannot be offered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    /// The name is not an identifier, or has more than one dot.
    #[error("`{0}` cannot be a global: it must be an identifier, or two joined by one dot")]
    Malformed(String),
    /// The name belongs to the script contract or to JavaScript.
    #[error("`{0}` cannot be a global: the name belongs to the script contract or to JavaScript")]
    Reserved(String),
    /// The name is used twice, or as a global and as a namespace.
    #[error("`{0}` is given to two globals, or to a global and a namespace")]
    Duplicate(String),
}

/// Names that scripts already have: the contract's, and the built-ins, which are frozen.
const RESERVED: &[&str] = &[
    "ALL_TOOLS",
    "audio",
    "clearTimeout",
    "console",
    "exit",
    "image",
    "load",
    "models",
    "notify",
    "parallel",
    "setTimeout",
    "sleep",
    "store",
    "text",
    "tools",
    "yield_control",
    "AbortController",
    "AbortSignal",
    "AggregateError",
    "Array",
    "ArrayBuffer",
    "AsyncDisposableStack",
    "BigInt",
    "BigInt64Array",
    "BigUint64Array",
    "Boolean",
    "DOMException",
    "DataView",
    "Date",
    "DisposableStack",
    "Error",
    "EvalError",
    "FinalizationRegistry",
    "Float16Array",
    "Float32Array",
    "Float64Array",
    "Function",
    "Infinity",
    "Int16Array",
    "Int32Array",
    "Int8Array",
    "InternalError",
    "Intl",
    "Iterator",
    "JSON",
    "Map",
    "Math",
    "NaN",
    "Number",
    "Object",
    "Promise",
    "Proxy",
    "RangeError",
    "ReferenceError",
    "Reflect",
    "RegExp",
    "Set",
    "String",
    "SuppressedError",
    "Symbol",
    "SyntaxError",
    "TextDecoder",
    "TextEncoder",
    "TypeError",
    "URIError",
    "URL",
    "URLSearchParams",
    "Uint16Array",
    "Uint32Array",
    "Uint8Array",
    "Uint8ClampedArray",
    "WeakMap",
    "WeakRef",
    "WeakSet",
    "atob",
    "btoa",
    "crypto",
    "decodeURI",
    "decodeURIComponent",
    "encodeURI",
    "encodeURIComponent",
    "escape",
    "eval",
    "globalThis",
    "isFinite",
    "isNaN",
    "navigator",
    "parseFloat",
    "parseInt",
    "performance",
    "queueMicrotask",
    "structuredClone",
    "undefined",
    "unescape",
];

/// Whether scripts have this name without a host.
pub(crate) fn is_reserved(name: &str) -> bool {
    // The engine has no navigator; a host may not offer one either.
    name != "navigator" && name != "models" && RESERVED.contains(&name)
}

impl Environment {
    /// What a script is checked against before it runs.
    pub(crate) fn surroundings(&self) -> Surroundings<'_> {
        let (globals, missing) = (self.globals.iter(), self.missing.iter());
        Surroundings {
            tools: &self.tools,
            globals: globals
                .filter_map(|global| global.name.split('.').next())
                .collect(),
            missing_prefixes: missing.map(|tools| tools.prefix.as_str()).collect(),
            host: self.host.as_ref(),
        }
    }

    /// Surroundings of plain functions: `tools` are pairs of name and description. Where two names give the same identifier, the
    /// first tool keeps it and the second is reached by its own name in brackets.
    ///
    /// # Errors
    /// When a global's name cannot be used.
    pub fn new(
        tools: impl IntoIterator<Item = (String, String)>,
        globals: Vec<GlobalBinding>,
        host: Arc<dyn ScriptHost>,
    ) -> Result<Self, EnvironmentError> {
        check_globals(&globals)?;
        let mut taken = BTreeSet::new();
        let tools = KnownTools::new(tools.into_iter().map(|(name, description)| {
            let identifier = to_identifier(&name);
            let is_free = taken.insert(identifier.clone());
            let binding = ToolBinding {
                name,
                identifier: is_free.then_some(identifier),
                description: description.into(),
                shape: None,
            };
            (binding, ResultShape::default())
        }));
        Ok(Self::with_known(Arc::new(tools), globals, host))
    }

    /// Surroundings whose tools have been given identifiers already.
    pub(crate) fn with_known(
        tools: Arc<KnownTools>,
        globals: Vec<GlobalBinding>,
        host: Arc<dyn ScriptHost>,
    ) -> Self {
        Self {
            tools,
            globals: globals.into(),
            missing: Arc::default(),
            host,
        }
    }

    /// Names tools that would be there if their servers were up, so that a script that calls one is told why it cannot.
    #[must_use]
    pub fn with_missing_tools(mut self, missing: Vec<MissingTools>) -> Self {
        self.missing = missing.into();
        self
    }
}

fn check_globals(globals: &[GlobalBinding]) -> Result<(), EnvironmentError> {
    let mut names = BTreeSet::new();
    let mut spaces = BTreeSet::new();
    for GlobalBinding { name, arguments: _ } in globals {
        let mut parts = name.split('.');
        let first = parts.next().unwrap_or_default();
        let member = parts.next();
        let is_identifier = |part: &str| to_identifier(part) == part && !part.is_empty();
        if parts.next().is_some()
            || !is_identifier(first)
            || member.is_some_and(|member| !is_identifier(member))
        {
            return Err(EnvironmentError::Malformed(name.clone()));
        }
        if RESERVED.contains(&first) {
            return Err(EnvironmentError::Reserved(name.clone()));
        }
        if member.is_some() {
            spaces.insert(first);
        }
        if !names.insert(name.as_str()) {
            return Err(EnvironmentError::Duplicate(name.clone()));
        }
    }
    match spaces.iter().find(|space| names.contains(**space)) {
        Some(space) => Err(EnvironmentError::Duplicate((*space).to_owned())),
        None => Ok(()),
    }
}

/// A global that gets its first argument.
pub fn global(name: impl Into<String>) -> GlobalBinding {
    GlobalBinding {
        name: name.into(),
        arguments: GlobalArguments::First,
    }
}

/// A global that gets all its arguments as a list.
pub fn spread_global(name: impl Into<String>) -> GlobalBinding {
    GlobalBinding {
        name: name.into(),
        arguments: GlobalArguments::Spread,
    }
}
