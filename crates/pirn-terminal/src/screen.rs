//! What is seen while something runs: output, lines about what happened, and rows about what goes on.

mod painter;

use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::streams::Hold;
use painter::Painter;

/// The text of a row about something that goes on, from the time since its start and the columns there are.
pub type RowText = Box<dyn Fn(Duration, usize) -> String + Send>;

/// Makes a text when it is shown: what takes time, such as saving a picture, happens on the screen's own thread.
pub type LateText = Box<dyn FnOnce() -> String + Send>;

/// Which stream a text goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// To standard output, where results go.
    Output,
    /// To standard error, where everything else goes.
    Error,
}

/// A message for the thread that paints. The channel needs no bound of its own: what goes through it is bounded by the limits on
/// output and calls of what runs.
enum ScreenMessage {
    /// Text of what runs.
    Text(Target, LateText),
    /// Something goes on from now on.
    Started(u64, RowText),
    /// It has ended, with this line.
    Ended(u64, String),
    /// Somebody asks: what is on the way is shown first, and the rows are taken away.
    Question(Box<dyn FnOnce(Hold) + Send>),
    Finished,
}

/// The thread that owns both standard streams while something runs. Whoever has something to show never waits for a slow terminal.
#[derive(Debug)]
pub struct Screen {
    wire: ScreenWire,
    thread: JoinHandle<io::Result<()>>,
}

impl Screen {
    /// Starts the thread that paints from now on.
    pub fn start() -> io::Result<Self> {
        let (messages, receiver) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("screen".to_owned())
            .spawn(move || paint(&receiver))?;
        Ok(Self {
            wire: ScreenWire { messages },
            thread,
        })
    }

    /// The way to the screen for what happens elsewhere.
    pub fn wire(&self) -> ScreenWire {
        self.wire.clone()
    }

    /// Waits until everything is shown. Fails when standard output does, unless its reader left.
    pub fn finish(self) -> io::Result<()> {
        self.wire.send(ScreenMessage::Finished);
        self.thread.join().unwrap_or_else(|_| {
            Err(io::Error::other(
                "the thread that shows the output panicked",
            ))
        })
    }
}

fn paint(messages: &Receiver<ScreenMessage>) -> io::Result<()> {
    Painter::default().paint(messages)
}

/// Brings messages to the screen. Never waits for it. Cheap to clone.
#[derive(Clone)]
pub struct ScreenWire {
    messages: Sender<ScreenMessage>,
}

impl ScreenWire {
    /// Shows text of what runs.
    pub fn text(&self, target: Target, text: String) {
        self.late_text(target, Box::new(move || text));
    }

    /// Shows text that is made when its turn comes.
    pub fn late_text(&self, target: Target, text: LateText) {
        self.send(ScreenMessage::Text(target, text));
    }

    /// Shows a row until [`ended`](Self::ended) is told with the same key.
    pub fn started(&self, key: u64, row: RowText) {
        self.send(ScreenMessage::Started(key, row));
    }

    /// Takes the row away and leaves a line.
    pub fn ended(&self, key: u64, line: String) {
        self.send(ScreenMessage::Ended(key, line));
    }

    /// Announces a question: `ready` is called when the terminal is free for it, which it stays until what it is given is dropped.
    pub fn announce_question(&self, ready: impl FnOnce(Hold) + Send + 'static) {
        self.send(ScreenMessage::Question(Box::new(ready)));
    }

    fn send(&self, message: ScreenMessage) {
        // The thread ends last, unless it panicked, which `finish` reports.
        let _reported_later = self.messages.send(message);
    }
}

impl std::fmt::Debug for ScreenWire {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ScreenWire").finish_non_exhaustive()
    }
}
