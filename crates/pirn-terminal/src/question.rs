//! The one way in which questions are shown: who asks on every screen, and all that the answer is about.

use std::io;

use crate::foreign::{cut, on_one_line, visible_code};
use crate::pager::{self, Page, Seen};
use crate::text::Text;
use crate::tty::Tty;

/// Columns of a name in a row of ours: what is longer is cut there, and whole in a row of its own.
const NAME_COLUMNS: usize = 40;
/// Columns of who asks.
const ASKER_COLUMNS: usize = 30;

/// A question with everything that the answer is about.
///
/// Rows of ours begin at the margin; what others wrote stands behind it, wrapped before the terminal would wrap it.
#[derive(Debug, Clone)]
pub struct Question {
    asker: String,
    title: String,
    /// What stands behind the margin, one row or more each.
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
enum Part {
    Fact(String),
    Heading(String),
    /// Text of several lines.
    Code(String),
}

/// An answer that was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed<T> {
    /// One of the answers that the question offers.
    Answer(T),
    /// The input ended, or nothing that was typed was an answer.
    Nothing,
    /// Ctrl-C. The process was told, too.
    Interrupted,
}

/// What a typed line is to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading<T> {
    /// An answer that can be given at any time, such as no.
    Refusal(T),
    /// An answer that counts only when everything was on the screen.
    Consent(T),
}

impl Question {
    /// A question of this asker, such as "The script".
    pub fn new(asker: &str, title: &str) -> Self {
        let question = Self {
            asker: asker.to_owned(),
            title: title.to_owned(),
            parts: Vec::new(),
        };
        if on_one_line(asker).chars().count() > ASKER_COLUMNS {
            let whole = format!("asked by {asker}");
            return question.fact(&whole);
        }
        question
    }

    /// Adds one line of text behind the margin.
    #[must_use]
    pub fn fact(mut self, fact: &str) -> Self {
        self.parts.push(Part::Fact(fact.to_owned()));
        self
    }

    /// Adds text of several lines under a heading.
    #[must_use]
    pub fn code(mut self, heading: &str, code: &str) -> Self {
        if !heading.is_empty() {
            self.parts.push(Part::Heading(heading.to_owned()));
        }
        self.parts.push(Part::Code(code.to_owned()));
        self
    }

    /// A name in a row of ours: on one line, and not longer than such a row has room for.
    pub fn name(name: &str) -> String {
        cut(&on_one_line(name), NAME_COLUMNS)
    }

    /// The row that stands on every screen.
    fn header(&self, columns: usize) -> String {
        let asker = cut(&on_one_line(&self.asker), ASKER_COLUMNS);
        cut(&format!("{asker} {}", on_one_line(&self.title)), columns)
    }

    /// All rows behind the margin.
    fn body(&self, columns: usize) -> String {
        let mut text = String::new();
        // What the header had no room for.
        let header = format!("{} {}", on_one_line(&self.asker), on_one_line(&self.title));
        if self.header(columns) != header {
            text.push_str(&on_one_line(&self.title));
            text.push('\n');
        }
        for part in &self.parts {
            match part {
                Part::Fact(fact) | Part::Heading(fact) => {
                    text.push_str(&on_one_line(fact));
                    text.push('\n');
                }
                Part::Code(code) => {
                    let code = visible_code(code);
                    text.push_str(&code);
                    if !code.ends_with('\n') {
                        text.push('\n');
                    }
                }
            }
        }
        text
    }

    /// Shows it, page by page where it does not fit, and then `prompt` until `read` takes the answer. Consent is taken only when
    /// everything was on the screen.
    pub fn ask<T>(
        &self,
        tty: &mut Tty,
        prompt: &str,
        read: impl Fn(&str) -> Result<Reading<T>, String>,
    ) -> io::Result<Typed<T>> {
        tty.show(&Text::reset())?;
        loop {
            let (columns, rows) = tty.size_or_default();
            let unseen = match pager::show(tty, &self.page(columns, rows))? {
                Seen::Everything => None,
                Seen::Interrupted => return Ok(Typed::Interrupted),
                Seen::Part { lines, of } => Some(format!(
                    "You have seen {lines} of {of} lines; a yes counts after the rest ([m]ore)."
                )),
            };
            if let Some(unseen) = &unseen {
                tty.show(&Text::line(unseen))?;
            }
            let typed = tty.choose(&Text::words(prompt), |word| match (word, &unseen) {
                ("m" | "more", Some(_)) => Ok(None),
                (word, unseen) => match (read(word)?, unseen) {
                    (Reading::Refusal(answer), _) | (Reading::Consent(answer), None) => {
                        Ok(Some(answer))
                    }
                    (Reading::Consent(_), Some(unseen)) => Err(unseen.clone()),
                },
            })?;
            match typed {
                Some(Some(answer)) => return Ok(Typed::Answer(answer)),
                Some(None) => {}
                None => return Ok(Typed::Nothing),
            }
        }
    }

    /// Shows it where nothing is asked.
    pub fn show(&self, tty: &mut Tty) -> io::Result<()> {
        let (columns, rows) = tty.size_or_default();
        // Who has seen enough goes on.
        let _seen = pager::show(tty, &self.page(columns, rows))?;
        Ok(())
    }

    fn page(&self, columns: usize, rows: usize) -> Page {
        Page {
            header: self.header(columns.saturating_sub(1)),
            body: self.body(columns.saturating_sub(1)),
            columns,
            rows,
        }
    }

    /// The rows as they are shown where everything fits, for tests of what is asked.
    pub fn preview(&self, columns: usize) -> String {
        let page = self.page(columns, usize::MAX);
        page.whole().as_str().to_owned()
    }
}

#[cfg(test)]
mod tests;
