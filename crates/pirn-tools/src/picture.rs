//! Pictures: recognised by content here, decoded and scaled to what a model takes in a helper.
//!
//! Decoders of pictures are large and read what strangers made, so they run in a process of their own, which gives up everything
//! but computing before it reads the first byte. See [`helper::run`].

mod helper;
mod protocol;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pirn_sandbox::{Command, ExitStatus, OutputMode, Stdin};
use pirn_tool::ImageLimits;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::arguments::ABORTED;
use crate::limits::format_size;

pub use helper::run as picture_helper;
use protocol::{Answer, HEAD_BYTES_MAX, Order, Pixels};

/// The largest image file that is looked at: photos are well below, and all of it is held in memory.
pub const IMAGE_FILE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The first argument of the program that is the helper. Nobody types it.
pub const PICTURE_HELPER_ARGUMENT: &str = "--picture-helper";

/// The longest that a helper may take; its own bound on processor time is lower, and this one is for a machine under load.
const HELPER_TIME_MAX: Duration = Duration::from_mins(2);

/// One picture at a time: the bound is on all that is taken for them, and 64 calls can run at once.
static TURN: Semaphore = Semaphore::const_new(1);

/// Bytes needed to recognise a format.
pub(crate) const MAGIC_BYTES: usize = 16;

/// The formats that `read` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Jpeg,
    Png,
    Gif,
    Webp,
    Bmp,
}

impl Format {
    pub(crate) fn mime_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Bmp => "image/bmp",
        }
    }

    /// Whether models take the format as it is.
    fn is_portable(self) -> bool {
        match self {
            Self::Jpeg | Self::Png | Self::Gif | Self::Webp => true,
            Self::Bmp => false,
        }
    }
}

/// An image ready for a model.
pub(crate) struct Picture {
    /// The bytes of the picture, in Base64.
    pub(crate) data: String,
    pub(crate) mime_type: &'static str,
    /// What it is and what was done to it.
    pub(crate) note: String,
}

/// Why a picture is not there.
pub(crate) enum Failure {
    /// The call was stopped; a text.
    Stopped(String),
    /// It cannot be shown; says why.
    Omitted(String),
}

/// Recognises an image by its first bytes.
pub(crate) fn detect(head: &[u8]) -> Option<Format> {
    match head {
        [0xFF, 0xD8, 0xFF, ..] => Some(Format::Jpeg),
        [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A, ..] => Some(Format::Png),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Format::Gif),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some(Format::Webp),
        // The reserved fields are zero; text that starts with "BM" has something else there.
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => Some(Format::Bmp),
        _ => None,
    }
}

/// Makes a picture fit, by the helper that `program` is when its first argument says so.
pub(crate) async fn load(
    format: Format,
    bytes: Vec<u8>,
    limits: ImageLimits,
    program: Option<&Path>,
    cancel: &CancellationToken,
) -> Result<Picture, Failure> {
    if bytes.len() > IMAGE_FILE_BYTES_MAX {
        let limit = format_size(IMAGE_FILE_BYTES_MAX as u64);
        let reason = format!("Image omitted: the file is larger than {limit}");
        return Err(Failure::Omitted(reason));
    }
    let Some(program) = program else {
        let reason = "Image omitted: there is no program here that decodes pictures";
        return Err(Failure::Omitted(reason.to_owned()));
    };
    let asked = async {
        // Never closed.
        let _turn = TURN.acquire().await;
        ask(format, bytes, limits, program).await
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Failure::Stopped(ABORTED.to_owned())),
        answer = tokio::time::timeout(HELPER_TIME_MAX, asked) => match answer {
            Ok(answer) => answer.map_err(|reason| Failure::Omitted(format!("Image omitted: {reason}"))),
            Err(_elapsed) => Err(Failure::Omitted(
                "Image omitted: decoding it takes too long".to_owned(),
            )),
        },
    }
}

async fn ask(
    format: Format,
    bytes: Vec<u8>,
    limits: ImageLimits,
    program: &Path,
) -> Result<Picture, String> {
    let order = Order::new(format, limits);
    let order = serde_json::to_string(&order).map_err(|error| error.to_string())?;
    let mut child = Command::new(program)
        .args([PICTURE_HELPER_ARGUMENT, &order])
        .current_dir("/")
        .stdin(Stdin::Bytes(bytes.clone()))
        .output_mode(OutputMode::Separate)
        .spawn()
        .map_err(|error| format!("decoding cannot be started: {error}"))?;
    let broken = |error: std::io::Error| format!("what was decoded cannot be read: {error}");
    let bytes_max = HEAD_BYTES_MAX + limits.base64_bytes / 4 * 3;
    let mut output = child.take_output().ok_or("decoding has no output")?;
    let captured = output.read_bounded(bytes_max).await.map_err(broken)?;
    match child.wait().await {
        ExitStatus::Code(0) => {}
        ExitStatus::Code(_) | ExitStatus::Signal(_) | ExitStatus::Lost => {
            return Err("decoding it takes more memory or time than it may".to_owned());
        }
    }
    if captured.dropped_bytes > 0 {
        return Err("what was decoded is larger than it may be".to_owned());
    }
    let (answer, made) = protocol::split(&captured.bytes)?;
    match answer {
        Answer::Fits => Ok(Picture {
            data: BASE64.encode(&bytes),
            mime_type: format.mime_type(),
            note: format!("Read image file [{}]", format.mime_type()),
        }),
        Answer::Made {
            format: now,
            original,
            shown,
        } => Ok(Picture {
            data: BASE64.encode(made),
            mime_type: now.mime_type(),
            note: note(original, shown, format, now),
        }),
        Answer::Omitted { reason } => Err(reason),
    }
}

fn note(original: Pixels, shown: Pixels, format: Format, now: Format) -> String {
    let mut note = format!("Read image file [{}]", now.mime_type());
    if format != now {
        let _infallible = write!(note, "\n[Image converted from {}.]", format.mime_type());
    }
    if original != shown {
        let factor = f64::from(original.width) / f64::from(shown.width.max(1));
        let _infallible = write!(
            note,
            "\n[Image: original {}x{}, displayed at {}x{}. Multiply coordinates by {factor:.2} to map to the original.]",
            original.width, original.height, shown.width, shown.height
        );
    }
    note
}

fn base64_len(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}
