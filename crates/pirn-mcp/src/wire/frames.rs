//! Cuts what a child writes into messages.

use std::collections::VecDeque;
use std::mem;

use rmcp::model::RequestId;

use super::scan::{Scanner, Status};

/// The largest message, as everywhere in the protocol's implementations.
pub(crate) const MESSAGE_BYTES_MAX: u64 = 16 << 20;
/// The most lines one message may be spread over: 16 MiB of pretty-printed JSON with 64 bytes a line.
const MESSAGE_LINES_MAX: u32 = 1 << 18;
/// What a message starts with where something else was printed before it on its line.
const MESSAGE_START: &[u8] = br#"{"jsonrpc""#;

/// A piece of what a child wrote.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Frame {
    /// One JSON object or array, or what was meant to be one.
    Message(Vec<u8>),
    /// Anything else: what people print.
    Noise(Vec<u8>),
    /// Something larger than [`MESSAGE_BYTES_MAX`]; it was not kept.
    TooLong {
        /// The request that it answers, where that could be seen, as the server writes it.
        id: Option<RequestId>,
        /// How large it was.
        bytes: u64,
    },
}

/// Takes bytes as they come and gives whole frames: lines as a rule, but a value may also be spread over lines, share one with
/// others, or lack the line's end. Each byte is looked at a fixed number of times, and no message waits for a later one.
#[derive(Debug)]
pub(crate) struct FrameDecoder {
    frames: VecDeque<Frame>,
    mode: Mode,
    /// The present line, or what of it is not yet in a frame.
    line: Piece,
    /// The lines before it that belong to the same value.
    held: Piece,
    held_lines: u32,
    /// The value since `held` began.
    value: Scanner,
    alone: Alone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Only white space so far.
    Start,
    Value,
    /// In a line that is none.
    Noise,
}

/// Whether the present line, which continues a value, could be a message of its own instead. Only so can something that was
/// printed, such as a lone bracket, not swallow the messages behind it.
#[derive(Debug)]
enum Alone {
    /// Only white space so far.
    Open,
    /// It could; the scan may have broken off.
    Maybe(Scanner),
    No,
}

impl Default for FrameDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl FrameDecoder {
    /// A decoder at the start of a stream.
    pub(crate) fn new() -> Self {
        Self {
            frames: VecDeque::new(),
            mode: Mode::Start,
            line: Piece::default(),
            held: Piece::default(),
            held_lines: 0,
            value: Scanner::new(),
            alone: Alone::No,
        }
    }

    /// Takes the next bytes in.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end);
            self.piece(line);
            self.end_line();
            rest = after.get(1..).unwrap_or_default();
        }
        self.piece(rest);
    }

    /// The next whole frame.
    pub(crate) fn pop(&mut self) -> Option<Frame> {
        self.frames.pop_front()
    }

    /// Ends the stream: what is left becomes frames, though its end is missing.
    pub(crate) fn finish(&mut self) {
        self.end_line();
        if self.held.bytes > 0 {
            self.give_up_held();
        }
        self.mode = Mode::Start;
    }

    /// A piece of a line, without the line's end.
    fn piece(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while let Some(&first) = rest.first() {
            let taken = match self.mode {
                Mode::Start => self.start(first),
                Mode::Value => self.in_value(rest),
                Mode::Noise => {
                    self.line.push(rest);
                    rest.len()
                }
            };
            rest = rest.get(taken..).unwrap_or_default();
        }
    }

    /// Looks at the first byte of something. Returns how many bytes were taken.
    fn start(&mut self, first: u8) -> usize {
        match first {
            // White space, and the three bytes of a byte order mark.
            b' ' | b'\t' | b'\r' | 0xEF | 0xBB | 0xBF => {
                self.line.push(&[first]);
                return 1;
            }
            b'{' | b'[' => self.mode = Mode::Value,
            _ => self.mode = Mode::Noise,
        }
        self.value.restart();
        self.alone = Alone::No;
        0
    }

    /// Takes bytes of a value. Returns how many.
    fn in_value(&mut self, rest: &[u8]) -> usize {
        let mut rest = rest;
        if matches!(self.alone, Alone::Open) {
            let blanks = rest.iter().take_while(|byte| is_blank(**byte)).count();
            match rest.get(blanks) {
                _ if blanks > 0 => rest = rest.get(..blanks).unwrap_or_default(),
                Some(b'{') => self.alone = Alone::Maybe(Scanner::new()),
                Some(_) | None => self.alone = Alone::No,
            }
        }
        let (taken, status) = self.value.feed(rest);
        let bytes = rest.get(..taken).unwrap_or_default();
        if let Some(taken) = self.try_alone(bytes) {
            return taken;
        }
        self.line.push(bytes);
        match status {
            Status::More => {}
            Status::Complete => self.end_value(),
            Status::Broken => self.break_value(),
        }
        taken
    }

    /// Ends the value before this line where the line turns out to be a message of its own. Returns how many bytes that took.
    fn try_alone(&mut self, bytes: &[u8]) -> Option<usize> {
        let Alone::Maybe(scanner) = &mut self.alone else {
            return None;
        };
        let (taken, status) = scanner.feed(bytes);
        if status != Status::Complete {
            return None;
        }
        let Alone::Maybe(scanner) = mem::replace(&mut self.alone, Alone::No) else {
            return None;
        };
        if !scanner.is_message() {
            return None;
        }
        self.give_up_held();
        self.value = scanner;
        self.line.push(bytes.get(..taken).unwrap_or_default());
        self.end_value();
        Some(taken)
    }

    /// The value is whole.
    fn end_value(&mut self) {
        self.held.append(&mut self.line);
        let whole = mem::take(&mut self.held);
        self.emit(whole, Kind::Message);
        self.held_lines = 0;
        self.mode = Mode::Start;
    }

    /// The value cannot be continued: what came before this line is given up, and the line is looked at for itself.
    fn break_value(&mut self) {
        if self.held_lines == 0 {
            self.mode = Mode::Noise;
            return;
        }
        self.give_up_held();
        match mem::replace(&mut self.alone, Alone::No) {
            Alone::Maybe(scanner) => self.value = scanner,
            Alone::Open | Alone::No => {
                self.value.restart();
                self.mode = Mode::Noise;
            }
        }
    }

    /// The lines before this one do not become a value. An answer that is damaged goes on, so that its request gets an error.
    fn give_up_held(&mut self) {
        let held = mem::take(&mut self.held);
        self.held_lines = 0;
        let kind = self.broken_kind();
        self.emit(held, kind);
    }

    fn broken_kind(&self) -> Kind {
        if self.value.resembles_message() {
            Kind::Message
        } else {
            Kind::Noise
        }
    }

    fn end_line(&mut self) {
        if self.mode == Mode::Noise {
            self.split_noise();
        }
        loop {
            match self.mode {
                Mode::Start => {
                    self.line = Piece::default();
                    return;
                }
                Mode::Noise => {
                    let line = mem::take(&mut self.line);
                    let kind = self.broken_kind();
                    self.emit(line, kind);
                    self.mode = Mode::Start;
                    return;
                }
                Mode::Value => {}
            }
            let (_, status) = self.value.feed(b"\n");
            if status == Status::More {
                self.hold_line();
                return;
            }
            self.break_value();
        }
    }

    /// The value goes on in the next line.
    fn hold_line(&mut self) {
        self.line.push(b"\n");
        self.held.append(&mut self.line);
        self.held_lines += 1;
        self.alone = Alone::Open;
        if self.held_lines > MESSAGE_LINES_MAX {
            self.give_up_held();
            self.mode = Mode::Start;
        }
    }

    /// Looks for a message behind something that was printed without a line's end. Once per line, for the sake of time.
    fn split_noise(&mut self) {
        if self.value.resembles_message() {
            return;
        }
        if let Some(at) = memchr::memmem::find(&self.line.kept, MESSAGE_START) {
            let mut line = mem::take(&mut self.line);
            let rest = line.kept.split_off(at);
            line.bytes = line.kept.len() as u64;
            self.emit(line, Kind::Noise);
            self.mode = Mode::Start;
            self.piece(&rest);
        }
    }

    fn emit(&mut self, piece: Piece, kind: Kind) {
        let frame = match kind {
            _ if !piece.is_whole() => Frame::TooLong {
                id: self.value.answered_id(),
                bytes: piece.bytes,
            },
            Kind::Message => Frame::Message(piece.kept),
            Kind::Noise => Frame::Noise(piece.kept),
        };
        self.frames.push_back(frame);
    }
}

/// What a frame is, apart from its length.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Message,
    Noise,
}

/// Bytes that are counted, and kept while there are not too many.
#[derive(Debug, Default)]
struct Piece {
    kept: Vec<u8>,
    bytes: u64,
}

impl Piece {
    fn push(&mut self, bytes: &[u8]) {
        if self.is_whole() {
            self.kept.extend_from_slice(bytes);
        }
        self.grow(bytes.len() as u64);
    }

    /// Moves the bytes of `other` behind its own; `other` keeps its room.
    fn append(&mut self, other: &mut Self) {
        if self.bytes == 0 {
            mem::swap(self, other);
            return;
        }
        if self.is_whole() && other.is_whole() {
            self.kept.extend_from_slice(&other.kept);
        }
        self.grow(other.bytes);
        other.kept.clear();
        other.bytes = 0;
    }

    fn grow(&mut self, bytes: u64) {
        self.bytes += bytes;
        if self.bytes > MESSAGE_BYTES_MAX {
            self.kept = Vec::new();
        }
    }

    fn is_whole(&self) -> bool {
        self.bytes == self.kept.len() as u64
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

#[cfg(test)]
mod tests;
