//! What a model reads of a script's result.

mod files;
mod truncate;

use std::path::PathBuf;
use std::time::Duration;

use pirn_tool::{CallStatus, ContentBlock};
use pirn_vm::Output;

use crate::result::{CallRecord, ScriptError, ScriptErrorKind, ScriptResult};

pub use files::OutputFolder;
use truncate::{Cut, cut_text, tokens_of};

/// Tokens of text a result may have, unless the script says otherwise.
pub const OUTPUT_TOKENS_DEFAULT: u64 = 10_000;
/// A token is taken for so many UTF-16 code units, as both systems before us do.
const CHARACTERS_PER_TOKEN: u64 = 4;
/// Bytes of base64 of all images of a result together. Providers refuse requests beyond some 20 MB.
const IMAGE_BYTES_MAX: usize = 16 << 20;

/// How items become content blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LayoutKind {
    /// One block per item.
    Items,
    /// Neighbouring texts in one block, each of several under a heading; console lines at the end.
    #[default]
    Joined,
}

/// How a result is laid out.
#[derive(Debug, Clone)]
pub struct LayoutOptions {
    /// Items or joined.
    pub kind: LayoutKind,
    /// Tokens of text that are shown.
    pub output_tokens_max: u64,
    /// Where whole outputs and images are kept; without one, cut text is lost and the result says so.
    pub folder: Option<OutputFolder>,
    /// What the source needed, for the model.
    pub notes: Vec<String>,
}

impl Default for LayoutOptions {
    fn default() -> Self {
        Self { kind: LayoutKind::Joined, output_tokens_max: OUTPUT_TOKENS_DEFAULT, folder: None, notes: Vec::new() }
    }
}

/// A result as a model reads it.
#[derive(Debug, Clone)]
pub struct LaidOut {
    /// Header, items, error.
    pub content: Vec<ContentBlock>,
    /// The file with the whole text, where it was cut.
    pub full_output_path: Option<PathBuf>,
}

/// What the header says of the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptState<'a> {
    /// It succeeded.
    Completed,
    /// It failed.
    Failed,
    /// It was stopped.
    Terminated,
    /// It goes on as this cell.
    Running(&'a str),
}

/// The header of a result: three lines, each ended.
pub fn header(state: ScriptState<'_>, wall: Duration) -> String {
    let first = match state {
        ScriptState::Completed => "Script completed".to_owned(),
        ScriptState::Failed => "Script failed".to_owned(),
        ScriptState::Terminated => "Script terminated".to_owned(),
        ScriptState::Running(cell) => format!("Script running with cell ID {cell}"),
    };
    format!("{first}\nWall time {:.1} seconds\nOutput:\n", wall.as_secs_f64())
}

/// A part of a result before it is laid out.
enum Part {
    Text(String),
    Console(String),
    Image { data: String, mime_type: String },
    Audio { data: String, mime_type: String },
}

/// Lays a finished script out.
pub fn lay_out(result: &ScriptResult, options: &LayoutOptions) -> LaidOut {
    let state = if result.is_ok() { ScriptState::Completed } else { ScriptState::Failed };
    let mut parts: Vec<Part> = options.notes.iter().map(|note| Part::Console(format!("Note: {note}"))).collect();
    parts.extend(result.output.iter().map(Part::from));
    if let Ok(Some(value)) = &result.outcome {
        parts.push(Part::Text(value_text(value.as_str())));
    }
    let error = result.outcome.as_ref().err().map(|error| error_text(error, &result.calls));
    let head = header(state, result.wall);
    match options.kind {
        LayoutKind::Joined => joined(head, parts, error, options),
        LayoutKind::Items => items(head, parts, error, options),
    }
}

/// A returned value as text: strings as they are, other values as JSON.
fn value_text(json: &str) -> String {
    if json.starts_with('"') {
        let text = pirn_vm::JsonText::new(json).parse().ok().and_then(|value| value.as_str().map(str::to_owned));
        if let Some(text) = text {
            return text;
        }
    }
    json.to_owned()
}

/// What a failed script tells the model: the error, a hint, and what its calls did.
fn error_text(error: &ScriptError, calls: &[CallRecord]) -> String {
    let stack = error.stack.clone().unwrap_or_else(|| match &error.name {
        Some(name) => format!("{name}: {}", error.message),
        None => format!("Error: {}", error.message),
    });
    let what = match error.kind {
        ScriptErrorKind::Script => stack,
        ScriptErrorKind::Timeout => format!("Script timed out: {stack}"),
        ScriptErrorKind::Cpu => format!("Script stopped: {stack}"),
        ScriptErrorKind::Memory => format!("Script ran out of memory: {stack}"),
        ScriptErrorKind::Aborted => format!("Script aborted: {stack}"),
        ScriptErrorKind::Sandbox => format!("The script engine failed: {stack}"),
    };
    let hint = error.hint.as_ref().map(|hint| format!("\n\n{hint}")).unwrap_or_default();
    format!("Script error:\n{}{hint}\n\n{}", what.trim_end(), calls_text(calls))
}

fn calls_text(calls: &[CallRecord]) -> String {
    if calls.is_empty() {
        return "No tool calls were made.".to_owned();
    }
    let rows: Vec<String> =
        calls.iter().map(|call| format!("{} ({})", call.name, status_name(call.status))).collect();
    format!("Tool calls made before the failure (they are not undone): {}", rows.join(", "))
}

/// A status as rows show it.
pub fn status_name(status: CallStatus) -> &'static str {
    match status {
        CallStatus::Ok => "ok",
        CallStatus::Error => "error",
        CallStatus::Cancelled => "cancelled",
        CallStatus::Unknown => "unknown",
        CallStatus::Unfinished => "running",
    }
}

impl From<&Output> for Part {
    fn from(output: &Output) -> Self {
        match output {
            Output::Text(text) => Self::Text(text.to_string()),
            Output::Console(text) => Self::Console(text.to_string()),
            Output::Image { data, mime_type, detail: _ } => {
                Self::Image { data: data.clone(), mime_type: mime_type.clone() }
            }
            Output::Audio { data, mime_type } => Self::Audio { data: data.clone(), mime_type: mime_type.clone() },
        }
    }
}

/// Content blocks under construction; neighbouring texts become one block, each part on a line of its own.
#[derive(Default)]
struct Blocks(Vec<ContentBlock>);

impl Blocks {
    fn add_text(&mut self, part: &str) {
        if let Some(ContentBlock::Text { text }) = self.0.last_mut() {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(part);
        } else {
            self.0.push(ContentBlock::text(part));
        }
    }
}

fn joined(head: String, parts: Vec<Part>, error: Option<String>, options: &LayoutOptions) -> LaidOut {
    let texts = parts.iter().filter(|part| matches!(part, Part::Text(_))).count();
    let mut number = 0;
    let mut console = Vec::new();
    let mut blocks = Blocks::default();
    for part in parts {
        match part {
            Part::Text(text) if texts > 1 => {
                number += 1;
                blocks.add_text(&format!("==> text {number}/{texts} <==\n{text}"));
            }
            Part::Text(text) => blocks.add_text(&text),
            Part::Console(line) => console.push(line),
            Part::Image { data, mime_type } => blocks.0.push(ContentBlock::Image { data, mime_type }),
            Part::Audio { data, mime_type } => blocks.0.push(ContentBlock::Audio { data, mime_type }),
        }
    }
    if !console.is_empty() {
        blocks.add_text(&format!("<console_output>\n{}\n</console_output>", console.join("\n")));
    }
    if let Some(error) = error {
        blocks.add_text(&error);
    }
    let mut laid_out = LaidOut { content: Vec::new(), full_output_path: None };
    let content = truncate_joined(blocks.0, options, &mut laid_out);
    let mut blocks = Blocks::default();
    add_media(content, options, &mut blocks);
    laid_out.content.push(ContentBlock::text(head));
    laid_out.content.append(&mut blocks.0);
    laid_out
}

/// Replaces texts over the budget by one text; pictures follow it.
fn truncate_joined(content: Vec<ContentBlock>, options: &LayoutOptions, laid_out: &mut LaidOut) -> Vec<ContentBlock> {
    let texts: Vec<&str> = content.iter().filter_map(ContentBlock::as_text).collect();
    let whole = texts.join("\n");
    let budget = usize::try_from(options.output_tokens_max.saturating_mul(CHARACTERS_PER_TOKEN)).unwrap_or(usize::MAX);
    let Cut::Cut(text) = cut_text(&whole, budget) else { return content };
    let saved = files::save_text(options.folder.as_ref(), &whole);
    let lines = whole.lines().count();
    let warning = format!(
        "Warning: output truncated (original token count: {})\nTotal output lines: {lines}\n\n{text}\n\n[{}]",
        tokens_of(&whole),
        saved.sentence()
    );
    laid_out.full_output_path = saved.path();
    let media = content.into_iter().filter(|block| block.as_text().is_none());
    std::iter::once(ContentBlock::text(warning)).chain(media).collect()
}

/// Adds blocks, and before each picture the file it was saved to. Pictures beyond the budget are named, not shown.
fn add_media(content: Vec<ContentBlock>, options: &LayoutOptions, blocks: &mut Blocks) {
    let mut image_bytes = 0;
    for block in content {
        match block {
            ContentBlock::Text { text } => blocks.add_text(&text),
            ContentBlock::Image { data, mime_type } => {
                blocks.add_text(&files::save_image(options.folder.as_ref(), &data, &mime_type));
                image_bytes += data.len();
                if image_bytes > IMAGE_BYTES_MAX {
                    blocks.add_text("[Image not shown: the images of one result may have 16 MiB]");
                } else {
                    blocks.0.push(ContentBlock::Image { data, mime_type });
                }
            }
            audio @ ContentBlock::Audio { .. } => blocks.0.push(audio),
        }
    }
}

/// One block per item. The budget is spent in order; the header says what was cut.
fn items(head: String, parts: Vec<Part>, error: Option<String>, options: &LayoutOptions) -> LaidOut {
    let mut content: Vec<ContentBlock> = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) | Part::Console(text) if text.is_empty() => {}
            Part::Text(text) | Part::Console(text) => content.push(ContentBlock::text(text)),
            Part::Image { data, mime_type } => content.push(ContentBlock::Image { data, mime_type }),
            Part::Audio { data, mime_type } => content.push(ContentBlock::Audio { data, mime_type }),
        }
    }
    content.extend(error.map(ContentBlock::text));
    let budget = usize::try_from(options.output_tokens_max.saturating_mul(CHARACTERS_PER_TOKEN)).unwrap_or(usize::MAX);
    let texts: Vec<&str> = content.iter().filter_map(ContentBlock::as_text).collect();
    let total: usize = texts.iter().map(|text| text.encode_utf16().count()).sum();
    let mut laid_out = LaidOut { content: Vec::new(), full_output_path: None };
    let mut head = head;
    if total > budget {
        let whole = texts.join("\n");
        let saved = files::save_text(options.folder.as_ref(), &whole);
        let (shown, all) = (options.output_tokens_max, tokens_of(&whole));
        head.push_str(&format!("[Output cut to {shown} of {all} tokens. {}]\n", saved.sentence()));
        laid_out.full_output_path = saved.path();
        let mut left = budget;
        for block in &mut content {
            if let ContentBlock::Text { text } = block {
                let length = text.encode_utf16().count();
                if let Cut::Cut(cut) = cut_text(text, left) {
                    *text = cut;
                }
                left = left.saturating_sub(length);
            }
        }
    }
    laid_out.content.push(ContentBlock::text(head));
    for block in content {
        let mut blocks = Blocks::default();
        add_media(vec![block], options, &mut blocks);
        laid_out.content.append(&mut blocks.0);
    }
    laid_out
}
