//! `read_text`: lines of a text file.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::sync::Arc;

use pirn_tool::{CallContext, Effects, Tool, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{AdapterOptions, Outcome, adapter, blocking, check, paths};

/// Bytes of text that a call gives when it says nothing.
pub const READ_BYTES_DEFAULT: u64 = 200_000;

/// Bytes of text that a call can give, whatever it says: half of what a message to the program holds.
pub const READ_BYTES_MAX: u64 = 1_000_000;

/// Bytes of a file that are looked at to find a line and to count the lines: a second's work.
pub const READ_SCAN_BYTES_MAX: u64 = 1 << 30;

/// Bytes read at a time.
const CHUNK_BYTES: usize = 256 * 1024;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
    max_bytes: Option<u64>,
}

/// `read_text {path, offset?, limit?, maxBytes?}`.
pub(super) fn read_text(options: Arc<AdapterOptions>) -> Tool {
    let spec = ToolSpec::new(
        "read_text",
        format!(
            "Reads a UTF-8 text file in the working folder, whole or from line `offset` on for `limit` lines. Never cut: more than \
             `maxBytes` (default {READ_BYTES_DEFAULT}, at most {READ_BYTES_MAX}) is an error."
        ),
    )
    .input_schema(json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "description": "The file, relative to the working folder"},
            "offset": {"type": "integer", "minimum": 1, "description": "The first line, from 1 (default: 1)"},
            "limit": {"type": "integer", "minimum": 1, "description": "How many lines (default: all)"},
            "maxBytes": {"type": "integer", "minimum": 1, "description": "The most bytes of text"}
        },
        "required": ["path"]
    }))
    .output_schema(json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "offset": {"type": "integer"},
            "lines": {"type": "integer", "description": "How many lines `text` has"},
            "totalLines": {"type": ["integer", "null"], "description": "null for files of more than 1 GiB"},
            "text": {"type": "string"}
        },
        "required": ["path", "offset", "lines", "totalLines", "text"]
    }))
    .effects(Effects::READ);
    adapter(
        spec,
        options,
        |arguments: Arguments, options: Arc<AdapterOptions>, context: CallContext| async move {
            blocking(&context, move |cancel| {
                let file = paths::open_file(&options, &arguments.path)?;
                read(file, &arguments, cancel)
            })
            .await
        },
    )
}

/// Reads the range and counts the lines. What is read counts, not what the file's size was said to be: it may grow meanwhile.
fn read(file: File, arguments: &Arguments, cancel: &CancellationToken) -> Outcome {
    let path = &arguments.path;
    let range = Range::new(arguments);
    let mut scan = Scan::default();
    let mut reader = BufReader::with_capacity(CHUNK_BYTES, file.take(READ_SCAN_BYTES_MAX));
    loop {
        check(cancel)?;
        let chunk = match reader.fill_buf() {
            Ok([]) => break,
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(paths::describe(path, &error)),
        };
        scan.feed(chunk, &range);
        if scan.text.len() as u64 > range.bytes_max {
            return Err(range.too_long(path));
        }
        let count = chunk.len();
        reader.consume(count);
    }
    let is_whole = reader.into_inner().limit() > 0;
    scan.finish(path, &range, is_whole)
}

/// What a call asks for.
#[derive(Debug)]
struct Range {
    /// The first line, from 0.
    first: u64,
    /// The line after the last one.
    end: u64,
    bytes_max: u64,
}

impl Range {
    fn new(arguments: &Arguments) -> Self {
        let first = arguments.offset.unwrap_or(1).saturating_sub(1);
        Self {
            first,
            end: arguments
                .limit
                .map_or(u64::MAX, |limit| first.saturating_add(limit)),
            bytes_max: arguments
                .max_bytes
                .unwrap_or(READ_BYTES_DEFAULT)
                .min(READ_BYTES_MAX),
        }
    }

    fn too_long(&self, path: &str) -> String {
        let Self {
            first,
            end,
            bytes_max,
        } = self;
        let lines = if *end == u64::MAX {
            format!("from line {} on", first + 1)
        } else {
            format!("in lines {} to {end}", first + 1)
        };
        format!(
            "{path} has more than {bytes_max} bytes {lines}; ask for fewer lines with offset and limit, or for more bytes with \
             maxBytes (at most {READ_BYTES_MAX})"
        )
    }
}

/// What has been seen of a file.
#[derive(Debug, Default)]
struct Scan {
    /// The bytes of the lines that were asked for, so far.
    text: Vec<u8>,
    /// How many line feeds have been read, from the start of the file.
    line_feeds: u64,
    /// Whether the last line has no line feed yet.
    is_line_open: bool,
}

impl Scan {
    fn feed(&mut self, chunk: &[u8], range: &Range) {
        for line in chunk.split_inclusive(|byte| *byte == b'\n') {
            // One byte more than allowed is enough to know.
            if (range.first..range.end).contains(&self.line_feeds)
                && self.text.len() as u64 <= range.bytes_max
            {
                self.text.extend_from_slice(line);
            }
            self.is_line_open = line.last() != Some(&b'\n');
            self.line_feeds += u64::from(!self.is_line_open);
        }
    }

    fn finish(self, path: &str, range: &Range, is_whole: bool) -> Outcome {
        let total_lines = self.line_feeds + u64::from(self.is_line_open);
        let offset = range.first + 1;
        if range.first > 0 && range.first >= total_lines {
            return Err(if is_whole {
                format!("{path} has {total_lines} lines; there is nothing from line {offset} on")
            } else {
                format!(
                    "{path}: line {offset} is not within the first {READ_SCAN_BYTES_MAX} bytes, and no more are looked at"
                )
            });
        }
        let text = String::from_utf8(self.text).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let before = error.as_bytes().get(..at).unwrap_or_default();
            let line = offset + before.split(|byte| *byte == b'\n').skip(1).count() as u64;
            format!("{path} is not valid UTF-8 in line {line}; it may be a binary file or in another encoding")
        })?;
        let lines = range.end.min(total_lines).saturating_sub(range.first);
        let total_lines = if is_whole {
            json!(total_lines)
        } else {
            Value::Null
        };
        Ok(
            json!({"path": path, "offset": offset, "lines": lines, "totalLines": total_lines, "text": text}),
        )
    }
}
