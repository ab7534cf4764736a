//! Calls as lines of text.

use std::time::Duration;

use pirn_codemode::status_name;
use pirn_tool::{CallStatus, Receipt};

use pirn_terminal::{cut, on_one_line};

/// Columns of a line where nobody knows how wide the reader's window is.
const COLUMNS_DEFAULT: usize = 160;

/// A finished call on a terminal.
pub(super) fn finished_with_mark(call: &Receipt) -> String {
    // One column stays free: some terminals wrap a line that fills the last one.
    let columns = pirn_terminal::columns()
        .unwrap_or(COLUMNS_DEFAULT)
        .saturating_sub(1);
    let mark = match call.status {
        CallStatus::Ok => "✓",
        CallStatus::Error => "✗",
        CallStatus::Cancelled => "⊘",
        CallStatus::Unknown | CallStatus::Unfinished => "?",
    };
    finished(mark, call, columns)
}

/// A finished call in a file.
pub(super) fn finished_in_words(call: &Receipt) -> String {
    finished(status_name(call.status), call, COLUMNS_DEFAULT)
}

/// The error comes before the arguments, since it is what matters.
fn finished(state: &str, call: &Receipt, columns: usize) -> String {
    let seconds = Duration::from_millis(call.duration_ms.unwrap_or_default()).as_secs_f64();
    let head = format!("{state} {} {seconds:.1}s", on_one_line(&call.name));
    let rest = match &call.error {
        Some(error) => format!(
            "{} {}",
            on_one_line(error.lines().next().unwrap_or_default()),
            on_one_line(&call.arguments_text())
        ),
        None => on_one_line(&call.arguments_text()),
    };
    cut(format!("{head} {rest}").trim_end(), columns)
}

/// A call that runs.
pub(super) fn running(name: &str, arguments: &str, elapsed: Duration, columns: usize) -> String {
    let seconds = elapsed.as_secs_f64();
    let name = on_one_line(name);
    cut(
        format!("· {name} {seconds:.1}s {}", on_one_line(arguments)).trim_end(),
        columns,
    )
}
