//! What is on the screen.

use std::time::Duration;

use pirn_terminal::{Attribute, Frame, Role, Row, Span, TextStyle, width};

use super::App;
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

        let mut below = Vec::new();
        below.extend(self.queue_rows(columns));
        if let Some(row) = self.work_row(now) {
            below.push(row.cut(columns));
        }
        below.push(border(columns, self.border_role()));
        let (editor, cursor) = self.editor_rows(columns, (rows * 3 / 10).max(3));
        let (cursor_row, cursor_column) = cursor;
        let editor_start = below.len();
        below.extend(editor);
        below.push(border(columns, self.border_role()));
        if let Some(completion) = &self.completion {
            below.extend(completion.rows(columns));
        }
        below.extend(self.footer(columns));

        let room = live_max.saturating_sub(below.len());
        let mut live = Vec::new();
        if let Some(picker) = &self.picker {
            live.extend(picker.rows(columns));
        } else if self.panel.is_open() {
            let parent = self
                .panel
                .first()
                .and_then(|question| question.parent_call_id.clone());
            let source = parent.and_then(|parent| {
                self.transcript
                    .call(&parent)
                    .and_then(|call| call.source().map(str::to_owned))
            });
            live.extend(
                self.panel
                    .rows(columns, room.max(4), source.as_deref(), now),
            );
            self.panel.drawn(now);
        }
        live.truncate(room);
        let open = self.transcript.open_rows(columns);
        // A part of the screen stays for what is finished.
        let open_max = room.saturating_sub(live.len()).min(rows * 6 / 10);
        let mut all = last_rows(open, open_max);
        all.extend(live);
        let above = all.len();
        all.extend(below);
        let cursor = (above + editor_start + cursor_row, cursor_column);
        Frame {
            finished,
            live: all,
            cursor,
        }
    }

    /// The rows of the second screen, while the whole conversation is shown there.
    pub fn viewer_rows(&mut self, columns: usize, rows: usize) -> Option<Vec<Row>> {
        let viewer = self.viewer.as_mut()?;
        let all = self.transcript.all_rows(columns.saturating_sub(1).max(4));
        Some(viewer.rows(all, columns, rows))
    }

    /// How long what is on the screen stays right by itself; `None` for as long as nothing comes.
    pub fn patience(&self, now: Duration) -> Option<Duration> {
        let work = self.work.as_ref().map(|work| {
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
