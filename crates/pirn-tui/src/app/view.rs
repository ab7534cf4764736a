//! What is on the screen.

use std::time::Duration;

use pirn_terminal::{Attribute, Frame, Role, Row, Span, TextStyle, width};

use super::{App, PlainFrame};
use crate::event::Presentation;
use crate::keys::Action;

/// How often the sign of work moves: few bytes over slow lines, and still alive.
const WORK_STEP: Duration = Duration::from_millis(200);
/// What the sign of work looks like, one after the other.
const WORK_SIGNS: [&str; 6] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇"];
impl App {
    /// The rows of the screen now. Finished ones are given out once.
    pub fn frame(&mut self, columns: usize, rows: usize, now: Duration) -> Frame {
        let columns = columns.max(4);
        let mut finished = Vec::new();
        if !std::mem::replace(&mut self.header_is_drawn, true) {
            finished.extend(self.header(columns));
        }
        finished.extend(self.transcript.finished_rows(columns));
        let live_max = rows.saturating_sub(1).max(4);
        let (below, cursor) = self.below(columns, rows, now);
        let room = live_max.saturating_sub(below.len());
        let live = self.dialog(columns, room, now);
        let open = self.transcript.open_rows(columns);
        // A part of the screen stays for what is finished.
        let open_max = room.saturating_sub(live.len()).min(rows * 6 / 10);
        let mut all = last_rows(open, open_max);
        all.extend(live);
        let cursor = (all.len() + cursor.0, cursor.1);
        all.extend(below);
        Frame {
            finished,
            live: all,
            cursor,
        }
    }

    /// The rows of a screen that the conversation has for itself, and the cursor among them.
    pub fn full_screen(
        &mut self,
        columns: usize,
        rows: usize,
        now: Duration,
    ) -> (Vec<Row>, (usize, usize)) {
        let columns = columns.max(4);
        let (below, cursor) = self.below(columns, rows, now);
        let room = rows.saturating_sub(below.len() + 1);
        let dialog = self.dialog(columns, room, now);
        let room = rows.saturating_sub(below.len() + dialog.len()).max(1);
        // The last column stays free: some terminals wrap a row that fills it.
        let (mut all, place) = self.scroll.rows(&self.transcript, columns - 1, room);
        if place.below > 0
            && let Some(last) = all.last_mut()
        {
            let words = format!("… {} rows below, end shows them", place.below);
            *last = Row::new(words, TextStyle::role(Role::Accent)).cut(columns);
        }
        all.extend(dialog);
        let cursor = (all.len() + cursor.0, cursor.1);
        all.extend(below);
        all.truncate(rows);
        (all, cursor)
    }

    /// What a terminal shows that cannot move its cursor: rows that are finished, rows to be told when they change, and the line
    /// that is written.
    pub fn plain(&mut self, columns: usize, now: Duration) -> PlainFrame {
        let columns = columns.max(4);
        let mut finished = Vec::new();
        if !std::mem::replace(&mut self.header_is_drawn, true) {
            finished.extend(self.header(columns));
        }
        finished.extend(self.transcript.finished_rows(columns));
        let mut told = self.queue_rows(columns);
        if let Some(work) = &self.work {
            let words = work.words.as_deref().unwrap_or("Working");
            told.push(Row::new(words, TextStyle::PLAIN));
        }
        told.extend(self.dialog(columns, usize::MAX / 2, now));
        let text = self.editor.layout().rows.join(" ");
        PlainFrame {
            finished,
            told,
            line: format!("> {text}"),
        }
    }

    /// The queue, the sign of work, the editor and the footer, with the cursor among them.
    fn below(&mut self, columns: usize, rows: usize, now: Duration) -> (Vec<Row>, (usize, usize)) {
        let mut below = Vec::new();
        below.extend(self.queue_rows(columns));
        if let Some(row) = self.work_row(now) {
            below.push(row.cut(columns));
        }
        below.push(border(columns, self.border_role()));
        let (editor, (row, column)) = self.editor_rows(columns, (rows * 3 / 10).max(3));
        let cursor = (below.len() + row, column);
        below.extend(editor);
        below.push(border(columns, self.border_role()));
        if let Some(completion) = &self.completion {
            below.extend(completion.rows(columns));
        }
        below.extend(self.footer(columns));
        (below, cursor)
    }

    /// The list to choose from or the question that is open, in at most so many rows.
    fn dialog(&mut self, columns: usize, room: usize, now: Duration) -> Vec<Row> {
        let mut rows = Vec::new();
        if let Some(picker) = &self.picker {
            rows.extend(picker.rows(columns));
        } else if self.panel.is_open() {
            let asker = self
                .panel
                .first()
                .and_then(|question| self.transcript.asker(question));
            rows.extend(self.panel.rows(columns, room.max(4), asker.as_ref(), now));
            self.panel.drawn(now);
        }
        rows.truncate(room);
        rows
    }

    /// The rows of the second screen, while the whole conversation is shown there.
    pub fn viewer_rows(&mut self, columns: usize, rows: usize) -> Option<Vec<Row>> {
        let viewer = self.viewer.as_mut()?;
        let columns = columns.saturating_sub(1).max(4);
        Some(viewer.rows(&self.transcript, columns, rows))
    }

    /// How long what is on the screen stays right by itself; `None` for as long as nothing comes.
    pub fn patience(&self, now: Duration) -> Option<Duration> {
        let moves = self.presentation != Presentation::Plain;
        let work = self.work.as_ref().filter(|_| moves).map(|work| {
            let step = u32::try_from(WORK_STEP.as_millis()).unwrap_or(1);
            let into = now.saturating_sub(work.since).as_millis() % u128::from(step);
            WORK_STEP.saturating_sub(Duration::from_millis(
                u64::try_from(into).unwrap_or_default(),
            ))
        });
        let question = self.panel.waits_until().and_then(|at| at.checked_sub(now));
        work.into_iter()
            .chain(question.filter(|left| !left.is_zero()))
            .min()
    }

    fn header(&self, columns: usize) -> Vec<Row> {
        let key = |action| {
            let key = self.options.keymap.key_of(action);
            key.map(|key| key.to_string()).unwrap_or_default()
        };
        let name = Row::from(vec![
            Span::new("Pirn", TextStyle::role(Role::Accent).with(Attribute::Bold)),
            Span::new(
                format!(" {}  {}", self.options.version, self.options.folder),
                TextStyle::role(Role::Muted),
            ),
        ]);
        let hints = format!(
            "/ commands  @ files  ! shell  {} stops  {} twice leaves",
            key(Action::Interrupt),
            key(Action::Clear),
        );
        vec![
            name.cut(columns),
            Row::new(hints, TextStyle::role(Role::Dim)).cut(columns),
        ]
    }

    fn border_role(&self) -> Role {
        if self.editor.before_cursor().starts_with('!') {
            return Role::BashMode;
        }
        match self.figures.thinking.as_str() {
            "minimal" => Role::ThinkingMinimal,
            "low" => Role::ThinkingLow,
            "medium" => Role::ThinkingMedium,
            "high" => Role::ThinkingHigh,
            "xhigh" => Role::ThinkingXhigh,
            "max" => Role::ThinkingMax,
            _ => Role::ThinkingOff,
        }
    }

    fn queue_rows(&self, columns: usize) -> Vec<Row> {
        let style = TextStyle::role(Role::Dim);
        let row = |label: &str, text: &String| {
            let line = text.lines().next().unwrap_or_default();
            Row::new(format!("{label}: {line}"), style).cut(columns)
        };
        let mut rows: Vec<Row> = self.steering.iter().map(|text| row("next", text)).collect();
        rows.extend(self.follow_up.iter().map(|text| row("after", text)));
        if let Some(key) = self.options.keymap.key_of(Action::Dequeue)
            && !rows.is_empty()
        {
            rows.push(Row::new(format!("{key} takes them back"), style).cut(columns));
        }
        rows
    }

    fn work_row(&self, now: Duration) -> Option<Row> {
        let Some(work) = &self.work else {
            return self
                .cleared_at
                .map(|_| Row::new("press it once more to leave", TextStyle::role(Role::Muted)));
        };
        let elapsed = now.saturating_sub(work.since);
        let step = usize::try_from(elapsed.as_millis() / WORK_STEP.as_millis()).unwrap_or_default();
        let sign = WORK_SIGNS
            .get(step % WORK_SIGNS.len())
            .copied()
            .unwrap_or_default();
        let words = work.words.as_deref().unwrap_or("Working");
        Some(Row::from(vec![
            Span::new(format!("{sign} "), TextStyle::role(Role::Accent)),
            Span::new(
                format!("{words} {}s", elapsed.as_secs()),
                TextStyle::role(Role::Muted),
            ),
        ]))
    }

    fn editor_rows(&mut self, columns: usize, rows_max: usize) -> (Vec<Row>, (usize, usize)) {
        const MARK: &str = "> ";
        self.editor.set_columns(columns.saturating_sub(MARK.len()));
        let layout = self.editor.layout();
        let (row, column) = layout.cursor;
        let top = (row + 1).saturating_sub(rows_max);
        let shown = layout.rows.iter().enumerate().skip(top).take(rows_max);
        let rows = shown.map(|(index, text)| {
            let mark = if index == 0 { MARK } else { "  " };
            Row::from(vec![
                Span::new(mark, TextStyle::role(Role::Accent)),
                Span::new(text, TextStyle::role(Role::Text)),
            ])
        });
        (rows.collect(), (row - top, column + MARK.len()))
    }

    fn footer(&self, columns: usize) -> Vec<Row> {
        let style = TextStyle::role(Role::Dim);
        let figures = &self.figures;
        let mut place = self.options.folder.clone();
        if let Some(branch) = &figures.branch {
            place = format!("{place} ({branch})");
        }
        if let Some(name) = &figures.name {
            place = format!("{place} • {name}");
        }
        let mut parts = vec![format!(
            "↑{} ↓{}",
            count(figures.input),
            count(figures.output)
        )];
        if figures.cached > 0 {
            parts.push(format!("R{}", count(figures.cached)));
        }
        parts.push(match figures.cost {
            Some(cost) => format!("${cost:.3}"),
            None => "$?".to_owned(),
        });
        parts.push(match (figures.context, figures.window) {
            (Some(context), Some(window)) if window > 0 => {
                format!("{}%/{}", context * 100 / window, count(window))
            }
            (_, Some(window)) => format!("?/{}", count(window)),
            (_, None) => "?".to_owned(),
        });
        let left = parts.join(" ");
        let right = match figures.thinking.as_str() {
            "" | "off" => figures.model.clone(),
            level => format!("{} • {level}", figures.model),
        };
        let gap = columns
            .saturating_sub(1 + width(&left) + width(&right))
            .max(2);
        vec![
            Row::new(place, style).cut(columns),
            Row::new(format!("{left}{}{right}", " ".repeat(gap)), style).cut(columns),
        ]
    }
}

/// A line over the whole width but for one column: some terminals wrap a row that fills the last.
fn border(columns: usize, role: Role) -> Row {
    Row::new("─".repeat(columns - 1), TextStyle::role(role))
}

/// The last of many rows, with how many there are above.
fn last_rows(mut rows: Vec<Row>, rows_max: usize) -> Vec<Row> {
    if rows.len() > rows_max {
        let above = rows.len() - rows_max.saturating_sub(1);
        rows.drain(..above.min(rows.len()));
        if rows_max > 0 {
            rows.insert(
                0,
                Row::new(format!("… {above} rows above"), TextStyle::role(Role::Dim)),
            );
        }
    }
    rows
}

/// A number of tokens, for people.
fn count(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}.{}k", tokens / 1_000, tokens % 1_000 / 100),
        _ => format!("{}.{}M", tokens / 1_000_000, tokens % 1_000_000 / 100_000),
    }
}
