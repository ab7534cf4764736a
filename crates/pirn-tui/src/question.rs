//! The panel with what a program asks. It never takes keys from the editor: the user goes to it, and only what is pressed
//! after everything was on the screen for a while is an answer.

use std::time::Duration;

use pirn_terminal::{
    Attribute, KeyCode, KeyPress, Role, Row, Span, TextStyle, Wrap, visible_code, wrap,
};
use pirn_tool::{Answer, ApprovalRequest, CommandConfinement, Covers, Scope, Subject, Target};

use crate::call::{code_rows, diff_rows};
use crate::event::{OpenQuestions, Order};
use crate::script::{Asker, LineState};

/// How long a question has to be on the screen before a key answers it: a key that was meant for the editor was pressed by then.
const GUARD: Duration = Duration::from_millis(500);

/// The open questions as they are shown.
#[derive(Debug, Default)]
pub(crate) struct Panel {
    open: OpenQuestions,
    /// Since when what is shown is on the screen; `None` before it was drawn.
    shown_since: Option<Duration>,
    pub(crate) has_focus: bool,
    /// The first row that is shown.
    top: usize,
    /// Whether the last row was shown.
    seen_end: bool,
    /// Rows of the body at the last drawing, and those that had room.
    drawn: (usize, usize),
}

/// What a key in the panel comes to.
#[derive(Debug, PartialEq)]
pub(crate) enum PanelKey {
    Order(Order),
    /// The key means nothing there.
    Ignored,
    /// The user goes back to the editor.
    Left,
    /// Deny, with what stands in the editor as the reason.
    DenyWithWords,
}

impl Panel {
    pub(crate) fn is_open(&self) -> bool {
        !self.open.questions.is_empty()
    }

    pub(crate) fn open(&self) -> &OpenQuestions {
        &self.open
    }

    pub(crate) fn first(&self) -> Option<&ApprovalRequest> {
        self.open.questions.first().map(AsRef::as_ref)
    }

    pub(crate) fn set(&mut self, open: OpenQuestions) {
        let ids = |open: &OpenQuestions| {
            open.questions
                .iter()
                .map(|question| question.id.clone())
                .collect::<Vec<_>>()
        };
        if ids(&self.open) != ids(&open) {
            // Another question, or one more: what was on the screen is no longer what is answered.
            self.shown_since = None;
            self.top = 0;
            self.seen_end = false;
        }
        self.open = open;
        if self.open.questions.is_empty() {
            self.has_focus = false;
        }
    }

    /// What is shown was drawn.
    pub(crate) fn drawn(&mut self, now: Duration) {
        if self.is_open() && self.shown_since.is_none() {
            self.shown_since = Some(now);
        }
    }

    /// Whether keys count yet.
    fn is_ready(&self, now: Duration) -> bool {
        self.shown_since.is_some_and(|since| now >= since + GUARD)
    }

    /// When keys begin to count, for the hint that says so.
    pub(crate) fn waits_until(&self) -> Option<Duration> {
        self.shown_since
            .filter(|_| self.is_open())
            .map(|since| since + GUARD)
    }

    pub(crate) fn focus(&mut self, now: Duration) {
        if self.is_ready(now) {
            self.has_focus = true;
        }
    }

    pub(crate) fn key(&mut self, key: KeyPress, now: Duration) -> PanelKey {
        match key.code {
            KeyCode::Escape | KeyCode::Tab => {
                self.has_focus = false;
                return PanelKey::Left;
            }
            KeyCode::Up => self.top = self.top.saturating_sub(1),
            KeyCode::PageUp => self.top = self.top.saturating_sub(self.drawn.1),
            KeyCode::Down => self.scroll(1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.scroll(self.drawn.1),
            _ => {}
        }
        let (Some(question), true, Some(typed)) = (self.first(), self.is_ready(now), key.typed())
        else {
            return PanelKey::Ignored;
        };
        let answer = match typed.to_ascii_lowercase() {
            'n' => Answer::deny(),
            'd' => return PanelKey::DenyWithWords,
            // What a server wants to know has to be filled in, which cannot be done here.
            'y' | '1'..='9' if matches!(question.subject, Subject::Elicitation { .. }) => {
                return PanelKey::Ignored;
            }
            'y' if self.seen_end => match question.choices.first() {
                Some(choice) => Answer::allow(choice.clone()),
                None => return PanelKey::Ignored,
            },
            number @ '1'..='9' if self.seen_end => {
                let index =
                    usize::try_from(u32::from(number) - u32::from('1')).unwrap_or(usize::MAX);
                match question.choices.get(index) {
                    Some(choice) => Answer::allow(choice.clone()),
                    None => return PanelKey::Ignored,
                }
            }
            _ => return PanelKey::Ignored,
        };
        PanelKey::Order(self.order(answer))
    }

    fn scroll(&mut self, rows: usize) {
        let last = self.drawn.0.saturating_sub(self.drawn.1);
        self.top = (self.top + rows).min(last);
    }

    /// Answers the question that is shown.
    pub(crate) fn order(&self, answer: Answer) -> Order {
        Order::Answer {
            revision: self.open.revision,
            id: self
                .first()
                .map(|question| question.id.clone())
                .unwrap_or_default(),
            answer,
        }
    }

    /// The panel in at most so many rows.
    pub(crate) fn rows(
        &mut self,
        columns: usize,
        rows_max: usize,
        asker: Option<&Asker>,
        now: Duration,
    ) -> Vec<Row> {
        let Some(question) = self.first().cloned() else {
            return Vec::new();
        };
        let strong = TextStyle::role(Role::Warning).with(Attribute::Bold);
        let more = self.open.questions.len() - 1;
        let title = match more {
            0 => title(&question),
            _ => format!("{} ({more} more)", title(&question)),
        };
        let mut rows = wrap(&[Span::new(title, strong)], columns, Wrap::Words, &[], &[]);
        let body = body(&question, columns, asker);
        let answers = self.answers(&question, columns, now);
        let room = rows_max
            .saturating_sub(rows.len() + answers.len() + 1)
            .max(1);
        self.drawn = (body.len(), room);
        let fits = body.len() <= room;
        self.top = if fits {
            0
        } else {
            self.top.min(body.len() - room)
        };
        self.seen_end |= self.top + room >= body.len();
        let below = body.len().saturating_sub(self.top + room);
        rows.extend(body.into_iter().skip(self.top).take(room));
        if !fits {
            let words = if below > 0 {
                format!("… {below} more rows: page down; a yes counts when all was shown")
            } else {
                "… that is all; page up shows it again".to_owned()
            };
            rows.push(Row::new(words, TextStyle::role(Role::Muted)).cut(columns));
        }
        rows.extend(answers);
        rows
    }

    fn answers(&self, question: &ApprovalRequest, columns: usize, now: Duration) -> Vec<Row> {
        if !self.has_focus {
            let words = if self.is_ready(now) {
                "tab: answer (the program waits)"
            } else {
                "the program waits for an answer"
            };
            return vec![Row::new(words, TextStyle::role(Role::Muted)).cut(columns)];
        }
        let mut line = Vec::new();
        let is_form = matches!(question.subject, Subject::Elicitation { .. });
        let choices = if is_form { &[][..] } else { &question.choices };
        for (index, choice) in choices.iter().enumerate().take(9) {
            let key = if index == 0 {
                "y".to_owned()
            } else {
                (index + 1).to_string()
            };
            line.push(Span::new(
                format!("[{key}] "),
                TextStyle::role(Role::Accent),
            ));
            line.push(Span::new(
                format!("{}  ", choice_words(choice.scope, &choice.covers)),
                TextStyle::PLAIN,
            ));
        }
        for (key, words) in [
            ("n", "no"),
            ("d", "no, for the reason in the editor"),
            ("esc", "later"),
        ] {
            line.push(Span::new(
                format!("[{key}] "),
                TextStyle::role(Role::Accent),
            ));
            line.push(Span::new(format!("{words}  "), TextStyle::PLAIN));
        }
        wrap(&line, columns, Wrap::Words, &[], &[])
    }
}

fn choice_words(scope: Scope, covers: &Covers) -> String {
    let what = match covers {
        Covers::Arguments => "this".to_owned(),
        Covers::Folder { path } => format!("folder {}", path.display()),
        Covers::Host { host, port } => format!("{host}:{port}"),
        Covers::Tool => "all its calls".to_owned(),
    };
    match scope {
        Scope::Once => "yes, once".to_owned(),
        Scope::Run => format!("{what} for this run"),
        Scope::Session => format!("{what} for this session"),
        Scope::Always => format!("{what} always"),
    }
}

fn title(question: &ApprovalRequest) -> String {
    match &question.subject {
        Subject::Tool(tool) => match (&tool.server, tool.confinement) {
            (Some(server), _) => format!("Allow {} of {server}?", tool.name),
            (None, CommandConfinement::Unconfined) => {
                format!("Allow {}, which nothing confines?", tool.name)
            }
            (None, CommandConfinement::NoCommand | CommandConfinement::Confined) => {
                format!("Allow {}?", tool.name)
            }
        },
        Subject::Program(program) => format!("Run this {} program?", program.language),
        Subject::Host => "Allow a connection?".to_owned(),
        Subject::Trust { folder } => format!("Trust {folder}?"),
        Subject::Elicitation { server, .. } => format!("{server} asks"),
    }
}

/// Everything that the answer is about, each character as what it is.
fn body(question: &ApprovalRequest, columns: usize, asker: Option<&Asker>) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut fact = |name: &str, text: &str| {
        let label = [Span::new(format!("{name}: "), TextStyle::role(Role::Muted))];
        let rest = [Span::new("  ", TextStyle::PLAIN)];
        for (index, line) in visible_code(text).lines().enumerate() {
            let first = if index == 0 { &label[..] } else { &rest[..] };
            let spans = [Span::new(line.replace('\t', "    "), TextStyle::PLAIN)];
            rows.extend(wrap(&spans, columns, Wrap::Words, first, &rest));
        }
    };
    if let Subject::Elicitation { message, .. } = &question.subject {
        fact("message", message);
        fact(
            "note",
            "forms of servers cannot be filled in here yet; `pirn mcp call` can",
        );
    }
    let text = |value: &serde_json::Value| match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    };
    let is_edit = matches!(&question.subject, Subject::Tool(tool) if tool.name == "edit");
    match question.arguments.as_object() {
        Some(members) => {
            for (name, value) in members {
                if !(is_edit && name == "edits") {
                    fact(name, &text(value));
                }
            }
        }
        None if question.arguments.is_null() => {}
        None => fact("arguments", &text(&question.arguments)),
    }
    match &question.target {
        Some(Target::Path { path }) => fact("leads to", &path.to_string_lossy()),
        Some(Target::Host { host, port }) => fact("leads to", &format!("{host} at port {port}")),
        None => {}
    }
    let effects: Vec<&str> = question.effects.names().collect();
    if !effects.is_empty() {
        fact("effects", &effects.join(", "));
    }
    if !question.reason.is_empty() {
        fact("why", &question.reason);
    }
    if is_edit && let Some(edits) = question.arguments["edits"].as_array() {
        let side = |edit: &serde_json::Value, key: &str| {
            visible_code(edit[key].as_str().unwrap_or_default())
        };
        let edits: Vec<(String, String)> = edits
            .iter()
            .map(|edit| (side(edit, "oldText"), side(edit, "newText")))
            .collect();
        rows.extend(diff_rows(&edits, columns));
    }
    if let Subject::Program(program) = &question.subject {
        let none = std::collections::BTreeMap::new();
        rows.extend(code_rows(&visible_code(&program.source), &none, columns));
    }
    if let Some(asker) = asker {
        let words = match asker.line {
            Some(line) => format!("asked by line {line} of this program:"),
            None => "asked by this program:".to_owned(),
        };
        rows.push(Row::new(words, TextStyle::role(Role::Muted)));
        let lines = asker.line.map(|line| (line, LineState::Waits));
        let lines = lines.into_iter().collect();
        rows.extend(code_rows(&visible_code(&asker.source), &lines, columns));
        if !asker.effects.is_empty() {
            let words = "what it did already:";
            rows.push(Row::new(words, TextStyle::role(Role::Muted)));
        }
        for effect in &asker.effects {
            let spans = [Span::new(effect, TextStyle::PLAIN)];
            let indent = [Span::new("  ", TextStyle::PLAIN)];
            rows.extend(wrap(&spans, columns, Wrap::Words, &indent, &indent));
        }
    }
    rows
}
