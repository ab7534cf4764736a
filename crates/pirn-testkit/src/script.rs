//! The language in which a fake server is written.

use std::time::Duration;

use serde_json::{Value, json};

/// What a fake server does about which message. Rules come first, in their order; what they leave is answered as a healthy
/// server would.
#[derive(Debug, Clone)]
pub struct Script {
    pub(crate) speaks: Speaks,
    pub(crate) tools: Vec<Value>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) greeting: Vec<Act>,
    pub(crate) termination: Termination,
    /// After how many messages a process stops reading.
    pub(crate) deaf_after: Option<usize>,
    /// What the first event of the transport of 2024 says.
    pub(crate) endpoint: &'static str,
}

/// Which protocol a server understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    /// `initialize` only, revisions up to 2025-11-25.
    Legacy,
    /// `server/discover` only, revision 2026-07-28.
    Modern,
    /// What the first message speaks.
    Both,
}

/// How a process takes being told to end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Termination {
    /// Ends when its input ends.
    #[default]
    WithInput,
    /// Goes on when its input ends, ends on SIGTERM.
    IgnoresEnd,
    /// Goes on whatever happens, until it is killed.
    IgnoresEverything,
}

#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) on: On,
    /// How often it applies before the next rule has its turn.
    pub(crate) times: Option<usize>,
    pub(crate) acts: Vec<Act>,
}

/// What a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// A request or notification with this method.
    Method(&'static str),
    /// A call of the tool with this name.
    Tool(&'static str),
    /// An HTTP request with this method, whatever its path and body.
    Http(&'static str),
    /// An HTTP request that posts a message with this method. What it carries is left aside.
    Post(&'static str),
    /// An HTTP request with this method and path.
    Path(&'static str, &'static str),
    /// An HTTP request with this method that has this header, in lower case.
    Having(&'static str, &'static str),
}

/// One thing a server does.
///
/// Texts may hold placeholders: `$ID` is the request's id as JSON, `$STRING_ID` the same as a string, `$CALL_ID` the id of the
/// last call of a tool, `$TOKEN` the request's progress token, `$COUNT` a number that grows; all of these take the quotes around
/// them away. `$X(1000)` is a letter so many times, `$ORIGIN` is the server's origin and `$NEIGHBOUR` that of a second one on another port.
#[derive(Debug, Clone)]
pub enum Act {
    /// Answers with a result.
    Result(Value),
    /// Answers with an error.
    Error(i64, &'static str),
    /// Sends a text as one message: a line, a body, the data of an event.
    Text(Vec<u8>),
    /// Sends bytes as they are: no line's end, no head of a response.
    Bytes(Vec<u8>),
    /// Sends bytes as they are, so many times.
    Repeat(&'static str, usize),
    /// Sends bytes one after the other, with a pause after each.
    Drip(Vec<u8>, Duration),
    /// Sends a notification with this method and these parameters.
    Notify(&'static str, Value),
    /// Reports progress so many times, with a pause after each.
    Progress(u32, Duration),
    /// Asks the client something and waits for its answer.
    Ask(&'static str, Value),
    /// Waits until so many requests or notifications with this method have come, from the start on.
    WaitFor(&'static str, usize),
    /// Waits this long before the next act.
    Pause(Duration),
    /// Does nothing more about this message. An HTTP request stays open until the client hangs up, which is noted as `hang up`.
    Never,

    /// Ends the process with this exit code.
    Exit(i32),
    /// Writes so many lines of a kilobyte to standard error.
    Flood(usize),
    /// Writes a line to standard error.
    Complain(&'static str),
    /// Closes standard output and lives on.
    CloseOutput,
    /// Starts a process that outlives this one.
    Grandchild,

    /// Sets the status of the response.
    Status(u16),
    /// Sets a header of the response; the text may hold placeholders.
    Header(&'static str, String),
    /// Begins a response of server-sent events; what follows are its events.
    Stream,
    /// A field of the next event.
    Field(&'static str, &'static str),
    /// Closes the connection where it stands.
    Cut,
}

impl Act {
    /// A message as text.
    pub fn text(text: impl AsRef<[u8]>) -> Self {
        Self::Text(text.as_ref().to_vec())
    }

    /// Bytes as they are.
    pub fn bytes(bytes: impl AsRef<[u8]>) -> Self {
        Self::Bytes(bytes.as_ref().to_vec())
    }

    /// A result with one text block.
    pub fn says(text: &str) -> Self {
        Self::Result(json!({"content": [{"type": "text", "text": text}]}))
    }

    /// A header of the response.
    pub fn header(name: &'static str, value: impl Into<String>) -> Self {
        Self::Header(name, value.into())
    }
}

impl Script {
    /// A healthy server of that protocol with one tool, `ok`, whose calls answer `fine`.
    pub fn new(speaks: Speaks) -> Self {
        Self {
            speaks,
            tools: vec![tool("ok")],
            rules: Vec::new(),
            greeting: Vec::new(),
            termination: Termination::WithInput,
            deaf_after: None,
            endpoint: "/messages",
        }
    }

    /// Adds a tool that takes anything.
    #[must_use]
    pub fn tool(self, name: &str) -> Self {
        self.raw_tool(tool(name))
    }

    /// Adds a tool as it stands in the list.
    #[must_use]
    pub fn raw_tool(mut self, tool: Value) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds a rule, after those added before.
    #[must_use]
    pub fn on(mut self, on: On, acts: impl Into<Vec<Act>>) -> Self {
        self.rules.push(Rule {
            on,
            times: None,
            acts: acts.into(),
        });
        self
    }

    /// Adds a rule that applies so many times.
    #[must_use]
    pub fn first(mut self, times: usize, on: On, acts: impl Into<Vec<Act>>) -> Self {
        self.rules.push(Rule {
            on,
            times: Some(times),
            acts: acts.into(),
        });
        self
    }

    /// Sets what a process does before it reads anything.
    #[must_use]
    pub fn greeting(mut self, acts: impl Into<Vec<Act>>) -> Self {
        self.greeting = acts.into();
        self
    }

    /// Sets what a server of 2024 names as the place to post to; may hold placeholders.
    #[must_use]
    pub fn endpoint(mut self, endpoint: &'static str) -> Self {
        self.endpoint = endpoint;
        self
    }

    /// Sets after how many messages a process stops reading its input, without closing it.
    #[must_use]
    pub fn deaf_after(mut self, messages: usize) -> Self {
        self.deaf_after = Some(messages);
        self
    }

    /// Sets how a process takes being told to end.
    #[must_use]
    pub fn termination(mut self, termination: Termination) -> Self {
        self.termination = termination;
        self
    }
}

fn tool(name: &str) -> Value {
    json!({
        "name": name,
        "description": format!("The tool {name}"),
        "inputSchema": {"type": "object", "properties": {}},
    })
}
