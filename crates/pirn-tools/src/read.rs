//! `read`: text by line range, and images.

mod image;
mod source;
mod text;

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use pirn_tool::{CallContext, ContentBlock, Effects, Tool, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::{Outcome, typed_tool};
use crate::blocking::{self, Stop};
use crate::ls::read_only;
use crate::options::{ImageLimits, ToolsOptions};
use crate::paths;

pub use image::IMAGE_FILE_BYTES_MAX;
use image::Picture;
use source::Source;
use text::Range;

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    offset: Option<i64>,
    limit: Option<i64>,
}

/// `read {path, offset?, limit?}`: shows a text file or a range of its lines, or an image.
pub fn read(options: Arc<ToolsOptions>) -> Tool {
    let spec = ToolSpec::new(
        "read",
        "Read a file: text, or an image (jpg, png, gif, webp, bmp). Text is cut after 2000 lines or 50KB, whichever comes \
         first; use offset and limit to read on in large files.",
    )
    .input_schema(json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Path of the file (relative or absolute)"},
            "offset": {"type": "integer", "description": "First line to read, counted from 1"},
            "limit": {"type": "integer", "description": "Most lines to read"}
        },
        "required": ["path"]
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
            {"type": "string", "description": "The text, with a notice at its end when it was cut"},
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
    blocking::run(&context, move |stop| {
        let path = paths::resolve_readable(&arguments.path, &options)?;
        let range = Range::new(arguments.offset, arguments.limit);
        read_file(&path, &arguments.path, range, options.image_limits, stop)
    })
    .await
}

fn read_file(path: &Path, shown: &str, range: Range, limits: ImageLimits, stop: &Stop) -> Outcome {
    let failed = |error: std::io::Error| match stop.check() {
        Err(aborted) => aborted,
        Ok(()) => format!("Could not read {shown}: {}", paths::describe(&error)),
    };
    let mut source = Source::open(path, stop).map_err(failed)?;
    let mut head = Vec::with_capacity(image::MAGIC_BYTES);
    source
        .by_ref()
        .take(image::MAGIC_BYTES as u64)
        .read_to_end(&mut head)
        .map_err(failed)?;
    if let Some(format) = image::detect(&head) {
        return Ok(match image::load(format, &head, &mut source, limits) {
            Ok(picture) => picture_result(picture),
            Err(reason) => {
                let text = format!("Read image file [{}]\n[{reason}]", format.mime_type());
                ToolResult::text(text.clone()).with_structured(Value::String(text))
            }
        });
    }
    let mut reader = head.as_slice().chain(source);
    let text = text::read_range(&mut reader, shown, range).map_err(|error| match error {
        text::Error::Io(error) => failed(error),
        text::Error::Offset { offset, lines } => {
            format!("Offset {offset} is beyond end of file ({lines} lines total)")
        }
    })?;
    Ok(ToolResult::text(text.clone()).with_structured(Value::String(text)))
}

fn picture_result(picture: Picture) -> ToolResult {
    let Picture {
        data,
        mime_type,
        note,
    } = picture;
    let structured = json!({"type": "image", "data": data, "mimeType": mime_type, "note": note});
    ToolResult {
        content: vec![
            ContentBlock::text(note),
            ContentBlock::Image {
                data,
                mime_type: mime_type.to_owned(),
            },
        ],
        structured: Some(structured),
        ..ToolResult::default()
    }
}
