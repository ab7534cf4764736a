//! Pirn on a terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::place::Place;

/// Columns where a test says nothing else.
const COLUMNS: u16 = 80;

/// A terminal that stays silent for longer will never show what a test waits for. Busy machines take seconds.
const SILENCE_SECONDS_MAX: i64 = 25;

/// Where standard output leads.
#[derive(Clone, Copy)]
enum Output {
    Terminal,
    Piped,
}

/// Pirn on a terminal of its own: standard input and standard error are the terminal, standard output is not.
pub(crate) struct Session {
    child: Child,
    terminal: File,
    /// What no step of the test has taken yet.
    seen: String,
    /// All that was written.
    written: Vec<u8>,
}

impl Session {
    /// All that a command shows on a terminal of so many columns, whose standard output it is, too.
    pub(crate) fn screen(place: &Place, arguments: &[&str], columns: u16) -> String {
        let session = Self::on_terminal(place, arguments, &[], columns, Output::Terminal);
        let seen = session.end().2.replace("\r\n", "\n");
        place.without_paths(&seen)
    }

    /// Starts it on a terminal of so many columns.
    pub(crate) fn start_wide(place: &Place, arguments: &[&str], columns: u16) -> Self {
        Self::on_terminal(place, arguments, &[], columns, Output::Piped)
    }

    pub(crate) fn start(place: &Place, arguments: &[&str]) -> Self {
        Self::on_terminal(place, arguments, &[], COLUMNS, Output::Piped)
    }

    /// Starts it with more variables.
    pub(crate) fn start_with(
        place: &Place,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        Self::on_terminal(place, arguments, variables, COLUMNS, Output::Piped)
    }

    /// Starts the interface on a terminal that all three streams lead to.
    pub(crate) fn interface(place: &Place, variables: &[(&str, &str)], columns: u16) -> Self {
        Self::on_terminal(place, &[], variables, columns, Output::Terminal)
    }

    /// Starts it on a terminal that all three streams lead to.
    pub(crate) fn terminal_of(
        place: &Place,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        Self::on_terminal(place, arguments, variables, COLUMNS, Output::Terminal)
    }

    /// Some of what it writes; empty at the end.
    pub(crate) fn read_some(&mut self) -> Vec<u8> {
        let mut waited_for = [PollFd::new(&self.terminal, PollFlags::IN)];
        let silence = Timespec {
            tv_sec: SILENCE_SECONDS_MAX,
            tv_nsec: 0,
        };
        let is_silent = poll(&mut waited_for, Some(&silence)).unwrap() == 0;
        assert!(
            !is_silent,
            "the terminal is silent; it was sent {:?}",
            String::from_utf8_lossy(&self.written)
        );
        let mut chunk = vec![0; 4096];
        // Linux reports an error when the last process has closed its side.
        let count = self.terminal.read(&mut chunk).unwrap_or_default();
        chunk.truncate(count);
        self.written.extend(&chunk);
        chunk
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&self.terminal, size).unwrap();
    }

    /// The id of the process.
    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it in a way that nothing in it survives.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// What the terminal does with keys now, as text.
    pub(crate) fn modes(&self) -> String {
        let termios = rustix::termios::tcgetattr(&self.terminal).unwrap();
        format!("{:?} {:?}", termios.local_modes, termios.input_modes)
    }

    /// Waits for its end.
    pub(crate) fn code(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    fn on_terminal(
        place: &Place,
        arguments: &[&str],
        variables: &[(&str, &str)],
        columns: u16,
        output: Output,
    ) -> Self {
        let controller =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let size = Winsize {
            ws_row: 24,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&controller, size).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap();
        let terminal = || {
            File::options()
                .read(true)
                .write(true)
                .open(name.to_str().unwrap())
                .unwrap()
        };
        let mut command = place.program("setsid");
        command
            .args(["--ctty", "--wait", env!("CARGO_BIN_EXE_pirn")])
            .args(arguments)
            .stdin(terminal())
            .stderr(terminal())
            .stdout(match output {
                Output::Terminal => Stdio::from(terminal()),
                Output::Piped => Stdio::piped(),
            })
            .env("TERM", "xterm")
            .envs(variables.iter().copied());
        let child = command.spawn().unwrap();
        Self {
            child,
            terminal: controller.into(),
            seen: String::new(),
            written: Vec::new(),
        }
    }

    /// Reads until the text is there, and returns what came before it.
    pub(crate) fn until(&mut self, text: &str) -> String {
        loop {
            if let Some((before, after)) = self.seen.split_once(text) {
                let before = before.to_owned();
                self.seen = after.to_owned();
                return before;
            }
            let chunk = self.read_some();
            assert!(
                !chunk.is_empty(),
                "the terminal closed before {text:?}: {}",
                self.seen
            );
            self.seen.push_str(&String::from_utf8_lossy(&chunk));
        }
    }

    pub(crate) fn answer(&mut self, text: &str) {
        self.terminal.write_all(text.as_bytes()).unwrap();
    }

    /// The exit code, standard output, and the rest of what the terminal showed.
    pub(crate) fn end(mut self) -> (Option<i32>, String, String) {
        loop {
            let chunk = self.read_some();
            if chunk.is_empty() {
                break;
            }
            self.seen.push_str(&String::from_utf8_lossy(&chunk));
        }
        let output = self.child.wait_with_output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            self.seen,
        )
    }
}
