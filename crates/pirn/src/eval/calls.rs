//! The program's calls on the screen.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pirn_codemode::CallRecord;
use pirn_tool::{CallStatus, EventKind, EventSink, RuntimeEvent};

use crate::exec::ScreenWire;

/// Characters of arguments and errors that are shown.
const SHOWN_CHARS_MAX: usize = 500;

/// Follows the calls of one program.
pub(super) struct Calls {
    wire: ScreenWire,
    parent: &'static str,
    running: Mutex<BTreeMap<String, CallRecord>>,
}

impl Calls {
    /// Follows the calls made inside `parent`.
    pub(super) fn new(wire: ScreenWire, parent: &'static str) -> Arc<Self> {
        Arc::new(Self {
            wire,
            parent,
            running: Mutex::default(),
        })
    }

    /// The receiver of events.
    pub(super) fn sink(self: &Arc<Self>) -> EventSink {
        let calls = Arc::clone(self);
        Arc::new(move |event| calls.take(event))
    }

    fn take(&self, event: RuntimeEvent) {
        let Some(call) = event.call else { return };
        match event.kind {
            EventKind::Started if call.parent_call_id.as_deref() == Some(self.parent) => {
                let record = CallRecord {
                    number: number(&call.call_id),
                    name: call.tool_name.clone(),
                    arguments: head(&call.arguments.to_string()),
                    status: CallStatus::Unfinished,
                    duration: None,
                    error: None,
                };
                self.running().insert(call.call_id.clone(), record.clone());
                self.wire.call_started(record);
            }
            EventKind::Ended {
                receipt, duration, ..
            } => {
                let Some(mut record) = self.running().remove(&call.call_id) else {
                    return;
                };
                record.status = receipt.status;
                record.duration = Some(duration);
                record.error.clone_from(&receipt.error);
                self.wire.call_ended(&record);
            }
            EventKind::Started
            | EventKind::Updated(_)
            | EventKind::Output(_)
            | EventKind::Asked(_)
            | EventKind::Answered { .. }
            | EventKind::Server { .. }
            | EventKind::Note(_) => {}
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, CallRecord>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number in `<parent>/<number>`.
fn number(call_id: &str) -> u32 {
    call_id
        .rsplit('/')
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or_default()
}

fn head(text: &str) -> String {
    text.chars().take(SHOWN_CHARS_MAX).collect()
}
