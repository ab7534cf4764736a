//! What a person is asked: who asks, about what, and which answers there are.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::hash::{texts_hash, value_hash};
use crate::context::Origin;
use crate::tool::{Effects, ToolSpec};

/// One question to a person. It owns everything that is shown, so it can be stored and answered in another process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// Names the question towards people and front ends. Given by the queue, never twice, also not by another process; empty
    /// until then.
    #[serde(default)]
    pub id: String,
    /// The run it belongs to: what was started as one piece, such as a script, a turn or a command.
    pub run_id: String,
    /// For whom the run is made, such as the client of a gateway; empty where there is only one.
    #[serde(default)]
    pub caller: String,
    /// The project the run belongs to, as its folder; empty outside of any project.
    #[serde(default)]
    pub project: String,
    /// The call that waits for the answer, where one does.
    #[serde(default)]
    pub call_id: Option<String>,
    /// The call that made it.
    #[serde(default)]
    pub parent_call_id: Option<String>,
    /// Who made the call.
    pub origin: Origin,
    /// What it is about.
    pub subject: Subject,
    /// What may be done if the answer is yes.
    pub effects: Effects,
    /// The exact arguments; `null` where there are none.
    pub arguments: Value,
    /// [`value_hash`] of `arguments`, to which answers are bound.
    pub arguments_hash: String,
    /// The place that is touched, where it is known. Rules are compared with it.
    #[serde(default)]
    pub target: Option<Target>,
    /// Why a person is asked, as the end of a sentence in brackets.
    pub reason: String,
    /// The ways to say yes, the narrowest first. Saying no is always possible.
    pub choices: Vec<Choice>,
}

impl ApprovalRequest {
    /// A question outside any run or call, with "once" as its only choice.
    pub fn new(subject: Subject, effects: Effects, arguments: Value) -> Self {
        Self {
            id: String::new(),
            run_id: String::new(),
            caller: String::new(),
            project: String::new(),
            call_id: None,
            parent_call_id: None,
            origin: Origin::User,
            subject,
            effects,
            arguments_hash: value_hash(&arguments),
            arguments,
            target: None,
            reason: String::new(),
            choices: vec![Choice::ONCE],
        }
    }

    /// Takes over target and choices of an offer, without the choices that last longer than such a question allows.
    #[must_use]
    pub fn offer(mut self, offer: Offer) -> Self {
        self.target = offer.target;
        self.choices = offer.choices;
        if let Subject::Tool(tool) = &mut self.subject {
            tool.confinement = offer.confinement;
        }
        self.restrict_choices();
        self
    }

    /// Leaves out what may not be offered; "once" always is.
    pub(super) fn restrict_choices(&mut self) {
        let mut choices = std::mem::take(&mut self.choices);
        choices.retain(|choice| self.permits(choice));
        if !choices.contains(&Choice::ONCE) {
            choices.insert(0, Choice::ONCE);
        }
        self.choices = choices;
    }

    /// Whether a choice may be offered at all. Nothing outlives the process for programs and unconfined commands, nothing is
    /// remembered of trust and of servers' questions, and a rule must cover what is asked about.
    pub(super) fn permits(&self, choice: &Choice) -> bool {
        let longest = match &self.subject {
            Subject::Tool(tool) => match (tool.confinement, &choice.covers) {
                // Every later command would be another one, and nothing holds it.
                (CommandConfinement::Unconfined, _) => Scope::Run,
                // A rule for a whole tool that is remembered is a rule about a server's tool.
                (_, Covers::Tool) if tool.server.is_none() => Scope::Run,
                (CommandConfinement::NoCommand | CommandConfinement::Confined, _) => Scope::Always,
            },
            Subject::Program(_) => match choice.covers {
                Covers::Arguments => Scope::Session,
                Covers::Folder { .. } | Covers::Host { .. } | Covers::Tool => return false,
            },
            Subject::Host => Scope::Always,
            Subject::Trust { .. } | Subject::Elicitation { .. } => Scope::Once,
        };
        choice.scope <= longest && choice.covers.includes(self)
    }

    /// Hashes everything that an answer to this question is about. A question that changed in any of it is another one.
    pub(super) fn content_hash(&self) -> String {
        let identity = self.identity();
        let choices = serde_json::to_string(&self.choices).unwrap_or_default();
        let shown = serde_json::to_string(&self.subject).unwrap_or_default();
        texts_hash([identity.as_str(), &choices, &shown, &self.reason])
    }

    /// Hashes what makes two questions the same for a person: the same subject with the same arguments, target and effects, from
    /// the same origin, in the same project, for the same caller.
    pub(super) fn identity(&self) -> String {
        let effects: Vec<_> = self.effects.names().collect();
        let target = serde_json::to_string(&self.target).unwrap_or_default();
        let asked = match &self.subject {
            // Whatever else the same server wants is another question.
            Subject::Elicitation { .. } => serde_json::to_string(&self.subject).unwrap_or_default(),
            Subject::Tool(_) | Subject::Program(_) | Subject::Host | Subject::Trust { .. } => {
                String::new()
            }
        };
        texts_hash([
            self.caller.as_str(),
            &self.project,
            self.origin.as_str(),
            self.subject.kind(),
            self.subject.name(),
            self.subject.definition(),
            &effects.join(","),
            &self.arguments_hash,
            &target,
            &asked,
        ])
    }
}

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Subject {
    /// A call of a tool.
    Tool(ToolSubject),
    /// A program that is to be run.
    Program(ProgramSubject),
    /// A connection to a host; the target says which.
    Host,
    /// Whether files of a project count.
    Trust {
        /// The folder that would be trusted.
        folder: String,
    },
    /// A server wants something from the person.
    Elicitation {
        /// The server that asks.
        server: String,
        /// What for, in the server's words.
        message: String,
        /// What the person is to give or visit.
        form: Form,
    },
}

impl Subject {
    /// The name of the kind in records and in stored grants.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Tool(_) => "tool",
            Self::Program(_) => "program",
            Self::Host => "host",
            Self::Trust { .. } => "trust",
            Self::Elicitation { .. } => "elicitation",
        }
    }

    /// What is asked about within the kind: the tool, the program's language, the folder, the server.
    pub fn name(&self) -> &str {
        match self {
            Self::Tool(tool) => &tool.name,
            Self::Program(program) => &program.language,
            Self::Host => "",
            Self::Trust { folder } => folder,
            Self::Elicitation { server, .. } => server,
        }
    }

    /// The hash of what the subject was when it was shown; empty for subjects that cannot change.
    pub fn definition(&self) -> &str {
        match self {
            Self::Tool(tool) => &tool.definition,
            Self::Program(program) => &program.definition,
            Self::Host | Self::Trust { .. } | Self::Elicitation { .. } => "",
        }
    }
}

/// A tool as a question names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSubject {
    /// The tool's name in its registry.
    pub name: String,
    /// [`ToolSpec::definition_hash`]: a tool that says something else about itself is another one.
    pub definition: String,
    /// The MCP server it comes from; `None` for tools of this machine.
    #[serde(default)]
    pub server: Option<String>,
    /// Whether the call runs a command, and what holds it.
    #[serde(default)]
    pub confinement: CommandConfinement,
}

impl ToolSubject {
    /// The subject of a call of this tool.
    pub fn of(spec: &ToolSpec) -> Self {
        Self::with_definition(spec, spec.definition_hash())
    }

    /// Like [`Self::of`], with a definition's hash that is known already.
    pub(crate) fn with_definition(spec: &ToolSpec, definition: String) -> Self {
        Self {
            name: spec.name.clone(),
            definition,
            server: mcp_server(spec).map(str::to_owned),
            confinement: CommandConfinement::default(),
        }
    }
}

/// The namespace of a tool that comes from an MCP server.
fn mcp_server(spec: &ToolSpec) -> Option<&str> {
    spec.namespace
        .as_deref()
        .map(|namespace| namespace.name.as_str())
        .filter(|name| name.starts_with("mcp__"))
}

/// What holds the command that a call runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CommandConfinement {
    /// The call runs no command.
    #[default]
    NoCommand,
    /// A sandbox does, at the best level of this machine.
    Confined,
    /// Nothing does, or less than this machine could.
    Unconfined,
}

/// A program as a question shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgramSubject {
    /// The name of the language it is written in.
    pub language: String,
    /// Its whole source as it would run; whoever shows it escapes it.
    pub source: String,
    /// Bytes of the source itself.
    pub code_bytes: usize,
    /// What confines it, in one sentence.
    pub confinement: String,
    /// The names of the tools that it can call.
    pub callable: Vec<String>,
    /// Hash of language, effects, confinement and source.
    pub definition: String,
}

/// What a server wants from a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Form {
    /// Values for a flat form.
    Values {
        /// JSON Schema of the form: an object of strings, numbers, booleans and choices.
        schema: Value,
    },
    /// A visit to a page; what happens there stays between the person and the page.
    Page {
        /// The address of the page.
        url: String,
    },
}

/// The place that an asked call touches, where its policy knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Target {
    /// A file or folder: absolute, links resolved.
    Path {
        /// The path, which is compared part by part.
        path: PathBuf,
    },
    /// A host at a port.
    Host {
        /// The host's name or address, in lower case.
        host: String,
        /// The port that would be connected to.
        port: u16,
    },
}

/// One way to say yes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// How long the yes holds.
    pub scope: Scope,
    /// Which calls it holds for.
    pub covers: Covers,
}

impl Choice {
    /// Yes to this very call and to no other.
    pub const ONCE: Self = Self {
        scope: Scope::Once,
        covers: Covers::Arguments,
    };

    /// A choice of this scope for what `covers` says.
    pub const fn new(scope: Scope, covers: Covers) -> Self {
        Self { scope, covers }
    }
}

/// How long a yes holds; the shortest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// For the call that waits for it.
    Once,
    /// Until the run ends.
    Run,
    /// Until the process ends.
    Session,
    /// Until the user takes it back.
    Always,
}

/// Which later calls a yes holds for, besides the same subject with the same definition, origin and effects in the same project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Covers {
    /// Those with exactly the same arguments.
    Arguments,
    /// Those whose target is this folder or lies in it.
    Folder {
        /// The folder: absolute, links resolved.
        path: PathBuf,
    },
    /// Those whose target is this host at this port.
    Host {
        /// The host's name or address, in lower case.
        host: String,
        /// The port; other ports of the host are not covered.
        port: u16,
    },
    /// All of them. Outlives the run only for tools of MCP servers.
    Tool,
}

impl Covers {
    /// Whether the rule holds for a question, as far as target and subject go; the arguments are compared elsewhere.
    pub(super) fn includes(&self, request: &ApprovalRequest) -> bool {
        match (self, &request.target) {
            (Self::Arguments, _) => true,
            (Self::Tool, _) => matches!(request.subject, Subject::Tool(_)),
            (Self::Folder { path: folder }, Some(Target::Path { path })) => {
                is_plain(folder) && is_plain(path) && path.starts_with(folder)
            }
            (
                Self::Host { host, port },
                Some(Target::Host {
                    host: asked_host,
                    port: asked_port,
                }),
            ) => host == asked_host && port == asked_port,
            (Self::Folder { .. } | Self::Host { .. }, _) => false,
        }
    }
}

/// Whether a path is absolute and has no part that leads out of what is written before it.
fn is_plain(path: &Path) -> bool {
    path.is_absolute()
        && path
            .components()
            .all(|part| !matches!(part, Component::ParentDir | Component::CurDir))
}

/// What a policy adds to a question about a call: the place that is touched, and the choices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The place that the call touches, where it is known.
    pub target: Option<Target>,
    /// Whether the call runs a command, and what holds it.
    pub confinement: CommandConfinement,
    /// The ways to say yes, the narrowest first.
    pub choices: Vec<Choice>,
}

impl Offer {
    /// What is offered where a policy knows nothing more: once; every call of the tool until the run ends; for a tool of an MCP
    /// server also until the session ends, or always. A tool that starts processes is taken as unconfined.
    pub fn for_tool(spec: &ToolSpec) -> Self {
        let mut choices = vec![Choice::ONCE, Choice::new(Scope::Run, Covers::Tool)];
        if mcp_server(spec).is_some() {
            choices.push(Choice::new(Scope::Session, Covers::Tool));
            choices.push(Choice::new(Scope::Always, Covers::Tool));
        }
        Self {
            target: None,
            confinement: if mcp_server(spec).is_none() && spec.effects.contains(Effects::PROCESS) {
                CommandConfinement::Unconfined
            } else {
                CommandConfinement::NoCommand
            },
            choices,
        }
    }
}
