//! From the events of a parser to rows.

use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};

use super::table::Table;
use crate::row::{Attribute, Row, Span, TextStyle, Wrap, wrap};
use crate::theme::Role;

/// What text stands in.
#[derive(Debug)]
enum Container {
    Quote,
    /// The number of the next item, where items are numbered.
    List(Option<u64>),
    /// An item, with its mark until that was drawn, and the columns that it takes.
    Item {
        mark: Option<String>,
        columns: usize,
    },
}

#[derive(Debug)]
pub(super) struct Renderer {
    columns: usize,
    rows: Vec<Row>,
    containers: Vec<Container>,
    line: Vec<Span>,
    styles: Vec<TextStyle>,
    link: Option<String>,
    /// The text of a code block, and its language.
    code: Option<(String, String)>,
    table: Option<Table>,
    /// Whether the next block is parted from the one before.
    needs_blank: bool,
}

impl Renderer {
    pub(super) fn new(columns: usize) -> Self {
        Self {
            columns,
            rows: Vec::new(),
            containers: Vec::new(),
            line: Vec::new(),
            styles: Vec::new(),
            link: None,
            code: None,
            table: None,
            needs_blank: false,
        }
    }

    pub(super) fn finish(mut self) -> Vec<Row> {
        self.end_line(Wrap::Words);
        self.rows
    }

    pub(super) fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.text(&text, self.style()),
            },
            Event::Code(code) => self.text(&code, self.style().colored(Role::MdCode)),
            Event::Html(html) | Event::InlineHtml(html) => {
                for (index, line) in html.lines().enumerate() {
                    if index > 0 {
                        self.end_line(Wrap::Words);
                    }
                    self.text(line, TextStyle::role(Role::Muted));
                }
            }
            Event::SoftBreak => self.text(" ", self.style()),
            Event::HardBreak => self.end_line(Wrap::Words),
            Event::Rule => {
                self.begin_block();
                let rule = "─".repeat(self.room().min(40));
                self.text(&rule, TextStyle::role(Role::MdHr));
                self.end_line(Wrap::Words);
                self.needs_blank = true;
            }
            Event::TaskListMarker(is_done) => {
                self.text(
                    if is_done { "[x] " } else { "[ ] " },
                    TextStyle::role(Role::MdListBullet),
                );
            }
            Event::FootnoteReference(name) => self.text(&format!("[{name}]"), self.style()),
            Event::InlineMath(math) | Event::DisplayMath(math) => self.text(&math, self.style()),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { .. } => {
                self.begin_block();
                self.styles
                    .push(TextStyle::role(Role::MdHeading).with(Attribute::Bold));
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.containers.push(Container::Quote);
                self.styles
                    .push(TextStyle::role(Role::MdQuote).with(Attribute::Italic));
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                if self.is_in_item() {
                    self.end_line(Wrap::Words);
                } else {
                    self.begin_block();
                }
                self.containers.push(Container::List(first));
            }
            Tag::Item => {
                self.needs_blank = false;
                let mark = match self.containers.last_mut() {
                    Some(Container::List(Some(number))) => {
                        *number += 1;
                        format!("{}. ", number.saturating_sub(1))
                    }
                    _ => "• ".to_owned(),
                };
                self.containers.push(Container::Item {
                    columns: crate::width::width(&mark),
                    mark: Some(mark),
                });
            }
            Tag::Emphasis => self.push_style(Attribute::Italic),
            Tag::Strong => self.push_style(Attribute::Bold),
            Tag::Strikethrough => self.push_style(Attribute::Strike),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some(dest_url.to_string());
                let style = self.style().colored(Role::MdLink);
                self.styles.push(style.with(Attribute::Underline));
            }
            Tag::Table(_) => {
                self.begin_block();
                self.table = Some(Table::default());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
            }
            Tag::TableCell
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.end_line(Wrap::Words);
                self.needs_blank = true;
            }
            TagEnd::Heading(_) => {
                self.end_line(Wrap::Words);
                self.styles.pop();
                self.needs_blank = true;
            }
            TagEnd::BlockQuote(_) => {
                self.containers.pop();
                self.styles.pop();
                self.needs_blank = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.containers.pop();
                self.needs_blank = true;
            }
            TagEnd::Item => {
                self.end_line(Wrap::Words);
                self.containers.pop();
                self.needs_blank = false;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                self.link = None;
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.line);
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            TagEnd::Table => {
                let rows = self.table.take().map(|table| table.rows(self.room()));
                for row in rows.unwrap_or_default() {
                    self.line = row;
                    self.end_line(Wrap::Words);
                }
                self.needs_blank = true;
            }
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn style(&self) -> TextStyle {
        self.styles.last().copied().unwrap_or_default()
    }

    fn push_style(&mut self, attribute: Attribute) {
        self.styles.push(self.style().with(attribute));
    }

    fn text(&mut self, text: &str, style: TextStyle) {
        let span = Span::new(text, style);
        self.line.push(match &self.link {
            Some(link) => span.link(link),
            None => span,
        });
    }

    fn is_in_item(&self) -> bool {
        matches!(self.containers.last(), Some(Container::Item { .. }))
    }

    fn begin_block(&mut self) {
        self.end_line(Wrap::Words);
        if self.needs_blank && !self.rows.is_empty() {
            let prefix = self.prefix(Part::Rest);
            let is_blank = prefix.iter().all(|span| span.text().trim().is_empty());
            self.rows
                .push(Row::from(if is_blank { Vec::new() } else { prefix }));
        }
        self.needs_blank = false;
    }

    /// The columns that text has within its containers.
    fn room(&self) -> usize {
        let taken: usize = self
            .containers
            .iter()
            .map(|container| match container {
                Container::Quote => 2,
                Container::List(_) => 0,
                Container::Item { columns, .. } => *columns,
            })
            .sum();
        self.columns.saturating_sub(taken).max(1)
    }

    /// What stands before a row: marks of items at their first, blanks at the others.
    fn prefix(&self, part: Part) -> Vec<Span> {
        let spans = self
            .containers
            .iter()
            .filter_map(|container| match container {
                Container::Quote => Some(Span::new("│ ", TextStyle::role(Role::MdQuoteBorder))),
                Container::List(_) => None,
                Container::Item { mark, columns } => Some(match (mark, part) {
                    (Some(mark), Part::First) => {
                        Span::new(mark, TextStyle::role(Role::MdListBullet))
                    }
                    (Some(_) | None, _) => Span::new(" ".repeat(*columns), TextStyle::PLAIN),
                }),
            });
        spans.collect()
    }

    fn end_line(&mut self, kind: Wrap) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return;
        }
        self.push_line(&line, kind);
    }

    fn push_line(&mut self, line: &[Span], kind: Wrap) {
        let first = self.prefix(Part::First);
        let rest = self.prefix(Part::Rest);
        self.rows
            .extend(wrap(line, self.columns, kind, &first, &rest));
        for container in &mut self.containers {
            if let Container::Item { mark, .. } = container {
                *mark = None;
            }
        }
    }

    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else {
            return;
        };
        let fence = TextStyle::role(Role::MdCodeBlockBorder);
        self.push_line(
            &[Span::new(format!("```{language}"), fence)],
            Wrap::Anywhere,
        );
        for line in code.lines() {
            let line = Row::of_text(
                line,
                TextStyle::role(Role::MdCodeBlock),
                usize::MAX,
                Wrap::Anywhere,
            );
            let spans = line
                .into_iter()
                .next()
                .map(|row| row.spans)
                .unwrap_or_default();
            self.push_line(&spans, Wrap::Anywhere);
        }
        self.push_line(&[Span::new("```", fence)], Wrap::Anywhere);
        self.needs_blank = true;
    }
}

/// Which row of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    First,
    Rest,
}
