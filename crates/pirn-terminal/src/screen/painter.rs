//! The thread behind [`Screen`](super::Screen).

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use super::{RowText, ScreenMessage, Target};
use crate::block::Block;
use crate::streams::{Hold, is_error_terminal, write_output, write_program_error};

/// How often elapsed times are repainted.
const REPAINT: Duration = Duration::from_millis(100);
/// Rows that are shown; with more the block would not fit into a small window.
const ROWS_MAX: usize = 8;
/// Bytes that are collected before they are written.
const BUFFER_BYTES: usize = 64 << 10;

pub(super) struct Painter {
    rows: BTreeMap<u64, (RowText, Instant)>,
    block: Block,
    buffer: String,
    target: Target,
    /// Standard output's reader may leave; what runs matters all the same.
    written: io::Result<()>,
}

impl Default for Painter {
    fn default() -> Self {
        Self {
            rows: BTreeMap::new(),
            block: Block::new(ROWS_MAX),
            buffer: String::new(),
            target: Target::Error,
            written: Ok(()),
        }
    }
}

impl Painter {
    pub(super) fn paint(mut self, messages: &Receiver<ScreenMessage>) -> io::Result<()> {
        loop {
            let mut next = if self.rows.is_empty() {
                messages.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                messages.recv_timeout(REPAINT)
            };
            self.block.erase();
            // All that is there, then one write.
            loop {
                match next {
                    Ok(ScreenMessage::Finished) | Err(RecvTimeoutError::Disconnected) => {
                        self.flush();
                        return self.written;
                    }
                    Err(RecvTimeoutError::Timeout) => break,
                    Ok(message) => self.take(message),
                }
                next = messages.try_recv().map_err(|error| match error {
                    TryRecvError::Empty => RecvTimeoutError::Timeout,
                    TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
                });
            }
            self.flush();
            self.paint_block();
        }
    }

    fn take(&mut self, message: ScreenMessage) {
        match message {
            ScreenMessage::Question(ready) => {
                self.flush();
                ready(Hold::new());
            }
            ScreenMessage::Text(target, text) => self.put(target, &text()),
            ScreenMessage::Started(key, row) => {
                self.rows.insert(key, (row, Instant::now()));
            }
            ScreenMessage::Ended(key, line) => {
                self.rows.remove(&key);
                self.put(Target::Error, &format!("{line}\n"));
            }
            ScreenMessage::Finished => {}
        }
    }

    fn put(&mut self, target: Target, text: &str) {
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
        match self.target {
            Target::Output if self.written.is_ok() => self.written = write_output(&self.buffer),
            Target::Output => {}
            Target::Error => write_program_error(&self.buffer),
        }
        self.buffer.clear();
    }

    fn paint_block(&mut self) {
        if self.rows.is_empty() || !is_error_terminal() {
            return;
        }
        self.block.paint(
            self.rows
                .values()
                .map(|(row, started)| |columns| row(started.elapsed(), columns)),
        );
    }
}
