//! What a row of the matrix is made of.

use std::time::Duration;

use pirn_mcp::{ElicitationAnswer, HttpKind, Timeouts};
use pirn_testkit::{Script, Seen, Speaks};
use serde_json::{Value, json};

pub(crate) use crate::session::{Called, Stop};

/// Limits of rows in which nothing is to be waited for; reaching one is a failure.
const PATIENT: Timeouts = Timeouts {
    start: Duration::from_secs(9),
    request: Duration::from_secs(8),
    total: Duration::from_secs(9),
};

/// Limits of rows in which an answer never comes.
const SHORT: Timeouts = Timeouts {
    start: Duration::from_secs(9),
    request: Duration::from_secs(1),
    total: Duration::from_millis(2500),
};

/// How long an end may take that no limit brings about. Less than [`PATIENT`], so that a limit is not taken for an answer.
pub(crate) const PROMPT: Duration = Duration::from_secs(7);

/// One misbehaviour, and what the client is to make of it.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The row is run once over each of these.
    pub(crate) over: &'static [Over],
    pub(crate) place: Place,
    pub(crate) limits: Timeouts,
    pub(crate) kind: HttpKind,
    /// Who answers questions, and what; `None` is nobody.
    pub(crate) user: Option<ElicitationAnswer>,
    pub(crate) connect: Connect,
    pub(crate) tools: Tools,
    pub(crate) calls: Vec<Call>,
    pub(crate) healthy: Healthy,
    pub(crate) saw: Vec<Saw>,
}

/// How client and server are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    Stdio,
    /// Streamable HTTP, answers as JSON.
    Json,
    /// Streamable HTTP, answers as events.
    Events,
    /// The HTTP of 2024.
    Old,
}

/// Everything that carries messages.
pub(crate) const ALL: &[Over] = &[Over::Stdio, Over::Json, Over::Events, Over::Old];
/// One of each kind, for what the transport has no part in.
pub(crate) const PIPE_AND_HTTP: &[Over] = &[Over::Stdio, Over::Json];
pub(crate) const STDIO: &[Over] = &[Over::Stdio];
pub(crate) const STREAMABLE: &[Over] = &[Over::Json, Over::Events];
pub(crate) const JSON: &[Over] = &[Over::Json];
pub(crate) const EVENTS: &[Over] = &[Over::Events];
pub(crate) const OLD: &[Over] = &[Over::Old];

impl Over {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Json => "json",
            Self::Events => "events",
            Self::Old => "sse",
        }
    }
}

/// Where the server is.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// A fake that plays this script.
    Fake(Box<Script>),
    /// This program; stdio only.
    Program(&'static str),
    /// A port on which nobody listens; HTTP only.
    ClosedPort,
}

/// What becomes of connecting.
#[derive(Debug, Clone)]
pub(crate) enum Connect {
    Works,
    /// Fails with a message that holds all of these.
    Fails(Kind, Vec<&'static str>),
    /// Either; what matters is that it ends.
    Ends,
}

/// Kinds of error, without what they carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Any,
    Start,
    Timeout,
    Closed,
    Protocol,
    Http(u16),
    NeedsAuthorization,
}

/// Which tools there are in the end, by the names they have at the server, or in the registry where those begin with `mcp__`.
#[derive(Debug, Clone)]
pub(crate) enum Tools {
    /// These, in any order.
    Exactly(Vec<&'static str>),
    With(Vec<&'static str>),
    Count(usize),
    Any,
}

#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    /// The length of an argument `text` besides.
    pub(crate) padding: usize,
    pub(crate) stop: Stop,
    pub(crate) expect: Expect,
    pub(crate) within: Duration,
}

/// What becomes of a call.
#[derive(Debug, Clone)]
pub(crate) enum Expect {
    /// A result with this in its text.
    Text(&'static str),
    /// An error with all of these in its text.
    Error(Vec<&'static str>),
    /// Either; what matters is that it ends.
    Ends,
    Cancelled,
    /// A result that this function finds right.
    Result(fn(&Called) -> Result<(), String>),
}

/// Whether the healthy tool works when everything is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Healthy {
    /// It works; the first try may still meet the end of the process.
    Again,
    Works,
    /// The server as a whole is beyond use; its calls fail and say why.
    Fails(&'static str),
    /// Works or fails, as it comes: its answer shares a line with what the server went on writing.
    Ends,
    /// There is no such tool.
    Absent,
    /// Yes, if it is there at all.
    IfPresent,
}

/// What the server must have seen when everything is over.
#[derive(Debug, Clone)]
pub(crate) enum Saw {
    /// This method, at least and at most so often.
    Times(&'static str, usize, usize),
    /// Something of which this is true; the text says what.
    That(&'static str, fn(&[Seen]) -> bool),
}

impl Row {
    pub(crate) fn new(name: &'static str, over: &'static [Over], script: Script) -> Self {
        Self::at(name, over, Place::Fake(Box::new(script)))
    }

    pub(crate) fn at(name: &'static str, over: &'static [Over], place: Place) -> Self {
        Self {
            name,
            over,
            place,
            limits: PATIENT,
            kind: HttpKind::Auto,
            user: None,
            connect: Connect::Works,
            tools: Tools::With(vec!["ok"]),
            calls: Vec::new(),
            healthy: Healthy::Works,
            saw: Vec::new(),
        }
    }

    /// The row waits for an answer that never comes.
    pub(crate) fn short(mut self) -> Self {
        self.limits = SHORT;
        self
    }

    /// The row waits for a start that never comes.
    pub(crate) fn short_start(mut self) -> Self {
        self.limits = SHORT;
        self.limits.start = Duration::from_secs(2);
        self
    }

    pub(crate) fn limits(mut self, start: Duration, request: Duration, total: Duration) -> Self {
        self.limits = Timeouts {
            start,
            request,
            total,
        };
        self
    }

    pub(crate) fn kind(mut self, kind: HttpKind) -> Self {
        self.kind = kind;
        self
    }

    pub(crate) fn user(mut self, answer: ElicitationAnswer) -> Self {
        self.user = Some(answer);
        self
    }

    /// Connecting fails, and with it everything.
    pub(crate) fn fails(mut self, kind: Kind, says: &[&'static str]) -> Self {
        self.connect = Connect::Fails(kind, says.to_vec());
        self.tools = Tools::Exactly(Vec::new());
        self.healthy = Healthy::Absent;
        self
    }

    pub(crate) fn connect(mut self, connect: Connect) -> Self {
        self.connect = connect;
        self
    }

    pub(crate) fn tools(mut self, tools: Tools) -> Self {
        self.tools = tools;
        self
    }

    pub(crate) fn call(mut self, call: Call) -> Self {
        self.calls.push(call);
        self
    }

    pub(crate) fn healthy(mut self, healthy: Healthy) -> Self {
        self.healthy = healthy;
        self
    }

    /// Whether the tool is there depends on how much the client makes of the server; if it is, it works.
    pub(crate) fn healthy_or_absent(self) -> Self {
        self.healthy(Healthy::IfPresent)
    }

    /// Adds to the script.
    pub(crate) fn script(mut self, change: impl FnOnce(Script) -> Script) -> Self {
        if let Place::Fake(script) = self.place {
            self.place = Place::Fake(Box::new(change(*script)));
        }
        self
    }

    pub(crate) fn saw(mut self, saw: Saw) -> Self {
        self.saw.push(saw);
        self
    }
}

impl Call {
    fn new(tool: &'static str, expect: Expect) -> Self {
        Self {
            tool,
            arguments: json!({}),
            padding: 0,
            stop: Stop::Never,
            expect,
            within: PROMPT,
        }
    }

    pub(crate) fn text(tool: &'static str, text: &'static str) -> Self {
        Self::new(tool, Expect::Text(text))
    }

    pub(crate) fn error(tool: &'static str, says: &[&'static str]) -> Self {
        Self::new(tool, Expect::Error(says.to_vec()))
    }

    pub(crate) fn ends(tool: &'static str) -> Self {
        Self::new(tool, Expect::Ends)
    }

    pub(crate) fn result(tool: &'static str, check: fn(&Called) -> Result<(), String>) -> Self {
        Self::new(tool, Expect::Result(check))
    }

    /// Cancelled when its first progress arrives.
    pub(crate) fn cancelled(tool: &'static str) -> Self {
        Self {
            stop: Stop::OnProgress,
            ..Self::new(tool, Expect::Cancelled)
        }
    }

    pub(crate) fn with(mut self, arguments: Value) -> Self {
        self.arguments = arguments;
        self
    }

    /// With a long text among the arguments.
    pub(crate) fn padded(mut self, length: usize) -> Self {
        self.padding = length;
        self
    }

    pub(crate) fn within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }
}

/// A healthy server of the legacy protocol.
pub(crate) fn legacy() -> Script {
    Script::new(Speaks::Legacy)
}

/// A healthy server of the modern protocol.
pub(crate) fn modern() -> Script {
    Script::new(Speaks::Modern)
}
