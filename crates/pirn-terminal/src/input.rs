//! What a terminal sends, decoded: keys, pastes, and answers to questions, however the bytes are split.

mod csi;
mod paste;

use std::time::Duration;

use crate::keys::{KeyCode, KeyPress, Modifiers};
use paste::{PASTE_END, pasted_text};

/// Something that came from the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A key was pressed or repeats.
    Key(KeyPress),
    /// Text came from the clipboard, in one piece; line ends are line feeds, and it has no control characters but tabs.
    Paste(String),
    /// The terminal's window has the keyboard now, or has it no more.
    Focus(Focus),
    /// The terminal answered a question or told of a change.
    Reply(TerminalReply),
}

/// Whether the terminal's window has the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Focus {
    Gained,
    Lost,
}

/// What a terminal says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalReply {
    /// The keyboard protocol's flags that are in force.
    KeyboardFlags(u32),
    /// What kind of terminal it is; the last answer to a group of questions.
    Attributes,
    /// The state of a private mode.
    Mode {
        /// The number of the mode.
        mode: u32,
        /// 0 for unknown, 1 set, 2 reset, 3 always set, 4 never set.
        state: u32,
    },
    /// The user switched to dark or light.
    Scheme(Scheme),
    /// A colour of the terminal.
    Color {
        /// Which of its colours.
        which: TerminalColor,
        /// Red, green and blue.
        rgb: [u8; 3],
    },
    /// Name and version of the program.
    Version(String),
}

/// The colours of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum TerminalColor {
    Foreground,
    Background,
    Palette(u8),
}

/// Whether text is light on dark or dark on light.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Scheme {
    Dark,
    Light,
}

/// How fast the bytes of one key arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Connection {
    Local,
    Remote,
}

/// Bytes of a control sequence; longer ones are none that a terminal sends.
const SEQUENCE_BYTES_MAX: usize = 256;
/// Bytes of an answer such as a name or a colour.
const ANSWER_BYTES_MAX: usize = 4 << 10;
/// Bytes of one paste. What is longer is nothing that a person means to send to a model.
const PASTE_BYTES_MAX: usize = 16 << 20;
/// How long the rest of an answer may take: it is lost when more passes.
const ANSWER_WAIT: Duration = Duration::from_millis(500);
/// How long a paste may pause. Ending it too early would type the rest of it, line ends included.
const PASTE_WAIT: Duration = Duration::from_secs(5);

const ESCAPE: u8 = 0x1b;

/// Turns bytes from a terminal into inputs. Any split of the bytes gives the same inputs.
///
/// ```
/// use pirn_terminal::{Connection, Decoder, Input, KeyCode, KeyPress};
///
/// let mut decoder = Decoder::new(Connection::Local);
/// assert_eq!(decoder.push(b"\x1b["), []);
/// assert_eq!(decoder.push(b"A"), [Input::Key(KeyPress::plain(KeyCode::Up))]);
/// ```
#[derive(Debug)]
pub struct Decoder {
    connection: Connection,
    buffer: Vec<u8>,
    /// The paste that goes on.
    paste: Option<Vec<u8>>,
}

/// What stands at the start of the buffer.
enum Parsed {
    /// So many bytes, which mean something or nothing.
    Taken(usize, Option<Input>),
    /// More bytes are needed to tell.
    Incomplete,
    /// A paste begins after so many bytes.
    PasteBegins(usize),
}

impl Decoder {
    /// A decoder that has seen nothing.
    pub fn new(connection: Connection) -> Self {
        Self {
            connection,
            buffer: Vec::new(),
            paste: None,
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Input> {
        let mut inputs = Vec::new();
        self.buffer.extend_from_slice(bytes);
        self.drain(&mut inputs);
        inputs
    }

    /// How long to wait for the rest of what has begun; `None` when nothing has.
    pub fn patience(&self) -> Option<Duration> {
        if self.paste.is_some() {
            return Some(PASTE_WAIT);
        }
        match self.buffer.as_slice() {
            [] => None,
            [ESCAPE, b']' | b'P' | b'_', _, ..] => Some(ANSWER_WAIT),
            _ => Some(match self.connection {
                Connection::Local => Duration::from_millis(10),
                Connection::Remote => Duration::from_millis(100),
            }),
        }
    }

    /// The rest did not come within [`patience`](Self::patience): what is there stands for itself.
    pub fn expire(&mut self) -> Vec<Input> {
        let mut inputs = Vec::new();
        let mut buffer = std::mem::take(&mut self.buffer);
        if let Some(mut paste) = self.paste.take() {
            paste.append(&mut buffer);
            inputs.push(Input::Paste(pasted_text(&paste)));
        }
        match buffer.as_slice() {
            [ESCAPE] => inputs.push(escape_key()),
            [ESCAPE, ESCAPE] => inputs.extend([escape_key(), escape_key()]),
            [ESCAPE, only] => inputs.push(plain_byte(*only, Modifiers::ALT)),
            // An introducer after an escape of its own.
            [ESCAPE, ESCAPE, only] => {
                inputs.push(escape_key());
                inputs.push(plain_byte(*only, Modifiers::ALT));
            }
            // Nothing is left, or a torn sequence or character, which means nothing.
            _ => {}
        }
        inputs
    }

    fn drain(&mut self, inputs: &mut Vec<Input>) {
        loop {
            if self.paste.is_some() {
                match self.end_of_paste() {
                    Some(paste) => inputs.push(Input::Paste(paste)),
                    None => return,
                }
            }
            let mut taken = 0;
            loop {
                let rest = self.buffer.get(taken..).unwrap_or_default();
                match parse(rest) {
                    Parsed::Taken(0, _) | Parsed::Incomplete => {
                        self.buffer.drain(..taken);
                        return;
                    }
                    Parsed::Taken(bytes, input) => {
                        taken += bytes;
                        inputs.extend(input);
                    }
                    Parsed::PasteBegins(bytes) => {
                        self.buffer.drain(..taken + bytes);
                        self.paste = Some(Vec::new());
                        break;
                    }
                }
            }
        }
    }

    /// Moves the buffer into the paste; gives the paste when its end is there.
    fn end_of_paste(&mut self) -> Option<String> {
        let paste = self.paste.as_mut()?;
        let found = self
            .buffer
            .windows(PASTE_END.len())
            .position(|window| window == PASTE_END);
        // Without one, the last bytes may be where it begins.
        let end = found.unwrap_or(self.buffer.len().saturating_sub(PASTE_END.len() - 1));
        let after = found.map_or(end, |end| end + PASTE_END.len());
        let room = PASTE_BYTES_MAX.saturating_sub(paste.len());
        paste.extend(self.buffer.drain(..end).take(room));
        self.buffer.drain(..after - end);
        found?;
        self.paste.take().map(|paste| pasted_text(&paste))
    }
}

fn escape_key() -> Input {
    Input::Key(KeyPress::plain(KeyCode::Escape))
}

fn parse(bytes: &[u8]) -> Parsed {
    match bytes {
        [] | [ESCAPE] | [ESCAPE, ESCAPE] => Parsed::Incomplete,
        [ESCAPE, rest @ ..] => match rest {
            // Some terminals put an escape before a sequence where alt was held.
            [ESCAPE, b'[' | b'O', ..] => {
                after_escape(rest.get(1..).unwrap_or_default(), 2, Modifiers::ALT)
            }
            [ESCAPE, ..] => Parsed::Taken(1, Some(escape_key())),
            _ => after_escape(rest, 1, Modifiers::NONE),
        },
        [byte, ..] if byte.is_ascii() => Parsed::Taken(1, Some(plain_byte(*byte, Modifiers::NONE))),
        _ => character(bytes, 0, Modifiers::NONE),
    }
}

/// `rest` is what follows `before` bytes of escapes.
fn after_escape(rest: &[u8], before: usize, held: Modifiers) -> Parsed {
    match rest {
        [b'[', sequence @ ..] => csi::parse(sequence, before + 1, held),
        [] | [b'O' | b']' | b'P' | b'_'] => Parsed::Incomplete,
        [b'O', key, ..] => match csi::application_key(*key) {
            Some(code) => key_after(before + 2, code, held),
            None => Parsed::Taken(
                before + 1,
                Some(Input::Key(KeyPress::new(
                    KeyCode::Char('O'),
                    Modifiers::ALT,
                ))),
            ),
        },
        [b']', first, ..] if first.is_ascii_digit() => answer(rest, before),
        [b'P', b'>' | b'!' | b'0'..=b'9', ..] | [b'_', b'G', ..] => answer(rest, before),
        [byte, ..] if byte.is_ascii() => {
            Parsed::Taken(before + 1, Some(plain_byte(*byte, Modifiers::ALT)))
        }
        [_, ..] => character(rest, before, Modifiers::ALT),
    }
}

fn key_after(bytes: usize, code: KeyCode, held: Modifiers) -> Parsed {
    Parsed::Taken(bytes, Some(Input::Key(KeyPress::new(code, held))))
}

/// A character of several bytes. Bytes that are none mean nothing.
fn character(bytes: &[u8], before: usize, held: Modifiers) -> Parsed {
    let head = bytes.get(..bytes.len().min(4)).unwrap_or_default();
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() > 0 => {
            let valid = head.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        }
        Err(error) => {
            return match error.error_len() {
                Some(length) => Parsed::Taken(before + length, None),
                None => Parsed::Incomplete,
            };
        }
    };
    match valid.chars().next() {
        // Control characters of the upper half are none that a key types.
        Some(character) if character.is_control() => {
            Parsed::Taken(before + character.len_utf8(), None)
        }
        Some(character) => key_after(
            before + character.len_utf8(),
            KeyCode::Char(character),
            held,
        ),
        None => Parsed::Incomplete,
    }
}

/// The key of one byte below 128.
fn plain_byte(byte: u8, held: Modifiers) -> Input {
    let control = held.with(Modifiers::CTRL);
    let (code, held) = match byte {
        b'\r' => (KeyCode::Enter, held),
        b'\t' => (KeyCode::Tab, held),
        0x7f | 0x08 => (KeyCode::Backspace, held),
        ESCAPE => (KeyCode::Escape, held),
        0 => (KeyCode::Char(' '), control),
        // Ctrl with - and with _ send the same; the first is the name in files of keys.
        0x1f => (KeyCode::Char('-'), control),
        0x1c..=0x1e => (KeyCode::Char(char::from(byte + 0x40)), control),
        0x01..=0x1a => (KeyCode::Char(char::from(byte + 0x60)), control),
        _ => (KeyCode::Char(char::from(byte)), held),
    };
    Input::Key(KeyPress::new(code, held))
}

/// An answer of text, up to its end mark. `rest` begins with its introducer.
fn answer(rest: &[u8], before: usize) -> Parsed {
    for (index, byte) in rest.iter().enumerate().skip(1) {
        match byte {
            _ if index == ANSWER_BYTES_MAX => return Parsed::Taken(before + index, None),
            0x07 => return Parsed::Taken(before + index + 1, meaning(rest.get(..index))),
            &ESCAPE => {
                return match rest.get(index + 1) {
                    None => Parsed::Incomplete,
                    Some(b'\\') => Parsed::Taken(before + index + 2, meaning(rest.get(..index))),
                    // Something else begins: the answer was cut off.
                    Some(_) => Parsed::Taken(before + index, None),
                };
            }
            _ => {}
        }
    }
    Parsed::Incomplete
}

fn meaning(answer: Option<&[u8]>) -> Option<Input> {
    let text = std::str::from_utf8(answer?).ok()?;
    if let Some(version) = text.strip_prefix("P>|") {
        return Some(Input::Reply(TerminalReply::Version(crate::on_one_line(
            version,
        ))));
    }
    let osc = text.strip_prefix(']')?;
    let (number, value) = osc.split_once(';')?;
    let (which, value) = match number {
        "10" => (TerminalColor::Foreground, value),
        "11" => (TerminalColor::Background, value),
        "4" => {
            let (index, value) = value.split_once(';')?;
            (TerminalColor::Palette(index.parse().ok()?), value)
        }
        _ => return None,
    };
    let rgb = rgb(value)?;
    Some(Input::Reply(TerminalReply::Color { which, rgb }))
}

/// `rgb:RR/GG/BB` with one to four digits each.
fn rgb(value: &str) -> Option<[u8; 3]> {
    let value = value
        .strip_prefix("rgb:")
        .or_else(|| value.strip_prefix("rgba:"))?;
    let mut parts = value.split('/');
    let mut part = || {
        let digits = parts
            .next()
            .filter(|digits| (1..=4).contains(&digits.len()))?;
        let number = u32::from_str_radix(digits, 16).ok()?;
        let most = (1_u32 << (4 * digits.len())) - 1;
        u8::try_from(number * 255 / most).ok()
    };
    Some([part()?, part()?, part()?])
}

#[cfg(test)]
mod tests;
