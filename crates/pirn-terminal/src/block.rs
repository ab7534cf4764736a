//! Rows below everything else that are painted anew.

use crate::foreign::cut;
use crate::streams::{is_held, questions_asked, write_error};
use crate::text::Text;
use crate::tty::columns;

/// Columns where the terminal does not say how wide it is.
const COLUMNS_DEFAULT: usize = 80;

/// The rows that are on the terminal now.
#[derive(Debug)]
pub struct Block {
    rows_max: usize,
    painted: usize,
    /// The questions that were asked when it was painted: another one pushed it away.
    questions: u64,
}

impl Block {
    /// A block of at most so many rows; of more, the first are shown, and how many there are besides.
    pub fn new(rows_max: usize) -> Self {
        Self {
            rows_max,
            painted: 0,
            questions: 0,
        }
    }

    /// Paints these rows in place of those before. Each is made for so many columns.
    pub fn paint<R: FnOnce(usize) -> String>(&mut self, rows: impl IntoIterator<Item = R>) {
        if is_held() {
            return;
        }
        self.forget_after_question();
        // One column stays free: some terminals wrap a line that fills the last one.
        let columns = columns().unwrap_or(COLUMNS_DEFAULT).saturating_sub(1);
        let mut text = Text::erase_rows(self.painted);
        let mut rows = rows.into_iter();
        self.painted = 0;
        for row in rows.by_ref().take(self.rows_max) {
            text.push(&Text::line(cut(&row(columns), columns)));
            self.painted += 1;
        }
        let more = rows.count();
        if more > 0 {
            text.push(&Text::line(format_args!("  and {more} more")));
            self.painted += 1;
        }
        write_error(&text);
    }

    /// Takes the rows away.
    pub fn erase(&mut self) {
        if is_held() {
            return;
        }
        self.forget_after_question();
        if self.painted > 0 {
            write_error(&Text::erase_rows(self.painted));
            self.painted = 0;
        }
    }

    /// Rows that a question came after are out of reach.
    fn forget_after_question(&mut self) {
        let questions = questions_asked();
        if self.questions != questions {
            self.questions = questions;
            self.painted = 0;
        }
    }
}
