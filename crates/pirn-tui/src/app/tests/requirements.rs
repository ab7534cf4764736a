//! What users of such interfaces suffer from, one test for each requirement that is seen without a process.

use std::time::Duration;

use avt::Terminal;
use pirn_terminal::{
    AlternatePainter, ColorDepth, Connection, Decoder, InlinePainter, Palette, Row, Scheme, Theme,
};
use serde_json::json;

use super::{TestScreen, ended, question, questions, say, started};
use crate::app::{App, AppOptions, Request};
use crate::event::{OpenQuestions, Presentation, UiEvent};

/// The bytes that an interface writes, apart from a screen.
struct Wire {
    app: App,
    painter: InlinePainter,
    size: (usize, usize),
}

impl Wire {
    fn new(columns: usize, rows: usize) -> Self {
        Self {
            app: App::new(AppOptions::default()),
            painter: InlinePainter::new(palette(ColorDepth::True), columns, rows),
            size: (columns, rows),
        }
    }

    fn draw(&mut self) -> String {
        let (columns, rows) = self.size;
        let frame = self.app.frame(columns, rows, Duration::ZERO);
        self.painter.draw(&frame)
    }

    fn event(&mut self, event: UiEvent) -> String {
        self.app.event(event, Duration::ZERO);
        self.draw()
    }

    fn key(&mut self, bytes: &str) -> String {
        let inputs = Decoder::new(Connection::Local).push(bytes.as_bytes());
        self.app.inputs(&inputs, Duration::ZERO);
        self.draw()
    }
}

fn palette(depth: ColorDepth) -> Palette {
    Palette {
        theme: Theme::system(Scheme::Dark),
        depth,
    }
}

/// Numbers that look random and are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// An answer of the model, piece by piece.
fn stream(wire: &mut Wire, text: &str, piece: usize) -> usize {
    let characters: Vec<char> = text.chars().collect();
    let pieces = characters.chunks(piece);
    pieces
        .map(|piece| wire.event(UiEvent::ReplyText(piece.iter().collect())).len())
        .sum()
}

/// Prose of so many bytes.
fn prose(bytes: usize) -> String {
    let sentence = "The quick brown fox jumps over the lazy dog and goes on through the wood. ";
    let mut text = String::new();
    while text.len() < bytes {
        for _ in 0..6 {
            text.push_str(sentence);
        }
        text.push_str("\n\n");
    }
    text
}

/// That many lines, each with its number from 0.
fn numbered_rows(count: usize) -> String {
    (0..count).fold(String::new(), |rows, row| rows + &format!("row {row}\n"))
}

#[test]
fn r1_only_what_changes_is_erased() {
    let mut wire = Wire::new(80, 24);
    let mut written = wire.draw();
    written += &wire.event(UiEvent::RunStarted);
    for number in 0..50 {
        written += &wire.event(UiEvent::ReplyText(format!("row {number}\n\n")));
        written += &wire.key("x");
    }
    for sequence in ["\u{1b}[2J", "\u{1b}[3J", "\u{1b}[H\u{1b}[J", "\u{1b}c"] {
        assert!(!written.contains(sequence), "{sequence:?}");
    }
}

#[test]
fn r3_every_row_goes_into_the_history_once_and_by_line_feeds() {
    let mut screen = TestScreen::sized(50, 12);
    for number in 0..200 {
        screen.event(UiEvent::UserSaid(format!("message <{number}>")));
    }
    let history = screen.screen();
    for number in 0..200 {
        let message = format!("message <{number}>");
        assert_eq!(history.matches(&message).count(), 1, "{message}");
    }
    let mut wire = Wire::new(50, 12);
    let mut written = wire.draw();
    for number in 0..200 {
        written += &wire.event(UiEvent::UserSaid(format!("message {number}")));
    }
    // A scroll by command is lost in some terminals.
    let scrolls = written.split("\u{1b}[").skip(1).any(|rest| {
        rest.trim_start_matches(|digit: char| digit.is_ascii_digit())
            .starts_with('S')
    });
    assert!(!scrolls);
}

#[test]
fn r4_a_view_that_was_scrolled_up_stays() {
    let mut screen = TestScreen::sized(60, 20);
    screen.keys("/tui fullscreen\r");
    assert_eq!(screen.app.presentation(), Presentation::FullScreen);
    for number in 0..60 {
        screen
            .app
            .event(UiEvent::Note(format!("note {number}")), screen.now);
    }
    let shown = |screen: &mut TestScreen| -> Vec<String> {
        let (rows, _) = screen.app.full_screen(60, 20, screen.now);
        rows.iter().map(Row::text).collect()
    };
    assert!(shown(&mut screen).iter().any(|row| row == "note 59"));
    screen.keys("\u{1b}[5~");
    let before = shown(&mut screen);
    assert!(!before.iter().any(|row| row == "note 59"));
    for number in 60..90 {
        screen
            .app
            .event(UiEvent::Note(format!("note {number}")), screen.now);
    }
    let after = shown(&mut screen);
    assert_eq!(before.first(), after.first());
    assert!(
        after.iter().any(|row| row.contains("rows below")),
        "{after:#?}"
    );
    screen.keys("\u{1b}[1;5F");
    assert!(shown(&mut screen).iter().any(|row| row == "note 89"));
}

#[test]
fn r6_nothing_stands_beside_the_text() {
    let mut screen = TestScreen::sized(60, 20);
    screen.event(UiEvent::ReplyText(
        "```\nlet a = 1;\n\tlet b = 2;\n```\n\n".to_owned(),
    ));
    screen.event(UiEvent::ReplyEnded(None));
    let shown = screen.screen();
    assert!(
        shown.lines().all(|line| !line.contains(['│', '|', '┃'])),
        "{shown}"
    );
}

#[test]
fn r7_the_mouse_is_left_to_the_terminal() {
    let mut wire = Wire::new(80, 24);
    let mut written = wire.draw();
    written += &wire.key("text");
    let mut painter = AlternatePainter::new(palette(ColorDepth::True));
    let (rows, cursor) = wire.app.full_screen(80, 24, Duration::ZERO);
    written += &painter.draw_with_cursor(&rows, cursor);
    written += painter.leave();
    written += pirn_terminal::MODES_OFF;
    for mode in ["?1000", "?1002", "?1003", "?1006"] {
        assert!(!written.contains(mode), "{mode}");
    }
}

#[test]
fn r8_waiting_costs_few_bytes() {
    let mut wire = Wire::new(110, 36);
    wire.draw();
    wire.event(UiEvent::RunStarted);
    let mut now = Duration::ZERO;
    let (mut frames, mut bytes) = (0, 0);
    while now < Duration::from_secs(10) {
        now += wire
            .app
            .patience(now)
            .unwrap()
            .max(Duration::from_millis(1));
        let frame = wire.app.frame(110, 36, now);
        let written = wire.painter.draw(&frame).len();
        frames += usize::from(written > 0);
        bytes += written;
    }
    assert!(frames <= 100, "{frames} frames in 10 s");
    assert!(bytes <= frames * 40, "{bytes} bytes in {frames} frames");
}

#[test]
fn r9_a_key_writes_as_much_after_five_thousand_messages_as_after_none() {
    let mut long = Wire::new(80, 24);
    let mut short = Wire::new(80, 24);
    for number in 0..5_000 {
        long.app.event(
            UiEvent::UserSaid(format!("message {number}")),
            Duration::ZERO,
        );
    }
    long.draw();
    short.draw();
    for key in ["a", "b", "\u{7f}", "\u{1b}[D"] {
        let (long, short) = (long.key(key), short.key(key));
        assert_eq!(long, short, "{key:?}");
        assert!(long.len() <= 120, "{long:?}");
    }
}

#[test]
fn r10_nothing_waits_for_an_answer_of_the_terminal() {
    // No reply ever came, and the position of the cursor is never asked.
    let mut wire = Wire::new(80, 24);
    let written = wire.draw() + &wire.key("typed");
    assert!(
        written.contains("typed") && !written.contains("6n"),
        "{written:?}"
    );
}

#[test]
fn r11_torn_and_unknown_sequences_swallow_no_keys() {
    let mut decoder = Decoder::new(Connection::Local);
    let mut keys = 0;
    for bytes in [
        "\u{1b}]",
        "a",
        "\u{1b}[?9999;1$y",
        "b",
        "\u{1b}P1+r\u{1b}\\",
        "c",
    ] {
        keys += decoder.push(bytes.as_bytes()).len();
        keys += decoder.expire().len();
    }
    assert!(keys >= 3, "{keys}");
    assert_eq!(decoder.patience(), None);
}

#[test]
fn r12_a_paste_of_a_megabyte_is_one_step_of_undo() {
    let mut screen = TestScreen::new();
    let text = "line of text\n".repeat(90_000);
    screen.keys("kept ");
    screen.keys(&format!("\u{1b}[200~{text}\u{1b}[201~"));
    assert_eq!(screen.app.draft().text.len(), 5 + text.len());
    screen.check(&["> kept [paste"]);
    screen.keys("\u{1f}");
    assert_eq!(screen.app.draft().text, "kept ");
}

#[test]
fn r14_the_screen_is_what_a_fresh_one_would_be_after_random_events() {
    let mut numbers = Numbers(14);
    let mut screen = TestScreen::sized(60, 18);
    for step in 0..2_000 {
        match numbers.below(12) {
            0 => drop(screen.keys("\u{7f}")),
            1 => drop(screen.keys("\u{1b}[D")),
            2 => drop(screen.keys("\n")),
            3 => drop(screen.keys("\u{15}")),
            4 if step % 7 == 0 => screen.event(UiEvent::ReplyText("end.\n\n".to_owned())),
            4 => screen.event(UiEvent::ReplyText(format!("word{step} "))),
            5 if numbers.below(20) == 0 => screen.event(UiEvent::ReplyEnded(None)),
            6 if numbers.below(20) == 0 => screen.event(UiEvent::Note(format!("note {step}"))),
            7 => drop(screen.keys("漢")),
            _ => drop(screen.keys("ab ")),
        }
    }
    let (columns, rows) = screen.size;
    let frame = screen.app.frame(columns, rows, screen.now);
    let mut fresh = Terminal::new(columns, rows).unwrap();
    let mut painter = InlinePainter::new(palette(ColorDepth::True), columns, rows);
    fresh.feed(&*painter.draw(&frame));
    let live = |terminal: &Terminal| -> Vec<String> {
        let lines = terminal.screen().all_lines();
        let lines: Vec<String> = lines
            .map(|line| line.text().trim_end().to_owned())
            .collect();
        let end = lines.iter().rposition(|line| !line.is_empty()).unwrap() + 1;
        lines[end - frame.live.len()..end].to_vec()
    };
    assert_eq!(live(&screen.terminal), live(&fresh));
}

#[test]
fn r15_streaming_writes_little_more_than_the_text() {
    let text = prose(16 << 10);
    // 4.8 KB in a second, thirty frames in one.
    let mut wire = Wire::new(110, 36);
    wire.draw();
    let fast = stream(&mut wire, &text, 160);
    assert!(fast <= 4 * text.len(), "{fast} bytes for {}", text.len());
    // 320 characters in a second.
    let mut wire = Wire::new(110, 36);
    wire.draw();
    let slow = stream(&mut wire, &text, 11);
    assert!(slow <= 12 * text.len(), "{slow} bytes for {}", text.len());
}

#[test]
fn r16_two_hundred_sizes_leave_every_message_once() {
    let mut numbers = Numbers(16);
    let mut screen = TestScreen::sized(80, 24);
    for number in 0..200 {
        screen.event(UiEvent::UserSaid(format!("message <{number}>")));
        let columns = usize::try_from(20 + numbers.below(120)).unwrap();
        let rows = usize::try_from(12 + numbers.below(30)).unwrap();
        screen.resize(columns, rows);
    }
    screen.resize(80, 24);
    let history = screen.screen();
    for number in 0..200 {
        let message = format!("message <{number}>");
        assert_eq!(
            history.matches(&message).count(),
            1,
            "{message} in\n{history}"
        );
    }
    assert_eq!(history.matches("↑0 ↓0").count(), 1, "{history}");
}

#[test]
fn r17_the_column_is_said_after_each_cluster_that_terminals_count_differently() {
    let mut wire = Wire::new(80, 24);
    wire.draw();
    let written = wire.event(UiEvent::UserSaid("❤️ 👨‍👩‍👧 end".to_owned()));
    for cluster in ["❤\u{fe0f}", "👨\u{200d}👩\u{200d}👧"] {
        let (_, after) = written.split_once(cluster).unwrap();
        let column = after.strip_prefix("\u{1b}[").unwrap();
        let digits = column.trim_start_matches(|digit: char| digit.is_ascii_digit());
        assert!(digits.starts_with('G'), "{after:?}");
    }
}

#[test]
fn r22_what_is_cut_says_how_much_and_which_key_opens_it() {
    let mut screen = TestScreen::sized(60, 24);
    let output = numbered_rows(100);
    screen.event(started("1", None, "bash", json!({"command": "many"})));
    screen.event(ended("1", &output, false));
    screen.check(&["… 94 earlier rows, ctrl+t shows all"]);
}

#[test]
fn r26_without_colours_nothing_is_coloured_and_states_are_signs() {
    let mut wire = Wire::new(80, 24);
    wire.painter.set_palette(palette(ColorDepth::None));
    let mut written = wire.draw();
    written += &wire.event(started("1", None, "ls", json!({})));
    written += &wire.event(ended("1", "none", true));
    for rest in written.split("\u{1b}[").skip(1) {
        let end = rest.find(|end: char| ('@'..='~').contains(&end)).unwrap();
        let (codes, tail) = rest.split_at(end);
        let is_color = |code: &str| matches!(code.parse(), Ok(30..=49_u32 | 90..=107));
        assert!(
            !tail.starts_with('m') || !codes.split(';').any(is_color),
            "{codes}"
        );
    }
    assert!(written.contains('✗'), "{written:?}");
}

#[test]
fn r27_lines_only_have_no_animation_and_numbered_choices() {
    let mut app = App::new(AppOptions {
        presentation: Presentation::Plain,
        ..AppOptions::default()
    });
    app.event(UiEvent::RunStarted, Duration::ZERO);
    assert_eq!(app.patience(Duration::ZERO), None);
    let first = app.plain(60, Duration::ZERO);
    let later = app.plain(60, Duration::from_secs(5));
    assert_eq!(first.told, later.told);
    assert_eq!(first.told[0].text(), "Working");
    app.event(questions(&["q"]), Duration::ZERO);
    app.plain(60, Duration::ZERO);
    let now = Duration::from_millis(500);
    let keys = Decoder::new(Connection::Local).push(b"\t");
    app.inputs(&keys, now);
    let told: String = app.plain(60, now).told.iter().map(Row::text).collect();
    assert!(
        told.contains("[y] yes, once") && told.contains("[n] no"),
        "{told}"
    );
}

#[test]
fn r29_the_user_is_called_only_when_looking_elsewhere() {
    let mut screen = TestScreen::new();
    let calls = |screen: &mut TestScreen| -> usize {
        let requests = screen.app.take_requests();
        let is_call = |request: &&Request| matches!(request, Request::Notify(_));
        requests.iter().filter(is_call).count()
    };
    screen.event(UiEvent::RunStarted);
    screen.event(UiEvent::RunSettled);
    assert_eq!(calls(&mut screen), 0);
    screen.keys("\u{1b}[O");
    screen.event(UiEvent::RunStarted);
    screen.event(questions(&["q"]));
    assert_eq!(calls(&mut screen), 1);
    screen.event(questions(&["q"]));
    assert_eq!(calls(&mut screen), 0);
    screen.event(UiEvent::Questions(OpenQuestions::default()));
    screen.event(UiEvent::RunSettled);
    assert_eq!(calls(&mut screen), 1);
    screen.keys("\u{1b}[I");
    screen.event(UiEvent::RunStarted);
    screen.event(UiEvent::RunSettled);
    assert_eq!(calls(&mut screen), 0);
}

#[test]
fn r30_one_search_finds_what_is_folded() {
    let mut screen = TestScreen::sized(60, 12);
    let output = numbered_rows(100);
    screen.event(started(
        "1",
        None,
        "exec",
        json!({"code": "await tools.bash({})"}),
    ));
    screen.event(started(
        "1/1",
        Some("1"),
        "bash",
        json!({"command": "many"}),
    ));
    screen.event(ended("1/1", &output, false));
    screen.event(ended("1", "short", false));
    for number in 0..30 {
        screen.event(UiEvent::Note(format!("note {number}")));
    }
    screen.keys("\u{14}");
    screen.app.viewer_rows(60, 12);
    screen.keys("/");
    screen.keys("ROW 42");
    screen.keys("\r");
    let rows = screen.app.viewer_rows(60, 12).unwrap();
    assert!(
        rows.iter().any(|row| row.text().trim() == "row 42"),
        "{rows:#?}"
    );
}

#[test]
fn a_program_that_waits_shows_its_line_and_what_it_did() {
    let mut screen = TestScreen::sized(70, 30);
    let code = "await tools.read({path: 'a'});\nawait tools.write({path: 'b'});\nawait tools.bash({command: 'c'});";
    screen.event(started("1", None, "exec", json!({"code": code})));
    screen.event(started("1/1", Some("1"), "read", json!({"path": "a"})));
    screen.event(ended("1/1", "text", false));
    screen.event(started("1/2", Some("1"), "write", json!({"path": "b"})));
    screen.event(ended("1/2", "", false));
    screen.event(started("1/3", Some("1"), "bash", json!({"command": "c"})));
    screen.check(&["3▶await tools.bash"]);
    let mut request = (*question("q")).clone();
    request.call_id = Some("1/3".to_owned());
    request.parent_call_id = Some("1".to_owned());
    screen.event(UiEvent::Questions(OpenQuestions {
        revision: 1,
        questions: vec![std::sync::Arc::new(request)],
    }));
    let shown = screen.screen();
    assert!(
        shown.contains("asked by line 3 of this program:"),
        "{shown}"
    );
    assert!(shown.contains("3?await tools.bash"), "{shown}");
    let (_, did) = shown.split_once("what it did already:").unwrap();
    assert!(
        did.contains("✓ write b") && !did.contains("read a"),
        "{shown}"
    );
    // The editor is still there for what is said.
    assert_eq!(screen.keys("said\r"), [say("said")]);
}
