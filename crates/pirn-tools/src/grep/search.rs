//! Searching one file, or all files of a walk side by side with an answer that does not depend on who is faster.

use std::fs::File;
use std::io::{self, Read};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::DirEntry;

use crate::blocking::Stop;
use crate::paths;

use super::collect::{Collector, FileHits};
use super::merge::{Found, Merger};

/// Threads that search; more than this waits for the disk or the walk.
const WORKERS_MAX: usize = 12;

/// Files handed to a worker at a time. The first batches are smaller, so that a small tree is shared too.
const BATCH_FILES_MAX: usize = 32;

/// Batches between the walk and the workers.
const BATCHES_WAITING_MAX: usize = 64;

/// Memory for one line: a longer one is data rather than text.
const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How often a waiting worker looks at whether the call was stopped.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// One search.
pub(super) struct Search {
    pub(super) matcher: RegexMatcher,
    /// Lines to show before and after each match.
    pub(super) context: usize,
    /// The most matches.
    pub(super) limit: usize,
}

/// How a file came to be searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// It was named, so it is searched also when it is binary.
    Named,
    /// It is somewhere below a folder.
    Walked,
}

/// Files of one batch, with its place in the order.
type Batch = (usize, Vec<PathBuf>);

impl Search {
    /// Searches one file.
    pub(super) fn file(&self, path: &Path, stop: &Stop) -> Result<Found, String> {
        if !path.is_file() {
            return Err(format!("Not a file or directory: {}", path.display()));
        }
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let mut searcher = self.searcher(Reason::Named);
        let never = AtomicBool::new(false);
        let hits = self
            .search_file(&mut searcher, path, name, Interrupt { stop, full: &never })
            .map_err(|error| {
                format!(
                    "Cannot read {}: {}",
                    path.display(),
                    paths::describe(&error)
                )
            })?;
        let mut found = Found::new(self.limit, self.context);
        found.add(hits);
        Ok(found)
    }

    /// Searches the files of a walk below `root`. The walk runs on this thread; it stops as soon as the answer is known.
    pub(super) fn folder(
        &self,
        root: &Path,
        walk: impl Iterator<Item = DirEntry>,
        stop: &Stop,
    ) -> Found {
        let workers = std::thread::available_parallelism()
            .map_or(1, NonZero::get)
            .min(WORKERS_MAX);
        let crew = Crew {
            search: self,
            root,
            stop,
            merger: Mutex::new(Merger::new(Found::new(self.limit, self.context))),
            advanced: Condvar::new(),
            full: AtomicBool::new(false),
        };
        std::thread::scope(|scope| {
            let (sender, receiver) = sync_channel(BATCHES_WAITING_MAX);
            let receiver = Arc::new(Mutex::new(receiver));
            for _worker in 0..workers {
                let (receiver, crew) = (Arc::clone(&receiver), &crew);
                scope.spawn(move || crew.work(&receiver));
            }
            // The workers' ends only, so that sending fails when they have stopped.
            drop(receiver);
            crew.hand_out(walk, &sender);
        });
        crew.merger
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .found
    }

    fn searcher(&self, reason: Reason) -> Searcher {
        let binary = match reason {
            Reason::Named => BinaryDetection::convert(b'\0'),
            Reason::Walked => BinaryDetection::quit(b'\0'),
        };
        SearcherBuilder::new()
            .binary_detection(binary)
            .line_number(true)
            .before_context(self.context)
            .after_context(self.context)
            .heap_limit(Some(LINE_BYTES_MAX))
            .build()
    }

    fn search_file(
        &self,
        searcher: &mut Searcher,
        path: &Path,
        shown: String,
        interrupt: Interrupt<'_>,
    ) -> io::Result<FileHits> {
        let reader = Interruptible {
            file: File::open(path)?,
            interrupt,
        };
        let mut collector = Collector::new(self.limit, self.context);
        let searched = searcher.search_reader(&self.matcher, reader, &mut collector);
        let gave_up = searched.is_err() && !interrupt.is_set();
        // A read error in the middle counts like an end; what was found is true.
        let gave_up = gave_up && searched.is_err_and(|error| is_heap_limit(&error));
        Ok(FileHits {
            path: shown,
            hits: collector.hits,
            gave_up,
        })
    }
}

/// The searcher tells this error from others by its text only.
fn is_heap_limit(error: &io::Error) -> bool {
    error.to_string().contains("allocation limit")
}

/// What the threads of one search share.
struct Crew<'a> {
    search: &'a Search,
    root: &'a Path,
    stop: &'a Stop,
    merger: Mutex<Merger>,
    /// Signalled when the merger has moved on.
    advanced: Condvar,
    /// Whether the answer is known.
    full: AtomicBool,
}

impl Crew<'_> {
    /// Sends the files of the walk to the workers in batches.
    fn hand_out(&self, walk: impl Iterator<Item = DirEntry>, sender: &SyncSender<Batch>) {
        let mut batch = Vec::new();
        let mut number = 0;
        for entry in walk {
            if self.is_over() {
                return;
            }
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            batch.push(entry.into_path());
            if batch.len() >= BATCH_FILES_MAX.min(number + 1) {
                if sender.send((number, std::mem::take(&mut batch))).is_err() {
                    return;
                }
                number += 1;
            }
        }
        // Fails only when all workers have stopped because the answer is known.
        let _over = sender.send((number, batch));
    }

    /// Searches batches until there are no more or the answer is known.
    fn work(&self, receiver: &Mutex<Receiver<Batch>>) {
        let mut searcher = self.search.searcher(Reason::Walked);
        loop {
            let received = receiver
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .recv();
            let Ok((number, paths)) = received else {
                return;
            };
            let mut files = Vec::new();
            for path in paths {
                if self.is_over() {
                    return;
                }
                let shown = paths::relative_display(&path, self.root);
                let interrupt = Interrupt {
                    stop: self.stop,
                    full: &self.full,
                };
                // What cannot be opened is left out, as in a walk.
                if let Ok(hits) = self
                    .search
                    .search_file(&mut searcher, &path, shown, interrupt)
                    && (!hits.hits.is_empty() || hits.gave_up)
                {
                    files.push(hits);
                }
            }
            self.deliver(number, files);
        }
    }

    fn deliver(&self, number: usize, files: Vec<FileHits>) {
        let mut merger = self.lock_merger();
        while merger.must_wait(number) && !self.is_over() {
            // The time-out is for a call that is stopped meanwhile, which signals nobody.
            merger = self
                .advanced
                .wait_timeout(merger, STOP_CHECK_INTERVAL)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        merger.add(number, files);
        if merger.found.is_full() {
            self.full.store(true, Ordering::Relaxed);
        }
        drop(merger);
        self.advanced.notify_all();
    }

    fn lock_merger(&self) -> MutexGuard<'_, Merger> {
        self.merger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.full.load(Ordering::Relaxed) || self.stop.is_set()
    }
}

/// Why a search in progress may become pointless.
#[derive(Clone, Copy)]
struct Interrupt<'a> {
    stop: &'a Stop,
    full: &'a AtomicBool,
}

impl Interrupt<'_> {
    fn is_set(self) -> bool {
        self.full.load(Ordering::Relaxed) || self.stop.is_set()
    }
}

/// A file whose reading ends when nobody needs it any more.
struct Interruptible<'a> {
    file: File,
    interrupt: Interrupt<'a>,
}

impl Read for Interruptible<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.interrupt.is_set() {
            return Err(io::Error::other("the search is over"));
        }
        self.file.read(buffer)
    }
}
