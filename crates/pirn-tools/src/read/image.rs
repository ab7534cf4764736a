//! Images: recognised by content, decoded within limits, scaled to what a model takes.

use std::fmt::Write as _;
use std::io::{Cursor, Read};
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use image::codecs::jpeg::JpegEncoder;
use image::error::{LimitError, LimitErrorKind};
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder as _, ImageFormat, ImageReader, Limits};
use pirn_tool::ImageLimits;

use crate::limits::format_size;

/// The largest image file that is looked at: photos are well below, and all of it is held in memory.
pub const IMAGE_FILE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The most memory decoding may take: an image of 10,000 × 6,500 pixels. A small file can claim to be gigantic.
const DECODE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Bytes of a decoded pixel, with its transparency.
const PIXEL_BYTES: u64 = 4;

/// One image at a time: the bound is on all that a process takes for them, and 64 calls can run at once.
static DECODING: Mutex<()> = Mutex::new(());

/// The quality of images that have to become JPEG to fit.
const JPEG_QUALITY: u8 = 80;

/// How often an image is scaled down further when its bytes do not fit; each step takes a quarter off each side.
const SHRINK_STEPS_MAX: usize = 8;

/// Bytes needed to recognise a format.
pub(super) const MAGIC_BYTES: usize = 16;

/// The formats that `read` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Jpeg,
    Png,
    Gif,
    Webp,
    Bmp,
}

impl Format {
    pub(super) fn mime_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Bmp => "image/bmp",
        }
    }

    fn decoder_format(self) -> ImageFormat {
        match self {
            Self::Jpeg => ImageFormat::Jpeg,
            Self::Png => ImageFormat::Png,
            Self::Gif => ImageFormat::Gif,
            Self::Webp => ImageFormat::WebP,
            Self::Bmp => ImageFormat::Bmp,
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
pub(super) struct Picture {
    /// The bytes of the picture, in Base64.
    pub(super) data: String,
    pub(super) mime_type: &'static str,
    /// What it is and what was done to it.
    pub(super) note: String,
}

/// Recognises an image by its first bytes.
pub(super) fn detect(head: &[u8]) -> Option<Format> {
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

/// Reads the rest of an image and makes it fit. The error says why it cannot be shown.
pub(super) fn load(
    format: Format,
    head: &[u8],
    rest: &mut impl Read,
    limits: ImageLimits,
) -> Result<Picture, String> {
    let mut bytes = head.to_vec();
    rest.take(IMAGE_FILE_BYTES_MAX as u64)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("Image omitted: could not be read: {error}"))?;
    if bytes.len() > IMAGE_FILE_BYTES_MAX {
        let limit = format_size(IMAGE_FILE_BYTES_MAX as u64);
        return Err(format!("Image omitted: the file is larger than {limit}"));
    }
    let broken = |error: image::ImageError| format!("Image omitted: could not be decoded: {error}");
    let (width, height) = reader(&bytes, format).into_dimensions().map_err(broken)?;
    let fits = width <= limits.width_px && height <= limits.height_px;
    if fits && format.is_portable() && base64_len(bytes.len()) <= limits.base64_bytes {
        return Ok(Picture {
            data: BASE64.encode(&bytes),
            mime_type: format.mime_type(),
            note: format!("Read image file [{}]", format.mime_type()),
        });
    }
    // Before anything is decoded: a small file can claim to be gigantic.
    if u64::from(width) * u64::from(height) * PIXEL_BYTES > DECODE_BYTES_MAX {
        return Err(format!(
            "Image omitted: it has {width}x{height} pixels, more than {} of memory hold",
            format_size(DECODE_BYTES_MAX)
        ));
    }
    let _turn = DECODING.lock().unwrap_or_else(PoisonError::into_inner);
    let decoded = decode(&bytes, format).map_err(broken)?;
    drop(bytes);
    shrink(&decoded, format, limits)
}

/// A reader that takes no more memory than it may.
fn reader(bytes: &[u8], format: Format) -> ImageReader<Cursor<&[u8]>> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format.decoder_format());
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

/// Scales an image down until it fits, as PNG where that fits too and as JPEG otherwise.
fn shrink(original: &DynamicImage, format: Format, limits: ImageLimits) -> Result<Picture, String> {
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
        for (bytes, mime_type) in [
            (encode_png(&scaled), "image/png"),
            (encode_jpeg(&scaled), "image/jpeg"),
        ] {
            let bytes =
                bytes.map_err(|error| format!("Image omitted: could not be scaled: {error}"))?;
            if base64_len(bytes.len()) <= limits.base64_bytes {
                return Ok(Picture {
                    data: BASE64.encode(&bytes),
                    mime_type,
                    note: note(original, &scaled, format, mime_type),
                });
            }
        }
        width = (width * 3 / 4).max(1);
        height = (height * 3 / 4).max(1);
    }
    let limit = format_size(limits.base64_bytes as u64);
    Err(format!("Image omitted: could not be scaled below {limit}"))
}

fn note(original: &DynamicImage, scaled: &DynamicImage, format: Format, mime_type: &str) -> String {
    let mut note = format!("Read image file [{mime_type}]");
    if format.mime_type() != mime_type {
        let _infallible = write!(note, "\n[Image converted from {}.]", format.mime_type());
    }
    if (original.width(), original.height()) != (scaled.width(), scaled.height()) {
        let factor = f64::from(original.width()) / f64::from(scaled.width().max(1));
        let _infallible = write!(
            note,
            "\n[Image: original {}x{}, displayed at {}x{}. Multiply coordinates by {factor:.2} to map to the original.]",
            original.width(),
            original.height(),
            scaled.width(),
            scaled.height()
        );
    }
    note
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

fn base64_len(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}
