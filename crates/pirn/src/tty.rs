//! The user's terminal itself, whatever the standard streams are.

use std::io;

/// An answer of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// This once.
    Yes,
    /// Not this time.
    No,
    /// This, and all that are like it.
    All,
}

/// Questions that are not answered with one of the letters count as no after so many tries.
#[cfg(unix)]
const TRIES_MAX: usize = 3;
/// Bytes of an answer that are looked at; a line of the terminal's own editor is no longer than 4,096.
#[cfg(unix)]
const ANSWER_BYTES_MAX: usize = 4_096;

/// The terminal.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct Tty(std::fs::File);

#[cfg(unix)]
impl Tty {
    /// Opens it, if the process has one.
    pub(crate) fn open() -> io::Result<Self> {
        std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/tty")
            .map(Self)
    }

    /// Shows `question`, then `prompt`, and waits for the answer. What was typed before does not count.
    pub(crate) fn ask(mut self, question: &str, prompt: &str) -> io::Result<Answer> {
        use std::io::Write as _;
        self.0.write_all(question.as_bytes())?;
        for _ in 0..TRIES_MAX {
            rustix::termios::tcflush(&self.0, rustix::termios::QueueSelector::IFlush)?;
            self.0.write_all(prompt.as_bytes())?;
            let Some(line) = self.read_line()? else {
                self.0.write_all(b"\n")?;
                return Ok(Answer::No);
            };
            match line.trim().to_ascii_lowercase().as_str() {
                "y" | "yes" => return Ok(Answer::Yes),
                "n" | "no" | "" => return Ok(Answer::No),
                "a" | "all" => return Ok(Answer::All),
                _ => {}
            }
        }
        Ok(Answer::No)
    }

    /// One line; `None` at the end of the input.
    fn read_line(&mut self) -> io::Result<Option<String>> {
        use std::io::Read as _;
        let mut line = Vec::new();
        let mut byte = [0];
        while line.len() < ANSWER_BYTES_MAX {
            match self.0.read(&mut byte) {
                Ok(0) if line.is_empty() => return Ok(None),
                Ok(0) => break,
                Ok(_) if byte == *b"\n" => break,
                Ok(_) => line.extend(byte),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(String::from_utf8_lossy(&line).into_owned()))
    }
}

/// Columns of the terminal behind standard error.
#[cfg(unix)]
pub(crate) fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// The terminal; it cannot be asked there yet.
#[cfg(not(unix))]
#[derive(Debug)]
pub(crate) struct Tty;

#[cfg(not(unix))]
impl Tty {
    /// Opens it, if the process has one.
    pub(crate) fn open() -> io::Result<Self> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    /// Shows `question`, then `prompt`, and waits for the answer.
    pub(crate) fn ask(self, _question: &str, _prompt: &str) -> io::Result<Answer> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}

/// Columns of the terminal behind standard error.
#[cfg(not(unix))]
pub(crate) fn columns() -> Option<usize> {
    None
}
