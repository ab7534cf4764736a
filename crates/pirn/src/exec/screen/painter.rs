//! The thread behind [`super::Screen`].

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use pirn_codemode::CallRecord;

use super::super::answer::item_text;
use super::{CallDisplay, News, ScreenOptions, lines};
use crate::invocation::Stream;
use crate::standard::unless_closed;
use pirn_terminal::without_controls;

/// How often elapsed times are repainted.
const REPAINT: Duration = Duration::from_millis(100);
/// Running calls that are shown; with more the block would not fit into a small window.
const RUNNING_SHOWN_MAX: usize = 8;
/// Bytes that are collected before they are written.
const BUFFER_BYTES: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Stdout,
    Stderr,
}

pub(super) struct Painter {
    options: ScreenOptions,
    running: BTreeMap<u32, (CallRecord, Instant)>,
    /// Lines of the block that is on the terminal now.
    block_lines: usize,
    is_question_open: bool,
    buffer: String,
    target: Target,
    /// Standard output's reader may leave; the script's calls matter all the same.
    written: io::Result<()>,
}

impl Painter {
    pub(super) fn new(options: ScreenOptions) -> Self {
        Self {
            options,
            running: BTreeMap::new(),
            block_lines: 0,
            is_question_open: false,
            buffer: String::new(),
            target: Target::Stderr,
            written: Ok(()),
        }
    }

    pub(super) fn paint(mut self, news: &Receiver<News>) -> io::Result<()> {
        loop {
            let mut next = if self.running.is_empty() || self.is_question_open {
                news.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                news.recv_timeout(REPAINT)
            };
            self.erase_block();
            // All that is there, then one write.
            loop {
                match next {
                    Ok(News::Finished) | Err(RecvTimeoutError::Disconnected) => {
                        self.flush();
                        return unless_closed(self.written);
                    }
                    Err(RecvTimeoutError::Timeout) => break,
                    Ok(message) => self.take(message),
                }
                next = news.try_recv().map_err(|error| match error {
                    TryRecvError::Empty => RecvTimeoutError::Timeout,
                    TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
                });
            }
            self.paint_block();
            self.flush();
        }
    }

    fn take(&mut self, message: News) {
        match message {
            News::Item(output) => {
                let target = match output {
                    pirn_vm::Output::Console(_) => Target::Stderr,
                    pirn_vm::Output::Text(_)
                    | pirn_vm::Output::Image { .. }
                    | pirn_vm::Output::Audio { .. } => Target::Stdout,
                };
                let text = item_text(&output, &self.options.folder);
                self.put(target, &text);
            }
            News::Message(text) => self.put(Target::Stderr, &format!("{text}\n")),
            News::Text(text) => self.put(Target::Stdout, &text),
            News::ErrorText(text) => self.put(Target::Stderr, &text),
            News::CallStarted(call) => {
                self.running.insert(call.number, (call, Instant::now()));
            }
            News::CallEnded(call) => {
                self.running.remove(&call.number);
                let line = match self.options.calls {
                    CallDisplay::Moving => lines::finished_with_mark(&call, columns()),
                    CallDisplay::Lines | CallDisplay::Hidden => lines::finished_in_words(&call),
                };
                self.put(Target::Stderr, &format!("{line}\n"));
            }
            News::QuestionOpened(ready) => {
                self.is_question_open = true;
                self.flush();
                // Whoever asked may be gone already.
                let _gone = ready.send(());
            }
            News::QuestionClosed => self.is_question_open = false,
            News::Finished => {}
        }
    }

    /// Adds text of a script.
    fn put(&mut self, target: Target, text: &str) {
        let stream = match target {
            Target::Stdout => self.options.stdout,
            Target::Stderr => self.options.stderr,
        };
        match stream {
            Stream::Terminal => self.push(target, &without_controls(text)),
            Stream::Other => self.push(target, text),
        }
    }

    /// Adds text as it is.
    fn push(&mut self, target: Target, text: &str) {
        if target != self.target || self.buffer.len() > BUFFER_BYTES {
            self.flush();
            self.target = target;
        }
        self.buffer.push_str(text);
    }

    fn flush(&mut self) {
        if self.buffer.is_empty() {
            return;
        }
        let bytes = self.buffer.as_bytes();
        match self.target {
            Target::Stdout if self.written.is_ok() => {
                let mut out = io::stdout().lock();
                self.written = out.write_all(bytes).and_then(|()| out.flush());
            }
            Target::Stdout => {}
            Target::Stderr => {
                // When that fails there is nobody left to tell.
                let _nobody_to_tell = io::stderr().lock().write_all(bytes);
            }
        }
        self.buffer.clear();
    }

    fn erase_block(&mut self) {
        if self.block_lines > 0 {
            let lines = self.block_lines;
            self.push(Target::Stderr, &format!("\u{1b}[{lines}A\r\u{1b}[J"));
            self.block_lines = 0;
        }
    }

    fn paint_block(&mut self) {
        if self.is_question_open || self.running.is_empty() {
            return;
        }
        let columns = columns();
        let mut rows: Vec<String> = self
            .running
            .values()
            .take(RUNNING_SHOWN_MAX)
            .map(|(call, started)| lines::running(call, started.elapsed(), columns))
            .collect();
        if self.running.len() > RUNNING_SHOWN_MAX {
            rows.push(format!(
                "  and {} more",
                self.running.len() - RUNNING_SHOWN_MAX
            ));
        }
        self.block_lines = rows.len();
        rows.push(String::new());
        self.push(Target::Stderr, &rows.join("\n"));
    }
}

/// One column stays free: some terminals wrap a line that fills the last one.
fn columns() -> usize {
    pirn_terminal::columns()
        .unwrap_or(lines::COLUMNS_DEFAULT)
        .saturating_sub(1)
}
