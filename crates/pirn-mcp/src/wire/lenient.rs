//! Reads JSON as servers write it.

use std::fmt::Write as _;

use rmcp::model::RequestId;
use serde_json::Value;

use super::scan::Scanner;

/// What a text turned out to be.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// The values in it, one as a rule.
    pub(super) values: Vec<Value>,
    /// Whether something had to be put right first.
    pub(super) altered: bool,
    /// Why the text, or its end, is no JSON.
    pub(super) problem: Option<String>,
}

/// Reads all values of a text. Strict JSON costs one pass; else bytes that are no UTF-8, lone surrogates, control characters in
/// strings and the numbers that JSON does not have are replaced.
pub(super) fn parse(text: &[u8]) -> Parsed {
    let (text, marked) = match text.strip_prefix(b"\xEF\xBB\xBF") {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    match serde_json::from_slice(text) {
        Ok(value) => Parsed {
            values: vec![value],
            altered: marked,
            problem: None,
        },
        Err(_) if is_value_start(text) => parse_mended(text),
        Err(error) => Parsed {
            problem: Some(error.to_string()),
            ..Parsed::default()
        },
    }
}

/// Whether the text begins as a message must.
pub(super) fn is_value_start(text: &[u8]) -> bool {
    matches!(text.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// The `id` of a message that is no JSON: where it can be read before the damage, or as the message's last member.
pub(super) fn id_of_damaged(text: &[u8]) -> Option<RequestId> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let mut scanner = Scanner::new();
    let _ = scanner.feed(text);
    scanner.answered_id().or_else(|| last_id(text))
}

/// The identifier in `… "id": 7}` at the end of a text.
fn last_id(text: &[u8]) -> Option<RequestId> {
    const NAME: &[u8] = br#""id""#;
    let object = text.trim_ascii_end().strip_suffix(b"}")?;
    let at = memchr::memmem::rfind(object, NAME)?;
    let after = object.get(at + NAME.len()..)?.trim_ascii_start();
    serde_json::from_slice(after.strip_prefix(b":")?).ok()
}

fn parse_mended(text: &[u8]) -> Parsed {
    let mended = Mender::mend(&String::from_utf8_lossy(text));
    let mut parsed = Parsed {
        altered: true,
        ..Parsed::default()
    };
    for value in serde_json::Deserializer::from_str(&mended).into_iter() {
        match value {
            Ok(value) => parsed.values.push(value),
            Err(error) => {
                parsed.problem = Some(error.to_string());
                break;
            }
        }
    }
    parsed
}

/// Rewrites a text so that a strict parser takes it.
struct Mender<'a> {
    rest: &'a str,
    mended: String,
}

impl<'a> Mender<'a> {
    fn mend(text: &'a str) -> String {
        let mut mender = Self {
            rest: text,
            mended: String::with_capacity(text.len()),
        };
        loop {
            mender.copy_while(|character| !is_string_or_token(character));
            match mender.rest.chars().next() {
                None => return mender.mended,
                Some('"') => mender.string(),
                Some(_) => mender.token(),
            }
        }
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let end = self
            .rest
            .find(|character| !accept(character))
            .unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn copy_while(&mut self, accept: impl Fn(char) -> bool) {
        let taken = self.take_while(accept);
        self.mended.push_str(taken);
    }

    /// A number or a word. Those that are no number of JSON become null, as they do in browsers.
    fn token(&mut self) {
        let token = self.take_while(|character| {
            character.is_ascii_alphanumeric() || matches!(character, '+' | '-' | '.')
        });
        let has_no_json = token.parse().is_ok_and(|number: f64| !number.is_finite());
        self.mended
            .push_str(if has_no_json { "null" } else { token });
    }

    /// A string, from its quote to its quote.
    fn string(&mut self) {
        self.advance_copying(1);
        loop {
            self.copy_while(|character| character >= ' ' && character != '"' && character != '\\');
            match self.rest.chars().next() {
                None => return,
                Some('"') => {
                    self.advance_copying(1);
                    return;
                }
                Some('\\') => self.escape(),
                Some(control) => {
                    let _ = write!(self.mended, "\\u{:04x}", u32::from(control));
                    self.advance(1);
                }
            }
        }
    }

    fn escape(&mut self) {
        let mut characters = self.rest.chars();
        let _ = characters.next();
        match characters.next() {
            Some('u') => self.unicode_escape(),
            Some('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't') => self.advance_copying(2),
            // An escape that there is not: the backslash stands for itself.
            Some(_) | None => {
                self.mended.push_str("\\\\");
                self.advance(1);
            }
        }
    }

    fn unicode_escape(&mut self) {
        let first = code_unit(self.rest);
        match first {
            None => {
                self.mended.push_str("\\\\");
                self.advance(1);
            }
            Some(0xD800..=0xDBFF) => {
                let second = self.rest.get(6..).and_then(code_unit);
                if matches!(second, Some(0xDC00..=0xDFFF)) {
                    self.advance_copying(12);
                } else {
                    self.replace_unit();
                }
            }
            Some(0xDC00..=0xDFFF) => self.replace_unit(),
            Some(_) => self.advance_copying(6),
        }
    }

    fn replace_unit(&mut self) {
        self.mended.push(char::REPLACEMENT_CHARACTER);
        self.advance(6);
    }

    /// Leaves ASCII characters out.
    fn advance(&mut self, characters: usize) {
        self.rest = self.rest.get(characters..).unwrap_or_default();
    }

    /// Takes ASCII characters over.
    fn advance_copying(&mut self, characters: usize) {
        let (taken, rest) = self
            .rest
            .split_at_checked(characters)
            .unwrap_or((self.rest, ""));
        self.mended.push_str(taken);
        self.rest = rest;
    }
}

fn is_string_or_token(character: char) -> bool {
    character == '"' || character == '-' || character == '+' || character.is_ascii_alphanumeric()
}

/// The code unit of a `\uXXXX` at the start of a text.
fn code_unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}
