//! A call in the conversation: what it is to do, the calls that it makes, what it gives.

use std::time::Duration;

use pirn_terminal::{Attribute, Role, Row, Span, TextStyle, Wrap, wrap};
use serde_json::Value;

/// Rows of a result that stand in the conversation; the rest is in the viewer.
const RESULT_ROWS: usize = 6;
/// Rows of a program that stand in the conversation.
const SOURCE_ROWS: usize = 12;
/// Nested calls that stand in the conversation: the last of them.
const NESTED_ROWS: usize = 8;
/// Nested calls whose text is kept. A program that makes more shows how many.
const NESTED_MAX: usize = 10_000;
/// Characters of arguments on one row.
const ARGUMENTS_CHARACTERS: usize = 400;

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Done,
    Failed,
}

/// A call with the calls that it makes.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) id: String,
    name: String,
    arguments: Value,
    state: State,
    text: String,
    duration: Option<Duration>,
    nested: Vec<Call>,
    /// Nested calls that found no place.
    more_nested: usize,
}

/// How much of a call is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// What fits into a conversation.
    Short,
    /// All of it, to its last line.
    Whole,
}

impl Call {
    pub(crate) fn new(id: String, name: String, arguments: Value) -> Self {
        Self {
            id,
            name,
            arguments,
            state: State::Running,
            text: String::new(),
            duration: None,
            nested: Vec::new(),
            more_nested: 0,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state != State::Running
    }

    /// The source of the program that it runs, if it runs one.
    pub(crate) fn source(&self) -> Option<&str> {
        ["code", "script", "source"]
            .iter()
            .find_map(|name| self.arguments[name].as_str())
            .filter(|_| self.name == "exec" || self.name == "eval")
    }

    /// The call of this id, here or nested.
    pub(crate) fn find(&mut self, id: &str) -> Option<&mut Self> {
        if self.id == id {
            return Some(self);
        }
        self.nested.iter_mut().rev().find_map(|call| call.find(id))
    }

    pub(crate) fn nest(&mut self, call: Self) {
        if self.nested.len() < NESTED_MAX {
            self.nested.push(call);
        } else {
            self.more_nested += 1;
        }
    }

    pub(crate) fn update(&mut self, text: String) {
        self.text = text;
    }

    pub(crate) fn end(&mut self, text: String, is_error: bool, duration: Duration) {
        self.state = if is_error { State::Failed } else { State::Done };
        self.text = text;
        self.duration = Some(duration);
    }

    /// What ran when the run was stopped has no result.
    pub(crate) fn abandon(&mut self) {
        if !self.is_over() {
            self.state = State::Failed;
            if self.text.is_empty() {
                "stopped".clone_into(&mut self.text);
            }
        }
        for call in &mut self.nested {
            call.abandon();
        }
    }

    pub(crate) fn rows(&self, columns: usize, detail: Detail) -> Vec<Row> {
        let mut rows = self.head(columns, 0);
        match (self.source(), self.edits()) {
            (Some(source), _) => rows.extend(limited(
                code_rows(source, columns),
                SOURCE_ROWS,
                detail,
                End::First,
            )),
            (None, Some(diff)) => rows.extend(limited(
                diff_rows(&diff, columns),
                SOURCE_ROWS,
                detail,
                End::First,
            )),
            (None, None) => {}
        }
        let mut nested = Vec::new();
        self.nested_rows(columns, 1, detail, &mut nested);
        rows.extend(limited(nested, NESTED_ROWS, detail, End::Last));
        if self.more_nested > 0 {
            let words = format!("  and {} more calls", self.more_nested);
            rows.push(Row::new(words, TextStyle::role(Role::Muted)));
        }
        let style = match self.state {
            State::Failed => TextStyle::role(Role::Error),
            State::Running | State::Done => TextStyle::role(Role::ToolOutput),
        };
        let text = self.text.trim_end();
        let result = Row::of_text(text, style, columns, Wrap::Anywhere);
        let end = if self.name == "bash" {
            End::Last
        } else {
            End::First
        };
        rows.extend(limited(result, RESULT_ROWS, detail, end));
        rows
    }

    fn head(&self, columns: usize, depth: usize) -> Vec<Row> {
        let (mark, role) = match self.state {
            State::Running => ("· ", Role::Accent),
            State::Done => ("✓ ", Role::Success),
            State::Failed => ("✗ ", Role::Error),
        };
        let mut line = vec![
            Span::new(mark, TextStyle::role(role)),
            Span::new(
                &self.name,
                TextStyle::role(Role::ToolTitle).with(Attribute::Bold),
            ),
        ];
        let about = self.about();
        if !about.is_empty() {
            line.push(Span::new(format!(" {about}"), TextStyle::PLAIN));
        }
        let mut end = String::new();
        if let Some(duration) = self.duration.filter(|duration| duration.as_millis() >= 100) {
            end = format!(" {:.1}s", duration.as_secs_f64());
        }
        if depth > 0 && self.state == State::Done && !self.text.is_empty() {
            end.push(' ');
            end.push_str(&bytes(self.text.len()));
        }
        if !end.is_empty() {
            line.push(Span::new(end, TextStyle::role(Role::Dim)));
        }
        let indent = [Span::new("  ".repeat(depth), TextStyle::PLAIN)];
        let rest = [Span::new("  ".repeat(depth + 1), TextStyle::PLAIN)];
        wrap(&line, columns, Wrap::Words, &indent, &rest)
    }

    fn nested_rows(&self, columns: usize, depth: usize, detail: Detail, rows: &mut Vec<Row>) {
        for call in &self.nested {
            let head = call.head(columns, depth);
            match detail {
                // One row for each call, so that the tree stays readable.
                Detail::Short => rows.extend(head.into_iter().take(1).map(|row| row.cut(columns))),
                Detail::Whole => rows.extend(head),
            }
            let indent = [Span::new("  ".repeat(depth + 1), TextStyle::PLAIN)];
            let failed = call.state == State::Failed;
            let style = TextStyle::role(if failed {
                Role::Error
            } else {
                Role::ToolOutput
            });
            let lines = match detail {
                Detail::Short if failed => 1,
                Detail::Short => 0,
                Detail::Whole => usize::MAX,
            };
            for line in call.text.lines().take(lines) {
                let spans = [Span::new(line, style)];
                let wrapped = wrap(&spans, columns, Wrap::Words, &indent, &indent);
                rows.extend(
                    wrapped
                        .into_iter()
                        .take(if lines == 1 { 1 } else { usize::MAX }),
                );
            }
            call.nested_rows(columns, depth + 1, detail, rows);
        }
    }

    /// What the call is about, on one line.
    fn about(&self) -> String {
        let text = |key: &str| self.arguments[key].as_str().unwrap_or_default();
        let about = match self.name.as_str() {
            "bash" => text("command").to_owned(),
            "read" | "write" | "edit" | "ls" => text("path").to_owned(),
            "grep" | "find" => match text("path") {
                "" => text("pattern").to_owned(),
                path => format!("{} in {path}", text("pattern")),
            },
            "exec" | "eval" if self.source().is_some() => String::new(),
            _ => match &self.arguments {
                Value::Object(members) if members.is_empty() => String::new(),
                arguments => arguments.to_string(),
            },
        };
        if about.chars().nth(ARGUMENTS_CHARACTERS).is_some() {
            let cut: String = about.chars().take(ARGUMENTS_CHARACTERS).collect();
            return format!("{cut}… ({})", bytes(about.len()));
        }
        about
    }

    /// Old and new text of the places that it changes.
    fn edits(&self) -> Option<Vec<(String, String)>> {
        match self.name.as_str() {
            "edit" => {
                let edits = self.arguments["edits"].as_array()?;
                let text =
                    |edit: &Value, key: &str| edit[key].as_str().unwrap_or_default().to_owned();
                Some(
                    edits
                        .iter()
                        .map(|edit| (text(edit, "oldText"), text(edit, "newText")))
                        .collect(),
                )
            }
            "write" => Some(vec![(
                String::new(),
                self.arguments["content"].as_str()?.to_owned(),
            )]),
            _ => None,
        }
    }
}

/// Which end of many rows is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    First,
    Last,
}

/// So many of the rows, and how many there are besides.
fn limited(mut rows: Vec<Row>, rows_max: usize, detail: Detail, end: End) -> Vec<Row> {
    // One row more takes no more room than saying so.
    if detail == Detail::Whole || rows.len() <= rows_max + 1 {
        return rows;
    }
    let more = rows.len() - rows_max;
    let words = |place| {
        Row::new(
            format!("… {more} {place} rows, ctrl+t shows all"),
            TextStyle::role(Role::Dim),
        )
    };
    match end {
        End::First => {
            rows.truncate(rows_max);
            rows.push(words("more"));
        }
        End::Last => {
            rows.drain(..more);
            rows.insert(0, words("earlier"));
        }
    }
    rows
}

pub(crate) fn code_rows(source: &str, columns: usize) -> Vec<Row> {
    let count = source.lines().count().to_string().len();
    let rows = source.lines().enumerate().map(|(index, line)| {
        let number = [Span::new(
            format!("{:>count$} ", index + 1),
            TextStyle::role(Role::Dim),
        )];
        let rest = [Span::new(" ".repeat(count + 1), TextStyle::PLAIN)];
        let code = Row::of_text(
            line,
            TextStyle::role(Role::MdCodeBlock),
            usize::MAX,
            Wrap::Anywhere,
        );
        let spans = code
            .into_iter()
            .next()
            .map(|row| row.spans)
            .unwrap_or_default();
        wrap(&spans, columns, Wrap::Anywhere, &number, &rest)
    });
    rows.flatten().collect()
}

/// The lines that go and those that come.
pub(crate) fn diff_rows(edits: &[(String, String)], columns: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut side = |text: &str, mark: &str, role| {
        for line in text.lines() {
            let rest = [Span::new("  ", TextStyle::PLAIN)];
            let spans = [Span::new(line.replace('\t', "    "), TextStyle::role(role))];
            let first = [Span::new(mark, TextStyle::role(role))];
            rows.extend(wrap(&spans, columns, Wrap::Anywhere, &first, &rest));
        }
    };
    for (old, new) in edits {
        let same_start = old
            .lines()
            .zip(new.lines())
            .take_while(|(old, new)| old == new)
            .count();
        let rest = |text: &str| text.lines().skip(same_start).collect::<Vec<_>>().join("\n");
        let (old_rest, new_rest) = (rest(old), rest(new));
        let context: Vec<&str> = old.lines().take(same_start).collect();
        side(&context.join("\n"), "  ", Role::ToolDiffContext);
        side(&old_rest, "- ", Role::ToolDiffRemoved);
        side(&new_rest, "+ ", Role::ToolDiffAdded);
    }
    rows
}

/// A size, for people.
pub(crate) fn bytes(count: usize) -> String {
    match count {
        0..1024 => format!("{count} B"),
        1024..1_048_576 => format!("{} KB", count / 1024),
        _ => format!("{} MB", count / 1_048_576),
    }
}
