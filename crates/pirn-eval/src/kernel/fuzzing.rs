//! What the fuzz target drives.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use tokio::io::{AsyncRead, ReadBuf};

use super::protocol::{Completion, EvalProtocol, Step};
use crate::frame::{LineReader, LineTooLong, parse_worker_frame};
use crate::limits::{DISPLAYS_MAX, LOSSY_MAX};
use crate::validate::check_state;

/// The eval that runs.
const ID: &str = "e";

/// Takes the bytes for what a worker writes during one eval. What is made of them does not depend on how they arrive, nothing
/// panics, no limit is passed, and no result is complete without the host's token. The first byte says how large the pieces are.
///
/// # Panics
///
/// When one of these does not hold.
pub fn fuzz_worker(bytes: &[u8]) {
    let Some((size, bytes)) = bytes.split_first() else {
        return;
    };
    let whole = follow(bytes, bytes.len().max(1));
    let pieces = follow(bytes, usize::from(*size).max(1));
    assert_eq!(whole, pieces, "pieces of {size} bytes");
}

/// Follows the frames until one breaks the protocol; tells what each of them led to.
fn follow(bytes: &[u8], size: usize) -> Vec<String> {
    let token = foreign_token(bytes);
    let mut reader = LineReader::new(Pieces { rest: bytes, size });
    let mut protocol = EvalProtocol::new(ID.to_owned());
    protocol.start();
    let mut steps = Vec::new();
    'reading: loop {
        loop {
            let line = match reader.next_line() {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(LineTooLong) => {
                    steps.push("too long".to_owned());
                    break 'reading;
                }
            };
            let payload = line.strip_suffix(b"\n").unwrap_or(line);
            let step = parse_worker_frame(payload).and_then(|frame| protocol.on_frame(frame));
            steps.push(format!("{step:?}"));
            match step {
                Ok(Step::Settle) => protocol.finalize(token.clone()),
                Ok(Step::None | Step::Call { .. } | Step::Complete) => {}
                Err(_) => break 'reading,
            }
        }
        // A source that is never pending.
        if reader.fill().now_or_never() != Some(Ok(())) {
            break;
        }
    }
    assert!(protocol.displays.len() <= DISPLAYS_MAX, "too many pictures");
    if let Some((result, completion)) = protocol.into_result() {
        assert_eq!(completion, Completion::Open, "nobody knew the token");
        assert!(result.lossy.len() <= LOSSY_MAX, "too many places");
        if let Some(state) = &result.state {
            steps.push(format!("{:?}", check_state(state).is_ok()));
        }
    }
    steps
}

/// A token that is nowhere in the bytes.
fn foreign_token(bytes: &[u8]) -> String {
    let longest = bytes.split(|byte| *byte != b'x').map(<[u8]>::len).max();
    "x".repeat(longest.unwrap_or_default() + 1)
}

/// A source that gives so many bytes at a time.
struct Pieces<'a> {
    rest: &'a [u8],
    size: usize,
}

impl AsyncRead for Pieces<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let count = self.size.min(buffer.remaining()).min(self.rest.len());
        if let Some((piece, rest)) = self.rest.split_at_checked(count) {
            buffer.put_slice(piece);
            self.rest = rest;
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests;
