//! The standard streams of the process.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::foreign::without_controls;
use crate::text::{Emphasis, Style, Text};

/// Bytes that are held while a question is open: more than scripts put out in the time of an answer. What comes beyond is counted.
const HELD_BYTES_MAX: usize = 8 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StandardStream {
    Output,
    Error,
}

/// What waits for a question to be closed. The streams are those of the process, so this is, too.
static HELD: Mutex<Held> = Mutex::new(Held {
    open: 0,
    asked: 0,
    texts: Vec::new(),
    bytes: 0,
    lost_bytes: 0,
});

#[derive(Debug)]
struct Held {
    /// Questions that are open.
    open: usize,
    /// Questions that were ever opened.
    asked: u64,
    texts: Vec<(StandardStream, String)>,
    bytes: usize,
    lost_bytes: usize,
}

fn held() -> MutexGuard<'static, Held> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While one lives, nothing but [`Tty`](crate::Tty) reaches the terminal: a text over a question could hide it, and one below it
/// could pass for another. What was written meanwhile is shown when the last is dropped. Streams that lead elsewhere are not held.
#[derive(Debug)]
pub struct Hold(());

impl Hold {
    /// Holds from now on.
    pub fn new() -> Self {
        let mut held = held();
        held.open += 1;
        held.asked += 1;
        Self(())
    }
}

impl Default for Hold {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut held = held();
        held.open = held.open.saturating_sub(1);
        if held.open > 0 {
            return;
        }
        let texts = std::mem::take(&mut held.texts);
        let lost = std::mem::take(&mut held.lost_bytes);
        held.bytes = 0;
        // Written under the lock, so that nothing newer comes first.
        for (stream, text) in texts {
            // When that fails there is nobody left to tell.
            let _nobody_to_tell = write_now(stream, &text);
        }
        if lost > 0 {
            let remark = Text::line(format_args!(
                "note: {lost} bytes of output came while a question was open, more than is kept, and are not shown"
            ));
            let _nobody_to_tell = write_now(StandardStream::Error, remark.as_str());
        }
    }
}

/// Whether a question is open.
pub(crate) fn is_held() -> bool {
    held().open > 0
}

/// How many questions were opened so far.
pub(crate) fn questions_asked() -> u64 {
    held().asked
}

fn write(stream: StandardStream, text: &str) -> io::Result<()> {
    if !is_terminal(stream) {
        return write_now(stream, text);
    }
    let mut held = held();
    if held.open == 0 {
        // Written under the lock, so that no question is opened in the middle.
        return write_now(stream, text);
    }
    if held.bytes + text.len() > HELD_BYTES_MAX {
        held.lost_bytes += text.len();
    } else {
        held.bytes += text.len();
        held.texts.push((stream, text.to_owned()));
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that writes to the standard streams"
)]
fn write_now(stream: StandardStream, text: &str) -> io::Result<()> {
    match stream {
        StandardStream::Output => {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        }
        StandardStream::Error => {
            let mut error = io::stderr().lock();
            error
                .write_all(text.as_bytes())
                .and_then(|()| error.flush())
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "nothing is written")]
fn is_terminal(stream: StandardStream) -> bool {
    match stream {
        StandardStream::Output => io::stdout().is_terminal(),
        StandardStream::Error => io::stderr().is_terminal(),
    }
}

/// Text of a program: as it is to files and programs, without control characters to a terminal.
fn write_program_text(stream: StandardStream, text: &str) -> io::Result<()> {
    if is_terminal(stream) {
        write(stream, &without_controls(text))
    } else {
        write(stream, text)
    }
}

/// Writes to standard output: as it is to files and programs, without control characters to a terminal. A reader that is gone
/// has had enough, which is no error.
pub fn write_output(text: &str) -> io::Result<()> {
    match write_program_text(StandardStream::Output, text) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes to standard error. When that fails there is nobody left to tell.
pub fn write_error(text: &Text) {
    let _nobody_to_tell = write(StandardStream::Error, text.as_str());
}

/// Writes what a program put out to standard error.
pub(crate) fn write_program_error(text: &str) {
    let _nobody_to_tell = write_program_text(StandardStream::Error, text);
}

/// Shows a remark that is no error, on one line.
pub fn note(style: Style, remark: &str) {
    let head = Text::emphasised(Emphasis::Note, style, "note:");
    write_error(&head.then(&Text::line(format_args!(" {remark}"))));
}

/// Whether standard error leads to a terminal.
pub fn is_error_terminal() -> bool {
    is_terminal(StandardStream::Error)
}

/// Whether standard output leads to a terminal.
pub fn is_output_terminal() -> bool {
    is_terminal(StandardStream::Output)
}
