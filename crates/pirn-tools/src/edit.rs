//! `edit`: exact replacements in one file.

mod diff;
mod failure;
mod line_end;
mod matching;
mod nearest;
mod view;

use std::fs::Metadata;
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pirn_tool::{Annotations, CallContext, Effects, Tool, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::arguments::{ABORTED, Outcome, typed_tool_with};
use crate::blocking::{self, Stop};
use crate::encoding::Encoding;
use crate::file_queue;
use crate::limits::format_size;
use crate::line_count::LineCount;
use crate::options::ToolsOptions;
use crate::paths::{self, Place, quoted};
use crate::read::Source;
use crate::reader::Reader;
use crate::regular::{Refusal, RegularFile};
use crate::replace::{Within, replace};

use failure::Failure;
use matching::{Plan, Tolerance};

/// The largest file that is edited: it is held in memory several times over.
pub const EDIT_FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// How much is shown of a text that was found in another spelling.
const NEAR_SHOWN_BYTES_MAX: usize = 200;

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    edits: Vec<Edit>,
    encoding: Option<Encoding>,
}

/// One replacement of a text by another.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Edit {
    old_text: String,
    new_text: String,
}

/// `edit {path, edits: [{oldText, newText}]}`: replaces texts that occur exactly once.
pub fn edit(options: Arc<ToolsOptions>) -> Tool {
    let spec = ToolSpec::new(
        "edit",
        "Edit one file by replacing exact texts. Every oldText must occur exactly once in the file as it is before the call, \
         and they must not overlap. Give all changes of a file in one call. Line ends, byte order mark and encoding of the file \
         stay.",
    )
    .input_schema(json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Path of the file (relative or absolute)"},
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "oldText": {"type": "string", "description": "Text to replace; long enough to be unique"},
                        "newText": {"type": "string", "description": "What replaces it"}
                    },
                    "required": ["oldText", "newText"],
                    "additionalProperties": false
                }
            },
            "encoding": Encoding::schema(
                &[Encoding::Latin1],
                "For files that are not UTF-8 or UTF-16: latin1 for one character a byte"
            )
        },
        "required": ["path", "edits"],
        "additionalProperties": false
    }))
    .output_schema(json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "added": {"type": "integer", "description": "Lines"},
            "removed": {"type": "integer", "description": "Lines; a changed one counts as removed and added"},
            "notes": {"type": "array", "items": {"type": "string"}, "description": "What was not there exactly as given"}
        },
        "required": ["path", "added", "removed"]
    }))
    .effects(Effects::READ | Effects::WRITE)
    .annotations(Annotations {
        read_only_hint: Some(false),
        destructive_hint: Some(true),
        idempotent_hint: Some(false),
        open_world_hint: Some(false),
    })
    .guideline("Keep oldText as short as it can be while being unique; join changes that touch.");
    typed_tool_with(spec, options, prepare, run)
}

/// Accepts `edits` as JSON text or as a single object, and one edit given at the top level.
fn prepare(arguments: Value) -> Value {
    let Value::Object(mut object) = arguments else {
        return arguments;
    };
    let edits = match object.remove("edits") {
        Some(Value::String(text)) => match serde_json::from_str(&text) {
            Ok(parsed @ (Value::Array(_) | Value::Object(_))) => Some(parsed),
            _ => Some(Value::String(text)),
        },
        other => other,
    };
    let edits = match edits {
        Some(single @ Value::Object(_)) => Some(Value::Array(vec![single])),
        other => other,
    };
    let edits = match (edits, take_top_level(&mut object)) {
        (Some(Value::Array(mut edits)), Some(edit)) => {
            edits.push(edit);
            Some(Value::Array(edits))
        }
        (None, Some(edit)) => Some(Value::Array(vec![edit])),
        (edits, _) => edits,
    };
    if let Some(edits) = edits {
        object.insert("edits".to_owned(), edits);
    }
    Value::Object(object)
}

fn take_top_level(object: &mut Map<String, Value>) -> Option<Value> {
    if !(object.get("oldText")?.is_string() && object.get("newText")?.is_string()) {
        return None;
    }
    Some(json!({"oldText": object.remove("oldText"), "newText": object.remove("newText")}))
}

async fn run(arguments: Arguments, options: Arc<ToolsOptions>, context: CallContext) -> Outcome {
    let Arguments {
        path,
        edits,
        encoding,
    } = arguments;
    if edits.is_empty() {
        return Err(
            "Edit tool input is invalid. edits must contain at least one replacement.".to_owned(),
        );
    }
    let reader = Reader::of(context.origin);
    let (target, place) = locate(&context, path, Arc::clone(&options)).await?;
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
            edits: &edits,
            encoding,
            reader,
            options: &options,
            stop,
        };
        call.edit()
    })
    .await
}

/// Finds the real file behind a path, off the async threads, and checks that it may be changed.
async fn locate(
    context: &CallContext,
    path: String,
    options: Arc<ToolsOptions>,
) -> Result<(PathBuf, Place), String> {
    let asked = context.clone();
    blocking::off_thread(context, move || {
        let place = paths::resolve_readable(&path, &options)
            .map_err(|error| error.explain("Could not edit file:"))?;
        let target = place
            .path
            .canonicalize()
            .map_err(|error| unreadable(&place, &error.into(), &options))?;
        let is_allowed = paths::is_allowed(&asked, &target);
        paths::check_write(&target, is_allowed, &options)?;
        Ok((target, place))
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
    edits: &'a [Edit],
    encoding: Option<Encoding>,
    reader: Reader,
    options: &'a ToolsOptions,
    stop: &'a Stop,
}

/// A file's text before an edit.
struct Before {
    text: String,
    encoding: Encoding,
    tolerance: Tolerance,
    metadata: Metadata,
}

impl Call<'_> {
    fn edit(&self) -> Outcome {
        let before = self.read()?;
        let text = &before.text;
        self.stop.check()?;
        let plan = matching::plan(text, self.edits, before.tolerance).map_err(|failure| {
            let nearest = failure
                .missing_text()
                .and_then(|missing| nearest::describe(text, missing));
            self.explain(&failure, nearest)
        })?;
        let after = matching::apply(text, &plan.replacements);
        if after == *text {
            return Err(self.explain(&Failure::NoChange, None));
        }
        let bytes = before
            .encoding
            .encode(&after)
            .map_err(|error| self.fails(&error))?;
        let shown = &self.place.shown;
        let count = LineCount::of(text.as_bytes(), after.as_bytes());
        // For people at a model's side; a script may edit thousands of files.
        let details = match self.reader {
            Reader::Eyes => Some(diff::details(text, &after, shown)),
            Reader::Program => None,
        };
        self.stop.check()?;
        self.check_unchanged(&before.metadata)?;
        let within = match (self.place.private_root.as_deref(), self.is_allowed) {
            (Some(root), _) => Within::Private(root),
            (None, true) => Within::Allowed(self.target),
            (None, false) => Within::Anywhere,
        };
        replace(self.target, &bytes, within, self.options).map_err(|refusal| match refusal {
            Refusal::Confined(sentence) => sentence,
            Refusal::Io(_) | Refusal::Other(_) | Refusal::ProcessFile => {
                format!("Could not write {shown}: {refusal}")
            }
        })?;
        let edits = self.edits.len();
        let notes = near_notes(&plan, text, edits);
        let mut summary = format!("Successfully replaced {edits} block(s) in {shown}.");
        for note in &notes {
            summary.push('\n');
            summary.push_str(note);
        }
        let result = ToolResult::text(summary);
        if let Some(details) = details {
            return Ok(result.with_details(details));
        }
        let mut value = json!({"path": shown, "added": count.added, "removed": count.removed});
        if !notes.is_empty() {
            value["notes"] = notes.into();
        }
        Ok(result.with_structured(value))
    }

    fn read(&self) -> Result<Before, String> {
        let opened = RegularFile::open(self.target, self.options)
            .map_err(|refusal| unreadable(self.place, &refusal, self.options))?;
        let metadata = opened.metadata.clone();
        let mut bytes = Vec::new();
        let mut source = Source::new(opened, self.stop);
        if metadata.len() <= EDIT_FILE_BYTES_MAX {
            source
                .by_ref()
                .take(EDIT_FILE_BYTES_MAX + 1)
                .read_to_end(&mut bytes)
                .map_err(|error| match self.stop.check() {
                    Err(aborted) => aborted,
                    Ok(()) => unreadable(self.place, &error.into(), self.options),
                })?;
        }
        let size = metadata.len().max(bytes.len() as u64);
        if size > EDIT_FILE_BYTES_MAX {
            return Err(self.fails(&format!(
                "it has {}, more than {}. Use bash with sed or a script instead",
                format_size(size),
                format_size(EDIT_FILE_BYTES_MAX)
            )));
        }
        self.decode(bytes, metadata)
    }

    fn decode(&self, bytes: Vec<u8>, metadata: Metadata) -> Result<Before, String> {
        let encoding = self.encoding.unwrap_or_else(|| Encoding::of_mark(&bytes));
        // Bytes that are no text can still be changed where the edits say which, and no byte is taken for a blank or a quote.
        let is_ascii = |edit: &Edit| edit.old_text.is_ascii() && edit.new_text.is_ascii();
        let is_bytewise = encoding == Encoding::Utf8
            && std::str::from_utf8(&bytes).is_err()
            && memchr::memchr(0, &bytes).is_none()
            && self.edits.iter().all(is_ascii);
        let (encoding, tolerance) = if is_bytewise {
            (Encoding::Latin1, Tolerance::ExactOnly)
        } else {
            (encoding, Tolerance::NearToo)
        };
        let text = encoding
            .decode(bytes)
            .map_err(|not_text| self.fails(&not_text.to_string()))?;
        Ok(Before {
            text,
            encoding,
            tolerance,
            metadata,
        })
    }

    /// Fails where somebody has changed the file since it was read.
    fn check_unchanged(&self, before: &Metadata) -> Result<(), String> {
        let now = std::fs::symlink_metadata(self.target)
            .map_err(|error| unreadable(self.place, &error.into(), self.options))?;
        if now.len() == before.len() && now.modified().ok() == before.modified().ok() {
            Ok(())
        } else {
            Err(self.fails("it was changed by somebody else meanwhile. Read it again"))
        }
    }

    fn explain(&self, failure: &Failure, nearest: Option<String>) -> String {
        failure.describe(&self.place.shown, self.edits.len(), nearest)
    }

    fn fails(&self, reason: &str) -> String {
        format!("Could not edit file: {}: {reason}.", self.place.shown)
    }
}

/// Says which edits were made in another spelling than they were given in.
fn near_notes(plan: &Plan, text: &str, edits: usize) -> Vec<String> {
    let notes = plan.near.iter().map(|(index, range)| {
            let what = if edits > 1 {
                format!("edits[{index}].oldText")
            } else {
                "oldText".to_owned()
            };
            let line = line_number(text, range);
            let matched = text.get(range.clone()).unwrap_or_default();
            let end = matched.floor_char_boundary(NEAR_SHOWN_BYTES_MAX);
            let shown = quoted(matched.get(..end).unwrap_or_default());
            let more = if end < matched.len() { "..." } else { "" };
            format!(
                "{what} is not there exactly; what it replaced differs in quotes, dashes or blanks only: line {line}, {shown}{more}"
            )
        });
    notes.collect()
}

fn line_number(text: &str, range: &Range<usize>) -> usize {
    let before = text.as_bytes().get(..range.start).unwrap_or_default();
    memchr::memchr_iter(b'\n', before).count() + 1
}

fn unreadable(place: &Place, refusal: &Refusal, options: &ToolsOptions) -> String {
    match refusal {
        Refusal::Confined(sentence) => sentence.clone(),
        Refusal::Io(_) | Refusal::Other(_) | Refusal::ProcessFile => format!(
            "Could not edit file: {}: {}.",
            place.shown,
            place.explain(refusal, options)
        ),
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
