//! How servers are doing while they start: a line for each on a terminal, nothing elsewhere.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use pirn_mcp::{McpManager, ServerSelection, ServerState, ServerStatus};
use tokio_util::sync::CancellationToken;

use super::servers::problem_text;
use crate::invocation::Display;
use crate::standard;
use pirn_terminal::{cut, on_one_line};

/// How often the lines are painted anew.
const REPAINT: Duration = Duration::from_millis(100);
/// Servers that are quick are not announced: lines that flash up tell nobody anything.
const QUIET: Duration = Duration::from_millis(200);
/// Lines at most; with more the block would not fit into a small window.
const LINES_MAX: usize = 12;
/// Columns where the terminal does not say how wide it is.
const COLUMNS_DEFAULT: usize = 80;

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
            let mut block = Block::default();
            let started = Instant::now();
            let mut pause = QUIET;
            while tokio::time::timeout(pause, wait.as_mut()).await.is_err() {
                pause = REPAINT;
                let servers = manager.servers();
                block.paint(&servers, waiting, started.elapsed());
            }
            block.erase();
        }
    }
}

/// The lines that are on the terminal now.
#[derive(Default)]
struct Block {
    lines: usize,
}

impl Block {
    fn paint(&mut self, servers: &[ServerStatus], waiting: ServerSelection<'_>, elapsed: Duration) {
        // One column stays free: some terminals wrap a line that fills the last one.
        let columns = pirn_terminal::columns()
            .unwrap_or(COLUMNS_DEFAULT)
            .saturating_sub(1);
        let mut rows: Vec<String> = servers
            .iter()
            .filter(|server| waiting.includes(&server.name))
            .filter_map(|server| Some(cut(&row(server, elapsed)?, columns)))
            .collect();
        if rows.len() > LINES_MAX {
            let more = rows.len() - LINES_MAX;
            rows.truncate(LINES_MAX);
            rows.push(format!("  and {more} more"));
        }
        let mut text = self.erasing();
        for row in &rows {
            // Writing to a string cannot fail.
            let _infallible = writeln!(text, "{row}");
        }
        self.lines = rows.len();
        standard::write_error(&text);
    }

    fn erase(&mut self) {
        standard::write_error(&self.erasing());
        self.lines = 0;
    }

    fn erasing(&self) -> String {
        match self.lines {
            0 => String::new(),
            lines => format!("\u{1b}[{lines}A\r\u{1b}[J"),
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
