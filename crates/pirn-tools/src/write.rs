//! `write`: a whole file at once.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pirn_tool::{Annotations, CallContext, Effects, Tool, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use crate::arguments::{ABORTED, Outcome, typed_tool};
use crate::blocking::{self, Stop};
use crate::encoding::Encoding;
use crate::file_queue;
use crate::line_count::LineCount;
use crate::options::ToolsOptions;
use crate::paths::{self, Place};
use crate::read::{Piece, Source};
use crate::reader::Reader;
use crate::regular::{Refusal, RegularFile};
use crate::replace::{Within, replace};

/// The byte order mark of UTF-8.
const UTF8_MARK: &[u8] = b"\xEF\xBB\xBF";

/// How much of a file is looked at to find out whether it is text.
const LOOKED_AT_BYTES_MAX: usize = 64 * 1024 * 1024;

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    content: String,
    encoding: Option<Encoding>,
}

/// `write {path, content, encoding?}`: creates a file with its folders, or replaces its content at once.
pub fn write(options: Arc<ToolsOptions>) -> Tool {
    let spec = ToolSpec::new(
        "write",
        "Write content to a file. Creates the file and its parent folders when they do not exist, and replaces the whole \
         content when they do. An existing file keeps its encoding.",
    )
    .input_schema(json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Path of the file (relative or absolute)"},
            "content": {"type": "string", "description": "The whole new content"},
            "encoding": Encoding::schema(
                &[Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Latin1, Encoding::Base64],
                "How the content becomes bytes (default: that of the file, utf-8 for a new one)"
            )
        },
        "required": ["path", "content"],
        "additionalProperties": false
    }))
    .output_schema(json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "added": {"type": "integer", "description": "Lines"},
            "removed": {"type": "integer", "description": "Lines; a changed one counts as removed and added"},
            "created": {"type": "boolean", "description": "Whether there was no such file"},
            "notes": {"type": "array", "items": {"type": "string"}}
        },
        "required": ["path", "added", "removed", "created"]
    }))
    .effects(Effects::READ | Effects::WRITE)
    .annotations(Annotations {
        read_only_hint: Some(false),
        destructive_hint: Some(true),
        idempotent_hint: Some(true),
        open_world_hint: Some(false),
    })
    .guideline("Use write only for new files and complete rewrites; use edit for changes.");
    typed_tool(spec, options, run)
}

async fn run(arguments: Arguments, options: Arc<ToolsOptions>, context: CallContext) -> Outcome {
    let Arguments {
        path,
        content,
        encoding,
    } = arguments;
    let reader = Reader::of(context.origin);
    let (target, place) = locate_new(&context, path, Arc::clone(&options)).await?;
    let turn = tokio::select! {
        turn = file_queue::turn(&target) => turn,
        () = context.cancel.cancelled() => return Err(ABORTED.to_owned()),
    };
    let is_allowed = paths::is_allowed(&context, &target);
    blocking::run(&context, move |stop| {
        let _turn = turn;
        let call = Call {
            is_allowed,
            target: &target,
            place: &place,
            reader,
            options: &options,
            stop,
        };
        call.write(&content, encoding)
    })
    .await
}

/// One call, its path resolved.
struct Call<'a> {
    /// The file itself, with links resolved.
    target: &'a Path,
    place: &'a Place,
    /// Whether a person said that it may be written although the confinement says no.
    is_allowed: bool,
    reader: Reader,
    options: &'a ToolsOptions,
    stop: &'a Stop,
}

impl Call<'_> {
    fn write(&self, content: &str, encoding: Option<Encoding>) -> Outcome {
        let (bytes, note) = match encoding {
            Some(encoding) => (self.encode(encoding, content)?, None),
            None => self.encode_as_before(content)?,
        };
        let is_new = self.target.symlink_metadata().is_err();
        // What was there is only counted for programs.
        let before = match self.reader {
            Reader::Eyes => None,
            Reader::Program => Some(self.content_before()?.unwrap_or_default()),
        };
        self.stop.check()?;
        let within = match (self.place.private_root.as_deref(), self.is_allowed) {
            (Some(root), _) => Within::Private(root),
            (None, true) => Within::Allowed(self.target),
            (None, false) => Within::Anywhere,
        };
        replace(self.target, &bytes, within, self.options)
            .map_err(|refusal| self.failed(&refusal))?;
        let private = self.place.private_root.as_ref().map(
            |_| "in the private temporary folder of commands, which goes at the end of the session",
        );
        let notes: Vec<&str> = private.into_iter().chain(note).collect();
        let in_brackets = if notes.is_empty() {
            String::new()
        } else {
            format!(" ({})", notes.join("; "))
        };
        let shown = &self.place.shown;
        let result = ToolResult::text(format!("Successfully wrote to {shown}{in_brackets}"));
        let Some(before) = before else {
            return Ok(result);
        };
        let count = LineCount::of(&before, &bytes);
        let mut value = json!({
            "path": shown,
            "added": count.added,
            "removed": count.removed,
            "created": is_new
        });
        if !notes.is_empty() {
            value["notes"] = json!(notes);
        }
        Ok(result.with_structured(value))
    }

    /// What the file holds now, up to a bound; `None` where there is none, or what is there may not be read.
    fn content_before(&self) -> Result<Option<Vec<u8>>, String> {
        let Ok(opened) = RegularFile::open(self.target, self.options) else {
            return Ok(None);
        };
        let mut content = Vec::new();
        let mut source = Source::new(opened, self.stop).take(LOOKED_AT_BYTES_MAX as u64);
        match source.read_to_end(&mut content) {
            Ok(_) => Ok(Some(content)),
            Err(error) => Err(self
                .stop
                .check()
                .err()
                .unwrap_or_else(|| self.failed(&error.into()))),
        }
    }

    /// The bytes of a content in the encoding of the file that is replaced, with a note where that is not plain UTF-8.
    fn encode_as_before(&self, content: &str) -> Result<(Vec<u8>, Option<&'static str>), String> {
        let plain = || Ok((content.as_bytes().to_vec(), None));
        let Ok(opened) = RegularFile::open(self.target, self.options) else {
            // A new file, one that may not be read, or something that the writing will refuse.
            return plain();
        };
        let mut source = Source::new(opened, self.stop);
        let before = Before::of(&mut source, content).map_err(|error| {
            self.stop
                .check()
                .err()
                .unwrap_or_else(|| self.failed(&error.into()))
        })?;
        match before {
            Before::Utf16(encoding) => {
                Ok((self.encode(encoding, content)?, Some("as UTF-16, like before")))
            }
            Before::MarkedUtf8 if !content.is_empty() && !content.starts_with('\u{FEFF}') => {
                let bytes = [UTF8_MARK, content.as_bytes()].concat();
                Ok((bytes, Some("with its byte order mark, like before")))
            }
            Before::Other if !content.is_ascii() => Err(self.fails(
                "the file is not UTF-8 now, and the content has characters outside ASCII. Say how to write it: {encoding: \
                 \"latin1\"} or {encoding: \"utf-8\"}",
            )),
            Before::MarkedUtf8 | Before::Utf8 | Before::Other => plain(),
        }
    }

    fn encode(&self, encoding: Encoding, content: &str) -> Result<Vec<u8>, String> {
        encoding.encode(content).map_err(|error| self.fails(&error))
    }

    fn fails(&self, reason: &str) -> String {
        format!("Could not write {}: {reason}", self.place.shown)
    }

    fn failed(&self, refusal: &Refusal) -> String {
        match refusal {
            Refusal::Confined(sentence) => sentence.clone(),
            Refusal::Io(_) | Refusal::Other(_) | Refusal::ProcessFile => {
                self.fails(&refusal.to_string())
            }
        }
    }
}

/// What a file holds before it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Utf8,
    MarkedUtf8,
    Utf16(Encoding),
    /// Something in no encoding that is known.
    Other,
}

impl Before {
    /// Looks at as much as it takes to write `content` in its place.
    fn of(source: &mut Source<'_>, content: &str) -> io::Result<Self> {
        let mut bytes = Vec::new();
        // Zero bytes are text in every encoding, so that holes need not be read.
        while bytes.len() < LOOKED_AT_BYTES_MAX
            && let Some(piece) = source.next_piece()?
        {
            if let Piece::Bytes(piece) = piece {
                bytes.extend_from_slice(piece);
            }
            // ASCII is the same in all encodings that a mark does not tell.
            if content.is_ascii() && Encoding::of_mark(&bytes) == Encoding::Utf8 {
                break;
            }
        }
        let is_cut = bytes.len() >= LOOKED_AT_BYTES_MAX;
        let is_marked = bytes.starts_with(UTF8_MARK);
        let encoding = Encoding::of_mark(&bytes);
        if encoding != Encoding::Utf8 {
            let is_text = is_cut || encoding.decode(bytes).is_ok();
            return Ok(if is_text {
                Self::Utf16(encoding)
            } else {
                Self::Other
            });
        }
        Ok(match std::str::from_utf8(&bytes) {
            // The cut may be within a character.
            Err(error) if !is_cut || error.error_len().is_some() => Self::Other,
            Ok(_) | Err(_) if is_marked => Self::MarkedUtf8,
            Ok(_) | Err(_) => Self::Utf8,
        })
    }
}

/// Finds the real file behind a path that may be new, off the async threads, and checks that it may be written.
async fn locate_new(
    context: &CallContext,
    path: String,
    options: Arc<ToolsOptions>,
) -> Result<(PathBuf, Place), String> {
    let asked = context.clone();
    blocking::off_thread(context, move || {
        let place = paths::resolve(&path, &options)
            .map_err(|error| error.explain("Could not write"))?;
        let shown = &place.shown;
        if paths::asks_for_folder(&place.path) {
            return Err(format!(
                "Could not write {shown}: a name that ends in a separator is that of a folder"
            ));
        }
        let target = pirn_file::real_target(&place.path)
            .map_err(|error| format!("Could not write {shown}: {}", paths::describe(&error)))?;
        if let Some(root) = &place.private_root
            && !paths::stays_below(&target, root)
        {
            return Err(format!(
                "Could not write {shown}: a link there leads out of the private temporary folder of commands"
            ));
        }
        let is_allowed = paths::is_allowed(&asked, &target);
        paths::check_write(&target, is_allowed, &options)?;
        Ok((target, place))
    })
    .await
}
