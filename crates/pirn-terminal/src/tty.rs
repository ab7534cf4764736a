//! The user's terminal itself, whatever the standard streams are.

use std::io;

use crate::text::Text;

/// Rows where the terminal does not say how many it has.
const ROWS_DEFAULT: usize = 24;
/// Columns where the terminal does not say how many it has.
const COLUMNS_DEFAULT: usize = 80;
/// Questions that are not answered with one of the letters count as no after so many tries.
#[cfg(unix)]
const TRIES_MAX: usize = 3;
/// The byte that Ctrl-C sends.
#[cfg(unix)]
const INTERRUPT: u8 = 3;
/// The byte that Ctrl-D sends.
#[cfg(unix)]
const END: u8 = 4;
/// Bytes of an answer that are looked at; a line of the terminal's own editor is no longer than 4,096.
#[cfg(unix)]
const ANSWER_BYTES_MAX: usize = 4_096;

/// The terminal that the process belongs to, `/dev/tty`.
#[cfg(unix)]
#[derive(Debug)]
pub struct Tty(std::fs::File);

#[cfg(unix)]
impl Tty {
    /// Opens it, if the process has one.
    #[expect(
        clippy::disallowed_methods,
        reason = "a terminal is not a file that could be replaced"
    )]
    pub fn open() -> io::Result<Self> {
        std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/tty")
            .map(Self)
    }

    /// Shows `prompt` until `read` takes the answer. What `read` says against an answer is shown before the next try. `None` at
    /// the end of the input and after too many tries.
    pub fn choose<T>(
        &mut self,
        prompt: &Text,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> io::Result<Option<T>> {
        for _ in 0..TRIES_MAX {
            let Some(line) = self.line(prompt)? else {
                return Ok(None);
            };
            match read(line.trim()) {
                Ok(answer) => return Ok(Some(answer)),
                Err(problem) if problem.is_empty() => {}
                Err(problem) => self.show(&Text::line(format_args!("  {problem}")))?,
            }
        }
        Ok(None)
    }

    /// Shows text at the place of the cursor.
    pub fn show(&mut self, text: &Text) -> io::Result<()> {
        use std::io::Write as _;
        self.0.write_all(text.as_str().as_bytes())
    }

    /// Shows `prompt` and reads a line. What was typed before does not count. `None` at the end of the input.
    pub fn line(&mut self, prompt: &Text) -> io::Result<Option<String>> {
        rustix::termios::tcflush(&self.0, rustix::termios::QueueSelector::IFlush)?;
        self.show(prompt)?;
        let line = self.read_line()?;
        if line.is_none() {
            self.show(&Text::line(""))?;
        }
        Ok(line)
    }

    /// Shows `prompt` and reads a line that is not shown, such as a key. `None` where it was given up with Ctrl-C or Ctrl-D.
    pub fn secret(&mut self, prompt: &Text) -> io::Result<Option<String>> {
        let line = self.with_keys(|keys| {
            // Only now: what is typed after it was seen is not shown.
            keys.show(prompt)?;
            keys.secret_line()
        });
        self.show(&Text::line(""))?;
        line
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

/// A key as the terminal reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// One byte of what the key sends.
    Byte(u8),
    /// Ctrl-C. The process was told, too.
    Interrupt,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// Keys as they are pressed.
#[cfg(unix)]
#[derive(Debug)]
pub struct Keys<'a>(&'a mut std::fs::File);

#[cfg(unix)]
impl Keys<'_> {
    /// Shows text: what is pressed after it was seen counts.
    pub fn show(&mut self, text: &Text) -> io::Result<()> {
        use std::io::Write as _;
        self.0.write_all(text.as_str().as_bytes())
    }

    /// Waits for the next key.
    pub fn read(&mut self) -> io::Result<Key> {
        match self.byte()? {
            Some(INTERRUPT) => {
                rustix::process::kill_process(
                    rustix::process::getpid(),
                    rustix::process::Signal::INT,
                )?;
                Ok(Key::Interrupt)
            }
            Some(END) | None => Ok(Key::End),
            Some(byte) => Ok(Key::Byte(byte)),
        }
    }

    /// The next byte; `None` where the terminal is gone.
    fn byte(&mut self) -> io::Result<Option<u8>> {
        use std::io::Read as _;
        let mut byte = [0];
        loop {
            match self.0.read(&mut byte) {
                Ok(0) => return Ok(None),
                Ok(_) => return Ok(byte.first().copied()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// A line that is not shown. `None` where it was given up.
    fn secret_line(&mut self) -> io::Result<Option<String>> {
        const ERASE: [u8; 2] = [8, 127];
        const ERASE_LINE: u8 = 21;
        let mut line = Vec::new();
        loop {
            match self.byte()? {
                Some(INTERRUPT | END) | None => return Ok(None),
                Some(b'\r' | b'\n') => break,
                Some(ERASE_LINE) => line.clear(),
                Some(byte) if ERASE.contains(&byte) => {
                    // A character of several bytes goes as a whole.
                    while line.pop().is_some_and(|byte: u8| byte & 0xC0 == 0x80) {}
                }
                Some(_) if line.len() == ANSWER_BYTES_MAX => {
                    let problem = format!("it is longer than {ANSWER_BYTES_MAX} bytes");
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
                }
                Some(byte) => line.push(byte),
            }
        }
        let invalid = |_| io::Error::new(io::ErrorKind::InvalidInput, "it is not valid UTF-8");
        String::from_utf8(line).map(Some).map_err(invalid)
    }
}

#[cfg(unix)]
impl Tty {
    pub(crate) fn size_or_default(&self) -> (usize, usize) {
        self.size().unwrap_or((COLUMNS_DEFAULT, ROWS_DEFAULT))
    }

    fn size(&self) -> Option<(usize, usize)> {
        let size = rustix::termios::tcgetwinsize(&self.0).ok()?;
        (size.ws_col > 0 && size.ws_row > 0)
            .then(|| (usize::from(size.ws_col), usize::from(size.ws_row)))
    }

    /// Reads keys without waiting for a line's end and without showing them. What was pressed before does not count. Ctrl-C comes
    /// as a key meanwhile, so that the terminal is always set back first.
    pub fn with_keys<T>(
        &mut self,
        read: impl FnOnce(&mut Keys<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(&self.0)?;
        let mut keys = before.clone();
        keys.local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        tcsetattr(&self.0, OptionalActions::Flush, &keys)?;
        let result = read(&mut Keys(&mut self.0));
        tcsetattr(&self.0, OptionalActions::Now, &before)?;
        result
    }
}

/// Columns of the terminal behind standard error.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "nothing is written")]
pub fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// The terminal; it cannot be asked there yet.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct Tty;

#[cfg(not(unix))]
impl Tty {
    /// Opens it, if the process has one.
    pub fn open() -> io::Result<Self> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    /// Shows `prompt` until `read` takes the answer.
    pub fn choose<T>(
        &mut self,
        _prompt: &Text,
        _read: impl Fn(&str) -> Result<T, String>,
    ) -> io::Result<Option<T>> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    /// Shows text at the place of the cursor.
    pub fn show(&mut self, _text: &Text) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    /// Shows `prompt` and reads a line.
    pub fn line(&mut self, _prompt: &Text) -> io::Result<Option<String>> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    /// Shows `prompt` and reads a line that is not shown.
    pub fn secret(&mut self, _prompt: &Text) -> io::Result<Option<String>> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    pub(crate) fn size_or_default(&self) -> (usize, usize) {
        (COLUMNS_DEFAULT, ROWS_DEFAULT)
    }

    /// Reads keys without waiting for a line's end.
    pub fn with_keys<T>(
        &mut self,
        _read: impl FnOnce(&mut Keys) -> io::Result<T>,
    ) -> io::Result<T> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}

/// Keys as they are pressed.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct Keys;

#[cfg(not(unix))]
impl Keys {
    /// Shows text at the place of the cursor.
    pub fn show(&mut self, _text: &Text) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    /// Waits for the next key.
    pub fn read(&mut self) -> io::Result<Key> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}

/// Columns of the terminal behind standard error.
#[cfg(not(unix))]
pub fn columns() -> Option<usize> {
    None
}
