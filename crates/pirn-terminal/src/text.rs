//! What a terminal may be given.

use std::fmt;

use crate::foreign::{on_its_lines, on_one_line};

/// Text for a terminal. Every way to make one shows what is not seen as what it is by its number, whoever wrote it: nothing in it
/// moves the cursor, hides, or changes the order of what is read.
///
/// ```
/// use pirn_terminal::Text;
///
/// assert_eq!(Text::line(format_args!("the file {}", "a\u{1b}[2J\nb")).as_str(), "the file a\\u{1b}[2J\\nb\n");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text(String);

/// How words stand out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emphasis {
    /// An error's first word.
    Error,
    /// The first word of advice.
    Hint,
    /// The first word of a remark.
    Note,
    /// A row about what is shown.
    Status,
}

/// Whether messages are coloured. No meaning is in the colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Colours of the terminal's own palette.
    Coloured,
    /// No colours, only the text itself.
    Plain,
}

impl Text {
    /// Words on one line, which goes on.
    pub fn words(words: impl fmt::Display) -> Self {
        Self(on_one_line(&words.to_string()))
    }

    /// One line, with its end.
    pub fn line(words: impl fmt::Display) -> Self {
        let mut text = Self::words(words);
        text.0.push('\n');
        text
    }

    /// Words whose own line ends and tabs stay.
    pub fn lines(words: impl fmt::Display) -> Self {
        Self(on_its_lines(&words.to_string()))
    }

    /// Words on one line that stand out.
    pub fn emphasised(emphasis: Emphasis, style: Style, words: impl fmt::Display) -> Self {
        let words = Self::words(words);
        let code = match (style, emphasis) {
            (Style::Plain, _) => return words,
            (Style::Coloured, Emphasis::Error) => "1;31",
            (Style::Coloured, Emphasis::Hint) => "1;36",
            (Style::Coloured, Emphasis::Note) => "1",
            (Style::Coloured, Emphasis::Status) => "7",
        };
        Self(format!("\u{1b}[{code}m{}\u{1b}[0m", words.0))
    }

    /// Undoes whatever colours and attributes were set before.
    pub(crate) fn reset() -> Self {
        Self("\u{1b}[0m".to_owned())
    }

    /// Empties the row that the cursor is in.
    pub(crate) fn empty_row() -> Self {
        Self("\r\u{1b}[K".to_owned())
    }

    /// Takes the rows above the cursor away.
    pub(crate) fn erase_rows(rows: usize) -> Self {
        match rows {
            0 => Self::default(),
            _ => Self(format!("\u{1b}[{rows}A\r\u{1b}[J")),
        }
    }

    /// Adds another text at the end.
    pub fn push(&mut self, more: &Self) {
        self.0.push_str(&more.0);
    }

    /// It, followed by more.
    #[must_use]
    pub fn then(mut self, more: &Self) -> Self {
        self.push(more);
        self
    }

    /// The characters as the terminal gets them.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Extend<Self> for Text {
    fn extend<T: IntoIterator<Item = Self>>(&mut self, texts: T) {
        for text in texts {
            self.push(&text);
        }
    }
}

impl FromIterator<Self> for Text {
    fn from_iter<T: IntoIterator<Item = Self>>(texts: T) -> Self {
        let mut whole = Self::default();
        whole.extend(texts);
        whole
    }
}
