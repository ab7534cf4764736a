//! Rows of a screen: text with roles instead of colours, wrapped to columns.

mod wrap;

use std::fmt;
use std::sync::Arc;

use crate::foreign::{on_one_line, shown};
use crate::theme::Role;
use crate::width::width;

pub use wrap::{Wrap, wrap};

/// How text looks, apart from the colours that a theme gives to its roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextStyle {
    /// What the text is, for its colour; the terminal's own where none is given.
    pub role: Option<Role>,
    /// What the text stands on.
    pub background: Option<Role>,
    attributes: u8,
}

/// A way in which text stands out without a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Attribute {
    Bold,
    Faint,
    Italic,
    Underline,
    Reverse,
    Strike,
}

impl Attribute {
    pub(crate) const ALL: [Self; 6] = [
        Self::Bold,
        Self::Faint,
        Self::Italic,
        Self::Underline,
        Self::Reverse,
        Self::Strike,
    ];

    const fn bit(self) -> u8 {
        match self {
            Self::Bold => 1,
            Self::Faint => 2,
            Self::Italic => 4,
            Self::Underline => 8,
            Self::Reverse => 16,
            Self::Strike => 32,
        }
    }
}

impl TextStyle {
    /// The terminal's own colours, nothing that stands out.
    pub const PLAIN: Self = Self {
        role: None,
        background: None,
        attributes: 0,
    };

    /// The colour of a role.
    pub const fn role(role: Role) -> Self {
        Self {
            role: Some(role),
            ..Self::PLAIN
        }
    }

    /// The same, in the colour of another role.
    #[must_use]
    pub const fn colored(self, role: Role) -> Self {
        Self {
            role: Some(role),
            ..self
        }
    }

    /// The same text, on the background of a role.
    #[must_use]
    pub const fn on(self, background: Role) -> Self {
        Self {
            background: Some(background),
            ..self
        }
    }

    /// The same, standing out in one more way.
    #[must_use]
    pub const fn with(self, attribute: Attribute) -> Self {
        Self {
            attributes: self.attributes | attribute.bit(),
            ..self
        }
    }

    /// Whether it stands out in this way.
    pub const fn has(self, attribute: Attribute) -> bool {
        self.attributes & attribute.bit() != 0
    }
}

/// A piece of text of one look. Whoever wrote it, nothing in it moves the cursor, hides, or changes the order of what is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    text: String,
    /// How the text looks.
    pub style: TextStyle,
    link: Option<Arc<str>>,
}

impl Span {
    /// Text on one line. What is not seen as what it is is shown by its number.
    pub fn new(text: impl fmt::Display, style: TextStyle) -> Self {
        Self {
            text: shown(&text.to_string()),
            style,
            link: None,
        }
    }

    /// The same text, leading to an address. Other addresses than those of the web and of files lead nowhere.
    #[must_use]
    pub fn link(mut self, address: &str) -> Self {
        let leads = ["http://", "https://", "file://", "mailto:"];
        if leads.iter().any(|scheme| address.starts_with(scheme)) && on_one_line(address) == address
        {
            self.link = Some(Arc::from(address));
        }
        self
    }

    /// The text as the terminal gets it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where it leads, if anywhere.
    pub fn address(&self) -> Option<&str> {
        self.link.as_deref()
    }

    fn part(&self, text: &str) -> Self {
        Self {
            text: text.to_owned(),
            style: self.style,
            link: self.link.clone(),
        }
    }
}

/// One row of a screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    /// Its pieces from the left.
    pub spans: Vec<Span>,
    /// Whether the line goes on in the next row: a terminal that wraps it itself copies it as one line.
    pub continues: bool,
}

impl Row {
    /// A row of one piece of text.
    pub fn new(text: impl fmt::Display, style: TextStyle) -> Self {
        Self::from(vec![Span::new(text, style)])
    }

    /// The columns that it takes.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| width(&span.text)).sum()
    }

    /// Its text without any look.
    pub fn text(&self) -> String {
        self.spans.iter().map(Span::text).collect()
    }

    /// The row within so many columns; what was longer ends with a mark.
    #[must_use]
    pub fn cut(mut self, columns: usize) -> Self {
        if self.width() <= columns {
            return self;
        }
        let mut left = columns.saturating_sub(1);
        let mut kept = Vec::new();
        for span in self.spans {
            let (text, taken) = crate::width::prefix(&span.text, left);
            let is_whole = text.len() == span.text.len();
            kept.push(span.part(text));
            left -= taken;
            if !is_whole {
                break;
            }
        }
        let style = kept.last().map_or(TextStyle::PLAIN, |span| span.style);
        if columns > 0 {
            kept.push(Span::new("…", style));
        }
        self.spans = kept;
        self
    }
}

impl From<Vec<Span>> for Row {
    fn from(spans: Vec<Span>) -> Self {
        Self {
            spans,
            continues: false,
        }
    }
}

#[cfg(test)]
mod tests;
