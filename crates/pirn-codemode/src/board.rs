//! The board of cells: every script of a process that was started as a cell, by whom, and what became of it.

mod error;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::sync::broadcast;

use crate::cell::{Cell, CellStatus, CellUpdate, WaitError};

pub use error::{BoardError, CellInfo, CellState};

/// Answers that are remembered, so that a model that waits again is told so; each is a few words.
const TOMBSTONES_MAX: usize = 1_024;
/// Events that a subscriber may be behind; one that is further behind asks for the list of cells.
const EVENTS_KEPT: usize = 256;
/// Waits in a row without anything new after which the caller is told that waiting is not needed.
pub const EMPTY_WAITS_TOLD: u32 = 3;

/// How many cells there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoardLimits {
    /// Cells of all callers together.
    pub cells_max: usize,
    /// Cells of one caller.
    pub caller_cells_max: usize,
}

impl Default for BoardLimits {
    fn default() -> Self {
        Self {
            // The contract's number.
            cells_max: 128,
            // Whoever serves several callers gives each less, so that one cannot keep the others out.
            caller_cells_max: 128,
        }
    }
}

/// Something that happened to a cell, for whoever would otherwise have to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellEvent {
    /// The id that `exec` gave and `wait` takes.
    pub cell_id: String,
    /// The caller that started the script; nobody else may wait for it.
    pub caller: String,
    /// Whether the script ended, or the cell itself went.
    pub kind: CellEventKind,
}

/// What happened to a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellEventKind {
    /// Its script is over, and nobody has seen the end yet.
    Ended,
    /// Its end was given away, or it was dropped or suspended: its id is gone.
    Gone,
}

/// What a wait gives.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// Output, messages and state since the last delivery.
    pub update: CellUpdate,
    /// How many waits in a row, this one included, had nothing new while the script went on.
    pub empty_waits: u32,
}

/// The cells of a process. Clones are the same board. Dropping the last one stops them all.
#[derive(Debug, Clone)]
pub struct CellBoard {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    limits: BoardLimits,
    state: Mutex<State>,
    events: broadcast::Sender<CellEvent>,
}

#[derive(Debug, Default)]
struct State {
    cells: BTreeMap<u64, Entry>,
    tombstones: VecDeque<Tombstone>,
    last_number: u64,
}

#[derive(Debug)]
struct Entry {
    caller: String,
    /// The start of the script, by which people and models know it again.
    summary: String,
    /// `None` while the cell is being made.
    cell: Option<Arc<Cell>>,
    started_at: Instant,
    /// `None` before the first wait, which is the caller's own start.
    empty_waits: Option<u32>,
}

#[derive(Debug)]
struct Tombstone {
    number: u64,
    caller: String,
    how: Gone,
    at: Instant,
}

/// Why an id is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gone {
    Delivered,
    Evicted,
    Suspended,
    Dropped,
}

/// A place on the board that waits for its cell. Dropping it gives the place up.
#[derive(Debug)]
pub(crate) struct Place {
    board: CellBoard,
    number: u64,
    is_kept: bool,
}

impl CellBoard {
    /// Makes a board without cells that keeps to `limits`.
    pub fn new(limits: BoardLimits) -> Self {
        Self {
            inner: Arc::new(Inner {
                limits,
                state: Mutex::default(),
                events: broadcast::Sender::new(EVENTS_KEPT),
            }),
        }
    }

    /// Ends of cells and ids that are gone, from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<CellEvent> {
        self.inner.events.subscribe()
    }

    /// The cells of a caller, the oldest first.
    pub fn list(&self, caller: &str) -> Vec<CellInfo> {
        self.lock().list(caller)
    }

    /// Waits until the cell's script ends, yields, or `yield_after` has passed, and gives what is new. A delivered end takes the
    /// cell off the board.
    ///
    /// # Errors
    /// When there is no such cell, or somebody else waits for it.
    pub async fn wait(
        &self,
        caller: &str,
        cell_id: &str,
        yield_after: Duration,
    ) -> Result<Delivery, BoardError> {
        let (number, cell) = self.find(caller, cell_id)?;
        let update = cell.wait(yield_after).await;
        self.delivered(caller, number, update)
    }

    /// Stops the cell's script and gives what is new. A finish that nobody saw wins.
    ///
    /// # Errors
    /// When there is no such cell. Where somebody else waits for it the script is stopped all the same, and they get its end.
    pub async fn terminate(&self, caller: &str, cell_id: &str) -> Result<Delivery, BoardError> {
        let (number, cell) = self.find(caller, cell_id)?;
        let update = cell.terminate().await;
        self.delivered(caller, number, update)
    }

    /// Saves the cell's script as it is; it goes on.
    ///
    /// # Errors
    /// When there is no such cell, or its script does not run.
    pub async fn checkpoint(&self, caller: &str, cell_id: &str) -> Result<Vec<u8>, BoardError> {
        let (_, cell) = self.find(caller, cell_id)?;
        Ok(cell.checkpoint().await?)
    }

    /// Saves the cell's script and takes the cell off the board.
    ///
    /// # Errors
    /// When there is no such cell, or its script has ended.
    pub async fn suspend(&self, caller: &str, cell_id: &str) -> Result<Vec<u8>, BoardError> {
        let (number, cell) = self.find(caller, cell_id)?;
        let bytes = cell.suspend().await?;
        self.remove(number, Gone::Suspended);
        Ok(bytes)
    }

    /// Stops all scripts and waits for their ends, which stay to be had.
    pub async fn shutdown(&self) {
        let cells: Vec<Arc<Cell>> = self
            .lock()
            .cells
            .values()
            .filter_map(|entry| entry.cell.clone())
            .collect();
        for cell in &cells {
            cell.stop();
        }
        join_all(cells.iter().map(|cell| cell.ended())).await;
    }

    /// Takes a place for a cell that is about to start. Makes room by dropping the oldest end that nobody has asked for.
    pub(crate) fn place(&self, caller: &str, code: &str) -> Result<Place, BoardError> {
        let mut state = self.lock();
        let limits = self.inner.limits;
        let mut evicted = Vec::new();
        loop {
            let own = state
                .cells
                .values()
                .filter(|entry| entry.caller == caller)
                .count();
            let whose = if own >= limits.caller_cells_max {
                Some(caller)
            } else if state.cells.len() >= limits.cells_max {
                None
            } else {
                break;
            };
            let Some(number) = state.oldest_finished(whose) else {
                let cells = state.list(caller);
                return Err(BoardError::Full {
                    limit: if whose.is_some() {
                        limits.caller_cells_max
                    } else {
                        limits.cells_max
                    },
                    cells,
                });
            };
            evicted.extend(state.bury(number, Gone::Evicted));
        }
        state.last_number += 1;
        let number = state.last_number;
        let entry = Entry {
            caller: caller.to_owned(),
            summary: summary(code),
            cell: None,
            started_at: Instant::now(),
            empty_waits: None,
        };
        state.cells.insert(number, entry);
        drop(state);
        for event in evicted {
            self.tell(event);
        }
        Ok(Place {
            board: self.clone(),
            number,
            is_kept: false,
        })
    }

    /// Where a cell tells that its script is over. Does not keep the board alive, which keeps the cell alive.
    pub(crate) fn events(&self) -> broadcast::Sender<CellEvent> {
        self.inner.events.clone()
    }

    /// Stops a cell and takes it off the board, without waiting for it.
    pub(crate) fn abandon(&self, cell_id: &str) {
        if let Ok(number) = cell_id.parse() {
            self.remove(number, Gone::Dropped);
        }
    }

    fn tell(&self, event: CellEvent) {
        // Nobody may be listening.
        drop(self.inner.events.send(event));
    }

    fn find(&self, caller: &str, cell_id: &str) -> Result<(u64, Arc<Cell>), BoardError> {
        let state = self.lock();
        let number = cell_id.parse().ok();
        let found = number.and_then(|number| {
            let entry = state.cells.get(&number)?;
            let cell = entry.cell.clone()?;
            (entry.caller == caller).then_some((number, cell))
        });
        found.ok_or_else(|| state.missing(caller, cell_id))
    }

    fn delivered(
        &self,
        caller: &str,
        number: u64,
        update: Result<CellUpdate, WaitError>,
    ) -> Result<Delivery, BoardError> {
        let cell_id = number.to_string();
        let update = match update {
            Ok(update) => update,
            Err(WaitError::Busy) => {
                let cells = self.lock().list(caller);
                return Err(BoardError::Busy { cell_id, cells });
            }
            Err(WaitError::Gone) => return Err(self.lock().missing(caller, &cell_id)),
        };
        let empty_waits = match &update.status {
            CellStatus::Running => {
                let is_empty = update.output.is_empty() && update.notifications.is_empty();
                let mut state = self.lock();
                state.cells.get_mut(&number).map_or(0, |entry| {
                    let empty_waits = match entry.empty_waits {
                        Some(before) if is_empty => before.saturating_add(1),
                        Some(_) | None => 0,
                    };
                    entry.empty_waits = Some(empty_waits);
                    empty_waits
                })
            }
            CellStatus::Ended(_) | CellStatus::Terminated(_) => {
                self.remove(number, Gone::Delivered);
                0
            }
        };
        Ok(Delivery {
            update,
            empty_waits,
        })
    }

    fn remove(&self, number: u64, how: Gone) {
        // The cell itself is dropped without the lock.
        let event = self.lock().bury(number, how);
        if let Some(event) = event {
            self.tell(event);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.inner
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for CellBoard {
    fn default() -> Self {
        Self::new(BoardLimits::default())
    }
}

impl Place {
    /// The id that the cell will have.
    pub(crate) fn cell_id(&self) -> String {
        self.number.to_string()
    }

    /// Puts the cell here.
    pub(crate) fn put(mut self, cell: Cell) {
        if let Some(entry) = self.board.lock().cells.get_mut(&self.number) {
            entry.cell = Some(Arc::new(cell));
        }
        self.is_kept = true;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_kept {
            self.board.lock().cells.remove(&self.number);
        }
    }
}

impl State {
    fn list(&self, caller: &str) -> Vec<CellInfo> {
        self.cells
            .iter()
            .filter(|(_, entry)| entry.caller == caller)
            .map(|(number, entry)| CellInfo {
                cell_id: number.to_string(),
                state: if entry.has_ended() {
                    CellState::Finished
                } else {
                    CellState::Running
                },
                age: entry.started_at.elapsed(),
                summary: entry.summary.clone(),
            })
            .collect()
    }

    /// The oldest cell whose end nobody has seen, of one caller or of all.
    fn oldest_finished(&self, caller: Option<&str>) -> Option<u64> {
        self.cells
            .iter()
            .find(|(_, entry)| {
                entry.has_ended() && caller.is_none_or(|caller| entry.caller == caller)
            })
            .map(|(number, _)| *number)
    }

    /// Takes a cell off the board and remembers why.
    fn bury(&mut self, number: u64, how: Gone) -> Option<CellEvent> {
        let entry = self.cells.remove(&number)?;
        while self.tombstones.len() >= TOMBSTONES_MAX {
            self.tombstones.pop_front();
        }
        self.tombstones.push_back(Tombstone {
            number,
            caller: entry.caller.clone(),
            how,
            at: Instant::now(),
        });
        Some(CellEvent {
            cell_id: number.to_string(),
            caller: entry.caller,
            kind: CellEventKind::Gone,
        })
    }

    /// Why there is no such cell.
    fn missing(&self, caller: &str, cell_id: &str) -> BoardError {
        let cells = self.list(caller);
        let number: Option<u64> = cell_id.parse().ok();
        let tombstone = self
            .tombstones
            .iter()
            .rfind(|tombstone| Some(tombstone.number) == number && tombstone.caller == caller);
        let cell_id = cell_id.to_owned();
        match tombstone {
            Some(tombstone) => BoardError::Gone {
                cell_id,
                how: tombstone.how.words(),
                ago: tombstone.at.elapsed(),
                cells,
            },
            None => BoardError::NotFound { cell_id, cells },
        }
    }
}

impl Entry {
    fn has_ended(&self) -> bool {
        self.cell.as_ref().is_some_and(|cell| cell.has_ended())
    }
}

impl Gone {
    fn words(self) -> &'static str {
        match self {
            Self::Delivered => "its end was already delivered",
            Self::Evicted => "it had finished and was dropped, unseen, to make room for others",
            Self::Suspended => "it was suspended",
            Self::Dropped => "it was stopped with the call that started it",
        }
    }
}

/// Characters of a script's first line of code that are shown.
const SUMMARY_CHARS_MAX: usize = 60;

/// The first line that is more than a comment or blanks.
fn summary(code: &str) -> String {
    let line = code
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with("//"))
        .unwrap_or_default();
    let mut shown: String = line
        .chars()
        .filter(|character| !character.is_control())
        .take(SUMMARY_CHARS_MAX)
        .collect();
    if line.chars().nth(SUMMARY_CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}
