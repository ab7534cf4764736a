//! The lines of a trace.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use pirn_file::RotatingLog;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::secrets;

/// Which way a message went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TraceDirection {
    /// From Pirn to the server.
    Sent,
    /// From the server to Pirn.
    Received,
    /// Nowhere: a remark about the connection.
    Note,
}

/// One line of a trace.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct TraceLine {
    /// When, in UTC, as RFC 3339 with milliseconds.
    pub time: String,
    /// Which way the message went.
    pub direction: TraceDirection,
    /// The message, where it was JSON and not too long.
    #[serde(default)]
    pub message: Option<Value>,
    /// The text otherwise: a remark, something that is no JSON, or the beginning of a long message.
    #[serde(default)]
    pub text: Option<String>,
    /// How long the message was, in bytes, where `text` is only its beginning.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// What was made of the message, where it had to be repaired; a list for several.
    #[serde(default)]
    pub repaired: Option<Value>,
}

/// Reads a trace: the file that was moved away when it was full, if there is one, then `path` itself. Lines that are damaged,
/// such as one that is being written, are left out.
///
/// # Errors
///
/// When `path` cannot be opened.
pub fn read_trace(path: &Path) -> io::Result<impl Iterator<Item = TraceLine> + use<>> {
    let present = File::open(path)?;
    let before = File::open(RotatingLog::rotated(path)).ok();
    let files = before.into_iter().chain([present]);
    Ok(files.flat_map(|file| {
        BufReader::new(file)
            .split(b'\n')
            .map_while(Result::ok)
            .filter_map(|line| serde_json::from_slice(&line).ok())
    }))
}

/// A line to be written.
#[derive(Serialize)]
pub(super) struct Line {
    time: String,
    direction: TraceDirection,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repaired: Option<Box<RawValue>>,
}

impl Line {
    /// The line for a text, without secrets.
    pub(super) fn new(
        direction: TraceDirection,
        text: &[u8],
        repaired: &[String],
        bytes_max: usize,
    ) -> Self {
        let mut line = Self {
            time: rfc3339(SystemTime::now()),
            direction,
            message: None,
            text: None,
            bytes: None,
            repaired: None,
        };
        let text = secrets::hide(text, bytes_max);
        if text.whole_bytes > text.shown.len() {
            line.bytes = Some(text.whole_bytes);
            line.text = Some(text.shown);
        } else {
            match (direction, raw(text.shown)) {
                (TraceDirection::Sent | TraceDirection::Received, Ok(message)) => {
                    line.message = Some(message);
                }
                (TraceDirection::Note, Ok(message)) => line.text = Some(message.get().to_owned()),
                (_, Err(text)) => line.text = Some(text),
            }
        }
        line.repaired = joined(repaired, bytes_max);
        line
    }

    /// The line as it is written, with its end.
    pub(super) fn to_json(&self) -> Vec<u8> {
        let mut json = serde_json::to_vec(self).unwrap_or_default();
        json.push(b'\n');
        json
    }
}

/// JSON on one line as it is, or the text back.
fn raw(text: String) -> Result<Box<RawValue>, String> {
    if text.contains('\n') {
        return Err(text);
    }
    match serde_json::from_str::<&RawValue>(&text) {
        Ok(value) => Ok(value.to_owned()),
        Err(_) => Err(text),
    }
}

/// The repaired messages, unless they are too long.
fn joined(repaired: &[String], bytes_max: usize) -> Option<Box<RawValue>> {
    let text = match repaired {
        [] => return None,
        [one] => one.clone(),
        several => format!("[{}]", several.join(",")),
    };
    let text = secrets::hide(text.as_bytes(), bytes_max);
    if text.whole_bytes > text.shown.len() {
        let shown = Value::String(text.shown).to_string();
        return RawValue::from_string(shown).ok();
    }
    RawValue::from_string(text.shown).ok()
}

/// A time as text, in UTC.
pub(super) fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (year, month, day) = date(since.as_secs() / 86_400);
    let second = since.as_secs() % 86_400;
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        second / 3_600,
        second / 60 % 60,
        second % 60,
        since.subsec_millis()
    )
}

/// The date of a day since 1970. Years begin in March here, so that the day that comes and goes is the last one.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_BEFORE_1970: u64 = 719_468;
    const DAYS_OF_400_YEARS: u64 = 146_097;
    let days = days + DAYS_BEFORE_1970;
    let of_era = days % DAYS_OF_400_YEARS;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + days / DAYS_OF_400_YEARS * 400 + u64::from(month <= 2);
    (year, month, day)
}
