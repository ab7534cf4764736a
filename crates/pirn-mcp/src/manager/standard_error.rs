//! What a server's process writes to standard error: the end of it in memory, more of it in a file.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pirn_file::RotatingLog;

/// What is kept in memory; a stack trace of any language fits.
const KEPT_BYTES_MAX: usize = 64 * 1024;
/// What is shown beside an error.
const TAIL_CHARS_MAX: usize = 2_000;
/// Beyond this the file becomes `<file>.1` and a new one begins, so that a chatty server cannot fill the disk.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The standard error of one server, over all of its processes.
#[derive(Debug)]
pub(super) struct StandardError {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    kept: VecDeque<u8>,
    /// `None` where no file is wanted, or it could not be written: the server is not to suffer from that.
    log: Option<RotatingLog>,
}

impl StandardError {
    /// Keeps lines in memory and, where `file` is given, appends them to it.
    pub(super) fn new(file: Option<PathBuf>) -> Self {
        Self {
            state: Mutex::new(State {
                kept: VecDeque::new(),
                log: file.map(|path| RotatingLog::new(path, FILE_BYTES_MAX)),
            }),
        }
    }

    /// Takes one line in. Writes to the file directly: appending a line takes microseconds.
    pub(super) fn push(&self, line: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.keep(line);
        if let Some(log) = &mut state.log
            && log.append(format!("{line}\n").as_bytes()).is_err()
        {
            state.log = None;
        }
    }

    /// The last characters, from the beginning of a line where one begins among them.
    pub(super) fn tail(&self) -> String {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = state.kept.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_end();
        let count = text.chars().count();
        let Some(extra) = count.checked_sub(TAIL_CHARS_MAX).filter(|extra| *extra > 0) else {
            return text.to_owned();
        };
        let tail: String = text.chars().skip(extra).collect();
        match tail.split_once('\n') {
            Some((_, whole_lines)) if !whole_lines.is_empty() => whole_lines.to_owned(),
            Some(_) | None => tail,
        }
    }
}

impl State {
    fn keep(&mut self, line: &str) {
        self.kept.extend(line.as_bytes());
        self.kept.push_back(b'\n');
        let excess = self.kept.len().saturating_sub(KEPT_BYTES_MAX);
        self.kept.drain(..excess);
    }
}
