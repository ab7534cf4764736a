//! Why a cell cannot be had, with the cells that there are.

use std::fmt;
use std::time::Duration;

use crate::cell::{CheckpointError, SuspendError};
use crate::limits::Limit;

/// Cells that an error names; a caller with more has lost count anyway.
const NAMED_MAX: usize = 16;

/// A cell as errors and lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellInfo {
    /// The id that `wait` takes.
    pub cell_id: String,
    /// Where its script is.
    pub state: CellState,
    /// Since when it exists.
    pub age: Duration,
    /// The first line of the script.
    pub summary: String,
}

/// Where the script of a cell on the board is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellState {
    /// It computes, or waits for calls or timers.
    Running,
    /// It is over, and nobody has seen the end.
    Finished,
}

/// Why a cell cannot be had.
#[derive(Debug)]
pub enum BoardError {
    /// There never was one, or not of this caller.
    NotFound {
        /// The id that was given.
        cell_id: String,
        /// The cells of the caller, to choose from.
        cells: Vec<CellInfo>,
    },
    /// There was one, but its end was delivered, or it was dropped or suspended.
    Gone {
        /// The id that was given.
        cell_id: String,
        /// Why it is gone.
        how: &'static str,
        /// Time since it went.
        ago: Duration,
        /// The cells of the caller, to choose from.
        cells: Vec<CellInfo>,
    },
    /// Somebody else waits for it.
    Busy {
        /// The id that was given.
        cell_id: String,
        /// The cells of the caller, to choose from.
        cells: Vec<CellInfo>,
    },
    /// There are as many cells as there may be, and none of them has finished.
    Full {
        /// How many there may be.
        limit: usize,
        /// The cells of the caller, to choose from.
        cells: Vec<CellInfo>,
    },
    /// There is no checkpoint of it.
    Checkpoint(CheckpointError),
    /// It could not be suspended.
    Suspend(SuspendError),
}

impl fmt::Display for BoardError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = match self {
            Self::NotFound { cell_id, cells } => {
                write!(formatter, "exec cell {cell_id} not found")?;
                cells
            }
            Self::Gone {
                cell_id,
                how,
                ago,
                cells,
            } => {
                write!(
                    formatter,
                    "exec cell {cell_id} is gone: {how}, {} s ago; do not wait for it again",
                    ago.as_secs()
                )?;
                cells
            }
            Self::Busy { cell_id, cells } => {
                write!(
                    formatter,
                    "somebody else waits for exec cell {cell_id} and gets what is new"
                )?;
                cells
            }
            Self::Full { limit, cells } => {
                write!(
                    formatter,
                    "{limit} exec cells run, which is the limit; wait for one of them or terminate one. {}",
                    Limit::Cells.advice()
                )?;
                cells
            }
            Self::Checkpoint(error) => return error.fmt(formatter),
            Self::Suspend(error) => return error.fmt(formatter),
        };
        write_cells(formatter, cells)
    }
}

fn write_cells(formatter: &mut fmt::Formatter<'_>, cells: &[CellInfo]) -> fmt::Result {
    if cells.is_empty() {
        return Ok(());
    }
    formatter.write_str("\nCells:")?;
    for cell in cells.iter().take(NAMED_MAX) {
        let state = match cell.state {
            CellState::Running => "running",
            CellState::Finished => "finished, not yet seen",
        };
        write!(
            formatter,
            "\n- {} ({state}, {} s old): {}",
            cell.cell_id,
            cell.age.as_secs(),
            cell.summary
        )?;
    }
    match cells.len().saturating_sub(NAMED_MAX) {
        0 => Ok(()),
        more => write!(formatter, "\n- and {more} more"),
    }
}

impl std::error::Error for BoardError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Checkpoint(error) => Some(error),
            Self::Suspend(error) => Some(error),
            Self::NotFound { .. } | Self::Gone { .. } | Self::Busy { .. } | Self::Full { .. } => {
                None
            }
        }
    }
}

impl From<CheckpointError> for BoardError {
    fn from(error: CheckpointError) -> Self {
        Self::Checkpoint(error)
    }
}

impl From<SuspendError> for BoardError {
    fn from(error: SuspendError) -> Self {
        Self::Suspend(error)
    }
}
