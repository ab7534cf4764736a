//! `ls`: the entries of a folder.

use std::fs::Metadata;
use std::path::Path;
use std::sync::Arc;

use pirn_file::HeldFolder;
use pirn_sandbox::{FileRules, Sandbox};
use pirn_tool::{Annotations, Effects, Tool, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::{Outcome, typed_tool};
use crate::blocking::{self, Stop};
use crate::limits::keep_head_lines;
use crate::options::ToolsOptions;
use crate::paths;
use crate::reader::{self, Reader, Window};
use crate::walk::Unread;

/// Entries shown when the call names no limit.
const LIMIT_DEFAULT: usize = 500;

/// Entries read between two looks at whether the call was stopped.
const STOP_CHECK_ENTRIES: usize = 1_000;

/// Links that lead nowhere, named in a notice.
const DANGLING_NAMED_MAX: usize = 10;

#[derive(Debug, Deserialize)]
struct Arguments {
    path: Option<String>,
    limit: Option<i64>,
    offset: Option<i64>,
}

/// `ls {path?, limit?, offset?}`: lists a folder, hidden entries included.
pub fn ls(options: Arc<ToolsOptions>) -> Tool {
    let spec = ToolSpec::new(
        "ls",
        format!(
            "List the entries of a folder, sorted by name, hidden ones included; folders end in '/'. Shows at most \
             {LIMIT_DEFAULT} entries unless a limit is given, and at most 50KB."
        ),
    )
    .input_schema(json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The folder (default: the working directory)"},
            "limit": {"type": "integer", "description": "Most entries (default: 500; all in scripts)"},
            "offset": {"type": "integer", "description": "Entries left out before the first (default: 0)"}
        },
        "additionalProperties": false
    }))
    .output_schema(json!({
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "type": {
                    "type": "string",
                    "enum": ["file", "folder", "link", "other"],
                    "description": "Of what a link leads to; link where it leads nowhere"
                },
                "size": {"type": "integer", "description": "Bytes"},
                "modified": {"type": "integer", "description": "Milliseconds since 1970, as Date takes them"}
            },
            "required": ["name", "type", "size", "modified"]
        }
    }))
    .effects(Effects::READ)
    .annotations(read_only());
    typed_tool(
        spec,
        options,
        |arguments: Arguments, options, context| async move {
            let reader = Reader::of(context.origin);
            blocking::run(&context, move |stop| {
                list(&arguments, &options, reader, stop)
            })
            .await
        },
    )
}

/// The annotations of tools that only look at local files.
pub(crate) fn read_only() -> Annotations {
    Annotations {
        read_only_hint: Some(true),
        destructive_hint: Some(false),
        idempotent_hint: Some(true),
        open_world_hint: Some(false),
    }
}

fn list(arguments: &Arguments, options: &ToolsOptions, reader: Reader, stop: &Stop) -> Outcome {
    let window = Window::new(reader, arguments.offset, arguments.limit, LIMIT_DEFAULT);
    let path = arguments.path.as_deref().filter(|path| !path.is_empty());
    let place = paths::resolve_readable(path.unwrap_or("."), options)
        .map_err(|error| error.explain("Could not list"))?;
    let failed = |error: std::io::Error| {
        format!(
            "Could not list {}: {}",
            place.shown,
            place.explain(&error.into(), options)
        )
    };
    let folder = HeldFolder::open(&place.path).map_err(failed)?;
    let rules = options.sandbox.as_ref().map(Sandbox::file_rules);
    if let Some(rules) = &rules {
        // What was opened may be another folder than the one that was looked at.
        rules
            .check_read_real(folder.path())
            .map_err(|refusal| refusal.to_string())?;
    }
    let entries = std::fs::read_dir(folder.listing_path()).map_err(failed)?;
    let mut names = Vec::new();
    for (index, entry) in entries.enumerate() {
        if index % STOP_CHECK_ENTRIES == 0 {
            stop.check()?;
        }
        let entry = entry.map_err(failed)?;
        names.push(entry.file_name());
    }
    names.sort_by_cached_key(|name| (name.to_string_lossy().to_lowercase(), name.clone()));
    let mut listing = Listing::new(reader);
    for (index, name) in names.into_iter().skip(window.offset).enumerate() {
        if index % STOP_CHECK_ENTRIES == 0 {
            stop.check()?;
        }
        // Follows links, so that a link to a folder counts as one; a link that leads nowhere is an entry all the same.
        let entry = folder.entry_path(&name);
        let metadata = match std::fs::metadata(&entry) {
            // Nothing is told of what must not be read.
            Ok(_) if entry.is_symlink() && is_hidden(&entry, rules.as_deref()) => None,
            Ok(metadata) => Some(metadata),
            Err(_) if entry.is_symlink() => None,
            Err(error) => {
                listing
                    .unread
                    .add(|| name.to_string_lossy().into_owned(), &error);
                continue;
            }
        };
        if listing.count == window.limit {
            listing.has_more = true;
            break;
        }
        listing.add(&name.to_string_lossy(), metadata.as_ref());
    }
    Ok(listing.into_result(window))
}

/// Whether a link leads to what must not be read.
fn is_hidden(link: &Path, rules: Option<&FileRules>) -> bool {
    rules.is_some_and(|rules| {
        link.canonicalize()
            .map_or(true, |real| rules.check_read_real(&real).is_err())
    })
}

/// The entries so far, for whoever reads them.
struct Listing {
    count: usize,
    has_more: bool,
    unread: Unread,
    view: View,
}

enum View {
    Entries(Vec<Value>),
    Lines {
        lines: Vec<String>,
        dangling: Vec<String>,
    },
}

impl Listing {
    fn new(reader: Reader) -> Self {
        let view = match reader {
            Reader::Program => View::Entries(Vec::new()),
            Reader::Eyes => View::Lines {
                lines: Vec::new(),
                dangling: Vec::new(),
            },
        };
        Self {
            count: 0,
            has_more: false,
            unread: Unread::default(),
            view,
        }
    }

    /// Adds an entry; without metadata it is a link that leads nowhere.
    fn add(&mut self, name: &str, metadata: Option<&Metadata>) {
        self.count += 1;
        match &mut self.view {
            View::Entries(entries) => entries.push(described(name, metadata)),
            View::Lines { lines, dangling } => {
                let suffix = if metadata.is_some_and(Metadata::is_dir) {
                    "/"
                } else {
                    ""
                };
                if metadata.is_none() && dangling.len() < DANGLING_NAMED_MAX {
                    dangling.push(name.to_owned());
                }
                lines.push(format!("{name}{suffix}"));
            }
        }
    }

    fn into_result(self, window: Window) -> ToolResult {
        let (lines, dangling) = match self.view {
            View::Entries(entries) => {
                return reader::list(entries).with_notes(self.unread.note());
            }
            View::Lines { lines, dangling } => (lines, dangling),
        };
        let mut notices: Vec<String> = self.unread.note().into_iter().collect();
        if lines.is_empty() {
            let nothing = if window.offset == 0 {
                "(empty directory)".to_owned()
            } else {
                window.nothing("No entries")
            };
            let mut nothing = nothing;
            append_notices(&mut nothing, &notices);
            return ToolResult::text(nothing);
        }
        let (mut text, cut) = keep_head_lines(&lines);
        if self.has_more {
            notices.push(window.notice("entries"));
        }
        if cut {
            notices.push("50.0KB limit reached".to_owned());
        }
        if !dangling.is_empty() {
            notices.push(format!("Links that lead nowhere: {}", dangling.join(", ")));
        }
        append_notices(&mut text, &notices);
        ToolResult::text(text)
    }
}

/// An entry for programs; without metadata it is a link that leads nowhere.
fn described(name: &str, metadata: Option<&Metadata>) -> Value {
    let kind = match metadata {
        Some(metadata) if metadata.is_file() => "file",
        Some(metadata) if metadata.is_dir() => "folder",
        Some(_) => "other",
        None => "link",
    };
    let modified = metadata
        .and_then(|metadata| metadata.modified().ok())
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
        .and_then(|since| u64::try_from(since.as_millis()).ok());
    json!({
        "name": name,
        "type": kind,
        "size": metadata.map_or(0, Metadata::len),
        "modified": modified.unwrap_or(0)
    })
}

/// Adds notices after a blank line, in one pair of brackets.
pub(crate) fn append_notices(text: &mut String, notices: &[String]) {
    if !notices.is_empty() {
        text.push_str("\n\n[");
        text.push_str(&notices.join(". "));
        text.push(']');
    }
}
