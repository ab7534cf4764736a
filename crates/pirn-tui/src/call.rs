//! A call in the conversation: what it is to do, the calls that it makes, what it gives.

mod rows;

use std::time::Duration;

use pirn_terminal::{Attribute, Role, Row, Span, TextStyle, Wrap, wrap};
use serde_json::Value;

use crate::event::CallOutcome;
use crate::script::{Asker, LineState, Lines, Traffic, line_of};
use rows::{End, arguments_rows, limited, source_rows};

pub(crate) use rows::{bytes, code_rows, diff_rows};

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
    /// Whether it waits for an answer of the user's.
    waits: bool,
    text: String,
    /// The bytes of all that it gave, of which `text` may be the beginning.
    size_bytes: usize,
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
            waits: false,
            text: String::new(),
            size_bytes: 0,
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

    /// Whether a text in small letters is in the call or in one that it made.
    pub(crate) fn contains(&self, query: &str) -> bool {
        let has = |text: &str| text.to_lowercase().contains(query);
        has(&self.name)
            || has(&self.text)
            || self.source().is_some_and(has)
            || has(&self.arguments.to_string())
            || self.nested.iter().any(|call| call.contains(query))
    }

    pub(crate) fn nest(&mut self, call: Self) {
        if self.nested.len() < NESTED_MAX {
            self.nested.push(call);
        } else {
            self.more_nested += 1;
        }
    }

    /// Says which calls wait for an answer, here and nested.
    pub(crate) fn set_waiting(&mut self, ids: &[String]) {
        self.waits = ids.contains(&self.id);
        for call in &mut self.nested {
            call.set_waiting(ids);
        }
    }

    /// The lines of its program that run or wait.
    fn lines(&self, source: &str) -> Lines {
        let mut lines = Lines::new();
        for call in self.nested.iter().filter(|call| !call.is_over()) {
            if let Some(line) = line_of(source, &call.name) {
                let state = if call.waits {
                    LineState::Waits
                } else {
                    LineState::Runs
                };
                let place = lines.entry(line).or_insert(state);
                *place = state.max(*place);
            }
        }
        lines
    }

    /// Its program, as the one that asks about one of its calls.
    pub(crate) fn asker(&self, call_id: Option<&str>) -> Option<Asker> {
        /// Tools that change nothing.
        const READERS: [&str; 5] = ["read", "ls", "grep", "find", "tool_search"];
        let source = self.source()?;
        let asking = self
            .nested
            .iter()
            .find(|call| Some(call.id.as_str()) == call_id);
        let may_have_changed =
            |call: &&Self| call.is_over() && !READERS.contains(&call.name.as_str());
        let effects = self.nested.iter().filter(may_have_changed).map(|call| {
            let mark = call.mark().0;
            format!("{mark}{} {}", call.name, call.about())
        });
        Some(Asker {
            line: asking.and_then(|call| line_of(source, &call.name)),
            source: source.to_owned(),
            effects: effects.collect(),
        })
    }

    /// What went to the model of what its program was given; `None` where it made no calls.
    fn traffic(&self) -> Option<Traffic> {
        if self.nested.is_empty() {
            return None;
        }
        let given: usize = self.nested.iter().map(|call| call.size_bytes).sum();
        let sent_bytes = self.size_bytes;
        Some(Traffic {
            sent_bytes,
            kept_bytes: given.saturating_sub(sent_bytes),
        })
    }

    pub(crate) fn update(&mut self, text: String) {
        self.text = text;
    }

    pub(crate) fn end(&mut self, outcome: CallOutcome) {
        self.state = if outcome.is_error {
            State::Failed
        } else {
            State::Done
        };
        self.text = outcome.text;
        self.size_bytes = outcome.size_bytes;
        self.duration = Some(outcome.duration);
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
            (Some(source), _) => {
                rows.extend(source_rows(source, &self.lines(source), columns, detail));
            }
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
        if detail == Detail::Whole && self.source().is_none() {
            rows.extend(arguments_rows(&self.arguments, columns));
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
        if let Some(traffic) = self.traffic() {
            let style = TextStyle::role(Role::Dim);
            rows.push(Row::new(traffic.words(), style).cut(columns));
        }
        rows
    }

    /// The sign of how far it is.
    fn mark(&self) -> (&'static str, Role) {
        match self.state {
            State::Running if self.waits => ("? ", Role::Warning),
            State::Running => ("· ", Role::Accent),
            State::Done => ("✓ ", Role::Success),
            State::Failed => ("✗ ", Role::Error),
        }
    }

    fn head(&self, columns: usize, depth: usize) -> Vec<Row> {
        let (mark, role) = self.mark();
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
        if depth > 0 && self.state == State::Done && self.size_bytes > 0 {
            end.push(' ');
            end.push_str(&bytes(self.size_bytes));
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
            if detail == Detail::Whole {
                for row in arguments_rows(&call.arguments, columns) {
                    rows.extend(wrap(&row.spans, columns, Wrap::Anywhere, &indent, &indent));
                }
            }
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
