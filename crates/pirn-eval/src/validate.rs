//! Looking at JSON as text: what a value must be before it is kept as state, without reading it into values, so that integers
//! of any size stay and no depth costs stack.

use crate::limits::{STATE_BYTES_MAX, STATE_NODES_MAX};

/// Why a text cannot be kept as state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StateProblem {
    /// It is not what state has to be.
    Invalid(String),
    /// It is longer than [`STATE_BYTES_MAX`] or has more values than [`STATE_NODES_MAX`].
    TooLarge(String),
}

/// Checks that `json` is one JSON object with finite numbers, at most [`STATE_BYTES_MAX`] bytes (white space between tokens
/// not counted) and [`STATE_NODES_MAX`] values.
pub(crate) fn check_state(json: &str) -> Result<(), StateProblem> {
    let mut scanner = Scanner::new(json.as_bytes());
    scanner.skip_space();
    if scanner.peek() != Some(b'{') {
        return Err(StateProblem::Invalid(
            "`state` has to be an object with string keys.".to_owned(),
        ));
    }
    let facts = scanner.scan().map_err(|problem| match problem {
        Problem::Syntax(at) => {
            StateProblem::Invalid(format!("`state` is not JSON: byte {at} does not fit."))
        }
        Problem::Nodes => StateProblem::TooLarge(format!(
            "`state` exceeds {STATE_NODES_MAX} values; keep large data in files."
        )),
    })?;
    if facts.compact_bytes > STATE_BYTES_MAX {
        return Err(StateProblem::TooLarge(format!(
            "`state` exceeds {STATE_BYTES_MAX} bytes: it has {}; keep large data in files.",
            facts.compact_bytes
        )));
    }
    if let Some(at) = facts.infinite_at {
        return Err(StateProblem::Invalid(format!(
            "`state` has a number that is not finite, at byte {at}."
        )));
    }
    Ok(())
}

/// Whether `json`, which is JSON, has an integer that a 64-bit integer cannot hold, so that reading it would change it.
pub(crate) fn has_huge_integer(json: &str) -> bool {
    let mut scanner = Scanner::new(json.as_bytes());
    scanner.nodes_max = usize::MAX;
    scanner.scan().is_ok_and(|facts| facts.has_huge_integer)
}

enum Problem {
    Syntax(usize),
    Nodes,
}

#[derive(Debug, Default)]
struct Facts {
    compact_bytes: usize,
    infinite_at: Option<usize>,
    has_huge_integer: bool,
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    ValueOrClose,
    KeyOrClose,
    Key,
    CommaOrClose,
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    space_bytes: usize,
    nodes: usize,
    nodes_max: usize,
    /// The open containers: true for objects.
    open: Vec<bool>,
    facts: Facts,
}

impl<'a> Scanner<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            space_bytes: 0,
            nodes: 0,
            nodes_max: STATE_NODES_MAX,
            open: Vec::new(),
            facts: Facts::default(),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
            self.space_bytes += 1;
        }
    }

    fn scan(mut self) -> Result<Facts, Problem> {
        let mut expect = Expect::Value;
        loop {
            self.skip_space();
            let Some(byte) = self.peek() else {
                return Err(Problem::Syntax(self.at));
            };
            expect = self.step(expect, byte)?;
            if self.open.is_empty() {
                break;
            }
        }
        self.skip_space();
        if self.at < self.bytes.len() {
            return Err(Problem::Syntax(self.at));
        }
        self.facts.compact_bytes = self.bytes.len() - self.space_bytes;
        Ok(self.facts)
    }

    /// Takes one token, and in an object a key with its colon.
    fn step(&mut self, expect: Expect, byte: u8) -> Result<Expect, Problem> {
        let is_object = self.open.last() == Some(&true);
        match (expect, byte) {
            (Expect::KeyOrClose | Expect::CommaOrClose, b'}') if is_object => Ok(self.close()),
            (Expect::ValueOrClose | Expect::CommaOrClose, b']') if !is_object => Ok(self.close()),
            (Expect::CommaOrClose, b',') => {
                self.at += 1;
                Ok(if is_object {
                    Expect::Key
                } else {
                    Expect::Value
                })
            }
            (Expect::Key | Expect::KeyOrClose, b'"') => {
                self.string()?;
                self.skip_space();
                if self.peek() != Some(b':') {
                    return Err(Problem::Syntax(self.at));
                }
                self.at += 1;
                Ok(Expect::Value)
            }
            (Expect::Value | Expect::ValueOrClose, _) => self.value(byte),
            (Expect::Key | Expect::KeyOrClose | Expect::CommaOrClose, _) => {
                Err(Problem::Syntax(self.at))
            }
        }
    }

    fn close(&mut self) -> Expect {
        self.at += 1;
        self.open.pop();
        Expect::CommaOrClose
    }

    fn value(&mut self, byte: u8) -> Result<Expect, Problem> {
        self.nodes += 1;
        if self.nodes > self.nodes_max {
            return Err(Problem::Nodes);
        }
        match byte {
            b'{' => {
                self.at += 1;
                self.open.push(true);
                return Ok(Expect::KeyOrClose);
            }
            b'[' => {
                self.at += 1;
                self.open.push(false);
                return Ok(Expect::ValueOrClose);
            }
            b'"' => self.string()?,
            b't' => self.word(b"true")?,
            b'f' => self.word(b"false")?,
            b'n' => self.word(b"null")?,
            b'-' | b'0'..=b'9' => self.number()?,
            _ => return Err(Problem::Syntax(self.at)),
        }
        Ok(Expect::CommaOrClose)
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Problem> {
        if self
            .bytes
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(word))
        {
            self.at += word.len();
            Ok(())
        } else {
            Err(Problem::Syntax(self.at))
        }
    }

    fn string(&mut self) -> Result<(), Problem> {
        self.at += 1;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let Some(offset) = rest
                .iter()
                .position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f))
            else {
                return Err(Problem::Syntax(self.bytes.len()));
            };
            self.at += offset;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                _ => return Err(Problem::Syntax(self.at)),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Problem> {
        self.at += 1;
        let length = match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 1,
            Some(b'u')
                if self
                    .bytes
                    .get(self.at + 1..self.at + 5)
                    .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) =>
            {
                5
            }
            _ => return Err(Problem::Syntax(self.at)),
        };
        self.at += length;
        Ok(())
    }

    fn number(&mut self) -> Result<(), Problem> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        let mut is_integer = true;
        if self.peek() == Some(b'.') {
            is_integer = false;
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            is_integer = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = self
            .bytes
            .get(start..self.at)
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or_default();
        if is_integer {
            self.facts.has_huge_integer |=
                text.parse::<i64>().is_err() && text.parse::<u64>().is_err();
        } else if !text.parse::<f64>().is_ok_and(f64::is_finite) {
            self.facts.infinite_at.get_or_insert(start);
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Problem> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start {
            return Err(Problem::Syntax(self.at));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
