//! Walking a folder on several threads, with results in the order of the paths.
//!
//! Every piece of work has a place in the order: the numbers of the entries on the way to it. Idle threads take the first piece
//! that nobody has, so that the first results are known first, and a walk that has enough of them ends early.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ignore::overrides::Override;
use pirn_file::{Entry, EntryKind, HeldFolder};
use pirn_sandbox::FileRules;

use super::GIT_FOLDER;
use super::ignored::Ignored;
use super::unread::Unread;
use crate::blocking::Stop;
use crate::paths;

/// Threads that walk; more than this waits for the disk.
const WORKERS_MAX: usize = 12;

/// Entries that one thread looks at in one piece.
const RUN_ENTRIES_MAX: usize = 64;

/// Results that are held because something before them is not known yet, before threads wait for it: one slow file must not make
/// the results of all others pile up.
const WAITING_BYTES_MAX: usize = 32 * 1024 * 1024;

/// How often a waiting thread looks at whether the call was stopped.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// What is done with the entries of a walk.
pub(crate) trait Visit: Sync {
    /// What one thread keeps between entries.
    type Scratch;
    /// What came out of some entries.
    type Part: Send;

    fn scratch(&self) -> Self::Scratch;

    /// Looks at some entries of one folder, in order.
    fn look(
        &self,
        scratch: &mut Self::Scratch,
        folder: &WalkedFolder<'_>,
        entries: &[Entry],
    ) -> Option<Self::Part>;

    /// About how much memory a part takes.
    fn bytes(part: &Self::Part) -> usize;

    /// Takes the next part in order; `Break` when the answer is known.
    fn take(&self, part: Self::Part) -> ControlFlow<()>;
}

/// A walk below a folder.
pub(crate) struct Walk<'a> {
    pub(super) root: HeldFolder,
    pub(super) rules: Option<Arc<FileRules>>,
    pub(super) globs: Override,
    pub(super) ignored: Arc<Ignored>,
    pub(super) stop: &'a Stop,
    /// What could not be read.
    pub(crate) unread: Unread,
}

/// A folder that a walk has come to.
pub(crate) struct WalkedFolder<'a> {
    pub(crate) root: &'a HeldFolder,
    /// Relative to the root; empty for the root itself.
    pub(crate) below: &'a Path,
    pub(crate) unread: &'a Unread,
    is_over: &'a AtomicBool,
    stop: &'a Stop,
}

impl WalkedFolder<'_> {
    /// Whether nobody needs more.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed) || self.stop.is_set()
    }
}

/// The place of a piece of work in the order.
type Place = Vec<u32>;

/// A piece of work.
enum Piece {
    Folder {
        below: PathBuf,
        ignored: Arc<Ignored>,
    },
    Entries {
        below: Arc<Path>,
        entries: Vec<Entry>,
    },
}

struct State<P> {
    /// Pieces that nobody has begun.
    queue: BTreeMap<Place, Piece>,
    /// The places of those that threads are at.
    running: Vec<Place>,
    /// What came before its turn.
    waiting: BTreeMap<Place, P>,
    waiting_bytes: usize,
}

struct Crew<'a, V: Visit> {
    walk: &'a Walk<'a>,
    visit: &'a V,
    state: Mutex<State<V::Part>>,
    changed: Condvar,
    is_over: AtomicBool,
}

impl Walk<'_> {
    /// Visits everything; returns when all threads have ended.
    pub(crate) fn run<V: Visit>(&self, visit: &V) {
        let first = Piece::Folder {
            below: PathBuf::new(),
            ignored: Arc::clone(&self.ignored),
        };
        let crew = Crew {
            walk: self,
            visit,
            state: Mutex::new(State {
                queue: BTreeMap::from([(Place::new(), first)]),
                running: Vec::new(),
                waiting: BTreeMap::new(),
                waiting_bytes: 0,
            }),
            changed: Condvar::new(),
            is_over: AtomicBool::new(false),
        };
        let workers = std::thread::available_parallelism()
            .map_or(1, NonZero::get)
            .min(WORKERS_MAX);
        std::thread::scope(|scope| {
            for _worker in 1..workers {
                scope.spawn(|| crew.work());
            }
            crew.work();
        });
    }
}

impl<V: Visit> Crew<'_, V> {
    fn work(&self) {
        let mut scratch = self.visit.scratch();
        while let Some((place, piece)) = self.next() {
            let mut done = Done {
                pieces: Vec::new(),
                parts: Vec::new(),
            };
            match piece {
                Piece::Folder { below, ignored } => {
                    self.list(&mut scratch, &place, &below, &ignored, &mut done);
                }
                Piece::Entries { below, entries } => {
                    let part = self.look(&mut scratch, &below, &entries);
                    done.parts.extend(part.map(|part| (place.clone(), part)));
                }
            }
            self.deliver(&place, done);
        }
        // Whoever sees that nothing is left tells those that wait.
        self.changed.notify_all();
    }

    /// The first piece that nobody has begun; `None` when there will be none.
    fn next(&self) -> Option<(Place, Piece)> {
        let mut state = self.lock();
        loop {
            if self.is_over.load(Ordering::Relaxed) || self.walk.stop.is_set() {
                return None;
            }
            let may_begin = state.waiting_bytes <= WAITING_BYTES_MAX || state.is_first_in_queue();
            if may_begin && let Some((place, piece)) = state.queue.pop_first() {
                state.running.push(place.clone());
                return Some((place, piece));
            }
            if state.running.is_empty() && state.queue.is_empty() {
                return None;
            }
            // The time-out is for a call that is stopped meanwhile, which signals nobody.
            state = self
                .changed
                .wait_timeout(state, STOP_CHECK_INTERVAL)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn deliver(&self, place: &Place, done: Done<V::Part>) {
        let mut state = self.lock();
        let has_work = !done.pieces.is_empty();
        let was_crowded = state.waiting_bytes > WAITING_BYTES_MAX;
        state.queue.extend(done.pieces);
        for (place, part) in done.parts {
            state.waiting_bytes += V::bytes(&part);
            state.waiting.insert(place, part);
        }
        if let Some(index) = state.running.iter().position(|running| running == place) {
            state.running.swap_remove(index);
        }
        while let Some(part) = state.next_part() {
            state.waiting_bytes = state.waiting_bytes.saturating_sub(V::bytes(&part));
            if self.visit.take(part).is_break() {
                self.is_over.store(true, Ordering::Relaxed);
                break;
            }
        }
        let is_done = state.running.is_empty() && state.queue.is_empty();
        drop(state);
        if has_work || is_done || was_crowded || self.is_over.load(Ordering::Relaxed) {
            self.changed.notify_all();
        }
    }

    /// Reads a folder: its folders become pieces, its other entries too where they are many.
    fn list(
        &self,
        scratch: &mut V::Scratch,
        place: &Place,
        below: &Path,
        ignored: &Arc<Ignored>,
        done: &mut Done<V::Part>,
    ) {
        let mut entries = match self.walk.root.entries_below(below) {
            Ok(entries) => entries,
            Err(error) => {
                let shown = || paths::relative_display(below, Path::new(""));
                self.walk.unread.add(shown, &error);
                return;
            }
        };
        let path = self.walk.root.path().join(below);
        let ignored = Ignored::below(ignored, &path, &entries);
        self.leave_out(&path, &ignored, &mut entries);
        entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        let is_small = entries.len() <= RUN_ENTRIES_MAX;
        let shared: Arc<Path> = Arc::from(below);
        let mut number = 0;
        let mut next_place = || {
            let mut next = Place::with_capacity(place.len() + 1);
            next.extend_from_slice(place);
            next.push(number);
            number += 1;
            next
        };
        let mut rest = entries.into_iter().peekable();
        while rest.peek().is_some() {
            let mut run = Vec::new();
            let mut folder = None;
            // A folder comes before what is in it.
            while folder.is_none()
                && run.len() < RUN_ENTRIES_MAX
                && let Some(entry) = rest.next()
            {
                if entry.kind == EntryKind::Folder {
                    folder = Some(below.join(&entry.name));
                }
                run.push(entry);
            }
            let run_place = next_place();
            if is_small {
                let part = self.look(scratch, &shared, &run);
                done.parts.extend(part.map(|part| (run_place, part)));
            } else {
                let entries = Piece::Entries {
                    below: Arc::clone(&shared),
                    entries: run,
                };
                done.pieces.push((run_place, entries));
            }
            if let Some(below) = folder {
                let ignored = Arc::clone(&ignored);
                done.pieces
                    .push((next_place(), Piece::Folder { below, ignored }));
            }
        }
    }

    /// Removes what is ignored, excluded, or must not be read.
    fn leave_out(&self, path: &Path, ignored: &Ignored, entries: &mut Vec<Entry>) {
        let rules = self.walk.rules.as_ref().map(|rules| rules.in_folder(path));
        let globs = &self.walk.globs;
        // One buffer for the paths of all entries.
        let mut whole = path.join("entry");
        entries.retain(|entry| {
            let name: &OsStr = &entry.name;
            if name == GIT_FOLDER || rules.as_ref().is_some_and(|rules| rules.hides(name)) {
                return false;
            }
            whole.set_file_name(name);
            let is_folder = entry.kind == EntryKind::Folder;
            let chosen = globs.matched(&whole, is_folder);
            chosen.is_whitelist() || !chosen.is_ignore() && !ignored.ignores(&whole, entry.kind)
        });
    }

    fn look(&self, scratch: &mut V::Scratch, below: &Path, entries: &[Entry]) -> Option<V::Part> {
        let folder = WalkedFolder {
            root: &self.walk.root,
            below,
            unread: &self.walk.unread,
            is_over: &self.is_over,
            stop: self.walk.stop,
        };
        self.visit.look(scratch, &folder, entries)
    }

    fn lock(&self) -> MutexGuard<'_, State<V::Part>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What came of a piece.
struct Done<P> {
    pieces: Vec<(Place, Piece)>,
    parts: Vec<(Place, P)>,
}

impl<P> State<P> {
    /// Whether the first piece of the queue comes before everything that threads are at.
    fn is_first_in_queue(&self) -> bool {
        match (self.queue.keys().next(), self.running.iter().min()) {
            (Some(first), Some(running)) => first < running,
            (Some(_), None) => true,
            (None, _) => false,
        }
    }

    /// The next part in order, where nothing before it is still unknown.
    fn next_part(&mut self) -> Option<P> {
        let unknown = match (self.queue.keys().next(), self.running.iter().min()) {
            (Some(first), Some(running)) => Some(first.min(running)),
            (first, running) => first.or(running),
        };
        let (place, _) = self.waiting.first_key_value()?;
        if unknown.is_some_and(|unknown| unknown < place) {
            return None;
        }
        self.waiting.pop_first().map(|(_, part)| part)
    }
}
