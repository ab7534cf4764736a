//! The outputs of one eval on their way to the host.

use tokio::time::Instant;

use super::worker_pipes::WorkerPipes;
use crate::capture::Capture;
use crate::frame::{Report, Stream, encode_report};
use crate::limits::{OUTPUT_PAUSE, OUTPUT_PIECE_BYTES};
use crate::text::cut;

/// The outputs of one eval.
pub(super) struct Output {
    stdout: Channel,
    stderr: Channel,
    last_flush: Option<Instant>,
}

struct Channel {
    stream: Stream,
    capture: Capture,
    /// Bounded but not sent yet.
    waiting: String,
}

impl Channel {
    fn new(stream: Stream, limit_bytes: usize) -> Self {
        Self {
            stream,
            capture: Capture::new(limit_bytes),
            waiting: String::new(),
        }
    }
}

impl Output {
    pub(super) fn new(limit_bytes: usize) -> Self {
        Self {
            stdout: Channel::new(Stream::Stdout, limit_bytes),
            stderr: Channel::new(Stream::Stderr, limit_bytes),
            last_flush: None,
        }
    }

    /// Whether something is missing.
    pub(super) fn is_cut(&self) -> bool {
        self.stdout.capture.is_cut() || self.stderr.capture.is_cut()
    }

    /// Takes what the pipes have given.
    pub(super) fn take(&mut self, pipes: &mut WorkerPipes) {
        for (channel, pipe) in [
            (&mut self.stdout, &mut pipes.stdout),
            (&mut self.stderr, &mut pipes.stderr),
        ] {
            pipe.take(|bytes| channel.capture.push(bytes, &mut channel.waiting));
        }
    }

    /// Takes what is in the pipes at this moment.
    pub(super) fn take_now(&mut self, pipes: &mut WorkerPipes) {
        pipes.stdout.fill_now();
        pipes.stderr.fill_now();
        self.take(pipes);
    }

    /// When the next flush is due, where something waits.
    pub(super) fn flush_at(&self) -> Option<Instant> {
        if self.stdout.waiting.is_empty() && self.stderr.waiting.is_empty() {
            return None;
        }
        Some(
            self.last_flush
                .map_or_else(Instant::now, |last| last + OUTPUT_PAUSE),
        )
    }

    /// No more will come: what was held back is set free, or the marker.
    pub(super) fn finish(&mut self) {
        for channel in [&mut self.stdout, &mut self.stderr] {
            channel.capture.finish(&mut channel.waiting);
        }
    }

    /// Takes what was printed to standard error and not sent.
    pub(super) fn unsent_errors(&mut self) -> String {
        std::mem::take(&mut self.stderr.waiting)
    }

    /// Encodes what waits as reports.
    pub(super) fn flush(&mut self, id: &str, lines: &mut Vec<u8>) {
        for channel in [&mut self.stdout, &mut self.stderr] {
            let text = std::mem::take(&mut channel.waiting);
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let piece = cut(rest, OUTPUT_PIECE_BYTES);
                let report = Report::Output {
                    id: id.to_owned(),
                    stream: channel.stream,
                    text: piece.to_owned(),
                };
                encode_report(lines, &report);
                self.last_flush = Some(Instant::now());
                rest = rest.get(piece.len()..).unwrap_or_default();
            }
        }
    }
}
