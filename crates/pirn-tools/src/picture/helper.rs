//! The helper: decodes within limits, scales, and answers.

use std::io::{self, Cursor, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use image::codecs::jpeg::JpegEncoder;
use image::error::{LimitError, LimitErrorKind};
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder as _, ImageFormat, ImageReader, Limits};
use pirn_sandbox::{ComputeBounds, keep_only_computing};
use pirn_tool::ImageLimits;

use super::protocol::{Answer, HEAD_BYTES_MAX, Order, Pixels};
use super::{Format, IMAGE_FILE_BYTES_MAX, base64_len};
use crate::limits::format_size;

/// The most memory that the pixels of a picture may take: 10,000 × 6,500 of them. A small file can claim to be gigantic.
const DECODE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// All memory of a helper: the picture as it came, as it was decoded and turned, what scaling takes, and this program itself.
const HELPER_BYTES_MAX: u64 = 1536 * 1024 * 1024;

/// The longest that a helper may compute: seconds are enough for the largest picture.
const HELPER_PROCESSOR_TIME_MAX: Duration = Duration::from_mins(1);

/// Bytes of a decoded pixel, with its transparency.
const PIXEL_BYTES: u64 = 4;

/// The quality of images that have to become JPEG to fit.
const JPEG_QUALITY: u8 = 80;

/// How often an image is scaled down further when its bytes do not fit; each step takes a quarter off each side.
const SHRINK_STEPS_MAX: usize = 8;

/// The most characters of a reason that is passed on.
const REASON_CHARS_MAX: usize = 500;

/// Is the helper: gives up everything but computing, then reads a picture and writes what became of it. `order` is the argument
/// after [`super::PICTURE_HELPER_ARGUMENT`]. Must be called before this program does anything else.
pub fn run(order: &str, picture: &mut impl Read, answer: &mut impl Write) -> ExitCode {
    let bounds = ComputeBounds {
        memory_bytes: HELPER_BYTES_MAX,
        processor_time: HELPER_PROCESSOR_TIME_MAX,
    };
    let (head, bytes) = match keep_only_computing(bounds) {
        Ok(()) => match made(order, picture) {
            Ok(made) => made,
            Err(reason) => (omitted(&reason), Vec::new()),
        },
        Err(error) => (omitted(&error.to_string()), Vec::new()),
    };
    match write(&head, &bytes, answer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn write(head: &Answer, bytes: &[u8], answer: &mut impl Write) -> io::Result<()> {
    let line = serde_json::to_vec(head)?;
    debug_assert!(line.len() < HEAD_BYTES_MAX, "a reason is cut");
    answer.write_all(&line)?;
    answer.write_all(b"\n")?;
    answer.write_all(bytes)?;
    answer.flush()
}

fn omitted(reason: &str) -> Answer {
    Answer::Omitted {
        reason: reason.chars().take(REASON_CHARS_MAX).collect(),
    }
}

fn made(order: &str, picture: &mut impl Read) -> Result<(Answer, Vec<u8>), String> {
    let order: Order =
        serde_json::from_str(order).map_err(|error| format!("it is not asked for: {error}"))?;
    let (format, limits) = (order.format, order.limits());
    let mut bytes = Vec::new();
    picture
        .take(IMAGE_FILE_BYTES_MAX as u64)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("could not be read: {error}"))?;
    let broken = |error: image::ImageError| format!("could not be decoded: {error}");
    // Before anything is decoded: a small file can claim to be gigantic.
    let (width, height) = reader(&bytes, format).into_dimensions().map_err(broken)?;
    let fits = width <= limits.width_px && height <= limits.height_px;
    if fits && format.is_portable() && base64_len(bytes.len()) <= limits.base64_bytes {
        return Ok((Answer::Fits, Vec::new()));
    }
    if u64::from(width) * u64::from(height) * PIXEL_BYTES > DECODE_BYTES_MAX {
        return Err(format!(
            "it has {width}x{height} pixels, more than {} of memory hold",
            format_size(DECODE_BYTES_MAX)
        ));
    }
    let decoded = decode(&bytes, format).map_err(broken)?;
    drop(bytes);
    shrink(&decoded, limits)
}

/// A reader that takes no more memory than it may.
fn reader(bytes: &[u8], format: Format) -> ImageReader<Cursor<&[u8]>> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), decoder_format(format));
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODE_BYTES_MAX);
    reader.limits(limits);
    reader
}

fn decode(bytes: &[u8], format: Format) -> image::ImageResult<DynamicImage> {
    let mut decoder = reader(bytes, format).into_decoder()?;
    // Deep colours take more than the pixels tell.
    if decoder.total_bytes() > DECODE_BYTES_MAX {
        return Err(image::ImageError::Limits(LimitError::from_kind(
            LimitErrorKind::InsufficientMemory,
        )));
    }
    let orientation = decoder.orientation()?;
    let mut decoded = DynamicImage::from_decoder(decoder)?;
    // The note about coordinates speaks of the image as people see it.
    decoded.apply_orientation(orientation);
    Ok(decoded)
}

fn decoder_format(format: Format) -> ImageFormat {
    match format {
        Format::Jpeg => ImageFormat::Jpeg,
        Format::Png => ImageFormat::Png,
        Format::Gif => ImageFormat::Gif,
        Format::Webp => ImageFormat::WebP,
        Format::Bmp => ImageFormat::Bmp,
    }
}

/// Scales an image down until it fits, as PNG where that fits too and as JPEG otherwise.
fn shrink(original: &DynamicImage, limits: ImageLimits) -> Result<(Answer, Vec<u8>), String> {
    let (mut width, mut height) = (
        limits.width_px.min(original.width()),
        limits.height_px.min(original.height()),
    );
    for _step in 0..SHRINK_STEPS_MAX {
        let scaled = if (original.width(), original.height()) == (width, height) {
            original.clone()
        } else {
            original.resize(width, height, FilterType::Triangle)
        };
        for (bytes, format) in [
            (encode_png(&scaled), Format::Png),
            (encode_jpeg(&scaled), Format::Jpeg),
        ] {
            let bytes = bytes.map_err(|error| format!("could not be scaled: {error}"))?;
            if base64_len(bytes.len()) <= limits.base64_bytes {
                let made = Answer::Made {
                    format,
                    original: pixels(original),
                    shown: pixels(&scaled),
                };
                return Ok((made, bytes));
            }
        }
        width = (width * 3 / 4).max(1);
        height = (height * 3 / 4).max(1);
    }
    let limit = format_size(limits.base64_bytes as u64);
    Err(format!("could not be scaled below {limit}"))
}

fn pixels(image: &DynamicImage) -> Pixels {
    Pixels {
        width: image.width(),
        height: image.height(),
    }
}

fn encode_png(image: &DynamicImage) -> image::ImageResult<Vec<u8>> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, ImageFormat::Png)?;
    Ok(bytes.into_inner())
}

fn encode_jpeg(image: &DynamicImage) -> image::ImageResult<Vec<u8>> {
    let mut bytes = Vec::new();
    // JPEG knows neither transparency nor deep colours.
    image
        .to_rgb8()
        .write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY))?;
    Ok(bytes)
}
