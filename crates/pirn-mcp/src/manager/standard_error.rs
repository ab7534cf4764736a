//! What a server's process writes to standard error: the end of it in memory, more of it in a file.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

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
    log: Log,
}

#[derive(Debug)]
enum Log {
    /// Nothing was written yet.
    Closed(PathBuf),
    Open {
        path: PathBuf,
        file: File,
        bytes: u64,
    },
    /// No file is wanted, or it could not be written; the server is not to suffer from that.
    Off,
}

impl StandardError {
    /// Keeps lines in memory and, where `file` is given, appends them to it.
    pub(super) fn new(file: Option<PathBuf>) -> Self {
        Self {
            state: Mutex::new(State {
                kept: VecDeque::new(),
                log: file.map_or(Log::Off, Log::Closed),
            }),
        }
    }

    /// Takes one line in. Writes to the file directly: appending a line takes microseconds.
    pub(super) fn push(&self, line: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.keep(line);
        state.log.write(line);
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

impl Log {
    fn write(&mut self, line: &str) {
        let written = match std::mem::replace(self, Self::Off) {
            Self::Off => return,
            Self::Closed(path) => open(&path).map(|(file, bytes)| (path, file, bytes)),
            Self::Open { path, file, bytes } => Ok((path, file, bytes)),
        }
        .and_then(|(path, mut file, mut bytes)| {
            if bytes >= FILE_BYTES_MAX {
                std::fs::rename(&path, rotated(&path))?;
                (file, bytes) = open(&path)?;
            }
            let text = format!("{line}\n");
            file.write_all(text.as_bytes())?;
            bytes += text.len() as u64;
            Ok(Self::Open { path, file, bytes })
        });
        if let Ok(open) = written {
            *self = open;
        }
    }
}

fn open(path: &Path) -> std::io::Result<(File, u64)> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    // Servers print their environment when they fail.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    let bytes = file.metadata()?.len();
    Ok((file, bytes))
}

fn rotated(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    PathBuf::from(name)
}
