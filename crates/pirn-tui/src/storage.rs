//! What is written survives the end of the process in any way: the draft, what waits to be said, and what was said before.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use pirn_file::{Access, AppendError, AppendFile, FileLock};
use serde_json::{Value, json};

use crate::event::Draft;

/// Interfaces in one folder at once, each with a draft of its own.
const SLOTS_MAX: usize = 64;
/// A draft: a text with pastes of some megabytes.
const DRAFT_BYTES_MAX: u64 = 64 << 20;
/// Messages that are offered again.
const HISTORY_MAX: usize = 1_000;
/// When the history is larger than this, its older half goes.
const HISTORY_BYTES_MAX: u64 = 4 << 20;
/// A message of more bytes is not one to say again.
const HISTORY_LINE_BYTES_MAX: usize = 64 << 10;
/// How often a history that another interface writes to is tried, and how long it is waited in between.
const HISTORY_TRIES: (usize, Duration) = (20, Duration::from_millis(5));

const HISTORY_FILE: &str = "history.jsonl";
const DRAFTS_FOLDER: &str = "drafts";

/// Something to be written.
enum Write {
    Draft(Draft),
    Said(String),
}

/// Writes on a thread of its own: nobody waits for the disk. Dropping it waits until all is written.
#[derive(Debug)]
pub struct Storage {
    writes: Option<Sender<Write>>,
    thread: Option<JoinHandle<()>>,
}

/// What an earlier interface left.
#[derive(Debug, Default)]
pub struct Left {
    /// What was being written.
    pub draft: String,
    /// What was said before, the oldest first.
    pub history: Vec<String>,
}

impl Storage {
    /// Opens the files in Pirn's folder, and takes over the draft of an interface in this folder that is gone.
    pub fn open(pirn_home: &Path, cwd: &Path) -> io::Result<(Self, Left)> {
        let folder = pirn_home.join(DRAFTS_FOLDER).join(folder_name(cwd));
        pirn_file::make_private_folder(&folder)?;
        let history = pirn_home.join(HISTORY_FILE);
        let left_history = read_history(&history);
        let (slot, left_draft) = Slot::take(&folder)?;
        let (writes, received) = channel();
        let thread = std::thread::Builder::new()
            .name("storage".to_owned())
            .spawn(move || write_all(&received, &slot, &history))?;
        let storage = Self {
            writes: Some(writes),
            thread: Some(thread),
        };
        let left = Left {
            draft: left_draft,
            history: left_history,
        };
        Ok((storage, left))
    }

    pub(crate) fn keep_draft(&self, draft: Draft) {
        self.send(Write::Draft(draft));
    }

    pub(crate) fn said(&self, text: String) {
        self.send(Write::Said(text));
    }

    fn send(&self, write: Write) {
        if let Some(writes) = &self.writes {
            // The thread ends last, unless it panicked: then nothing is kept any more.
            let _not_kept = writes.send(write);
        }
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        drop(self.writes.take());
        if let Some(thread) = self.thread.take() {
            // What it panicked with was told when it did.
            let _told = thread.join();
        }
    }
}

fn write_all(received: &Receiver<Write>, slot: &Slot, history: &Path) {
    while let Ok(first) = received.recv() {
        // Of several drafts the last one counts.
        let mut last_draft = None;
        for write in std::iter::once(first).chain(received.try_iter()) {
            match write {
                Write::Draft(draft) => last_draft = Some(draft),
                Write::Said(text) => append_history(history, &text),
            }
        }
        if let Some(draft) = last_draft {
            slot.keep(&draft);
        }
    }
}

/// The draft of one interface.
struct Slot {
    path: PathBuf,
    _lock: FileLock,
}

impl Slot {
    /// A slot that nobody uses: one with a draft where there is one.
    fn take(folder: &Path) -> io::Result<(Self, String)> {
        let mut free = None;
        for number in 0..SLOTS_MAX {
            let path = folder.join(format!("{number}.json"));
            let has_draft = path.exists();
            let lock_path = folder.join(format!("{number}.lock"));
            let was_used = has_draft || lock_path.exists();
            if (has_draft || free.is_none())
                && let Some(lock) = FileLock::try_acquire(&lock_path)?
            {
                let slot = Self { path, _lock: lock };
                if has_draft {
                    let draft = read_draft(&slot.path);
                    return Ok((slot, draft));
                }
                free = Some(slot);
            }
            if !was_used {
                break;
            }
        }
        free.map(|slot| (slot, String::new()))
            .ok_or_else(|| io::Error::other("too many interfaces are open in this folder"))
    }

    fn keep(&self, draft: &Draft) {
        // A disk that takes nothing costs the draft only, and there is no better place to say so.
        let _not_kept = if draft.text.is_empty() && draft.queue.is_empty() {
            std::fs::remove_file(&self.path)
        } else {
            let content = json!({"version": 1, "text": draft.text, "queue": draft.queue});
            pirn_file::replace(&self.path, content.to_string().as_bytes(), Access::Private)
        };
    }
}

/// The name of the drafts of a project: its path, with signs that no name may hold replaced.
fn folder_name(cwd: &Path) -> String {
    cwd.to_string_lossy().replace(['/', '\\', ':'], "-")
}

/// What waited to be said, and then what was written; an empty text where the file cannot be read.
fn read_draft(path: &Path) -> String {
    let content = pirn_jsonc::read_bounded(path, DRAFT_BYTES_MAX).unwrap_or_default();
    let draft: Value = serde_json::from_str(&content).unwrap_or_default();
    let queue = draft["queue"].as_array().into_iter().flatten();
    let texts = queue.chain([&draft["text"]]).filter_map(Value::as_str);
    texts
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

fn read_history(path: &Path) -> Vec<String> {
    let content = pirn_jsonc::read_bounded(path, 2 * HISTORY_BYTES_MAX).unwrap_or_default();
    let mut said: Vec<String> = content
        .lines()
        .rev()
        .filter_map(|line| {
            serde_json::from_str::<Value>(line).ok()?["text"]
                .as_str()
                .map(str::to_owned)
        })
        .take(HISTORY_MAX)
        .collect();
    said.reverse();
    said
}

fn append_history(path: &Path, text: &str) {
    if text.len() > HISTORY_LINE_BYTES_MAX {
        return;
    }
    let line = json!({"text": text}).to_string();
    let (tries, pause) = HISTORY_TRIES;
    for _ in 0..tries {
        let opened = match AppendFile::open(path, 2 * HISTORY_BYTES_MAX) {
            Ok((file, content)) => Ok((file, content.len())),
            Err(AppendError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                AppendFile::create(path).map(|file| (file, 0))
            }
            Err(error) => Err(error),
        };
        match opened {
            Ok((mut file, bytes)) => {
                // A history that cannot be written is one message shorter.
                let _not_kept = file.append([line.as_str()]);
                drop(file);
                if u64::try_from(bytes).is_ok_and(|bytes| bytes > HISTORY_BYTES_MAX) {
                    shorten_history(path);
                }
                return;
            }
            Err(AppendError::Busy { .. }) => std::thread::sleep(pause),
            Err(AppendError::Io(_)) => return,
        }
    }
}

fn shorten_history(path: &Path) {
    let lines: Vec<String> = read_history(path)
        .into_iter()
        .map(|text| json!({"text": text}).to_string() + "\n")
        .collect();
    let newer = lines.get(lines.len() / 2..).unwrap_or_default();
    let _not_shortened = pirn_file::replace(path, newer.concat().as_bytes(), Access::Private);
}

#[cfg(test)]
mod tests;
