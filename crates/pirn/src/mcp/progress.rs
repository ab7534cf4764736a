//! How servers are doing while they start: a line for each on a terminal, nothing elsewhere.

use std::time::{Duration, Instant};

use pirn_mcp::{McpManager, ServerSelection, ServerState, ServerStatus};
use tokio_util::sync::CancellationToken;

use super::servers::problem_text;
use crate::invocation::Display;
use pirn_terminal::{Block, on_one_line};

/// How often the lines are painted anew.
const REPAINT: Duration = Duration::from_millis(100);
/// Servers that are quick are not announced: lines that flash up tell nobody anything.
const QUIET: Duration = Duration::from_millis(200);
/// Lines at most; with more the block would not fit into a small window.
const LINES_MAX: usize = 12;

/// Waits until these servers have connected or failed.
pub(super) async fn settle(
    manager: &McpManager,
    waiting: ServerSelection<'_>,
    cancel: &CancellationToken,
    display: Display,
) {
    let mut wait = std::pin::pin!(manager.wait_for(waiting, cancel));
    match display {
        Display::Lines => {
            wait.await;
        }
        Display::Moving => {
            let mut block = Block::new(LINES_MAX);
            let started = Instant::now();
            let mut pause = QUIET;
            while tokio::time::timeout(pause, wait.as_mut()).await.is_err() {
                pause = REPAINT;
                let elapsed = started.elapsed();
                let rows = manager
                    .servers()
                    .into_iter()
                    .filter(|server| waiting.includes(&server.name))
                    .filter_map(|server| row(&server, elapsed));
                block.paint(rows.map(|row| move |_columns| row));
            }
            block.erase();
        }
    }
}

/// A server's line; `None` for one that is switched off.
fn row(server: &ServerStatus, elapsed: Duration) -> Option<String> {
    let name = on_one_line(&server.name);
    match server.state {
        ServerState::Disabled => None,
        ServerState::Connecting | ServerState::Disconnected => {
            Some(format!("· {name} starting {:.1}s", elapsed.as_secs_f64()))
        }
        ServerState::Connected => Some(format!("✓ {name} {}", tool_count(server))),
        ServerState::NeedsAuth => Some(format!("! {name} wants a sign-in")),
        ServerState::Failed => Some(format!("✗ {name} {}", problem_text(server))),
    }
}

/// How many tools a server has, in words.
pub(super) fn tool_count(server: &ServerStatus) -> String {
    match server.tools.len() {
        1 => "1 tool".to_owned(),
        count => format!("{count} tools"),
    }
}
