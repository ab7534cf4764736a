//! Markdown as rows, also while it is still being written.

mod render;
mod table;

use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::row::Row;
use render::Renderer;

/// Markdown that grows. Its finished blocks never change again; only the last one is laid out anew.
///
/// ```
/// use pirn_terminal::MarkdownStream;
///
/// let mut stream = MarkdownStream::default();
/// stream.push("First.\n\nSec");
/// assert_eq!(stream.finished_rows(80)[0].text(), "First.");
/// // A blank row parts the blocks.
/// assert_eq!(stream.open_rows(80)[1].text(), "Sec");
/// ```
#[derive(Debug, Clone, Default)]
pub struct MarkdownStream {
    /// What was not given out as finished.
    open: String,
    /// Whether blocks were given out before: a blank row parts them from the next.
    has_begun: bool,
}

impl MarkdownStream {
    /// Adds the next piece of the text.
    pub fn push(&mut self, text: &str) {
        self.open.push_str(text);
    }

    /// The rows of the blocks that were finished since the last time.
    pub fn finished_rows(&mut self, columns: usize) -> Vec<Row> {
        let end = last_block_start(&self.open);
        if end == 0 {
            return Vec::new();
        }
        let rest = self.open.split_off(end);
        let finished = std::mem::replace(&mut self.open, rest);
        self.rows(&finished, columns)
    }

    /// The rows of what may still change.
    pub fn open_rows(&self, columns: usize) -> Vec<Row> {
        self.clone().rows(&self.open, columns)
    }

    /// The rows of the rest, when nothing more comes.
    pub fn last_rows(&mut self, columns: usize) -> Vec<Row> {
        let rest = std::mem::take(&mut self.open);
        self.rows(&rest, columns)
    }

    fn rows(&mut self, text: &str, columns: usize) -> Vec<Row> {
        let mut rows = markdown_rows(text, columns);
        if self.has_begun && !rows.is_empty() {
            rows.insert(0, Row::default());
        }
        self.has_begun |= !rows.is_empty();
        rows
    }
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// The rows of a whole text.
pub fn markdown_rows(text: &str, columns: usize) -> Vec<Row> {
    let mut renderer = Renderer::new(columns);
    for event in Parser::new_ext(text, options()) {
        renderer.event(event);
    }
    renderer.finish()
}

/// Where the last block begins: everything before it is finished.
fn last_block_start(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut start = 0;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    start = block_start(text, &tag, range.start);
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Rule if depth == 0 => start = range.start,
            _ => {}
        }
    }
    start
}

/// An indented block begins with its line.
fn block_start(text: &str, tag: &Tag<'_>, start: usize) -> usize {
    match tag {
        Tag::CodeBlock(_) | Tag::List(_) => {
            let before = text.get(..start).unwrap_or_default();
            before.rfind('\n').map_or(0, |at| at + 1)
        }
        _ => start,
    }
}

#[cfg(test)]
mod tests;
