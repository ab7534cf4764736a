//! Data inside results: decoded, told apart by its bytes, and saved where it cannot be shown.

use std::borrow::Cow;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD};
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};
use pirn_file::SpillFolder;
use pirn_tool::ContentBlock;

use super::SPILL_PREFIX;
use super::text::{cut_end, one_line, size};

#[cfg(test)]
mod tests;

/// Accepts base64 with and without padding; servers send both.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);
/// Characters of a file's extension.
const EXTENSION_CHARS_MAX: usize = 10;
/// Bytes of a type or a URI inside a placeholder.
const NAME_BYTES_MAX: usize = 300;

/// Blocks made of data, and the files written for them.
#[derive(Default)]
pub(super) struct Media {
    pub(super) content: Vec<ContentBlock>,
    pub(super) saved: Vec<PathBuf>,
}

impl Media {
    pub(super) fn text(&mut self, text: impl Into<String>) {
        self.content.push(ContentBlock::text(text));
    }

    /// An image: a block where models can read its kind, else a file. A wrong type would make a provider refuse the whole
    /// request, so the bytes count and not the server's word.
    pub(super) fn image(&mut self, data: &str, declared_type: &str, spill: &SpillFolder) {
        match decode(data) {
            Some(bytes) => match image_type(&bytes) {
                Some(mime_type) => self.content.push(ContentBlock::Image {
                    data: normalised(data, &bytes),
                    mime_type: mime_type.to_owned(),
                }),
                None => self.file(
                    "Image",
                    &bytes,
                    declared_type,
                    &extension_of(declared_type),
                    spill,
                ),
            },
            None => self.unreadable("Image", declared_type),
        }
    }

    pub(super) fn audio(&mut self, data: &str, declared_type: &str) {
        match decode(data) {
            Some(bytes) => self.content.push(ContentBlock::Audio {
                data: normalised(data, &bytes),
                mime_type: declared_type.to_owned(),
            }),
            None => self.unreadable("Audio", declared_type),
        }
    }

    /// The data of a resource: text as text, images as images, the rest as files.
    pub(super) fn blob(&mut self, data: &str, declared_type: &str, uri: &str, spill: &SpillFolder) {
        let what = format!("Resource {}", cut_end(&one_line(uri), NAME_BYTES_MAX));
        let Some(bytes) = decode(data) else {
            self.unreadable(&what, declared_type);
            return;
        };
        if let Some(mime_type) = image_type(&bytes) {
            self.content.push(ContentBlock::Image {
                data: normalised(data, &bytes),
                mime_type: mime_type.to_owned(),
            });
            return;
        }
        if is_text_type(declared_type)
            && let Ok(text) = std::str::from_utf8(&bytes)
        {
            self.text(text);
            return;
        }
        self.file(&what, &bytes, declared_type, &uri_extension(uri), spill);
    }

    fn file(
        &mut self,
        what: &str,
        bytes: &[u8],
        declared_type: &str,
        extension: &str,
        spill: &SpillFolder,
    ) {
        let facts = format!("{}{}", type_prefix(declared_type), size(bytes.len() as u64));
        match spill.write(SPILL_PREFIX, extension, bytes) {
            Ok(path) => {
                self.text(format!("[{what} ({facts}) saved to {}]", path.display()));
                self.saved.push(path);
            }
            Err(why) => self.text(format!("[{what} ({facts}) could not be saved: {why}]")),
        }
    }

    fn unreadable(&mut self, what: &str, declared_type: &str) {
        let declared = type_prefix(declared_type);
        self.text(format!(
            "[{what} ({declared}not valid base64) cannot be shown]"
        ));
    }
}

fn type_prefix(declared_type: &str) -> String {
    match one_line(declared_type) {
        name if name.is_empty() => name,
        name => format!("{}, ", cut_end(&name, NAME_BYTES_MAX)),
    }
}

/// The bytes of base64 as servers write it: also inside a data URL, with line breaks, or in the alphabet of URLs.
fn decode(data: &str) -> Option<Vec<u8>> {
    LENIENT.decode(&*plain(data)).ok()
}

fn plain(data: &str) -> Cow<'_, str> {
    let data = match data
        .strip_prefix("data:")
        .and_then(|url| url.split_once(','))
    {
        Some((_, data)) => data,
        None => data,
    };
    if data
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
    {
        return Cow::Borrowed(data);
    }
    let translated = data.chars().filter_map(|character| match character {
        '-' => Some('+'),
        '_' => Some('/'),
        character if character.is_ascii_whitespace() => None,
        character => Some(character),
    });
    Cow::Owned(translated.collect())
}

/// The base64 as it came where providers take it, else written anew.
fn normalised(data: &str, bytes: &[u8]) -> String {
    let is_normal = data.len().is_multiple_of(4)
        && matches!(plain(data), Cow::Borrowed(plain) if plain.len() == data.len());
    if is_normal {
        data.to_owned()
    } else {
        STANDARD.encode(bytes)
    }
}

/// The kinds of images that models read, by their first bytes.
fn image_type(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        Some("image/gif")
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Some("image/webp")
    } else {
        None
    }
}

fn is_text_type(declared_type: &str) -> bool {
    let essence = declared_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || matches!(
            essence.strip_prefix("application/"),
            Some(
                "json"
                    | "jsonl"
                    | "x-ndjson"
                    | "json5"
                    | "xml"
                    | "yaml"
                    | "x-yaml"
                    | "toml"
                    | "javascript"
                    | "x-javascript"
                    | "typescript"
                    | "ecmascript"
                    | "graphql"
                    | "sql"
                    | "x-sh"
                    | "x-www-form-urlencoded"
            )
        )
}

/// The extension of a URI's last segment, where it is a harmless one.
fn uri_extension(uri: &str) -> String {
    let path = uri.split(['?', '#']).next().unwrap_or_default();
    let file_name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    match file_name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => safe_extension(extension),
        Some(_) | None => safe_extension(""),
    }
}

/// The extension for a type such as `image/bmp`.
fn extension_of(declared_type: &str) -> String {
    let subtype = declared_type
        .split(';')
        .next()
        .unwrap_or_default()
        .rsplit('/')
        .next()
        .unwrap_or_default();
    // `svg+xml` is an `svg`.
    safe_extension(subtype.split('+').next().unwrap_or_default().trim())
}

fn safe_extension(extension: &str) -> String {
    let is_safe = !extension.is_empty()
        && extension.len() <= EXTENSION_CHARS_MAX
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_safe {
        extension.to_ascii_lowercase()
    } else {
        "bin".to_owned()
    }
}
