//! Text that comes out of a script: JavaScript strings, which may hold lone surrogates, and JSON.

use std::fmt;

use serde_json::Value;

/// A JavaScript string. Usually valid Unicode; lone surrogates are kept, in the WTF-8 encoding.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct JsString {
    bytes: Vec<u8>,
}

impl JsString {
    /// Takes bytes that the guest wrote. Whatever is not WTF-8 shows as U+FFFD later. Public for fuzzing only.
    #[doc(hidden)]
    pub fn from_guest(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.to_vec(),
        }
    }

    /// The string that a JSON literal stands for, lone surrogates included; `None` when it is none. Public for fuzzing only.
    #[doc(hidden)]
    pub fn from_json_literal(json: &str) -> Option<Self> {
        if let Ok(text) = serde_json::from_str::<String>(json) {
            return Some(text.into());
        }
        let inner = json.strip_prefix('"')?.strip_suffix('"')?;
        let mut bytes = Vec::with_capacity(inner.len());
        let mut rest = inner;
        // Each lone half on its own; what lies between them is a literal that the parser reads.
        while let Some((at, unit)) = first_lone_surrogate(rest) {
            let (before, from) = rest.split_at_checked(at)?;
            bytes.extend_from_slice(
                serde_json::from_str::<String>(&format!("\"{before}\""))
                    .ok()?
                    .as_bytes(),
            );
            let [high, low] = unit.to_be_bytes();
            bytes.extend_from_slice(&[
                0xED,
                0x80 | (high & 0x0F) << 2 | low >> 6,
                0x80 | low & 0x3F,
            ]);
            rest = from.get(ESCAPE_BYTES..)?;
        }
        bytes.extend_from_slice(
            serde_json::from_str::<String>(&format!("\"{rest}\""))
                .ok()?
                .as_bytes(),
        );
        Some(Self { bytes })
    }

    /// The text, if it is valid Unicode.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok()
    }

    /// The text, with each lone surrogate shown as U+FFFD.
    pub fn into_string_lossy(self) -> String {
        match String::from_utf8(self.bytes) {
            Ok(text) => text,
            Err(error) => Self {
                bytes: error.into_bytes(),
            }
            .to_string(),
        }
    }

    /// The length in UTF-16 code units, as scripts count it.
    pub fn utf16_length(&self) -> usize {
        match self.as_str() {
            Some(text) if text.is_ascii() => text.len(),
            // Characters outside the basic plane are the ones whose encoding starts with F0 or more, and count twice.
            Some(text) => text.chars().count() + text.bytes().filter(|byte| *byte >= 0xF0).count(),
            None => self.utf16().count(),
        }
    }

    /// The UTF-16 code units.
    pub fn utf16(&self) -> impl Iterator<Item = u16> + '_ {
        let mut rest: &[u8] = &self.bytes;
        let mut low_half = None;
        std::iter::from_fn(move || {
            if let Some(unit) = low_half.take() {
                return Some(unit);
            }
            let (code, length) = decode(rest)?;
            rest = rest.get(length..).unwrap_or_default();
            if let Ok(unit) = u16::try_from(code) {
                return Some(unit);
            }
            let offset = code - 0x1_0000;
            low_half = u16::try_from(0xDC00 + (offset & 0x3FF)).ok();
            u16::try_from(0xD800 + (offset >> 10)).ok()
        })
    }
}

/// The first code point of WTF-8 bytes and its length; a byte that fits nowhere counts as U+FFFD.
fn decode(bytes: &[u8]) -> Option<(u32, usize)> {
    let first = *bytes.first()?;
    let (length, start) = match first {
        0..=0x7F => return Some((u32::from(first), 1)),
        0xC2..=0xDF => (2, u32::from(first & 0x1F)),
        0xE0..=0xEF => (3, u32::from(first & 0x0F)),
        0xF0..=0xF4 => (4, u32::from(first & 0x07)),
        _ => return Some((0xFFFD, 1)),
    };
    let mut code = start;
    for index in 1..length {
        match bytes.get(index) {
            Some(byte) if byte & 0xC0 == 0x80 => code = code << 6 | u32::from(byte & 0x3F),
            _ => return Some((0xFFFD, index)),
        }
    }
    let is_shortest = match length {
        3 => code >= 0x800,
        4 => code >= 0x1_0000,
        _ => true,
    };
    Some((
        if code <= 0x10_FFFF && is_shortest {
            code
        } else {
            0xFFFD
        },
        length,
    ))
}

impl fmt::Display for JsString {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = self.as_str() {
            return formatter.write_str(text);
        }
        for unit in char::decode_utf16(self.utf16()) {
            fmt::Write::write_char(formatter, unit.unwrap_or(char::REPLACEMENT_CHARACTER))?;
        }
        Ok(())
    }
}

impl fmt::Debug for JsString {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), formatter)
    }
}

impl From<&str> for JsString {
    fn from(text: &str) -> Self {
        Self {
            bytes: text.as_bytes().to_vec(),
        }
    }
}

impl From<String> for JsString {
    fn from(text: String) -> Self {
        Self {
            bytes: text.into_bytes(),
        }
    }
}

/// JSON text as a script wrote it. Kept as text, since that is exact: big numbers, the order of members and escaped lone
/// surrogates survive, and most of it is only passed on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JsonText(String);

impl JsonText {
    /// Takes text that should be JSON; nothing is checked before it is parsed.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Serialises a value as JSON.
    pub fn from_value(value: &Value) -> Self {
        Self(value.to_string())
    }

    /// The JSON as it is.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The JSON as it is.
    pub fn into_string(self) -> String {
        self.0
    }

    /// Parses the text. Lone surrogates become U+FFFD.
    ///
    /// # Errors
    /// When the text is not JSON, or nested deeper than 128 levels.
    pub fn parse(&self) -> Result<Value, serde_json::Error> {
        match serde_json::from_str(&self.0) {
            Ok(value) => Ok(value),
            // The parser refuses escapes of lone surrogates, which JSON allows and scripts can write.
            Err(_) if self.0.contains("\\u") => {
                serde_json::from_str(&replace_lone_surrogates(&self.0))
            }
            Err(error) => Err(error),
        }
    }
}

impl fmt::Display for JsonText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The length of `\uXXXX`.
const ESCAPE_BYTES: usize = 6;

/// Where the first `\uD800` to `\uDFFF` escape is that is not part of a pair, and its code unit.
fn first_lone_surrogate(json: &str) -> Option<(usize, u16)> {
    let bytes = json.as_bytes();
    let escape_at = |at: usize| -> Option<u16> {
        let digits = bytes.get(at..at + ESCAPE_BYTES)?.strip_prefix(b"\\u")?;
        // The parser of integers takes a sign, JSON does not.
        let is_hexadecimal = digits.iter().all(u8::is_ascii_hexdigit);
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16)
            .ok()
            .filter(|_| is_hexadecimal)
    };
    let mut at = 0;
    while let Some(found) = bytes
        .get(at..)
        .and_then(|rest| rest.iter().position(|byte| *byte == b'\\'))
    {
        at += found;
        at += match escape_at(at) {
            Some(0xD800..=0xDBFF)
                if matches!(escape_at(at + ESCAPE_BYTES), Some(0xDC00..=0xDFFF)) =>
            {
                2 * ESCAPE_BYTES
            }
            Some(unit @ 0xD800..=0xDFFF) => return Some((at, unit)),
            Some(_) => ESCAPE_BYTES,
            None => 2,
        };
    }
    None
}

/// Replaces `\uD800` to `\uDFFF` escapes that are not part of a pair by `\ufffd`.
fn replace_lone_surrogates(json: &str) -> String {
    let mut fixed = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((at, _)) = first_lone_surrogate(rest) {
        let Some((before, from)) = rest.split_at_checked(at) else {
            break;
        };
        fixed.push_str(before);
        fixed.push_str("\\ufffd");
        rest = from.get(ESCAPE_BYTES..).unwrap_or_default();
    }
    fixed.push_str(rest);
    fixed
}

#[cfg(test)]
mod tests;
