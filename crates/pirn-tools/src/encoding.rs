//! How the bytes of a file stand for text, both ways. What cannot be given back exactly is an error, never an approximation.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde_json::{Value, json};

/// Bytes that tell an encoding by its mark.
pub(crate) const MARK_BYTES_MAX: usize = 4;

/// An encoding that text can be read and written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Encoding {
    /// A byte order mark is the first character of the text.
    #[serde(rename = "utf-8")]
    Utf8,
    /// With a byte order mark, which is no part of the text.
    #[serde(rename = "utf-16le")]
    Utf16Le,
    /// With a byte order mark, which is no part of the text.
    #[serde(rename = "utf-16be")]
    Utf16Be,
    /// Every byte is the character of the same number.
    #[serde(rename = "latin1")]
    Latin1,
    /// The text is base64 of the bytes.
    #[serde(rename = "base64")]
    Base64,
}

/// Bytes that are no text in an encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotText {
    encoding: Encoding,
    /// The first byte that does not fit.
    at: usize,
}

impl fmt::Display for NotText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "it is not {} text (byte {}). Give {{encoding: \"latin1\"}} for one character a byte, or {{encoding: \"base64\"}}",
            self.encoding.label(),
            self.at
        )
    }
}

impl Encoding {
    /// The schema of an argument that names one.
    pub(crate) fn schema(names: &[Self], description: &str) -> Value {
        let names: Vec<&str> = names.iter().map(|encoding| encoding.name()).collect();
        json!({"type": "string", "enum": names, "description": description})
    }

    /// As arguments name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
            Self::Latin1 => "latin1",
            Self::Base64 => "base64",
        }
    }

    /// As people call it.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf16Le => "UTF-16 (little-endian)",
            Self::Utf16Be => "UTF-16 (big-endian)",
            Self::Latin1 => "Latin-1",
            Self::Base64 => "base64",
        }
    }

    /// What the first bytes of a file say: its byte order mark, or UTF-8 without one.
    pub(crate) fn of_mark(head: &[u8]) -> Self {
        match head {
            // UTF-32, which is left to those who ask for bytes.
            [0xFF, 0xFE, 0, 0, ..] => Self::Utf8,
            [0xFF, 0xFE, ..] => Self::Utf16Le,
            [0xFE, 0xFF, ..] => Self::Utf16Be,
            _ => Self::Utf8,
        }
    }

    /// The text that bytes stand for.
    pub(crate) fn decode(self, bytes: Vec<u8>) -> Result<String, NotText> {
        match self {
            Self::Utf8 => String::from_utf8(bytes).map_err(|error| NotText {
                encoding: self,
                at: error.utf8_error().valid_up_to(),
            }),
            Self::Utf16Le | Self::Utf16Be => self.decode_utf16(&bytes),
            Self::Latin1 => Ok(bytes.into_iter().map(char::from).collect()),
            Self::Base64 => Ok(BASE64.encode(bytes)),
        }
    }

    fn decode_utf16(self, bytes: &[u8]) -> Result<String, NotText> {
        let body = [[0xFF, 0xFE], [0xFE, 0xFF]]
            .iter()
            .find_map(|mark| bytes.strip_prefix(mark))
            .unwrap_or(bytes);
        let mark = bytes.len() - body.len();
        let (units, rest) = body.as_chunks::<2>();
        let unit = |pair: &[u8; 2]| match self {
            Self::Utf16Be => u16::from_be_bytes(*pair),
            Self::Utf16Le | Self::Utf8 | Self::Latin1 | Self::Base64 => u16::from_le_bytes(*pair),
        };
        let mut text = String::with_capacity(body.len());
        let mut at = mark;
        for character in char::decode_utf16(units.iter().map(unit)) {
            match character {
                Ok(character) => {
                    text.push(character);
                    at += character.len_utf16() * 2;
                }
                Err(_) => return Err(NotText { encoding: self, at }),
            }
        }
        if rest.is_empty() {
            Ok(text)
        } else {
            Err(NotText { encoding: self, at })
        }
    }

    /// The bytes that stand for a text. The error is a sentence.
    pub(crate) fn encode(self, text: &str) -> Result<Vec<u8>, String> {
        match self {
            Self::Utf8 => Ok(text.as_bytes().to_vec()),
            Self::Utf16Le | Self::Utf16Be => {
                let mut bytes = Vec::with_capacity(2 + text.len() * 2);
                for unit in std::iter::once(0xFEFF).chain(text.encode_utf16()) {
                    bytes.extend(if self == Self::Utf16Be {
                        unit.to_be_bytes()
                    } else {
                        unit.to_le_bytes()
                    });
                }
                Ok(bytes)
            }
            Self::Latin1 => text
                .chars()
                .map(|character| {
                    u8::try_from(character).map_err(|_| {
                        format!("Latin-1 has no {character:?}; give other text or another encoding")
                    })
                })
                .collect(),
            Self::Base64 => BASE64
                .decode(text)
                .map_err(|error| format!("the content is not base64: {error}")),
        }
    }
}

#[cfg(test)]
mod tests;
