//! What is seen while a script runs: its items, and its calls.

mod lines;
mod painter;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

use anyhow::Context as _;
use pirn_codemode::{CallRecord, OutputFolder, Progress, ProgressSink};
use pirn_vm::Output;
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};

use crate::invocation::Stream;
use painter::Painter;

/// Which items are shown as they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Items {
    /// All: console lines on standard error, the others on standard output.
    All,
    /// Console lines only.
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
    /// Not at all.
    Hidden,
}

/// What is shown, and where.
#[derive(Debug)]
pub(crate) struct ScreenOptions {
    /// Items.
    pub(crate) items: Items,
    /// Calls.
    pub(crate) calls: CallDisplay,
    /// Where standard output leads.
    pub(crate) stdout: Stream,
    /// Where standard error leads.
    pub(crate) stderr: Stream,
    /// Where pictures are kept.
    pub(crate) folder: OutputFolder,
}

/// News for the thread that paints. The channel needs no bound of its own: what goes through it is bounded by the script's limits
/// on output and calls.
#[derive(Debug)]
enum News {
    Item(Output),
    Message(String),
    Text(String),
    ErrorText(String),
    CallStarted(CallRecord),
    CallEnded(CallRecord),
    QuestionOpened(oneshot::Sender<()>),
    QuestionClosed,
    Finished,
}

/// The thread that owns both standard streams while a script runs. Whoever has news never waits for a slow terminal.
#[derive(Debug)]
pub(crate) struct Screen {
    news: Sender<News>,
    /// Held by whoever asks.
    turn: Arc<Mutex<()>>,
    thread: JoinHandle<io::Result<()>>,
    items: Items,
    calls: CallDisplay,
    stdout: Stream,
}

impl Screen {
    /// Starts the thread.
    pub(crate) fn start(options: ScreenOptions) -> anyhow::Result<Self> {
        let (news, receiver) = mpsc::channel();
        let ScreenOptions {
            items,
            calls,
            stdout,
            ..
        } = options;
        let painter = Painter::new(options);
        let thread = std::thread::Builder::new()
            .name("screen".to_owned())
            .spawn(move || painter.paint(&receiver))
            .context("the thread that shows the output cannot start")?;
        Ok(Self {
            news,
            turn: Arc::default(),
            thread,
            items,
            calls,
            stdout,
        })
    }

    /// Where standard output leads.
    pub(crate) fn stdout(&self) -> Stream {
        self.stdout
    }

    /// Receives the progress of a script.
    pub(crate) fn progress(&self) -> ProgressSink {
        let (news, items, calls) = (self.news.clone(), self.items, self.calls);
        Arc::new(move |progress: Progress<'_>| {
            let message = match progress {
                Progress::Output(output) if is_shown(output, items) => News::Item(output.clone()),
                Progress::Notified(text) if items != Items::None => News::Message(text.to_string()),
                Progress::CallStarted(record) if calls == CallDisplay::Moving => {
                    News::CallStarted(record.clone())
                }
                Progress::CallEnded(record) if calls != CallDisplay::Hidden => {
                    News::CallEnded(record.clone())
                }
                Progress::Started
                | Progress::Output(_)
                | Progress::Notified(_)
                | Progress::Yielded
                | Progress::CallStarted(_)
                | Progress::CallEnded(_) => return,
            };
            send(&news, message);
        })
    }

    /// The desk where questions are announced.
    pub(crate) fn questions(&self) -> Questions {
        Questions {
            news: self.news.clone(),
            turn: Arc::clone(&self.turn),
        }
    }

    /// Shows text on standard output.
    pub(crate) fn text(&self, text: String) {
        send(&self.news, News::Text(text));
    }

    /// The way to the screen for what happens elsewhere.
    pub(crate) fn wire(&self) -> ScreenWire {
        ScreenWire {
            news: self.news.clone(),
            calls: self.calls,
        }
    }

    /// Waits until everything is shown. Fails when standard output does, unless its reader left.
    pub(crate) fn finish(self) -> io::Result<()> {
        send(&self.news, News::Finished);
        self.thread.join().unwrap_or_else(|_| {
            Err(io::Error::other(
                "the thread that shows the output panicked",
            ))
        })
    }
}

/// Brings news to the screen. Never waits for it.
#[derive(Debug, Clone)]
pub(crate) struct ScreenWire {
    news: Sender<News>,
    calls: CallDisplay,
}

impl ScreenWire {
    /// Shows text on standard output as it is.
    pub(crate) fn text(&self, text: String) {
        send(&self.news, News::Text(text));
    }

    /// Shows text on standard error as it is.
    pub(crate) fn error_text(&self, text: String) {
        send(&self.news, News::ErrorText(text));
    }

    /// Shows that a call starts.
    pub(crate) fn call_started(&self, record: CallRecord) {
        if self.calls == CallDisplay::Moving {
            send(&self.news, News::CallStarted(record));
        }
    }

    /// Shows that a call has ended.
    pub(crate) fn call_ended(&self, record: CallRecord) {
        if self.calls != CallDisplay::Hidden {
            send(&self.news, News::CallEnded(record));
        }
    }
}

fn is_shown(output: &Output, items: Items) -> bool {
    match items {
        Items::All => true,
        Items::Console => matches!(output, Output::Console(_)),
        Items::None => false,
    }
}

fn send(news: &Sender<News>, message: News) {
    // The thread ends last, unless it panicked, which `finish` reports.
    let _reported_later = news.send(message);
}

/// Where a question is announced, so that nothing else is painted while it is open.
#[derive(Debug, Clone)]
pub(crate) struct Questions {
    news: Sender<News>,
    turn: Arc<Mutex<()>>,
}

impl Questions {
    /// Waits until the terminal is free for a question, also of other questions. It stays so until the returned value is
    /// dropped.
    pub(crate) async fn open(&self) -> OpenQuestion {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let (ready, is_ready) = oneshot::channel();
        send(&self.news, News::QuestionOpened(ready));
        let open = OpenQuestion {
            news: self.news.clone(),
            _turn: turn,
        };
        // Without the thread nothing is painted anyway.
        let _ready = is_ready.await;
        open
    }
}

/// A question that is being asked.
#[derive(Debug)]
pub(crate) struct OpenQuestion {
    news: Sender<News>,
    _turn: OwnedMutexGuard<()>,
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        send(&self.news, News::QuestionClosed);
    }
}
