//! Searching one file, or all files of a walk side by side with an answer that does not depend on who is faster.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use pirn_file::{Entry, EntryKind};
use pirn_sandbox::FileRules;

use crate::blocking::Stop;
use crate::options::ToolsOptions;
use crate::read::Source;
use crate::regular::{Refusal, RegularFile};
use crate::walk::{SearchRoot, Visit, Walk, WalkedFolder};

use super::collect::{Bounds, Collector, FileHits};
use super::merge::Found;

/// Memory for one line: a longer one is data rather than text.
const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// One search, as it was asked for.
pub(super) struct Search<'a> {
    pub(super) matcher: RegexMatcher,
    pub(super) options: &'a ToolsOptions,
    /// What the confinement of commands says of files.
    pub(super) rules: Option<Arc<FileRules>>,
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

impl Search<'_> {
    /// Searches one file, unless it is told to stop.
    pub(super) fn file(&self, root: &SearchRoot, stop: &Stop) -> Result<Found, String> {
        let cannot = |refusal: &Refusal| match refusal {
            Refusal::Confined(sentence) => sentence.clone(),
            Refusal::Io(_) | Refusal::Other(_) | Refusal::ProcessFile => {
                format!("Could not search {}: {refusal}", root.shown())
            }
        };
        let opened = RegularFile::open(&root.real, self.options).map_err(|error| cannot(&error))?;
        let mut searcher = self.searcher(Reason::Named);
        let reader = Interruptible {
            file: Named(Source::new(opened, stop)),
            is_over: || stop.is_set(),
        };
        let hits = self.search_reader(&mut searcher, reader, root.prefix.clone());
        let mut found = Found::new(self.bounds);
        found.add(&hits);
        Ok(found)
    }

    /// Searches the files of a walk below `root`. It stops as soon as the answer is known.
    pub(super) fn folder(&self, root: &SearchRoot, walk: &Walk<'_>) -> Found {
        let files = Files {
            search: self,
            root,
            found: Mutex::new(Found::new(self.bounds)),
        };
        walk.run(&files);
        files
            .found
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
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

    fn search_reader<R: Read, F: Fn() -> bool>(
        &self,
        searcher: &mut Searcher,
        mut reader: Interruptible<R, F>,
        shown: String,
    ) -> FileHits {
        let mut collector = Collector::new(&self.matcher, self.bounds);
        let searched = searcher.search_reader(&self.matcher, &mut reader, &mut collector);
        // A read error in the middle counts like an end; what was found is true.
        let gave_up = searched.is_err_and(|error| is_heap_limit(&error)) && !(reader.is_over)();
        FileHits {
            path: shown,
            hits: collector.hits,
            gave_up,
        }
    }

    /// Opens a file of a walk; `None` for what is left out.
    fn open_walked(
        &self,
        scratch: &mut Scratch,
        folder: &WalkedFolder<'_>,
        below: &Path,
        shown: impl FnOnce(&Path) -> String,
    ) -> Option<RegularFile> {
        let opened = match folder.root.open_below(below) {
            Ok(opened) => RegularFile::of_walk(opened).ok()?,
            Err(error) => {
                folder.unread.add(|| shown(below), &error);
                return None;
            }
        };
        if !scratch.is_plain(&opened) && opened.is_process_file() {
            return None;
        }
        if let Some(rules) = &self.rules
            && opened.has_other_names()
        {
            let real = folder.root.path().join(below);
            rules.check_read_opened(&real, &opened.metadata).ok()?;
        }
        Some(opened)
    }
}

/// What a thread keeps between files.
pub(super) struct Scratch {
    searcher: Searcher,
    /// The device of the last file, where it is none of the file system of processes: one look at it is enough.
    plain_device: Option<u64>,
}

impl Scratch {
    fn is_plain(&mut self, opened: &RegularFile) -> bool {
        let device = opened.device();
        if self.plain_device != Some(device) {
            self.plain_device = (!opened.is_on_process_system()).then_some(device);
        }
        self.plain_device.is_some()
    }
}

/// The files of a walk.
struct Files<'a> {
    search: &'a Search<'a>,
    root: &'a SearchRoot,
    found: Mutex<Found>,
}

impl Visit for Files<'_> {
    type Scratch = Scratch;
    type Part = Vec<FileHits>;

    fn scratch(&self) -> Scratch {
        Scratch {
            searcher: self.search.searcher(Reason::Walked),
            plain_device: None,
        }
    }

    fn look(
        &self,
        scratch: &mut Scratch,
        folder: &WalkedFolder<'_>,
        entries: &[Entry],
    ) -> Option<Vec<FileHits>> {
        let mut files = Vec::new();
        let mut below = folder.below.join("file");
        for entry in entries.iter().filter(|entry| entry.kind == EntryKind::File) {
            if folder.is_over() {
                break;
            }
            below.set_file_name(&entry.name);
            let shown = |below: &Path| self.root.display(below);
            let Some(opened) = self.search.open_walked(scratch, folder, &below, shown) else {
                continue;
            };
            let reader = Interruptible {
                file: opened.file,
                is_over: || folder.is_over(),
            };
            let mut hits = self
                .search
                .search_reader(&mut scratch.searcher, reader, String::new());
            if !hits.hits.is_empty() || hits.gave_up {
                hits.path = self.root.display(&below);
                files.push(hits);
            }
        }
        (!files.is_empty()).then_some(files)
    }

    fn bytes(files: &Vec<FileHits>) -> usize {
        files.iter().map(FileHits::bytes).sum()
    }

    fn take(&self, files: Vec<FileHits>) -> ControlFlow<()> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        for file in &files {
            found.add(file);
        }
        if found.is_full() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// The searcher tells this error from others by its text only.
fn is_heap_limit(error: &io::Error) -> bool {
    error.to_string().contains("allocation limit")
}

/// A file whose reading ends when nobody needs it any more.
struct Interruptible<R, F> {
    file: R,
    is_over: F,
}

impl<R: Read, F: Fn() -> bool> Read for Interruptible<R, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.is_over)() {
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
