//! The terminal while an interface owns it: raw keys, bytes that never block, modes that are always set back.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::termios::{OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

use crate::streams::Hold;

/// Pastes in brackets, focus, and keys that can be told apart: the keyboard protocol, and what xterm has instead.
const MODES_ON: &str = "\u{1b}[?2004h\u{1b}[?1004h\u{1b}[>4;2m\u{1b}[>5u";
/// What sets the modes of a terminal back that an interface owned: keys, pastes and focus, rows that wrap, frames that appear at
/// once, the cursor and the colours.
pub const MODES_OFF: &str =
    "\u{1b}[?2026l\u{1b}[<u\u{1b}[>4;0m\u{1b}[?1004l\u{1b}[?2004l\u{1b}[?7h\u{1b}[?25h\u{1b}[m";
/// Questions about the background, synchronised frames and the keyboard, and one that every terminal answers, at the end.
const QUESTIONS: &str = "\u{1b}]11;?\u{1b}\\\u{1b}[?2026$p\u{1b}[?u\u{1b}[c";

/// Bytes that are read at once: a paste comes in pieces of at most 4,096.
const READ_BYTES: usize = 64 << 10;

/// What has to be set back, also by whoever finds the owner gone.
static BEFORE: Mutex<Option<(File, Termios, DeviceModes)>> = Mutex::new(None);

/// Sets the terminal back to what it was, if an interface owns it. For panics and for a process that has to end at once.
pub fn restore() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((mut file, termios, modes)) = before {
        // Nobody is left who could be told that it failed.
        let _nobody_to_tell = file.write_all(modes.off().as_bytes());
        let _nobody_to_tell = tcsetattr(&file, OptionalActions::Now, &termios);
    }
}

/// What is switched on while the terminal is owned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceModes {
    /// Marks around pastes, focus, and keys that can be told apart.
    All,
    /// Nothing: no sequence is ever sent.
    None,
}

impl DeviceModes {
    fn on(self) -> &'static str {
        match self {
            Self::All => MODES_ON,
            Self::None => "",
        }
    }

    fn off(self) -> &'static str {
        match self {
            Self::All => MODES_OFF,
            Self::None => "",
        }
    }
}

/// Wakes a [`Device`] that waits. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Waker(Arc<PipeWriter>);

impl Waker {
    /// The device's [`wait`](Device::wait) returns soon.
    pub fn wake(&self) {
        // A full pipe wakes it, too; one without a reader has nobody to wake.
        let _nobody_to_wake = (&*self.0).write(&[1]);
    }
}

/// Why a wait is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Woken {
    /// Bytes came from the keyboard, or answers of the terminal.
    Bytes(Vec<u8>),
    /// A [`Waker`] was used, or what was written has left.
    Called,
    /// The time is up.
    Late,
    /// The terminal is gone.
    Gone,
}

/// The terminal of the process, owned by one thread. While it lives nothing else is written to the standard streams.
#[derive(Debug)]
pub struct Device {
    file: File,
    raw: Termios,
    calls: PipeReader,
    /// What the terminal has not taken yet.
    unwritten: VecDeque<u8>,
    is_active: bool,
    modes: DeviceModes,
    _hold: Hold,
}

impl Device {
    /// Takes the terminal over. Dropping it sets everything back.
    #[expect(
        clippy::disallowed_methods,
        reason = "a terminal is not a file that could be replaced"
    )]
    pub fn open(modes: DeviceModes) -> io::Result<(Self, Waker)> {
        let file = File::options().read(true).write(true).open("/dev/tty")?;
        let before = tcgetattr(&file)?;
        let mut raw = before.clone();
        raw.make_raw();
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        // Of this opening alone: the standard streams of others stay as they are.
        rustix::fs::fcntl_setfl(&file, OFlags::NONBLOCK)?;
        let (calls, writer) = io::pipe()?;
        rustix::fs::fcntl_setfl(&writer, OFlags::NONBLOCK)?;
        let kept = (file.try_clone()?, before, modes);
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        let mut device = Self {
            file,
            raw,
            calls,
            unwritten: VecDeque::new(),
            is_active: false,
            modes,
            _hold: Hold::new(),
        };
        device.activate()?;
        Ok((device, Waker(Arc::new(writer))))
    }

    /// Columns and rows of the terminal; 80 and 24 where it does not say.
    pub fn size(&self) -> (usize, usize) {
        match rustix::termios::tcgetwinsize(&self.file) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                (usize::from(size.ws_col), usize::from(size.ws_row))
            }
            Ok(_) | Err(_) => (80, 24),
        }
    }

    /// What is switched on while the terminal is owned.
    pub fn modes(&self) -> DeviceModes {
        self.modes
    }

    /// Asks the terminal what it is. The answers come as input, if any do.
    pub fn ask(&mut self) {
        if self.modes == DeviceModes::All {
            self.write(QUESTIONS);
        }
    }

    fn activate(&mut self) -> io::Result<()> {
        tcsetattr(&self.file, OptionalActions::Drain, &self.raw)?;
        self.is_active = true;
        self.write(self.modes.on());
        Ok(())
    }

    /// Sets the terminal back while another program has it: for an editor, or while the process is suspended.
    pub fn lend<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        self.deactivate()?;
        let result = work();
        self.activate()?;
        Ok(result)
    }

    fn deactivate(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.is_active, false) {
            return Ok(());
        }
        self.write(self.modes.off());
        rustix::fs::fcntl_setfl(&self.file, OFlags::empty())?;
        let rest: Vec<u8> = self.unwritten.drain(..).collect();
        let written = self.file.write_all(&rest);
        rustix::fs::fcntl_setfl(&self.file, OFlags::NONBLOCK)?;
        let kept = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((file, before, _)) = &*kept {
            tcsetattr(file, OptionalActions::Drain, before)?;
        }
        written
    }

    /// Gives bytes to the terminal. What it does not take at once leaves during the next waits.
    pub fn write(&mut self, text: &str) {
        self.unwritten.extend(text.as_bytes());
        self.flush();
    }

    /// Whether the terminal has not taken everything yet: a new frame would only queue up.
    pub fn is_behind(&self) -> bool {
        !self.unwritten.is_empty()
    }

    fn flush(&mut self) {
        while !self.unwritten.is_empty() {
            let (head, _) = self.unwritten.as_slices();
            match self.file.write(head) {
                Ok(0) => return,
                Ok(count) => drop(self.unwritten.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    // A terminal that is gone takes nothing more; the next wait says so.
                    self.unwritten.clear();
                    return;
                }
            }
        }
    }

    /// Sleeps until something comes: bytes, a call, or the end of the time. Without a time nothing wakes it up by itself.
    pub fn wait(&mut self, time: Option<Duration>) -> io::Result<Woken> {
        let timeout = time.map(Timespec::try_from).and_then(Result::ok);
        let mut wanted = PollFlags::IN;
        if self.is_behind() {
            wanted |= PollFlags::OUT;
        }
        let (from_terminal, from_others) = {
            let mut sources = [
                PollFd::new(&self.file, wanted),
                PollFd::new(&self.calls, PollFlags::IN),
            ];
            match poll(&mut sources, timeout.as_ref()) {
                Ok(0) => return Ok(Woken::Late),
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => return Ok(Woken::Called),
                Err(error) => return Err(error.into()),
            }
            let [terminal, calls] = &sources;
            (terminal.revents(), calls.revents())
        };
        if from_terminal.contains(PollFlags::OUT) {
            self.flush();
        }
        if from_terminal.contains(PollFlags::IN) {
            let mut bytes = vec![0; READ_BYTES];
            return match self.file.read(&mut bytes) {
                Ok(0) => Ok(Woken::Gone),
                Ok(count) => {
                    bytes.truncate(count);
                    Ok(Woken::Bytes(bytes))
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                    ) =>
                {
                    Ok(Woken::Called)
                }
                Err(_) => Ok(Woken::Gone),
            };
        }
        if from_terminal.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Ok(Woken::Gone);
        }
        if from_others.contains(PollFlags::IN) {
            let mut calls = [0; 256];
            // One call or many mean the same.
            let _count = self.calls.read(&mut calls)?;
        }
        Ok(Woken::Called)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // A terminal that is gone cannot be set back.
        let _gone = self.deactivate();
        BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
