//! What leaves a VM while a script runs, and how a script ends.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::text::{JsString, JsonText};

/// The number of an open call; reused once the call is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub(crate) u32);

impl CallId {
    /// The number itself, for records.
    pub fn as_u32(self) -> u32 {
        self.0
    }
}

/// What a script called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallTarget {
    /// A member of `tools`.
    Tool,
    /// A global function like `searchTools`.
    Global,
}

/// Something a script did, in the order it did it.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// It called the host; settle the call with [`crate::Vm::settle`].
    Call {
        /// The number by which the call is settled.
        id: CallId,
        /// Whether a tool or a global function was called.
        target: CallTarget,
        /// The tool's own name.
        name: String,
        /// The argument as JSON; `None` for `undefined`.
        arguments: Option<JsonText>,
    },
    /// The script added an item to its output.
    Output(Output),
    /// It sent a message while it goes on.
    Notify(JsString),
    /// It handed over the output so far.
    Yield,
    /// It no longer wants what an open call gives; the call is settled all the same.
    Cancel(CallId),
    /// Something that whoever reads the result should know.
    Note(String),
    /// Its last statement was reached; it goes on until what it started has ended.
    LastStatement,
}

/// One item of output.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// What was given to `text(v)`, or returned.
    Text(JsString),
    /// A line of `console`.
    Console(JsString),
    /// `image(v)`: checked base64, and the type that its first bytes show.
    Image {
        /// The bytes as base64.
        data: String,
        /// The media type, like `image/png`.
        mime_type: String,
        /// `auto`, `low`, `high` or `original`, where the script said so.
        detail: Option<String>,
    },
    /// What was given to `audio(v)`.
    Audio {
        /// The bytes as base64.
        data: String,
        /// The media type, like `audio/wav`.
        mime_type: String,
    },
}

/// How a script ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// It returned; `None` is `undefined`. Also after `exit()`.
    Returned(Option<JsonText>),
    /// It threw an error that nobody caught.
    Failed(Failure),
    /// It was stopped; the failure says where it was, when that is known.
    Stopped(StopReason, Option<Failure>),
    /// Memory ended where no script error could be made.
    OutOfMemory(String),
    /// The engine inside gave up: its stack ended where no script error could be made, or it broke the protocol.
    Crashed(String),
}

/// Why a script was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// Its [`crate::InterruptHandle`] was used.
    Interrupted,
    /// The deadline passed while it ran or waited.
    Deadline,
    /// It used up its processor time.
    Cpu,
}

/// An error of a script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// The error's name; `None` when something else than an Error was thrown.
    pub name: Option<String>,
    /// The error's message, without its name.
    pub message: JsString,
    /// `Name: message`, then the frames, which point into the script.
    pub stack: Option<String>,
    /// How many promises were rejected that nobody handled, where that is the failure.
    pub unhandled: u32,
    /// What the script had returned all the same.
    pub value: Option<JsonText>,
}

/// The events of one VM, readable while it runs. Clones share their content.
#[derive(Debug, Clone, Default)]
pub struct EventQueue {
    events: Arc<Mutex<Events>>,
}

#[derive(Debug, Default)]
struct Events {
    list: VecDeque<Event>,
    /// What the calls in the list take, in bytes.
    call_bytes: usize,
}

/// What a call takes beside its argument, roughly.
const CALL_BYTES: usize = 256;

impl EventQueue {
    pub(crate) fn push(&self, event: Event) {
        self.lock().list.push_back(event);
    }

    /// Adds a call, unless the calls that nobody has taken would pass `bytes_max`. Says whether it was added.
    pub(crate) fn push_call(&self, event: Event, bytes_max: usize) -> bool {
        let argument = match &event {
            Event::Call {
                arguments: Some(arguments),
                ..
            } => arguments.as_str().len(),
            Event::Call { .. }
            | Event::Output(_)
            | Event::Notify(_)
            | Event::Yield
            | Event::Cancel(_)
            | Event::Note(_)
            | Event::LastStatement => 0,
        };
        let mut events = self.lock();
        let bytes = events
            .call_bytes
            .saturating_add(argument)
            .saturating_add(CALL_BYTES);
        if bytes > bytes_max {
            return false;
        }
        events.call_bytes = bytes;
        events.list.push_back(event);
        true
    }

    /// Adds a yield; several with nothing between them are one.
    pub(crate) fn push_yield(&self) {
        let mut events = self.lock();
        if events.list.back() != Some(&Event::Yield) {
            events.list.push_back(Event::Yield);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().list.is_empty()
    }

    /// Takes all events there are.
    pub fn drain(&self) -> VecDeque<Event> {
        std::mem::take(&mut *self.lock()).list
    }

    fn lock(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A store write of a script that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreWrite {
    /// The key, as a JSON string, since it may hold lone surrogates.
    pub key: JsonText,
    /// The new value; `None` deletes the key.
    pub value: Option<JsonText>,
}
