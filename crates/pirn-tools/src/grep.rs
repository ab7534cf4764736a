//! `grep`: file contents by pattern, on ripgrep's own crates.

mod collect;
mod merge;
mod search;

use std::sync::Arc;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use pirn_sandbox::Sandbox;
use pirn_tool::{Effects, Tool, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use crate::arguments::{Outcome, typed_tool};
use crate::blocking::{self, Stop};
use crate::ls::read_only;
use crate::options::ToolsOptions;
use crate::reader::{Reader, Window};
use crate::walk::{self, SearchRoot, Selection, Walk};

use collect::Bounds;
use search::Search;

/// Matches shown when the call names no limit.
const LIMIT_DEFAULT: usize = 100;

/// The most lines of context around a match; more would not fit a result anyway.
const CONTEXT_LINES_MAX: i64 = 1_000;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(default)]
    ignore_case: Option<bool>,
    literal: Option<bool>,
    context: Option<i64>,
    limit: Option<i64>,
    offset: Option<i64>,
}

/// `grep {pattern, path?, glob?, ignoreCase?, literal?, context?, limit?, offset?}`: searches file contents.
pub fn grep(options: Arc<ToolsOptions>) -> Tool {
    let spec = ToolSpec::new(
        "grep",
        format!(
            "Search file contents for a pattern. Shows matching lines with paths for the next call (relative to the working \
             directory, or as path was given) and line numbers, sorted by path; hidden files are searched, ignored (.gitignore) and binary ones are not. At most {LIMIT_DEFAULT} matches unless a limit is \
             given, and at most 50KB; of long lines 500 characters around the match are shown."
        ),
    )
    .input_schema(json!({
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "Regular expression, or literal text with literal: true"},
            "path": {"type": "string", "description": "Folder or file to search (default: the working directory)"},
            "glob": {"type": "string", "description": "Only files that match, e.g. '*.ts' or '**/*.spec.ts'"},
            "ignoreCase": {"type": "boolean", "description": "Ignore case (default: false)"},
            "literal": {"type": "boolean", "description": "Take the pattern literally (default: false)"},
            "context": {"type": "integer", "description": "Lines to show before and after each match (default: 0)"},
            "limit": {"type": "integer", "description": "Most matches (default: 100; all in scripts)"},
            "offset": {"type": "integer", "description": "Matches left out before the first (default: 0)"}
        },
        "required": ["pattern"],
        "additionalProperties": false
    }))
    .output_schema(json!({
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "For the next call"},
                "line": {"type": "integer", "description": "Counted from 1"},
                "text": {"type": "string", "description": "The matching line without its end"},
                "before": {"type": "array", "items": {"type": "string"}, "description": "With context"},
                "after": {"type": "array", "items": {"type": "string"}, "description": "With context"}
            },
            "required": ["path", "line", "text"]
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
                run(&arguments, &options, reader, stop)
            })
            .await
        },
    )
}

fn run(arguments: &Arguments, options: &ToolsOptions, reader: Reader, stop: &Stop) -> Outcome {
    let root = SearchRoot::locate(arguments.path.as_deref(), options)?;
    let search = Search {
        matcher: matcher(arguments)?,
        options,
        rules: options.sandbox.as_ref().map(Sandbox::file_rules),
        bounds: Bounds {
            reader,
            context: usize::try_from(arguments.context.unwrap_or(0).clamp(0, CONTEXT_LINES_MAX))
                .unwrap_or(0),
            window: Window::new(reader, arguments.offset, arguments.limit, LIMIT_DEFAULT),
        },
    };
    let found = if root.real.is_dir() {
        let Selection { globs, invalid } = walk::globs(&root.real, arguments.glob.as_deref())?;
        let walk = Walk::new(&root.real, options, globs, stop)
            .map_err(|reason| format!("Could not search {}: {reason}", root.shown()))?;
        let mut found = search.folder(&root, &walk);
        found.unread = walk.unread.note();
        match invalid {
            Some(error) if found.is_empty() => return Err(error),
            Some(_) | None => found,
        }
    } else {
        search.file(&root, stop)?
    };
    stop.check()?;
    found.into_result()
}

fn matcher(arguments: &Arguments) -> Result<RegexMatcher, String> {
    let builder = || {
        let mut builder = RegexMatcherBuilder::new();
        builder
            .multi_line(true)
            .unicode(true)
            .case_insensitive(arguments.ignore_case.unwrap_or(false))
            .fixed_strings(arguments.literal.unwrap_or(false));
        builder
    };
    // Lines are shown without their ends, so `$` stands before a carriage return too.
    builder()
        .crlf(true)
        .build(&arguments.pattern)
        // Who names the carriage return wants to find it, which is only possible where it ends no line.
        .or_else(|_| {
            builder()
                .line_terminator(Some(b'\n'))
                .build(&arguments.pattern)
        })
        .map_err(|error| error.to_string())
}
