//! What is seen while a script runs: its items, and its calls.

mod lines;

use std::io;
use std::sync::Arc;

use anyhow::Context as _;
use pirn_codemode::{OutputFolder, Progress, ProgressSink};
use pirn_terminal::Target;
use pirn_tool::{EventCall, Receipt, call_number, json_start};
use pirn_tui::ScreenTurns;
use pirn_vm::Output;

use super::answer::item_text;

/// Which items are shown as they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Items {
    /// All: console lines on standard error, the others on standard output.
    All,
    Console,
    /// None: all come with the result.
    None,
}

/// How calls are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallDisplay {
    /// Running calls in a block that is repainted, finished ones as lines above it.
    Moving,
    /// Finished calls as lines.
    Lines,
    Hidden,
}

impl CallDisplay {
    /// The line of a finished call; `None` where there are none.
    pub(super) fn line_of(self, call: &Receipt) -> Option<String> {
        match self {
            Self::Moving => Some(lines::finished_with_mark(call)),
            Self::Lines => Some(lines::finished_in_words(call)),
            Self::Hidden => None,
        }
    }
}

/// What is shown, and where.
#[derive(Debug, Clone)]
pub(crate) struct ScreenOptions {
    pub(crate) items: Items,
    pub(crate) calls: CallDisplay,
    /// Where pictures are kept.
    pub(crate) folder: OutputFolder,
}

/// The screen, and what of a run it shows.
#[derive(Debug)]
pub(crate) struct Screen {
    thread: pirn_terminal::Screen,
    turns: ScreenTurns,
    options: ScreenOptions,
}

impl Screen {
    pub(crate) fn start(options: ScreenOptions) -> anyhow::Result<Self> {
        let thread = pirn_terminal::Screen::start()
            .context("the thread that shows the output cannot start")?;
        Ok(Self {
            turns: ScreenTurns::new(thread.wire()),
            thread,
            options,
        })
    }

    /// Receives what a script puts out; its calls are events.
    pub(crate) fn progress(&self) -> ProgressSink {
        let (wire, options) = (self.wire(), self.options.clone());
        Arc::new(move |progress: Progress<'_>| match progress {
            Progress::Output(output) if is_shown(output, options.items) => {
                wire.item(output.clone(), options.folder.clone());
            }
            Progress::Notified(text) if options.items != Items::None => {
                wire.error_text(format!("{text}\n"));
            }
            Progress::Started
            | Progress::Output(_)
            | Progress::Notified(_)
            | Progress::Yielded
            | Progress::CallStarted(_)
            | Progress::CallEnded(_) => {}
        })
    }

    /// Where questions are announced.
    pub(crate) fn questions(&self) -> ScreenTurns {
        self.turns.clone()
    }

    /// Shows text on standard output.
    pub(crate) fn text(&self, text: String) {
        self.wire().text(text);
    }

    /// The way to the screen for what happens elsewhere.
    pub(crate) fn wire(&self) -> ScreenWire {
        ScreenWire {
            wire: self.thread.wire(),
            calls: self.options.calls,
        }
    }

    /// Waits until everything is shown. Fails when standard output does, unless its reader left.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.thread.finish()
    }
}

/// Brings news to the screen. Never waits for it.
#[derive(Debug, Clone)]
pub(crate) struct ScreenWire {
    wire: pirn_terminal::ScreenWire,
    calls: CallDisplay,
}

impl ScreenWire {
    /// Shows text on standard output.
    pub(crate) fn text(&self, text: String) {
        self.wire.text(Target::Output, text);
    }

    /// Shows text on standard error.
    pub(crate) fn error_text(&self, text: String) {
        self.wire.text(Target::Error, text);
    }

    fn item(&self, output: Output, folder: OutputFolder) {
        let target = match output {
            Output::Console(_) => Target::Error,
            Output::Text(_) | Output::Image { .. } | Output::Audio { .. } => Target::Output,
        };
        self.wire
            .late_text(target, Box::new(move || item_text(&output, &folder)));
    }

    /// Shows that a call starts.
    pub(crate) fn call_started(&self, call: Arc<EventCall>) {
        if self.calls == CallDisplay::Moving {
            let key = key(&call.call_id);
            let arguments = json_start(&call.arguments);
            let row = move |elapsed, columns| {
                lines::running(&call.tool_name, &arguments, elapsed, columns)
            };
            self.wire.started(key, Box::new(row));
        }
    }

    /// Shows that a call has ended.
    pub(crate) fn call_ended(&self, receipt: &Receipt) {
        let line = match self.calls {
            CallDisplay::Moving => lines::finished_with_mark(receipt),
            CallDisplay::Lines => lines::finished_in_words(receipt),
            CallDisplay::Hidden => return,
        };
        self.wire.ended(key(&receipt.id), line);
    }
}

/// What rows of running calls are known by.
fn key(call_id: &str) -> u64 {
    call_number(call_id).unwrap_or_default()
}

fn is_shown(output: &Output, items: Items) -> bool {
    match items {
        Items::All => true,
        Items::Console => matches!(output, Output::Console(_)),
        Items::None => false,
    }
}
