//! `read`: text by line range, bytes in a written form, and images.

mod line_index;
mod source;
mod text;

use std::fs::Metadata;
use std::io::{self, Read as _};
use std::sync::Arc;

use pirn_tool::{CallContext, ContentBlock, Effects, Tool, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::{Outcome, typed_tool};
use crate::blocking::{self, Stop};
use crate::encoding::{Encoding, MARK_BYTES_MAX};
use crate::limits::format_size;
use crate::ls::read_only;
use crate::options::ToolsOptions;
use crate::paths::{self, Place};
use crate::picture::{self, Failure, Format, IMAGE_FILE_BYTES_MAX, Picture};
use crate::reader::{Reader, SCRIPT_RESULT_BYTES_MAX};
use crate::regular::{Refusal, RegularFile};

use line_index::{LineIndex, LineStart};
pub(crate) use source::{Piece, Source};
use text::{Limits, Range, Scan};

/// The largest file that is decoded for a model, of which it sees a part: all of it is held in memory.
const DECODED_FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    offset: Option<i64>,
    limit: Option<i64>,
    encoding: Option<Encoding>,
}

/// `read {path, offset?, limit?, encoding?}`: shows a text file or a range of its lines, or an image.
pub fn read(options: Arc<ToolsOptions>) -> Tool {
    let spec = ToolSpec::new(
        "read",
        "Read a file: text, or an image (jpg, png, gif, webp, bmp). Text is cut after 2000 lines or 50KB, whichever comes \
         first; use offset and limit to read on in large files. A script gets the whole text, up to 16MB, and nothing added. \
         UTF-16 with a byte order mark is decoded; other bytes that are not UTF-8 need an encoding.",
    )
    .input_schema(json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Path of the file (relative or absolute)"},
            "offset": {"type": "integer", "description": "First line to read, counted from 1"},
            "limit": {"type": "integer", "description": "Most lines to read"},
            "encoding": Encoding::schema(
                &[Encoding::Latin1, Encoding::Base64],
                "For files that are not UTF-8 or UTF-16: latin1 for one character a byte, or base64"
            )
        },
        "required": ["path"],
        "additionalProperties": false
    }))
    .output_schema(output_schema())
    .effects(Effects::READ)
    .annotations(read_only())
    .guideline("Use read to look at files instead of cat or sed.");
    typed_tool(spec, options, run)
}

fn output_schema() -> Value {
    json!({
        "anyOf": [
            {"type": "string", "description": "The text, exactly as it is in the file"},
            {
                "type": "object",
                "properties": {
                    "type": {"type": "string", "const": "image"},
                    "data": {"type": "string", "description": "Base64"},
                    "mimeType": {"type": "string"},
                    "note": {"type": "string", "description": "What was done to the image"}
                },
                "required": ["type", "data", "mimeType", "note"]
            }
        ]
    })
}

async fn run(arguments: Arguments, options: Arc<ToolsOptions>, context: CallContext) -> Outcome {
    let reader = Reader::of(context.origin);
    let image_limits = context
        .settings()
        .and_then(|settings| settings.image_limits)
        .unwrap_or(options.image_limits);
    let picture_program = options.picture_program.clone();
    let found = blocking::run(&context, move |stop| {
        let place = paths::resolve_for_opening(&arguments.path, &options)
            .map_err(|error| error.explain("Could not read"))?;
        let call = Call {
            place: &place,
            range: Range::new(arguments.offset, arguments.limit),
            encoding: arguments.encoding,
            reader,
            options: &options,
            stop,
        };
        call.read()
    })
    .await?;
    let (format, bytes, shown) = match found {
        Found::Result(result) => return Ok(*result),
        Found::Picture {
            format,
            bytes,
            shown,
        } => (format, bytes, shown),
    };
    let program = picture_program.as_deref();
    match picture::load(format, bytes, image_limits, program, &context.cancel).await {
        Ok(picture) => Ok(picture_result(picture, reader)),
        Err(Failure::Stopped(text)) => Err(text),
        Err(Failure::Omitted(reason)) => left_out(format, &reason, &shown, reader),
    }
}

/// What is in a file.
enum Found {
    /// All that there is to tell.
    Result(Box<ToolResult>),
    /// A picture, which is decoded elsewhere.
    Picture {
        format: Format,
        bytes: Vec<u8>,
        /// The path, as the caller knows it.
        shown: String,
    },
}

/// One call, its path resolved.
struct Call<'a> {
    place: &'a Place,
    range: Range,
    encoding: Option<Encoding>,
    reader: Reader,
    options: &'a ToolsOptions,
    stop: &'a Stop,
}

impl Call<'_> {
    fn read(&self) -> Result<Found, String> {
        let opened = RegularFile::open(&self.place.path, self.options)
            .map_err(|refusal| self.failed(&refusal))?;
        let metadata = opened.metadata.clone();
        let size = metadata.len();
        let mut source = Source::new(opened, self.stop);
        let mut head = Vec::with_capacity(picture::MAGIC_BYTES);
        source
            .by_ref()
            .take(picture::MAGIC_BYTES as u64)
            .read_to_end(&mut head)
            .map_err(|error| self.broken(error))?;
        if self.encoding.is_none()
            && let Some(format) = picture::detect(&head)
        {
            // One byte more than may be, so that more is noticed.
            let rest_max = IMAGE_FILE_BYTES_MAX + 1 - head.len();
            source
                .take(rest_max as u64)
                .read_to_end(&mut head)
                .map_err(|error| self.broken(error))?;
            return Ok(Found::Picture {
                format,
                bytes: head,
                shown: self.place.shown.clone(),
            });
        }
        let mark = head.get(..MARK_BYTES_MAX).unwrap_or(&head);
        let encoding = self.encoding.unwrap_or_else(|| Encoding::of_mark(mark));
        let mut scan = Scan::new(self.range, self.limits());
        match encoding {
            Encoding::Utf8 => self.scan_bytes(&mut scan, &head, &mut source, &metadata)?,
            Encoding::Utf16Le | Encoding::Utf16Be | Encoding::Latin1 | Encoding::Base64 => {
                let bytes = self.whole(head, size, &mut source)?;
                let text = encoding
                    .decode(bytes)
                    .map_err(|not_text| self.fails(&not_text.to_string()))?;
                scan.feed(text.as_bytes());
            }
        }
        let result = self.result(scan, encoding)?;
        Ok(Found::Result(Box::new(result)))
    }

    fn limits(&self) -> Limits {
        match self.reader {
            Reader::Eyes => Limits::MODEL,
            Reader::Program => Limits {
                lines: u64::MAX,
                bytes: SCRIPT_RESULT_BYTES_MAX,
            },
        }
    }

    fn scan_bytes(
        &self,
        scan: &mut Scan,
        head: &[u8],
        source: &mut Source<'_>,
        metadata: &Metadata,
    ) -> Result<(), String> {
        let mut index = LineIndex::of(metadata);
        let start = index
            .as_ref()
            .and_then(|index| index.start_before(self.range.first()));
        let known_total = index.as_ref().and_then(LineIndex::total);
        match start {
            Some(start) => {
                source.seek_to(start.at);
                scan.start_at(start.line);
            }
            None => scan.feed(head),
        }
        loop {
            let at = source.position();
            let Some(piece) = source.next_piece().map_err(|error| self.broken(error))? else {
                if let Some(index) = &mut index {
                    index.set_total(scan.total());
                }
                break;
            };
            match piece {
                Piece::Bytes(bytes) => {
                    scan.feed(bytes);
                    if let Some(index) = &mut index
                        && let Some(line_feed) = memchr::memrchr(b'\n', bytes)
                    {
                        index.add(LineStart {
                            line: scan.line_feeds(),
                            at: at + line_feed as u64 + 1,
                        });
                    }
                }
                Piece::Hole(length) => scan.feed_hole(length),
            }
            // Only the notice for eyes tells how many lines there are.
            match (self.reader, known_total) {
                (Reader::Program, _) if scan.is_past_range() => break,
                (Reader::Eyes, Some(total))
                    if scan.is_past_range() && scan.is_past_first_line() =>
                {
                    scan.set_total(total);
                    break;
                }
                (Reader::Program | Reader::Eyes, _) => {}
            }
        }
        if let Some(index) = index {
            index.keep();
        }
        Ok(())
    }

    /// All bytes of a file, for decoding.
    fn whole(&self, head: Vec<u8>, size: u64, source: &mut Source<'_>) -> Result<Vec<u8>, String> {
        let limit = match self.reader {
            Reader::Eyes => DECODED_FILE_BYTES_MAX,
            // UTF-16 has up to twice the bytes that UTF-8 has for the same text.
            Reader::Program => SCRIPT_RESULT_BYTES_MAX as u64 * 2,
        };
        let mut bytes = head;
        if size <= limit {
            source
                .take(limit)
                .read_to_end(&mut bytes)
                .map_err(|error| self.broken(error))?;
        }
        if size.max(bytes.len() as u64) > limit {
            return Err(self.fails(&format!(
                "it has {}, and more than {} are not decoded. Use bash for a part of it",
                format_size(size.max(bytes.len() as u64)),
                format_size(limit)
            )));
        }
        Ok(bytes)
    }

    fn result(&self, scan: Scan, encoding: Encoding) -> Outcome {
        let details = json!({ "encoding": encoding.name() });
        let result = match self.reader {
            Reader::Eyes => {
                let text = scan.into_shown(&self.place.shown);
                let mut text = text.map_err(|error| self.explain(&error))?;
                if matches!(encoding, Encoding::Utf16Le | Encoding::Utf16Be) {
                    text.push_str("\n\n[Decoded from ");
                    text.push_str(encoding.label());
                    text.push_str(". write and edit keep that encoding.]");
                }
                ToolResult::text(text)
            }
            Reader::Program => match scan.into_exact() {
                Ok(text) => {
                    let size = format_size(text.len() as u64);
                    ToolResult::text(format!("[The script has the whole text, {size}]"))
                        .with_structured(Value::String(text))
                }
                Err(error @ text::Error::TooLong) => ToolResult::over_limit(self.explain(&error)),
                Err(error @ (text::Error::Offset { .. } | text::Error::NotText(_))) => {
                    return Err(self.explain(&error));
                }
            },
        };
        Ok(result.with_details(details))
    }

    fn explain(&self, error: &text::Error) -> String {
        match error {
            text::Error::Offset { offset, lines } => {
                format!("Offset {offset} is beyond end of file ({lines} lines total)")
            }
            text::Error::NotText(not_text) => self.fails(&not_text.to_string()),
            text::Error::TooLong => self.fails(&format!(
                "the text has more than {}, the most that one call gives to a script. Page through it with offset and limit",
                format_size(SCRIPT_RESULT_BYTES_MAX as u64)
            )),
        }
    }

    fn fails(&self, reason: &str) -> String {
        format!("Could not read {}: {reason}", self.place.shown)
    }

    fn failed(&self, refusal: &Refusal) -> String {
        match refusal {
            Refusal::Confined(sentence) => sentence.clone(),
            Refusal::Io(_) | Refusal::Other(_) | Refusal::ProcessFile => {
                self.fails(&self.place.explain(refusal, self.options))
            }
        }
    }

    fn broken(&self, error: io::Error) -> String {
        match self.stop.check() {
            Err(aborted) => aborted,
            Ok(()) => self.failed(&Refusal::Io(error)),
        }
    }
}

/// A picture that cannot be shown: a note for eyes, for programs an error, since what they asked for is not there.
fn left_out(format: Format, reason: &str, shown: &str, reader: Reader) -> Outcome {
    match reader {
        Reader::Eyes => Ok(ToolResult::text(format!(
            "Read image file [{}]\n[{reason}]",
            format.mime_type()
        ))),
        Reader::Program => Err(format!(
            "Could not read {shown}: {reason}. Give {{encoding: \"base64\"}} for its bytes"
        )),
    }
}

fn picture_result(picture: Picture, reader: Reader) -> ToolResult {
    let Picture {
        data,
        mime_type,
        note,
    } = picture;
    match reader {
        Reader::Eyes => ToolResult {
            content: vec![
                ContentBlock::text(note),
                ContentBlock::Image {
                    data,
                    mime_type: mime_type.to_owned(),
                },
            ],
            ..ToolResult::default()
        },
        Reader::Program => ToolResult::text(note.as_str()).with_structured(
            json!({"type": "image", "data": data, "mimeType": mime_type, "note": note}),
        ),
    }
}
