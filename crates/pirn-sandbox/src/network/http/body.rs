//! Where the body of a request ends.

use super::head::BodyLength;

/// A chunk's size with its extensions, or one trailing field, is shorter than this.
const LINE_BYTES_MAX: usize = 8_192;
/// Sixteen hexadecimal digits are as much as a length can be.
const SIZE_DIGITS_MAX: usize = 16;

/// Follows the bytes of a body and finds its end. What lies behind belongs to another request, which must not reach the host of
/// this one.
#[derive(Debug, Clone)]
pub(crate) struct BodyScanner {
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// So many bytes follow.
    Bytes(u64),
    /// At the digits of a chunk's size.
    Size {
        size: u64,
        digits: usize,
    },
    /// In the extensions of a chunk.
    Extension {
        size: u64,
        length: usize,
    },
    /// At the line feed behind a chunk's size.
    SizeEnd {
        size: u64,
    },
    Chunk {
        left: u64,
    },
    /// At the carriage return behind a chunk.
    ChunkReturn,
    /// At the line feed behind a chunk.
    ChunkEnd,
    /// In a line behind the last chunk.
    Trailer {
        length: usize,
    },
    /// At the line feed of a line behind the last chunk.
    TrailerEnd {
        empty: bool,
    },
    Ended,
}

/// A body in chunks that servers could read in two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadChunk;

impl BodyScanner {
    pub(crate) fn new(length: BodyLength) -> Self {
        let state = match length {
            BodyLength::Bytes(0) => State::Ended,
            BodyLength::Bytes(bytes) => State::Bytes(bytes),
            BodyLength::Chunks => State::Size { size: 0, digits: 0 },
        };
        Self { state }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// How many of these bytes belong to the body.
    pub(crate) fn advance(&mut self, bytes: &[u8]) -> Result<usize, BadChunk> {
        let mut used = 0;
        while let Some(rest) = bytes.get(used..).filter(|rest| !rest.is_empty()) {
            match &mut self.state {
                State::Ended => break,
                State::Bytes(left) => {
                    used += take(left, rest);
                    if *left == 0 {
                        self.state = State::Ended;
                    }
                }
                State::Chunk { left } => {
                    used += take(left, rest);
                    if *left == 0 {
                        self.state = State::ChunkReturn;
                    }
                }
                State::Size { .. }
                | State::Extension { .. }
                | State::SizeEnd { .. }
                | State::ChunkReturn
                | State::ChunkEnd
                | State::Trailer { .. }
                | State::TrailerEnd { .. } => {
                    let byte = rest.first().copied().ok_or(BadChunk)?;
                    self.state = step(self.state, byte)?;
                    used += 1;
                }
            }
        }
        Ok(used)
    }
}

/// How many of these bytes belong to what is left.
fn take(left: &mut u64, bytes: &[u8]) -> usize {
    let length = usize::try_from(*left)
        .unwrap_or(usize::MAX)
        .min(bytes.len());
    *left -= length as u64;
    length
}

/// What follows one byte outside the content.
fn step(state: State, byte: u8) -> Result<State, BadChunk> {
    let next = match (state, byte) {
        (State::Size { size, digits }, b'\r') if digits > 0 => State::SizeEnd { size },
        (State::Size { size, digits }, b';') if digits > 0 => State::Extension { size, length: 0 },
        (State::Size { size, digits }, _) if digits < SIZE_DIGITS_MAX => {
            let digit = char::from(byte).to_digit(16).ok_or(BadChunk)?;
            State::Size {
                size: size * 16 + u64::from(digit),
                digits: digits + 1,
            }
        }
        (State::Extension { size, .. }, b'\r') => State::SizeEnd { size },
        (State::Extension { size, length }, _) if byte != b'\n' && length < LINE_BYTES_MAX => {
            State::Extension {
                size,
                length: length + 1,
            }
        }
        (State::SizeEnd { size: 0 } | State::TrailerEnd { empty: false }, b'\n') => {
            State::Trailer { length: 0 }
        }
        (State::SizeEnd { size }, b'\n') => State::Chunk { left: size },
        (State::ChunkReturn, b'\r') => State::ChunkEnd,
        (State::ChunkEnd, b'\n') => State::Size { size: 0, digits: 0 },
        (State::Trailer { length }, b'\r') => State::TrailerEnd { empty: length == 0 },
        (State::Trailer { length }, _) if byte != b'\n' && length < LINE_BYTES_MAX => {
            State::Trailer { length: length + 1 }
        }
        (State::TrailerEnd { empty: true }, b'\n') => State::Ended,
        _ => return Err(BadChunk),
    };
    Ok(next)
}
