//! `find`: files and folders by name.

use std::path::Path;
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet};
use ignore::overrides::Override;
use pirn_tool::{Effects, Tool, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::{Outcome, typed_tool};
use crate::blocking::{self, Stop};
use crate::limits::keep_head_lines;
use crate::ls::{append_notices, read_only};
use crate::options::ToolsOptions;
use crate::reader::{self, Reader, SCRIPT_RESULT_BYTES_MAX};
use crate::walk::{self, SearchRoot};

/// Results shown when the call names no limit.
const LIMIT_DEFAULT: usize = 1_000;

#[derive(Debug, Deserialize)]
struct Arguments {
    pattern: String,
    path: Option<String>,
    limit: Option<i64>,
}

/// `find {pattern, path?, limit?}`: finds files and folders by a glob pattern.
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
            "limit": {"type": "integer", "description": "Most results (default: 1000)"}
        },
        "required": ["pattern"]
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

    /// Whether an entry matches, given by its path relative to the searched folder.
    fn matches(&self, relative: &Path, root: &Path, is_folder: bool) -> bool {
        if self.folders_only && !is_folder {
            return false;
        }
        match self.subject {
            Subject::Name => relative
                .file_name()
                .is_some_and(|name| self.matcher.is_match(name)),
            Subject::RelativePath => self.matcher.is_match(relative),
            Subject::AbsolutePath => self.matcher.is_match(root.join(relative)),
        }
    }
}

fn invalid_pattern(error: &globset::Error) -> String {
    format!("Invalid pattern: {error}")
}

fn search(arguments: &Arguments, options: &ToolsOptions, reader: Reader, stop: &Stop) -> Outcome {
    let limit = reader.limit(arguments.limit, LIMIT_DEFAULT);
    let bytes_max = match reader {
        Reader::Eyes => crate::limits::BYTES_MAX + 1,
        Reader::Program => SCRIPT_RESULT_BYTES_MAX,
    };
    let pattern = Pattern::parse(&arguments.pattern)?;
    let root = SearchRoot::locate(arguments.path.as_deref(), options)?;
    if !root.real.is_dir() {
        return Err(format!("Not a directory: {}", root.prefix));
    }
    let mut lines = Vec::new();
    let mut bytes = 0;
    let mut limit_reached = false;
    for entry in walk::walk(&root.real, options, Override::empty()) {
        stop.check()?;
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let relative = entry
            .path()
            .strip_prefix(&root.real)
            .unwrap_or(entry.path());
        if entry.depth() == 0 || !pattern.matches(relative, &root.named, is_folder) {
            continue;
        }
        // One more than is shown, to know whether there is more.
        if lines.len() == limit {
            limit_reached = true;
            break;
        }
        let mut line = root.display(entry.path());
        if is_folder {
            line.push('/');
        }
        bytes += line.len() + 1;
        lines.push(line);
        if bytes > bytes_max {
            break;
        }
    }
    if lines.is_empty()
        && let Some(error) = pattern.invalid
    {
        return Err(error);
    }
    if reader == Reader::Program {
        if bytes > bytes_max {
            return Err(reader::too_long());
        }
        return Ok(reader::list(lines.into_iter().map(Value::String).collect()));
    }
    let structured = Value::from(lines.clone());
    if lines.is_empty() {
        let text = "No files found matching pattern";
        return Ok(ToolResult::text(text).with_structured(structured));
    }
    let (mut text, cut) = keep_head_lines(&lines);
    let mut notices = Vec::new();
    if limit_reached {
        let more = limit.saturating_mul(2);
        notices.push(format!(
            "{limit} results limit reached. Use limit={more} for more, or refine pattern"
        ));
    }
    if cut {
        notices.push("50.0KB limit reached".to_owned());
    }
    append_notices(&mut text, &notices);
    Ok(ToolResult::text(text).with_structured(structured))
}
