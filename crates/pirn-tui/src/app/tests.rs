use std::sync::Arc;
use std::time::Duration;

use avt::Terminal;
use pirn_terminal::{ColorDepth, Connection, Decoder, InlinePainter, Palette, Scheme, Theme};
use pirn_tool::{Answer, ApprovalRequest, Effects, Subject};
use serde_json::{Value, json};

use super::{App, AppOptions, Request};
use crate::event::{Audience, CallOutcome, Choices, OpenQuestions, Order, Purpose, UiEvent};

mod requirements;

/// An interface on an emulated terminal, below two lines of a shell.
struct TestScreen {
    app: App,
    painter: InlinePainter,
    terminal: Terminal,
    now: Duration,
    size: (usize, usize),
}

impl TestScreen {
    fn new() -> Self {
        Self::sized(60, 20)
    }

    fn sized(columns: usize, rows: usize) -> Self {
        let mut terminal = Terminal::with_scrollback(columns, rows, None).unwrap();
        terminal.feed("shell line\r\n$ pirn\r\n");
        let palette = Palette {
            theme: Theme::system(Scheme::Dark),
            depth: ColorDepth::True,
        };
        let mut screen = Self {
            app: App::new(AppOptions {
                version: "1.0".to_owned(),
                folder: "~/work".to_owned(),
                ..AppOptions::default()
            }),
            painter: InlinePainter::new(palette, columns, rows),
            terminal,
            now: Duration::ZERO,
            size: (columns, rows),
        };
        screen.draw();
        screen
    }

    fn draw(&mut self) {
        let frame = self.app.frame(self.size.0, self.size.1, self.now);
        assert!(frame.live.len() < self.size.1, "{frame:?}");
        let bytes = self.painter.draw(&frame);
        assert!(!bytes.contains("\u{1b}[2J") && !bytes.contains("\u{1b}[3J"));
        self.terminal.feed(&*bytes);
    }

    fn resize(&mut self, columns: usize, rows: usize) {
        self.terminal.resize(columns, rows);
        self.painter.resize(columns, rows);
        self.size = (columns, rows);
        self.draw();
    }

    fn event(&mut self, event: UiEvent) {
        self.app.event(event, self.now);
        self.draw();
    }

    fn keys(&mut self, bytes: &str) -> Vec<Order> {
        let mut decoder = Decoder::new(Connection::Local);
        let mut inputs = decoder.push(bytes.as_bytes());
        inputs.extend(decoder.expire());
        self.app.inputs(&inputs, self.now);
        self.draw();
        self.app.take_orders()
    }

    fn after(&mut self, milliseconds: u64) -> &mut Self {
        self.now += Duration::from_millis(milliseconds);
        self
    }

    fn screen(&self) -> String {
        let lines = self
            .terminal
            .screen()
            .all_lines()
            .map(|line| line.text().trim_end().to_owned());
        lines.collect::<Vec<_>>().join("\n")
    }

    #[track_caller]
    fn check(&self, expected: &[&str]) {
        let screen = self.screen();
        for line in expected {
            assert_eq!(screen.matches(line).count(), 1, "{line} in\n{screen}");
        }
    }
}

fn say(text: &str) -> Order {
    Order::Say(text.to_owned())
}

fn started(id: &str, parent: Option<&str>, name: &str, arguments: Value) -> UiEvent {
    UiEvent::CallStarted {
        id: id.to_owned(),
        parent: parent.map(str::to_owned),
        name: name.to_owned(),
        arguments,
    }
}

fn ended(id: &str, text: &str, is_error: bool) -> UiEvent {
    UiEvent::CallEnded {
        id: id.to_owned(),
        outcome: CallOutcome {
            text: text.to_owned(),
            size_bytes: text.len(),
            is_error,
            duration: Duration::from_millis(1500),
        },
    }
}

fn question(id: &str) -> Arc<ApprovalRequest> {
    let mut request = ApprovalRequest::new(
        Subject::Host,
        Effects::NETWORK,
        json!({"host": "example.org"}),
    );
    request.id = id.to_owned();
    Arc::new(request)
}

fn questions(ids: &[&str]) -> UiEvent {
    UiEvent::Questions(OpenQuestions {
        revision: 7,
        questions: ids.iter().map(|id| question(id)).collect(),
    })
}

#[test]
fn a_conversation_stands_once_in_the_history() {
    let mut screen = TestScreen::sized(40, 14);
    assert_eq!(screen.keys("hello\r"), [say("hello")]);
    screen.event(UiEvent::UserSaid("hello".to_owned()));
    screen.event(UiEvent::RunStarted);
    for number in 0..40 {
        screen.event(UiEvent::ReplyText(format!("word{number} and so on\n\n")));
    }
    screen.event(started(
        "1",
        None,
        "exec",
        json!({"code": "await tools.ls({});"}),
    ));
    screen.event(started("1/1", Some("1"), "ls", json!({"path": "src"})));
    screen.event(ended("1/1", "a\nb", false));
    screen.event(ended("1", "two files", false));
    screen.event(UiEvent::ReplyStarted);
    screen.event(UiEvent::ReplyText("Done at last.".to_owned()));
    screen.event(UiEvent::ReplyEnded(None));
    screen.event(UiEvent::RunSettled);
    screen.check(&[
        "shell line",
        "$ pirn",
        "> hello",
        "word0 and",
        "word39 and",
        "✓ exec",
        "✓ ls src",
        "two files",
        "Done at last.",
    ]);
    for columns in [25, 60, 40] {
        screen.resize(columns, 14);
    }
    screen.check(&[
        "shell line",
        "$ pirn",
        "> hello",
        "word0 and",
        "word39 and",
        "Done at last.",
        "↑0 ↓0",
    ]);
}

#[test]
fn commands_of_the_shell_and_of_the_table() {
    let mut screen = TestScreen::new();
    let run = |command: &str, audience| Order::RunCommand {
        command: command.to_owned(),
        audience,
    };
    assert_eq!(screen.keys("!ls -l\r"), [run("ls -l", Audience::Model)]);
    screen.event(UiEvent::CommandOutput("total 0\n".to_owned()));
    screen.event(UiEvent::CommandEnded(Some("ended with 1".to_owned())));
    screen.check(&["! ls -l", "total 0", "ended with 1"]);
    assert_eq!(screen.keys("!!pwd\r"), [run("pwd", Audience::User)]);
    let order = |arguments: &str| Order::Command {
        name: "model",
        arguments: arguments.to_owned(),
    };
    assert_eq!(screen.keys("/model gpt\r"), [order("gpt")]);
    assert_eq!(
        screen.keys("/usr/bin is a folder\r"),
        [say("/usr/bin is a folder")]
    );
    assert_eq!(screen.keys("/modle x\r"), []);
    screen.check(&["there is no command /modle"]);
    assert_eq!(screen.app.draft().text, "/modle x");
}

#[test]
fn lists_are_narrowed_by_typing() {
    let mut screen = TestScreen::new();
    let item = |name: &str| (name.to_owned(), name.to_owned());
    screen.event(UiEvent::Choose(Choices {
        title: "Model".to_owned(),
        items: vec![
            item("openai/gpt"),
            item("anthropic/opus"),
            item("anthropic/haiku"),
        ],
        purpose: Purpose::Command("model"),
    }));
    let orders = screen.keys("anhaik\r");
    assert_eq!(
        orders,
        [Order::Command {
            name: "model",
            arguments: "anthropic/haiku".to_owned()
        }]
    );
}

#[test]
fn files_are_completed_after_an_at_sign() {
    let mut screen = TestScreen::new();
    assert_eq!(screen.keys("see @ma"), [Order::ListFiles]);
    screen.event(UiEvent::Files(vec![
        "src/main.rs".to_owned(),
        "README.md".to_owned(),
    ]));
    assert_eq!(screen.keys("\t"), []);
    assert_eq!(screen.app.draft().text, "see @src/main.rs ");
}

#[test]
fn r12_an_unmarked_paste_is_not_sent() {
    let mut screen = TestScreen::new();
    assert_eq!(screen.keys("one\rtwo\rthree"), []);
    assert_eq!(screen.app.draft().text, "one\ntwo\nthree");
    assert_eq!(screen.keys("\r"), [say("one\ntwo\nthree")]);
}

#[test]
fn r13_new_lines_by_every_way() {
    for newline in ["\u{1b}[13;2u", "\u{1b}[27;2;13~", "\n", "\\\r"] {
        let mut screen = TestScreen::new();
        assert_eq!(screen.keys("a"), []);
        assert_eq!(screen.keys(newline), [], "{newline:?}");
        assert_eq!(screen.keys("b"), []);
        assert_eq!(screen.keys("\r"), [say("a\nb")], "{newline:?}");
    }
}

#[test]
fn r18_the_cursor_is_where_text_is_inserted() {
    let mut screen = TestScreen::new();
    screen.keys("ab漢");
    screen.event(UiEvent::RunStarted);
    screen.event(UiEvent::ReplyText("streams".to_owned()));
    let (column, row) = screen.terminal.cursor().position().unwrap();
    assert_eq!(column, "> ab".len() + 2);
    let line = screen.terminal.screen().line(row).unwrap().text();
    assert!(line.starts_with("> ab漢"), "{line}");
}

#[test]
fn r19_control_c_clears_then_stops_then_leaves() {
    let mut screen = TestScreen::new();
    screen.event(UiEvent::RunStarted);
    screen.keys("draft");
    assert_eq!(screen.keys("\u{3}"), []);
    assert_eq!(screen.app.draft().text, "");
    assert_eq!(screen.keys("\u{3}"), [Order::Stop]);
    screen.event(UiEvent::RunSettled);
    screen.keys("\u{3}");
    let kept = Request::Remember("draft".to_owned());
    assert_eq!(screen.app.take_requests(), [kept]);
    screen.after(1001).keys("\u{3}");
    assert_eq!(screen.app.take_requests(), []);
    screen.after(900).keys("\u{3}");
    assert_eq!(screen.app.take_requests(), [Request::Leave]);
    // R20: what was cleared is in the history.
    screen.keys("\u{1b}[A");
    assert_eq!(screen.app.draft().text, "draft");
}

#[test]
fn r21_a_question_takes_no_keys_of_the_editor() {
    let mut screen = TestScreen::new();
    screen.keys("I am typ");
    screen.event(questions(&["q1"]));
    // Typed on, with letters that would answer, and Tab within the time.
    assert_eq!(screen.keys("y\t1n"), []);
    assert_eq!(screen.after(499).keys("\ty"), []);
    assert_eq!(screen.app.draft().text, "I am typy1ny");
    // After it was seen long enough, its own focus is needed first.
    assert_eq!(screen.after(1).keys("y"), []);
    assert_eq!(screen.keys("\t"), []);
    // One more question: what is on the screen is another now.
    screen.event(questions(&["q1", "q2"]));
    assert_eq!(screen.after(499).keys("y1n"), []);
    let orders = screen.after(1).keys("y");
    assert_eq!(
        orders,
        [Order::Answer {
            revision: 7,
            id: "q1".to_owned(),
            answer: Answer::allow_once()
        }]
    );
    // The next one has to be seen, too.
    screen.event(questions(&["q2"]));
    assert_eq!(screen.keys("y"), []);
    screen.after(500).keys("\u{1b}");
    assert_eq!(screen.keys("y"), []);
    assert!(screen.app.draft().text.ends_with("yy"));
}

#[test]
fn a_form_of_a_server_is_never_sent_empty() {
    let mut screen = TestScreen::new();
    let mut request = ApprovalRequest::clone(&question("form"));
    request.subject = Subject::Elicitation {
        server: "screen".to_owned(),
        message: "Your name?".to_owned(),
        form: pirn_tool::Form::Values {
            schema: json!({"properties": {"name": {"type": "string"}}}),
        },
    };
    screen.event(UiEvent::Questions(OpenQuestions {
        revision: 1,
        questions: vec![Arc::new(request)],
    }));
    screen.after(500).keys("\t");
    assert_eq!(screen.keys("y1"), []);
    assert_eq!(screen.keys("n").len(), 1);
}

#[test]
fn r22_a_question_is_allowed_when_all_of_it_was_shown() {
    let mut screen = TestScreen::sized(60, 16);
    let mut request = ApprovalRequest::clone(&question("long"));
    let lines = (0..40)
        .map(|line| format!("line {line}"))
        .collect::<Vec<_>>()
        .join("\n");
    request.arguments = json!({"command": lines});
    screen.event(UiEvent::Questions(OpenQuestions {
        revision: 1,
        questions: vec![Arc::new(request)],
    }));
    screen.after(500).keys("\t");
    assert_eq!(screen.keys("y"), []);
    for _ in 0..40 {
        screen.keys("\u{1b}[6~");
    }
    assert_eq!(screen.keys("y").len(), 1);
    // A no needs nothing.
    assert_eq!(screen.keys("n").len(), 1);
}

#[test]
fn r23_escape_sequences_never_reach_the_terminal() {
    let evil = "\u{1b}]52;c;eA==\u{7}\u{1b}[2J\u{9b}31m\u{202e}abc\u{1b}]0;title\u{7}";
    let mut screen = TestScreen::new();
    screen.app.frame(60, 20, Duration::ZERO);
    let spoken = [
        UiEvent::UserSaid(evil.to_owned()),
        UiEvent::ReplyText(format!("{evil}\n\n```{evil}\n{evil}\n```\n")),
        UiEvent::ReplyThinking(evil.to_owned()),
        started("1", None, evil, json!({evil: evil})),
        ended("1", evil, true),
        UiEvent::Note(evil.to_owned()),
        UiEvent::ReplyEnded(Some(evil.to_owned())),
        UiEvent::CommandOutput(evil.to_owned()),
        UiEvent::Draft(evil.to_owned()),
        questions(&["q"]),
    ];
    for event in spoken {
        screen.app.event(event, Duration::ZERO);
        let frame = screen.app.frame(60, 20, Duration::ZERO);
        for row in frame.finished.iter().chain(&frame.live) {
            let text = row.text();
            assert!(
                !text
                    .chars()
                    .any(|character| character.is_control() || character == '\u{202e}'),
                "{text:?}"
            );
        }
    }
}

#[test]
fn r8_nothing_wakes_it_when_nothing_moves() {
    let mut screen = TestScreen::new();
    assert_eq!(screen.app.patience(screen.now), None);
    screen.event(UiEvent::RunStarted);
    assert!(screen.app.patience(screen.now).unwrap() >= Duration::from_millis(100));
    screen.event(UiEvent::RunSettled);
    assert_eq!(screen.app.patience(screen.now), None);
}

#[test]
fn the_viewer_shows_everything_and_finds_it() {
    let mut screen = TestScreen::sized(60, 10);
    let output = (0..100)
        .map(|line| format!("output {line}"))
        .collect::<Vec<_>>()
        .join("\n");
    screen.event(started("1", None, "bash", json!({"command": "many"})));
    screen.event(ended("1", &output, false));
    assert!(!screen.screen().contains("output 50"));
    screen.keys("\u{14}");
    let shown = |screen: &mut TestScreen| {
        let rows = screen.app.viewer_rows(60, 10).unwrap();
        rows.iter()
            .map(pirn_terminal::Row::text)
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert!(shown(&mut screen).contains("output 99"));
    screen.keys("/");
    screen.keys("output 50");
    screen.keys("\r");
    assert!(shown(&mut screen).contains("output 50"));
    screen.keys("q");
    assert_eq!(screen.app.viewer_rows(60, 10), None);
}

#[test]
fn r9_a_key_costs_the_same_after_five_thousand_messages() {
    let mut screen = TestScreen::new();
    for number in 0..5_000 {
        screen
            .app
            .event(UiEvent::UserSaid(format!("message {number}")), screen.now);
    }
    screen.draw();
    screen.keys("a");
    let before = screen.app.frame(60, 20, screen.now);
    assert!(before.finished.is_empty());
    assert!(before.live.len() < 12);
}
