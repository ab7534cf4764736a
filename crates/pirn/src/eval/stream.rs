//! What the program prints, as it prints it.

use std::sync::{Arc, Mutex, PoisonError};

use pirn_eval::{EvalUpdate, Updates};

use crate::exec::ScreenWire;

/// Bytes of an unfinished line that are held back, so that nothing else is painted into it.
const HELD_BYTES_MAX: usize = 4_096;

/// Brings what a program prints to the screen, line by line. Cheap to clone; clones share the unfinished lines.
#[derive(Clone)]
pub(super) struct Stream {
    wire: ScreenWire,
    held: Arc<Mutex<Held>>,
}

#[derive(Default)]
struct Held {
    stdout: String,
    stderr: String,
}

impl Stream {
    pub(super) fn new(wire: ScreenWire) -> Self {
        Self {
            wire,
            held: Arc::default(),
        }
    }

    /// The receiver of updates.
    pub(super) fn updates(&self) -> Updates {
        let stream = self.clone();
        Arc::new(move |update| stream.take(&update))
    }

    /// Shows what is held back.
    pub(super) fn finish(&self) {
        let held = std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
        if !held.stdout.is_empty() {
            self.wire.text(held.stdout);
        }
        if !held.stderr.is_empty() {
            self.wire.error_text(held.stderr);
        }
    }

    fn take(&self, update: &EvalUpdate) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match update {
            EvalUpdate::Stdout(text) => {
                if let Some(lines) = whole_lines(&mut held.stdout, text) {
                    self.wire.text(lines);
                }
            }
            EvalUpdate::Stderr(text) => {
                if let Some(lines) = whole_lines(&mut held.stderr, text) {
                    self.wire.error_text(lines);
                }
            }
            // The pipeline knows more about calls.
            EvalUpdate::Started | EvalUpdate::CallStarted { .. } | EvalUpdate::CallEnded { .. } => {
            }
        }
    }
}

/// Adds text to what is held back, and takes the whole lines out of it.
fn whole_lines(held: &mut String, text: &str) -> Option<String> {
    held.push_str(text);
    if held.len() > HELD_BYTES_MAX {
        return Some(std::mem::take(held));
    }
    let end = held.rfind('\n')? + 1;
    let rest = held.split_off(end);
    Some(std::mem::replace(held, rest))
}
