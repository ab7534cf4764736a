//! `find`: files and folders by name.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use globset::{GlobBuilder, GlobSet};
use ignore::overrides::Override;
use pirn_file::{Entry, EntryKind};
use pirn_tool::{Effects, Tool, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::{Outcome, typed_tool};
use crate::blocking::{self, Stop};
use crate::limits::keep_head_lines;
use crate::ls::{append_notices, read_only};
use crate::options::ToolsOptions;
use crate::reader::{self, Reader, SCRIPT_RESULT_BYTES_MAX, Window};
use crate::walk::{self, SearchRoot, Visit, Walk, WalkedFolder};

/// Results shown when the call names no limit.
const LIMIT_DEFAULT: usize = 1_000;

#[derive(Debug, Deserialize)]
struct Arguments {
    pattern: String,
    path: Option<String>,
    limit: Option<i64>,
    offset: Option<i64>,
}

/// `find {pattern, path?, limit?, offset?}`: finds files and folders by a glob pattern.
pub fn find(options: Arc<ToolsOptions>) -> Tool {
    let spec = ToolSpec::new(
        "find",
        format!(
            "Find files and folders by glob pattern, hidden ones included, ignored ones (.gitignore) left out. Results are \
             paths for the next call (relative to the working directory, or as the searched folder was given), sorted; at most {LIMIT_DEFAULT} unless a limit is given, and at most 50KB."
        ),
    )
    .input_schema(json!({
        "type": "object",
        "properties": {
            "pattern": {
                "type": "string",
                "description": "Glob such as '*.ts' (any depth), 'src/*.ts' (that folder only) or '**/src/*.ts'"
            },
            "path": {"type": "string", "description": "The folder to search (default: the working directory)"},
            "limit": {"type": "integer", "description": "Most results (default: 1000; all in scripts)"},
            "offset": {"type": "integer", "description": "Results left out before the first (default: 0)"}
        },
        "required": ["pattern"],
        "additionalProperties": false
    }))
    .output_schema(json!({
        "type": "array",
        "items": {"type": "string"},
        "description": "Paths for the next call, sorted; folders end in '/'"
    }))
    .effects(Effects::READ)
    .annotations(read_only());
    typed_tool(
        spec,
        options,
        |arguments: Arguments, options, context| async move {
            let reader = Reader::of(context.origin);
            blocking::run(&context, move |stop| {
                search(&arguments, &options, reader, stop)
            })
            .await
        },
    )
}

/// What a pattern is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Name,
    RelativePath,
    AbsolutePath,
}

struct Pattern {
    matcher: GlobSet,
    subject: Subject,
    folders_only: bool,
    /// Why it is no glob, where it can only be a name; worth telling when nothing has that name.
    invalid: Option<String>,
}

impl Pattern {
    fn parse(pattern: &str) -> Result<Self, String> {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let trimmed = pattern.strip_suffix('/').filter(|rest| !rest.is_empty());
        let glob = trimmed.unwrap_or(pattern);
        let subject = if Path::new(glob).is_absolute() {
            Subject::AbsolutePath
        } else if glob.contains('/') {
            Subject::RelativePath
        } else {
            Subject::Name
        };
        let mut readings = GlobSet::builder();
        let mut invalid = None;
        for reading in walk::readings(glob) {
            let built = GlobBuilder::new(&reading)
                .literal_separator(true)
                // As people type: lower case finds everything, a capital letter is meant.
                .case_insensitive(!glob.chars().any(char::is_uppercase))
                .build();
            match built {
                Ok(reading) => {
                    readings.add(reading);
                }
                Err(error) => invalid = invalid.or(Some(invalid_pattern(&error))),
            }
        }
        let matcher = readings.build().map_err(|error| invalid_pattern(&error))?;
        if matcher.is_empty()
            && let Some(error) = invalid
        {
            return Err(error);
        }
        Ok(Self {
            matcher,
            subject,
            folders_only: trimmed.is_some(),
            invalid,
        })
    }

    /// Whether an entry matches, given by its folder relative to the searched one.
    fn matches(&self, below: &Path, entry: &Entry, root: &Path) -> bool {
        if self.folders_only && entry.kind != EntryKind::Folder {
            return false;
        }
        match self.subject {
            Subject::Name => self.matcher.is_match(&entry.name),
            Subject::RelativePath => self.matcher.is_match(below.join(&entry.name)),
            Subject::AbsolutePath => self.matcher.is_match(root.join(below).join(&entry.name)),
        }
    }
}

fn invalid_pattern(error: &globset::Error) -> String {
    format!("Invalid pattern: {error}")
}

fn search(arguments: &Arguments, options: &ToolsOptions, reader: Reader, stop: &Stop) -> Outcome {
    let window = Window::new(reader, arguments.offset, arguments.limit, LIMIT_DEFAULT);
    let bytes_max = match reader {
        Reader::Eyes => crate::limits::BYTES_MAX + 1,
        Reader::Program => SCRIPT_RESULT_BYTES_MAX,
    };
    let pattern = Pattern::parse(&arguments.pattern)?;
    let root = SearchRoot::locate(arguments.path.as_deref(), options)?;
    if !root.real.is_dir() {
        return Err(format!("Not a directory: {}", root.shown()));
    }
    let finder = Finder {
        pattern: &pattern,
        root: &root,
        found: Mutex::new(Found {
            window,
            bytes_max,
            lines: Vec::new(),
            bytes: 0,
            matches: 0,
        }),
    };
    let walk = Walk::new(&root.real, options, Override::empty(), stop)
        .map_err(|reason| format!("Could not search {}: {reason}", root.shown()))?;
    walk.run(&finder);
    stop.check()?;
    let found = finder
        .found
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if found.matches == 0
        && let Some(error) = pattern.invalid
    {
        return Err(error);
    }
    match reader {
        Reader::Program if found.bytes > bytes_max => Ok(reader::too_long()),
        Reader::Program => {
            let items = found.lines.into_iter().map(Value::String).collect();
            Ok(reader::list(items).with_notes(walk.unread.note()))
        }
        Reader::Eyes => {
            let has_more = found.matches > window.end();
            Ok(shown(&found.lines, has_more, window, walk.unread.note()))
        }
    }
}

/// Matches the entries of a walk.
struct Finder<'a> {
    pattern: &'a Pattern,
    root: &'a SearchRoot,
    found: Mutex<Found>,
}

/// The paths so far, in order.
struct Found {
    window: Window,
    bytes_max: usize,
    lines: Vec<String>,
    bytes: usize,
    /// Also those outside the window; one more than it ends with, to know whether there is more.
    matches: usize,
}

impl Visit for Finder<'_> {
    type Scratch = ();
    type Part = Vec<String>;

    fn scratch(&self) {}

    fn look(
        &self,
        _scratch: &mut (),
        folder: &WalkedFolder<'_>,
        entries: &[Entry],
    ) -> Option<Vec<String>> {
        let below = folder.below;
        let lines: Vec<String> = entries
            .iter()
            .filter(|entry| self.pattern.matches(below, entry, &self.root.named))
            .map(|entry| {
                let mut line = self.root.display(&below.join(&entry.name));
                if entry.kind == EntryKind::Folder {
                    line.push('/');
                }
                line
            })
            .collect();
        (!lines.is_empty()).then_some(lines)
    }

    fn bytes(lines: &Vec<String>) -> usize {
        lines
            .iter()
            .map(|line| line.len() + size_of::<String>())
            .sum()
    }

    fn take(&self, lines: Vec<String>) -> ControlFlow<()> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        for line in lines {
            found.matches += 1;
            if found.matches > found.window.end() || found.bytes > found.bytes_max {
                return ControlFlow::Break(());
            }
            if found.matches > found.window.offset {
                found.bytes += line.len() + 1;
                found.lines.push(line);
            }
        }
        ControlFlow::Continue(())
    }
}

/// The paths for eyes.
fn shown(lines: &[String], has_more: bool, window: Window, unread: Option<String>) -> ToolResult {
    let mut notices: Vec<String> = unread.into_iter().collect();
    if lines.is_empty() {
        let mut text = window.nothing("No files found matching pattern");
        append_notices(&mut text, &notices);
        return ToolResult::text(text);
    }
    let (mut text, cut) = keep_head_lines(lines);
    if has_more {
        notices.push(format!("{}, or refine pattern", window.notice("results")));
    }
    if cut {
        notices.push("50.0KB limit reached".to_owned());
    }
    append_notices(&mut text, &notices);
    ToolResult::text(text)
}
