//! Changing one value of a file.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use serde_json::{Map, Value};

use crate::file::{read_bounded, replace};
use crate::layout;
use crate::splice::{Change, Text};
use crate::tree::{self, Node};

/// How often a change starts over because somebody else wrote the file meanwhile.
const ATTEMPTS_MAX: usize = 5;

/// Why a value was not set. The file is as it was.
#[derive(Debug)]
pub struct SetError {
    path: PathBuf,
    line: Option<u32>,
    problem: String,
    source: Option<io::Error>,
}

impl fmt::Display for SetError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(formatter, ":{line}")?;
        }
        write!(formatter, " {}", self.problem)
    }
}

impl std::error::Error for SetError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source
            .as_ref()
            .map(|source| source as &(dyn std::error::Error + 'static))
    }
}

/// Gives the member that `keys` lead to the value that `make` makes of its old one, and adds it, and the objects around it,
/// where they are missing. The file and its folder are made where they are missing; a new file is readable by its owner only.
/// Comments, order and layout stay. Fails on a file that is longer than `bytes_max`, is no valid JSON or cannot be written.
pub fn set_value(
    path: &Path,
    bytes_max: u64,
    keys: &[&str],
    make: impl Fn(Option<&Node>) -> Value,
) -> Result<(), SetError> {
    change_file(path, bytes_max, |text| changed(text, keys, &make)).map(drop)
}

/// Takes the member that `keys` lead to out of a file; whether it was there. Everything else stays as it is, an object that is
/// empty afterwards too. Fails like [`set_value`]; a missing file holds nothing.
pub fn remove_value(path: &Path, bytes_max: u64, keys: &[&str]) -> Result<bool, SetError> {
    change_file(path, bytes_max, |text| without(text, keys))
}

/// Replaces the text of a file by what `change` makes of it; whether that is another one. What `change` fails with is the line of
/// what is in the way.
fn change_file(
    path: &Path,
    bytes_max: u64,
    change: impl Fn(&str) -> Result<String, (u32, String)>,
) -> Result<bool, SetError> {
    let fail = |problem: &str, source: io::Error| SetError {
        path: path.to_owned(),
        line: None,
        problem: problem.to_owned(),
        source: Some(source),
    };
    for _attempt in 0..ATTEMPTS_MAX {
        let before = match read_bounded(path, bytes_max) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(fail("cannot be read", error)),
        };
        let text = before.as_deref().unwrap_or_default();
        let after = change(text).map_err(|(line, problem)| SetError {
            path: path.to_owned(),
            line: Some(line),
            problem,
            source: None,
        })?;
        if before.as_deref().unwrap_or_default() == after {
            return Ok(false);
        }
        let is_current = || read_bounded(path, bytes_max).ok() == before;
        if replace(path, after.as_bytes(), is_current)
            .map_err(|error| fail("cannot be written", error))?
        {
            return Ok(true);
        }
    }
    let error = io::Error::other("somebody else keeps changing it");
    Err(fail("cannot be written", error))
}

/// The text after the change, or the line of what is in the way.
fn changed(
    text: &str,
    keys: &[&str],
    make: &impl Fn(Option<&Node>) -> Value,
) -> Result<String, (u32, String)> {
    let body = tree::without_mark(text);
    let mark = text.strip_suffix(body).unwrap_or_default();
    let invalid = |error: tree::SyntaxError| {
        let problem = format!("cannot be changed: it is not valid JSON: {}", error.message);
        (error.line, problem)
    };
    let root = tree::parse(body).map_err(invalid)?;
    let mut node = root.as_ref();
    // How many of the keys there are already.
    let mut known = 0;
    if let Some(root) = node.filter(|root| !root.is_object()) {
        return Err((
            root.line,
            "cannot be changed: it must hold an object".to_owned(),
        ));
    }
    for (index, key) in keys.iter().enumerate() {
        let Some(found) = node.and_then(|node| node.get(key)) else {
            node = None;
            break;
        };
        let is_last = index + 1 == keys.len();
        if !is_last && !found.is_object() {
            let path = keys.get(..=index).unwrap_or_default().join(".");
            return Err((
                found.line,
                format!("cannot be changed: {path} must be an object"),
            ));
        }
        known = index + 1;
        node = Some(found);
    }
    // A missing object is added with all that is in it.
    let depth = known.min(keys.len().saturating_sub(1));
    let (place, added) = keys.split_at_checked(depth).unwrap_or((keys, &[]));
    let Some((name, below)) = added.split_first() else {
        return Ok(text.to_owned());
    };
    let value = below
        .iter()
        .rev()
        .fold(make(node), |value, key| object(key, value));
    let parsed = Text::parse(body).map_err(invalid)?;
    let after = if parsed.is_blank() {
        layout::whole(body, &object(name, value))
    } else {
        parsed
            .changed(place, name, &Change::Set(value))
            .ok_or_else(|| (1, "cannot be changed: the place is not there".to_owned()))?
    };
    Ok(format!("{mark}{after}"))
}

/// The text without the member, or the line of what is in the way.
fn without(text: &str, keys: &[&str]) -> Result<String, (u32, String)> {
    let body = tree::without_mark(text);
    let mark = text.strip_suffix(body).unwrap_or_default();
    let Some((name, place)) = keys.split_last() else {
        return Ok(text.to_owned());
    };
    let parsed = Text::parse(body).map_err(|error| {
        let problem = format!("cannot be changed: it is not valid JSON: {}", error.message);
        (error.line, problem)
    })?;
    // Where there is no such object, there is no such member.
    Ok(parsed
        .changed(place, name, &Change::Remove)
        .map_or_else(|| text.to_owned(), |after| format!("{mark}{after}")))
}

fn object(key: &str, value: Value) -> Value {
    let mut object = Map::new();
    object.insert(key.to_owned(), value);
    Value::Object(object)
}

#[cfg(test)]
mod tests;
