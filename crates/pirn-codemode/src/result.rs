//! What a script gives back to the program that ran it.

use std::time::Duration;

use pirn_tool::{CallStatus, Receipt};
use pirn_vm::{JsString, JsonText, Output, StoreWrite};

/// The end of a script, with everything it produced on the way. Running a script never fails in another way than this.
#[derive(Debug, Clone)]
pub struct ScriptResult {
    /// The returned value (`None` is `undefined`), or why the script failed.
    pub outcome: Result<Option<JsonText>, ScriptError>,
    /// Everything shown, in order; kept when the script fails.
    pub output: Vec<Output>,
    /// Tool calls in the order they were made. Globals are not recorded.
    pub calls: Vec<Receipt>,
    /// What to keep of `store()`; empty unless the script succeeded.
    pub store_writes: Vec<StoreWrite>,
    /// Messages sent with `notify()`.
    pub notifications: Vec<JsString>,
    /// What whoever reads the result should know besides.
    pub notes: Vec<String>,
    /// Time from start to end, waiting included.
    pub wall: Duration,
    /// Processor time of the script's own computing.
    pub cpu: Duration,
}

impl ScriptResult {
    /// What the script returned, also where a rejection that nobody handled made it fail.
    pub fn value(&self) -> Option<&JsonText> {
        match &self.outcome {
            Ok(value) => value.as_ref(),
            Err(error) => error.unhandled.as_ref()?.value.as_ref(),
        }
    }

    /// What a model should know besides: the notes, and which calls were still open at the end.
    pub fn remarks(&self) -> Vec<String> {
        let stopped: Vec<&Receipt> = self
            .calls
            .iter()
            .filter(|call| call.was_stopped())
            .collect();
        let mut remarks = self.notes.clone();
        if self.is_ok() && !stopped.is_empty() {
            remarks.push(open_calls_note(&stopped));
        }
        remarks
    }

    /// Whether the script succeeded.
    pub fn is_ok(&self) -> bool {
        self.outcome.is_ok()
    }

    /// A script that failed before it ran.
    pub(crate) fn not_run(error: ScriptError) -> Self {
        Self {
            outcome: Err(error),
            output: Vec::new(),
            calls: Vec::new(),
            store_writes: Vec::new(),
            notifications: Vec::new(),
            notes: Vec::new(),
            wall: Duration::ZERO,
            cpu: Duration::ZERO,
        }
    }
}

/// Calls that the note about open calls names.
const OPEN_CALLS_NAMED_MAX: usize = 10;

/// Says which calls the end of a successful script cut off.
fn open_calls_note(stopped: &[&Receipt]) -> String {
    let mut rows: Vec<String> = stopped
        .iter()
        .take(OPEN_CALLS_NAMED_MAX)
        .map(|call| {
            let state = match call.status {
                CallStatus::Unknown => "unknown, it may have taken effect",
                CallStatus::Ok
                | CallStatus::Error
                | CallStatus::Cancelled
                | CallStatus::Unfinished => "cancelled",
            };
            format!("{} {} ({state})", call.name, call.arguments_text())
        })
        .collect();
    if stopped.len() > OPEN_CALLS_NAMED_MAX {
        rows.push(format!("and {} more", stopped.len() - OPEN_CALLS_NAMED_MAX));
    }
    let calls = match stopped.len() {
        1 => "A call was".to_owned(),
        count => format!("{count} calls were"),
    };
    format!(
        "{calls} still open when the script ended: {}. Await every call whose effect or result you need.",
        rows.join("; ")
    )
}

/// Why a script failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// The kind, by which callers decide.
    pub kind: ScriptErrorKind,
    /// The error's name, where an Error was thrown.
    pub name: Option<String>,
    /// What was thrown, as text.
    pub message: JsString,
    /// `Name: message` and the frames, which point into the script.
    pub stack: Option<String>,
    /// What to do about it, where Pirn knows.
    pub hint: Option<String>,
    /// What is known besides, where the failure is that nobody handled a rejection.
    pub unhandled: Option<Box<UnhandledRejections>>,
}

/// A script that came to its end, and had promises rejected that nobody handled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnhandledRejections {
    /// How many there were; the error is the first.
    pub count: u32,
    /// What the script returned all the same.
    pub value: Option<JsonText>,
}

impl ScriptError {
    pub(crate) fn new(kind: ScriptErrorKind, message: impl Into<JsString>) -> Self {
        Self {
            kind,
            name: None,
            message: message.into(),
            stack: None,
            hint: None,
            unhandled: None,
        }
    }

    /// The line and column of the innermost frame in the script called `file_name`, both from 1.
    pub fn location(&self, file_name: &str) -> Option<(u32, u32)> {
        let stack = self.stack.as_deref()?;
        stack.match_indices(file_name).find_map(|(at, _)| {
            let mut numbers = stack
                .get(at + file_name.len()..)?
                .strip_prefix(':')?
                .splitn(2, ':');
            let line = leading_number(numbers.next()?)?;
            let column = numbers.next().and_then(leading_number).unwrap_or(1);
            Some((line, column))
        })
    }
}

fn leading_number(text: &str) -> Option<u32> {
    text.split(|character: char| !character.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

/// Kinds of [`ScriptError`], for exit codes and advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScriptErrorKind {
    /// The script threw, could not be compiled, or waited for something that cannot happen.
    Script,
    /// It ran past its deadline.
    Timeout,
    /// It used up its processor time.
    Cpu,
    /// Memory ended where not even an error could be made.
    Memory,
    /// It was stopped from outside.
    Aborted,
    /// The engine gave up, or could not start.
    Sandbox,
}

impl ScriptErrorKind {
    /// The kind's name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Script => "script",
            Self::Timeout => "timeout",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Aborted => "aborted",
            Self::Sandbox => "sandbox",
        }
    }
}
