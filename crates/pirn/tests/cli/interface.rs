//! The interface on an emulated terminal.

use avt::Terminal;

use crate::desk::Desk;
use crate::session::Session;

pub(crate) const COLUMNS: u16 = 80;
pub(crate) const ROWS: usize = 24;

/// The interface with what it shows.
pub(crate) struct Interface {
    pub(crate) session: Session,
    pub(crate) terminal: Terminal,
    pub(crate) written: Vec<u8>,
    /// Bytes of a character that has not come whole yet.
    torn: Vec<u8>,
}

impl Interface {
    pub(crate) fn start(desk: &Desk) -> Self {
        Self::start_with(desk, &[("TERM", "xterm-256color")])
    }

    /// Starts it with more variables.
    pub(crate) fn start_with(desk: &Desk, variables: &[(&str, &str)]) -> Self {
        let mut variables = variables.to_vec();
        variables.push(("DESK_KEY", "k3y"));
        let mut terminal = Terminal::with_scrollback(usize::from(COLUMNS), ROWS, None).unwrap();
        terminal.feed("a line of the shell\r\n$ pirn\r\n");
        let mut interface = Self {
            session: Session::interface(&desk.place, &variables, COLUMNS),
            terminal,
            written: Vec::new(),
            torn: Vec::new(),
        };
        interface.until("desk/scripted");
        interface
    }

    pub(crate) fn screen(&self) -> String {
        let lines = self.terminal.screen().all_lines();
        lines
            .map(|line| line.text().trim_end().to_owned() + "\n")
            .collect()
    }

    /// Reads until this is on the screen.
    #[track_caller]
    pub(crate) fn until(&mut self, text: &str) {
        self.until_that(text, |screen| screen.contains(text));
    }

    #[track_caller]
    pub(crate) fn until_that(&mut self, what: &str, holds: impl Fn(&str) -> bool) {
        while !holds(&self.screen()) {
            assert!(
                self.read(),
                "the end came before {what:?}:\n{}",
                self.screen()
            );
        }
    }

    pub(crate) fn read(&mut self) -> bool {
        let bytes = self.session.read_some();
        self.written.extend(&bytes);
        self.torn.extend(&bytes);
        let whole = match std::str::from_utf8(&self.torn) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let text: Vec<u8> = self.torn.drain(..whole).collect();
        self.terminal.feed(&*String::from_utf8(text).unwrap());
        !bytes.is_empty()
    }

    pub(crate) fn keys(&mut self, keys: &str) {
        self.session.answer(keys);
    }

    #[track_caller]
    pub(crate) fn check_once(&self, lines: &[&str]) {
        let screen = self.screen();
        for line in lines {
            assert_eq!(screen.matches(line).count(), 1, "{line:?} in\n{screen}");
        }
    }

    /// Leaves it, and looks at all that was written.
    #[track_caller]
    pub(crate) fn leave(mut self) {
        self.keys("\u{4}");
        while self.read() {}
        check_sequences(&String::from_utf8_lossy(&self.written));
        let written = String::from_utf8_lossy(&self.written).into_owned();
        for (on, off) in [
            ("\u{1b}[?2004h", "\u{1b}[?2004l"),
            ("\u{1b}[?1004h", "\u{1b}[?1004l"),
            ("\u{1b}[>5u", "\u{1b}[<u"),
        ] {
            assert!(written.rfind(off) > written.rfind(on), "{on:?} stays on");
        }
        assert_eq!(self.session.code(), Some(0));
    }
}

/// Every sequence is one of those that the interface needs; nothing erases the history.
#[track_caller]
pub(crate) fn check_sequences(written: &str) {
    let mut rest = written;
    while let Some((_, after)) = rest.split_once('\u{1b}') {
        let kind = after.chars().next().unwrap();
        match kind {
            '[' => {
                let body = after.strip_prefix('[').unwrap();
                let end = body.find(|end: char| ('@'..='~').contains(&end)).unwrap();
                let (parameters, tail) = body.split_at(end);
                let last = tail.chars().next().unwrap();
                let is_known = match last {
                    'A' | 'B' | 'G' | 'L' | 'M' | 'H' | 'm' | 'c' => true,
                    'J' | 'K' => parameters.is_empty(),
                    'u' => ["<", ">5", "?"].contains(&parameters),
                    'p' => parameters == "?2026$",
                    'h' | 'l' => {
                        ["?2004", "?1004", "?25", "?1049", "?7", "?2026"].contains(&parameters)
                    }
                    _ => false,
                };
                assert!(is_known, "ESC [ {parameters} {last}");
                rest = tail;
            }
            ']' => {
                assert!(
                    ["]11;?", "]8;;", "]9;Pirn"]
                        .iter()
                        .any(|known| after.starts_with(known)),
                    "{after:?}"
                );
                rest = after;
            }
            '\\' => rest = after,
            _ => panic!("ESC {kind:?}"),
        }
    }
}
