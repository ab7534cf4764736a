//! What a helper is asked for, and its answer: a line of JSON, then the bytes of the picture that it made.

use pirn_tool::ImageLimits;
use serde::{Deserialize, Serialize};

use super::Format;

/// The most bytes of the line in front of an answer.
pub(super) const HEAD_BYTES_MAX: usize = 4 * 1024;

/// What to make of the picture that comes on standard input.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) format: Format,
    width_px: u32,
    height_px: u32,
    base64_bytes: usize,
}

impl Order {
    pub(super) fn new(format: Format, limits: ImageLimits) -> Self {
        Self {
            format,
            width_px: limits.width_px,
            height_px: limits.height_px,
            base64_bytes: limits.base64_bytes,
        }
    }

    pub(super) fn limits(&self) -> ImageLimits {
        ImageLimits {
            width_px: self.width_px,
            height_px: self.height_px,
            base64_bytes: self.base64_bytes,
        }
    }
}

/// The size of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pixels {
    pub(super) width: u32,
    pub(super) height: u32,
}

/// What came of a picture.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Answer {
    /// It can be shown as it is.
    Fits,
    /// Another one was made, whose bytes follow.
    Made {
        format: Format,
        original: Pixels,
        shown: Pixels,
    },
    /// It cannot be shown; says why.
    Omitted { reason: String },
}

/// Takes an answer apart. The error is a text.
pub(super) fn split(bytes: &[u8]) -> Result<(Answer, &[u8]), String> {
    let wrong = || "decoding it gave an answer that makes no sense".to_owned();
    let end = memchr::memchr(b'\n', bytes).ok_or_else(wrong)?;
    let (head, rest) = bytes.split_at(end);
    if head.len() > HEAD_BYTES_MAX {
        return Err(wrong());
    }
    let answer = serde_json::from_slice(head).map_err(|_error| wrong())?;
    Ok((answer, rest.get(1..).unwrap_or_default()))
}
