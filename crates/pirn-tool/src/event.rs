//! The one stream of events: what happens to calls, questions and servers, for front ends and logs.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use serde_json::Value;

use crate::approval::{Answer, ApprovalRequest};
use crate::content::ToolResult;
use crate::context::{Origin, Update};
use crate::receipt::Receipt;

/// One thing that happened.
#[derive(Debug, Clone)]
pub struct RuntimeEvent {
    /// The run it belongs to; empty for what belongs to none, such as a server's state.
    pub run_id: Arc<str>,
    /// The call it is about, where it is about one.
    pub call: Option<Arc<EventCall>>,
    /// The step, with what belongs to it.
    pub kind: EventKind,
}

/// The call that an event is about.
#[derive(Debug, Clone, PartialEq)]
pub struct EventCall {
    /// The call's id: `<parent>/<n>` for nested calls.
    pub call_id: String,
    /// The id of the call that made it.
    pub parent_call_id: Option<String>,
    /// The tool's name, as the caller gave it.
    pub tool_name: String,
    /// The arguments as given.
    pub arguments: Value,
    /// Who made the call.
    pub origin: Origin,
}

/// The steps in the life of calls, questions and servers.
#[derive(Debug, Clone)]
pub enum EventKind {
    /// A call was accepted for processing.
    Started,
    /// A call reported progress.
    Updated(Update),
    /// A script or program put something out.
    Output(String),
    /// A person is asked.
    Asked(Arc<ApprovalRequest>),
    /// A question is over.
    Answered {
        /// The id of the question that is over.
        question_id: String,
        /// How it ended, also without a person's word.
        answer: Answer,
    },
    /// A server changed its state.
    Server {
        /// The server's name in the configuration.
        name: String,
        /// Its state now, in one word.
        state: String,
        /// What a person should know of it.
        detail: Option<String>,
    },
    /// Something a person should know, in a sentence.
    Note(String),
    /// A call is over.
    Ended {
        /// The record of the call.
        receipt: Arc<Receipt>,
        /// Its result, after the hooks.
        result: Arc<ToolResult>,
        /// How long it took.
        duration: Duration,
    },
}

impl RuntimeEvent {
    /// A note that belongs to no run.
    pub fn note(text: impl Into<String>) -> Self {
        Self {
            run_id: Arc::from(""),
            call: None,
            kind: EventKind::Note(text.into()),
        }
    }

    /// A server's new state, which belongs to no run.
    pub fn server(
        name: impl Into<String>,
        state: impl Into<String>,
        detail: Option<String>,
    ) -> Self {
        Self {
            run_id: Arc::from(""),
            call: None,
            kind: EventKind::Server {
                name: name.into(),
                state: state.into(),
                detail,
            },
        }
    }
}

/// Receives events in order. Must not block.
pub type EventSink = Arc<dyn Fn(RuntimeEvent) + Send + Sync>;

/// Gives every event to all who subscribed. Cheap to clone; clones are the same bus.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use pirn_tool::{EventBus, EventKind, RuntimeEvent};
///
/// let bus = EventBus::new();
/// let notes = Arc::new(Mutex::new(Vec::new()));
/// let seen = Arc::clone(&notes);
/// let subscription = bus.subscribe(Arc::new(move |event: RuntimeEvent| {
///     if let EventKind::Note(text) = event.kind {
///         seen.lock().unwrap().push(text);
///     }
/// }));
/// bus.send(RuntimeEvent::note("heard"));
/// drop(subscription);
/// bus.send(RuntimeEvent::note("not heard"));
/// assert_eq!(*notes.lock().unwrap(), ["heard"]);
/// ```
#[derive(Clone, Default)]
pub struct EventBus {
    inner: Arc<Bus>,
}

#[derive(Default)]
struct Bus {
    subscribers: RwLock<Vec<(u64, EventSink)>>,
    next: AtomicU64,
}

impl EventBus {
    /// A bus without subscribers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives events to `sink` until the subscription is dropped. A sink must not subscribe or unsubscribe.
    #[must_use = "dropping it ends the subscription"]
    pub fn subscribe(&self, sink: EventSink) -> EventSubscription {
        let number = self.inner.next.fetch_add(1, Ordering::Relaxed);
        self.inner
            .subscribers
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push((number, sink));
        EventSubscription {
            bus: Arc::downgrade(&self.inner),
            number,
        }
    }

    /// Whether anybody listens. Events that are dear to make need not be made where nobody does.
    pub fn has_subscribers(&self) -> bool {
        let subscribers = self.inner.subscribers.read();
        !subscribers
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
    }

    /// Gives an event to all subscribers, in the order in which they subscribed.
    pub fn send(&self, event: RuntimeEvent) {
        let subscribers = self
            .inner
            .subscribers
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(((_, last), others)) = subscribers.split_last() {
            for (_, sink) in others {
                sink(event.clone());
            }
            last(event);
        }
    }

    /// The bus as the receiver of a pipeline or a queue.
    pub fn sink(&self) -> EventSink {
        let bus = self.clone();
        Arc::new(move |event| bus.send(event))
    }
}

impl fmt::Debug for EventBus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EventBus").finish_non_exhaustive()
    }
}

/// A subscription to an [`EventBus`]; dropping it ends it.
pub struct EventSubscription {
    bus: Weak<Bus>,
    number: u64,
}

impl Drop for EventSubscription {
    fn drop(&mut self) {
        if let Some(bus) = self.bus.upgrade() {
            bus.subscribers
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .retain(|(number, _)| *number != self.number);
        }
    }
}

impl fmt::Debug for EventSubscription {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EventSubscription")
            .finish_non_exhaustive()
    }
}
