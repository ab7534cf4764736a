//! Searching one file, or all files of a walk side by side with an answer that does not depend on who is faster.

use std::io::{self, Read};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::DirEntry;

use crate::blocking::Stop;
use crate::options::ToolsOptions;
use crate::read::Source;
use crate::regular::{Refusal, RegularFile};
use crate::walk::SearchRoot;

use super::collect::{Bounds, Collector, FileHits};
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
pub(super) struct Search<'a> {
    pub(super) matcher: RegexMatcher,
    pub(super) options: &'a ToolsOptions,
    pub(super) bounds: Bounds,
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

impl Search<'_> {
    /// Searches one file.
    pub(super) fn file(&self, root: &SearchRoot, stop: &Stop) -> Result<Found, String> {
        let cannot = |refusal: &Refusal| match refusal {
            Refusal::Confined(sentence) => sentence.clone(),
            Refusal::Io(_) | Refusal::Other(_) | Refusal::ProcessFile => {
                format!("Could not search {}: {refusal}", root.prefix)
            }
        };
        let opened = RegularFile::open(&root.real, self.options).map_err(|error| cannot(&error))?;
        let mut searcher = self.searcher(Reason::Named);
        let never = AtomicBool::new(false);
        let source = Source::new(opened, stop);
        let interrupt = Interrupt { stop, full: &never };
        let reader = Interruptible {
            file: Named(source),
            interrupt,
        };
        let hits = self.search_reader(&mut searcher, reader, root.prefix.clone(), interrupt);
        let mut found = Found::new(self.bounds);
        found.add(hits);
        Ok(found)
    }

    /// Searches the files of a walk below `root`. The walk runs on this thread; it stops as soon as the answer is known.
    pub(super) fn folder(
        &self,
        root: &SearchRoot,
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
            merger: Mutex::new(Merger::new(Found::new(self.bounds))),
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
        let line_terminator = self.matcher.line_terminator();
        SearcherBuilder::new()
            .line_terminator(line_terminator.unwrap_or_default())
            .binary_detection(binary)
            .line_number(true)
            .before_context(self.bounds.context)
            .after_context(self.bounds.context)
            .heap_limit(Some(LINE_BYTES_MAX))
            .build()
    }

    fn search_reader(
        &self,
        searcher: &mut Searcher,
        reader: impl Read,
        shown: String,
        interrupt: Interrupt<'_>,
    ) -> FileHits {
        let mut collector = Collector::new(&self.matcher, self.bounds);
        let searched = searcher.search_reader(&self.matcher, reader, &mut collector);
        let gave_up = searched.is_err() && !interrupt.is_set();
        // A read error in the middle counts like an end; what was found is true.
        let gave_up = gave_up && searched.is_err_and(|error| is_heap_limit(&error));
        FileHits {
            path: shown,
            hits: collector.hits,
            gave_up,
        }
    }
}

/// The searcher tells this error from others by its text only.
fn is_heap_limit(error: &io::Error) -> bool {
    error.to_string().contains("allocation limit")
}

/// What the threads of one search share.
struct Crew<'a> {
    search: &'a Search<'a>,
    root: &'a SearchRoot,
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
                // What cannot be opened is left out, as in a walk.
                let Ok(opened) = RegularFile::open_walked(&path, self.search.options) else {
                    continue;
                };
                let interrupt = Interrupt {
                    stop: self.stop,
                    full: &self.full,
                };
                let reader = Interruptible {
                    file: opened.file,
                    interrupt,
                };
                let shown = self.root.display(&path);
                let hits = self
                    .search
                    .search_reader(&mut searcher, reader, shown, interrupt);
                if !hits.hits.is_empty() || hits.gave_up {
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
struct Interruptible<'a, R> {
    file: R,
    interrupt: Interrupt<'a>,
}

impl<R: Read> Read for Interruptible<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.interrupt.is_set() {
            return Err(io::Error::other("the search is over"));
        }
        self.file.read(buffer)
    }
}

/// A file that is searched although it is binary. Of a hole one byte is read, since the others would match nothing either.
struct Named<'a>(Source<'a>);

impl Read for Named<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(first) = buffer.first_mut()
            && self.0.take_hole()? > 0
        {
            *first = 0;
            return Ok(1);
        }
        self.0.read(buffer)
    }
}
