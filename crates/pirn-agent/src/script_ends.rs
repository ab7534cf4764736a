//! Ends of scripts that outlived the turn that started them.

use pirn_codemode::{CellEventKind, CellState, ScriptService};
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

/// The id of a script of this caller that has ended without anybody having seen it, as soon as there is one; `None` where no script
/// of the caller goes on.
pub(crate) async fn ended_cell(
    scripts: &ScriptService,
    caller: &str,
    cancel: &CancellationToken,
) -> Option<String> {
    let board = scripts.board();
    // Before the list is read, so that no end is missed.
    let mut events = board.subscribe();
    loop {
        let cells = board.list(caller);
        let finished = cells
            .iter()
            .find(|cell| cell.state == CellState::Finished)
            .map(|cell| cell.cell_id.clone());
        if finished.is_some() || cells.is_empty() {
            return finished;
        }
        loop {
            let event = tokio::select! {
                biased;
                () = cancel.cancelled() => return None,
                event = events.recv() => event,
            };
            match event {
                Ok(event) if event.caller == caller && event.kind == CellEventKind::Ended => break,
                Ok(_) => {}
                // The list says what was missed.
                Err(RecvError::Lagged(_)) => break,
                Err(RecvError::Closed) => return None,
            }
        }
    }
}
