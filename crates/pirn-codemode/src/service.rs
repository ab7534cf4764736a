//! The one service that runs scripts: for the tools `exec` and `wait`, for `pirn exec`, and for servers.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_vm::VmEngine;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use crate::abort::Abort;
use crate::board::{BoardError, BoardLimits, CellBoard, CellEvent, CellEventKind, Place};
use crate::cell::{Cell, CellOwner, CellStatus};
use crate::host::Environment;
use crate::limits::ScriptLimits;
use crate::result::ScriptResult;
use crate::runner::{ProgressSink, ResultBudget};
use crate::script::{RunOptions, Script};
use crate::store::{ScriptStore, StoreBackend, StoreBase, StoreCommit, StoreError, StoreSnapshot};

/// What scripts run with, whoever starts them.
#[derive(Debug, Clone)]
pub struct ScriptServiceOptions {
    /// Makes the VMs that scripts run in.
    pub engine: VmEngine,
    /// Keeps what scripts store.
    pub store: Arc<dyn StoreBackend>,
    /// How many cells there may be.
    pub board: BoardLimits,
}

impl ScriptServiceOptions {
    /// An empty store in memory, and the contract's limits.
    pub fn new(engine: VmEngine) -> Self {
        Self {
            engine,
            store: Arc::new(ScriptStore::default()),
            board: BoardLimits::default(),
        }
    }
}

/// Runs scripts as cells of one board, on one engine, over one store. Clones are the same service; dropping the last one stops
/// its scripts.
#[derive(Debug, Clone)]
pub struct ScriptService {
    engine: VmEngine,
    store: Arc<dyn StoreBackend>,
    board: CellBoard,
    results: ResultBudget,
}

/// A script to start.
#[derive(Clone)]
pub struct ScriptRequest {
    /// For whom: cells belong to their caller, and so does their turn where the engine is full.
    pub caller: String,
    /// JavaScript or TypeScript: the body of an async function.
    pub code: String,
    /// The name that stack frames carry.
    pub file_name: String,
    /// What it sees, and who performs its calls.
    pub environment: Environment,
    /// What it may use.
    pub limits: ScriptLimits,
    /// Stops the script from outside.
    pub abort: Abort,
    /// Told what happens meanwhile.
    pub progress: Option<ProgressSink>,
}

impl fmt::Debug for ScriptRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ScriptRequest")
            .field("caller", &self.caller)
            .field("file_name", &self.file_name)
            .finish_non_exhaustive()
    }
}

impl ScriptRequest {
    fn options(&self, results: &ResultBudget) -> (Environment, RunOptions) {
        let options = RunOptions {
            limits: self.limits,
            abort: self.abort.clone(),
            progress: self.progress.clone(),
            caller: self.caller.clone(),
            results: results.clone(),
        };
        (self.environment.clone(), options)
    }
}

/// Why a script was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no place for another cell.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The bytes are no saved script of this build.
    #[error(transparent)]
    Vm(#[from] pirn_vm::Error),
    /// The bytes are no saved cell.
    #[error("not a saved script: {0}")]
    Malformed(String),
}

/// A script that was started, and what is known of its store once it is over.
#[derive(Debug, Clone)]
pub struct StartedScript {
    /// The id by which the cell is waited for.
    pub cell_id: String,
    base: StoreBase,
    stored: Stored,
}

type Stored = Arc<Mutex<Option<Result<StoreCommit, Arc<StoreError>>>>>;

impl StartedScript {
    fn new(place: &Place, base: StoreBase) -> Self {
        Self {
            cell_id: place.cell_id(),
            base,
            stored: Stored::default(),
        }
    }

    /// What became of its writes: nothing before its end, and nothing where it wrote nothing or failed.
    ///
    /// # Errors
    /// When what it wrote could not be kept.
    pub fn commit(&self) -> Result<StoreCommit, Arc<StoreError>> {
        lock(&self.stored)
            .clone()
            .unwrap_or_else(|| Ok(StoreCommit::default()))
    }
}

/// A cell as bytes, version 1: what it saw of the store beside the script.
#[derive(Serialize, Deserialize)]
struct SavedCell {
    version: u32,
    base: StoreBase,
    /// Bytes of the script that follow the JSON.
    script_bytes: usize,
}

const SAVED_VERSION: u32 = 1;

impl ScriptService {
    /// A service with an empty board.
    pub fn new(options: ScriptServiceOptions) -> Self {
        Self {
            engine: options.engine,
            store: options.store,
            board: CellBoard::new(options.board),
            results: ResultBudget::default(),
        }
    }

    /// The board that holds its cells.
    pub fn board(&self) -> &CellBoard {
        &self.board
    }

    /// The engine that makes its VMs.
    pub fn engine(&self) -> &VmEngine {
        &self.engine
    }

    /// Starts a script as a cell. What it stores is kept when it succeeds, whether or not anybody waits.
    ///
    /// # Errors
    /// When there is no place for it, or the store cannot be read. A script that is none, or cannot run, is a cell that fails.
    pub async fn start(&self, request: ScriptRequest) -> Result<StartedScript, StartError> {
        let place = self.board.place(&request.caller, &request.code)?;
        let StoreSnapshot { values, base } = self.store.snapshot().await?;
        let started = StartedScript::new(&place, base);
        let owner = self.owner(&started, &request.caller);
        let (environment, options) = request.options(&self.results);
        let script = Script {
            code: request.code,
            file_name: request.file_name,
            store: values,
        };
        let cell = Cell::start_owned(&self.engine, &script, &environment, options, owner);
        place.put(cell);
        Ok(started)
    }

    /// Saves a cell as it is; it goes on. `started` is what its start gave.
    ///
    /// # Errors
    /// When there is no such cell, or its script does not run.
    pub async fn checkpoint(
        &self,
        caller: &str,
        started: &StartedScript,
    ) -> Result<Vec<u8>, BoardError> {
        let script = self.board.checkpoint(caller, &started.cell_id).await?;
        Ok(saved_cell(&started.base, &script))
    }

    /// Saves a cell and ends it. `started` is what its start gave.
    ///
    /// # Errors
    /// When there is no such cell, or its script has ended.
    pub async fn suspend(
        &self,
        caller: &str,
        started: &StartedScript,
    ) -> Result<Vec<u8>, BoardError> {
        let script = self.board.suspend(caller, &started.cell_id).await?;
        Ok(saved_cell(&started.base, &script))
    }

    /// Goes on with a cell that was saved, in this or another process, as a cell with a new id. `request.code` only names it.
    ///
    /// # Errors
    /// When there is no place for it, or the bytes are no saved cell of this build.
    pub async fn resume(
        &self,
        bytes: &[u8],
        request: ScriptRequest,
    ) -> Result<StartedScript, StartError> {
        let (base, script) = read_cell(bytes)?;
        let place = self.board.place(&request.caller, &request.code)?;
        let started = StartedScript::new(&place, base);
        let owner = self.owner(&started, &request.caller);
        let (environment, options) = request.options(&self.results);
        let cell = Cell::resume_owned(&self.engine, script, &environment, options, owner).await?;
        place.put(cell);
        Ok(started)
    }

    /// Runs a script to its end, yields included. Dropping the future stops it.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn run(
        &self,
        request: ScriptRequest,
    ) -> Result<(ScriptResult, Result<StoreCommit, Arc<StoreError>>), StartError> {
        let caller = request.caller.clone();
        let started = self.start(request).await?;
        let guard = self.guard(&started.cell_id);
        let result = self.ended(&caller, &started).await?;
        guard.release();
        Ok((result, started.commit()))
    }

    /// Waits for the end of a script, yields included.
    ///
    /// # Errors
    /// When there is no such cell, or somebody else waits for it.
    pub async fn ended(
        &self,
        caller: &str,
        started: &StartedScript,
    ) -> Result<ScriptResult, BoardError> {
        loop {
            let delivery = self
                .board
                .wait(caller, &started.cell_id, Duration::MAX)
                .await?;
            if let CellStatus::Ended(result) | CellStatus::Terminated(result) =
                delivery.update.status
            {
                return Ok(*result);
            }
        }
    }

    /// Ties a cell to whoever holds the guard, until it is released.
    pub fn guard(&self, cell_id: &str) -> CellGuard {
        CellGuard {
            board: self.board.clone(),
            cell_id: Some(cell_id.to_owned()),
        }
    }

    fn owner(&self, started: &StartedScript, caller: &str) -> Box<dyn CellOwner> {
        Box::new(Owner {
            store: Arc::clone(&self.store),
            base: started.base.clone(),
            stored: Arc::clone(&started.stored),
            events: self.board.events(),
            event: CellEvent {
                cell_id: started.cell_id.clone(),
                caller: caller.to_owned(),
                kind: CellEventKind::Ended,
            },
        })
    }
}

/// Stops its cell when it is dropped.
#[derive(Debug)]
#[must_use = "dropping it stops the cell"]
pub struct CellGuard {
    board: CellBoard,
    cell_id: Option<String>,
}

impl CellGuard {
    /// Lets the cell go on by itself.
    pub fn release(mut self) {
        self.cell_id = None;
    }
}

impl Drop for CellGuard {
    fn drop(&mut self) {
        if let Some(cell_id) = &self.cell_id {
            self.board.abandon(cell_id);
        }
    }
}

/// Keeps what a script stored, and tells that it is over.
struct Owner {
    store: Arc<dyn StoreBackend>,
    base: StoreBase,
    stored: Stored,
    events: broadcast::Sender<CellEvent>,
    event: CellEvent,
}

impl CellOwner for Owner {
    fn finish(&mut self, mut result: ScriptResult) -> BoxFuture<'_, ScriptResult> {
        Box::pin(async move {
            if result.store_writes.is_empty() {
                return result;
            }
            let commit = self
                .store
                .commit(self.base.clone(), result.store_writes.clone())
                .await;
            match &commit {
                Ok(commit) => result.notes.extend(store_notes(commit)),
                Err(error) => result.notes.push(error.with_causes()),
            }
            *lock(&self.stored) = Some(commit.map_err(Arc::new));
            result
        })
    }

    fn over(&mut self) {
        // Nobody may be listening.
        drop(self.events.send(self.event.clone()));
    }
}

/// What the model is told about its store writes.
pub fn store_notes(commit: &StoreCommit) -> Vec<String> {
    let mut notes = Vec::new();
    if !commit.conflicts.is_empty() {
        notes.push(format!(
            "another script wrote {} meanwhile; this script's value replaced it",
            commit.conflicts.join(", ")
        ));
    }
    if !commit.refused.is_empty() {
        notes.push(format!(
            "{} not stored: the store is full (delete keys first) or the value is nested too deep",
            commit.refused.join(", ")
        ));
    }
    notes
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One line of JSON, then the script.
fn saved_cell(base: &StoreBase, script: &[u8]) -> Vec<u8> {
    let head = SavedCell {
        version: SAVED_VERSION,
        base: base.clone(),
        script_bytes: script.len(),
    };
    // Plain data always serialises.
    let mut bytes = serde_json::to_vec(&head).unwrap_or_default();
    bytes.push(b'\n');
    bytes.extend_from_slice(script);
    bytes
}

fn read_cell(bytes: &[u8]) -> Result<(StoreBase, &[u8]), StartError> {
    let malformed = |what: &str| StartError::Malformed(what.to_owned());
    let mut parts = bytes.splitn(2, |byte| *byte == b'\n');
    let (Some(head), Some(script)) = (parts.next(), parts.next()) else {
        return Err(malformed("it ends too early"));
    };
    let head: SavedCell =
        serde_json::from_slice(head).map_err(|error| malformed(&error.to_string()))?;
    if head.version != SAVED_VERSION {
        return Err(malformed("it has another version"));
    }
    if head.script_bytes != script.len() {
        return Err(malformed("it has another length than it claims"));
    }
    Ok((head.base, script))
}
