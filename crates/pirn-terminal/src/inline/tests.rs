use avt::Terminal;
use proptest::prelude::*;

use super::{Frame, InlinePainter, Palette};
use crate::input::Scheme;
use crate::row::{Attribute, Row, Span, TextStyle, Wrap};
use crate::theme::{ColorDepth, Role, Theme};

struct Desk {
    terminal: Terminal,
    painter: InlinePainter,
    bytes: usize,
}

impl Desk {
    fn new(columns: usize, rows: usize) -> Self {
        let mut terminal = Terminal::with_scrollback(columns, rows, None).unwrap();
        terminal.feed("shell 1\r\nshell 2\r\n$ pirn\r\n");
        Self {
            terminal,
            painter: InlinePainter::new(palette(), columns, rows),
            bytes: 0,
        }
    }

    fn draw(&mut self, finished: &[&str], live: &[&str]) -> String {
        let frame = Frame {
            finished: rows(finished),
            live: rows(live),
            cursor: (live.len().saturating_sub(1), 0),
        };
        self.draw_frame(&frame)
    }

    fn draw_frame(&mut self, frame: &Frame) -> String {
        let written = self.painter.draw(frame);
        assert!(!written.contains("\u{1b}[2J") && !written.contains("\u{1b}[3J"));
        self.bytes += written.len();
        self.terminal.feed(&*written);
        written
    }

    fn resize(&mut self, columns: usize, rows: usize) {
        self.terminal.resize(columns, rows);
        self.painter.resize(columns, rows);
    }

    /// All lines, with those that the terminal wrapped as one, without empty ones at the end.
    fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut goes_on = false;
        for line in self.terminal.screen().all_lines() {
            let text = line.text();
            if goes_on {
                lines.last_mut().unwrap().push_str(&text);
            } else {
                lines.push(text);
            }
            goes_on = line.is_wrapped();
        }
        let mut lines: Vec<String> = lines
            .iter()
            .map(|line| line.trim_end().to_owned())
            .collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }
}

fn palette() -> Palette {
    Palette {
        theme: Theme::system(Scheme::Dark),
        depth: ColorDepth::True,
    }
}

fn rows(texts: &[&str]) -> Vec<Row> {
    texts
        .iter()
        .map(|text| Row::new(text, TextStyle::PLAIN))
        .collect()
}

fn strings(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

const SHELL: [&str; 3] = ["shell 1", "shell 2", "$ pirn"];

#[test]
fn finished_rows_go_above_the_live_ones() {
    let mut desk = Desk::new(20, 6);
    desk.draw(&[], &["edit", "foot"]);
    desk.draw(&["one", "two"], &["edit", "foot"]);
    desk.draw(
        &["three", "four", "five", "six", "seven", "eight"],
        &["more", "edit", "foot"],
    );
    let expected = [
        &SHELL[..],
        &[
            "one", "two", "three", "four", "five", "six", "seven", "eight", "more", "edit", "foot",
        ],
    ]
    .concat();
    assert_eq!(desk.lines(), strings(&expected));
    // Fewer rows leave nothing behind.
    desk.draw(&["nine"], &["foot"]);
    assert_eq!(desk.lines().last().unwrap(), "foot");
    assert_eq!(desk.lines().len(), 13);
}

#[test]
fn a_finished_row_that_is_on_the_screen_is_not_written_again() {
    let mut desk = Desk::new(40, 10);
    desk.draw(&[], &["a first line of text", "second", "edit"]);
    let written = desk.draw(&["a first line of text"], &["second", "third", "edit"]);
    assert!(
        !written.contains("first") && !written.contains("second"),
        "{written:?}"
    );
    assert!(written.len() < 40, "{written:?}");
    assert_eq!(
        desk.lines(),
        strings(&[
            "shell 1",
            "shell 2",
            "$ pirn",
            "a first line of text",
            "second",
            "third",
            "edit"
        ])
    );
}

#[test]
fn a_key_costs_its_character() {
    let mut desk = Desk::new(40, 10);
    let frame = |text: &str| Frame {
        finished: Vec::new(),
        live: rows(&["working", text, "foot"]),
        cursor: (1, text.len()),
    };
    desk.draw_frame(&frame("> hell"));
    assert_eq!(desk.draw_frame(&frame("> hello")), "o");
    assert_eq!(desk.draw_frame(&frame("> hello")), "");
}

#[test]
fn a_long_line_is_one_line_for_the_terminal() {
    let mut desk = Desk::new(10, 8);
    let finished = Row::of_text(
        "0123456789abcdefghijKLM",
        TextStyle::PLAIN,
        10,
        Wrap::Anywhere,
    );
    let frame = Frame {
        finished,
        live: rows(&["edit"]),
        cursor: (0, 0),
    };
    desk.draw(&[], &["edit"]);
    desk.draw_frame(&frame);
    assert_eq!(
        desk.lines()[3..],
        strings(&["0123456789abcdefghijKLM", "edit"])
    );
}

#[test]
fn widths_that_terminals_dispute_do_not_move_what_follows() {
    let mut desk = Desk::new(20, 6);
    let row = Row::from(vec![
        Span::new("❤\u{fe0f}", TextStyle::PLAIN),
        Span::new("|", TextStyle::role(Role::Accent).with(Attribute::Bold)),
    ]);
    let written = desk.draw_frame(&Frame {
        finished: Vec::new(),
        live: vec![row],
        cursor: (0, 0),
    });
    assert!(written.contains("❤\u{fe0f}\u{1b}[3G"), "{written:?}");
    let line = desk.terminal.screen().line(3).unwrap().cells()[2].char();
    assert_eq!(line, '|');
}

#[test]
fn a_new_size_draws_the_live_rows_again_and_nothing_else() {
    let mut desk = Desk::new(40, 8);
    let wide = "x".repeat(38);
    desk.draw(&["one"], &[&wide, "edit", "foot"]);
    for columns in [15, 40, 11, 25] {
        desk.resize(columns, 8);
        desk.draw(&[], &["work", "edit", "foot"]);
        assert_eq!(
            desk.lines(),
            strings(&[
                "shell 1", "shell 2", "$ pirn", "one", "work", "edit", "foot"
            ]),
            "{columns}"
        );
    }
}

fn texts(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-z漢]{0,9}", count)
}

proptest! {
    #[test]
    fn the_screen_is_what_a_fresh_draw_shows(
        frames in prop::collection::vec((texts(0..12), texts(1..5), any::<(prop::sample::Index, u8)>()), 1..12),
        size in (20_usize..40, 6_usize..12),
    ) {
        let mut desk = Desk::new(size.0, size.1);
        let mut history = strings(&SHELL);
        for (finished, live, (row, column)) in frames {
            let finished: Vec<&str> = finished.iter().map(String::as_str).collect();
            let live: Vec<&str> = live.iter().map(String::as_str).collect();
            let cursor = (row.index(live.len()), usize::from(column) % 18);
            desk.draw_frame(&Frame { finished: rows(&finished), live: rows(&live), cursor });
            history.extend(strings(&finished));
            let mut expected = history.clone();
            expected.extend(strings(&live));
            let row_of_cursor = history.len() + cursor.0;
            while expected.last().is_some_and(String::is_empty) {
                expected.pop();
            }
            prop_assert_eq!(desk.lines(), expected);
            let above = desk.terminal.screen().all_lines().count() - size.1;
            let at = desk.terminal.cursor().position().unwrap();
            prop_assert_eq!((at.1 + above, at.0), (row_of_cursor, cursor.1));
        }
    }
}
