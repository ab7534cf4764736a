//! Parses a script as the body of an async function.

use std::collections::BTreeSet;

use oxc_allocator::Allocator;
use oxc_ast::ast::Program;
use oxc_ast_visit::VisitJs as _;
use oxc_diagnostics::OxcDiagnostic;
use oxc_parser::{ParseOptions, Parser, ParserReturn};
use oxc_span::SourceType;

use super::blank::Blanker;
use super::{SyntaxError, ToolNames, frame, modules, names};

/// What makes the script a function body. On one line with the script's first, so that lines stay true.
const PREFIX: &str = "async function _(tools,console){";
const SUFFIX: &str = "\n}";

/// The script without its types, `None` when there is nothing to change, and what `look` sees in the same tree: it gets the
/// wrapped text and where in it the script begins.
pub(super) fn strip<T>(
    source: &str,
    look: impl FnOnce(&Program<'_>, &str, usize) -> T,
) -> Result<(Option<String>, T), SyntaxError> {
    let wrapped = format!("{PREFIX}{source}{SUFFIX}");
    let allocator = Allocator::default();
    let parsed = parse(&allocator, &wrapped, SourceType::ts().with_script(true));
    if let Some(problem) = parsed.diagnostics.first() {
        let allocator = Allocator::default();
        let javascript = parse(&allocator, &wrapped, SourceType::script());
        return if javascript.diagnostics.is_empty() {
            Ok((None, look(&javascript.program, &wrapped, PREFIX.len())))
        } else {
            Err(refusal(source, problem))
        };
    }
    let mut blanker = Blanker::new(&wrapped);
    blanker.visit_program(&parsed.program);
    if let Some(refusal) = blanker.refusal {
        return Err(frame::error_at(
            source,
            in_source(source, refusal.offset),
            refusal.message,
        ));
    }
    let stripped = blanker
        .edits
        .apply(&wrapped, PREFIX.len()..PREFIX.len() + source.len());
    Ok((stripped, look(&parsed.program, &wrapped, PREFIX.len())))
}

/// The byte offsets at which comments start, whether or not the script is a program.
pub(super) fn comment_starts(source: &str) -> BTreeSet<usize> {
    let wrapped = format!("{PREFIX}{source}{SUFFIX}");
    let allocator = Allocator::default();
    let parsed = parse(&allocator, &wrapped, SourceType::ts().with_script(true));
    parsed
        .program
        .comments
        .iter()
        .filter_map(|comment| (comment.span.start as usize).checked_sub(PREFIX.len()))
        .collect()
}

pub(super) fn parse<'a>(
    allocator: &'a Allocator,
    text: &'a str,
    source_type: SourceType,
) -> ParserReturn<'a> {
    // Identifiers are not looked up here, so their hashes would be wasted time.
    let options = ParseOptions {
        allow_return_outside_function: true,
        enable_ident_hashes: false,
        ..ParseOptions::default()
    };
    Parser::new(allocator, text, source_type)
        .with_options(options)
        .parse()
}

/// What `look` sees in the script's tree, the wrapped text and where in it the script begins; `None` when it is no program.
pub(super) fn look_at<T>(
    source: &str,
    look: impl FnOnce(&Program<'_>, &str, usize) -> T,
) -> Option<T> {
    let wrapped = format!("{PREFIX}{source}{SUFFIX}");
    for language in [SourceType::ts().with_script(true), SourceType::script()] {
        let allocator = Allocator::default();
        let parsed = parse(&allocator, &wrapped, language);
        if parsed.diagnostics.is_empty() {
            return Some(look(&parsed.program, &wrapped, PREFIX.len()));
        }
    }
    None
}

/// The tools that the script names; `None` when it is no program.
pub(super) fn tool_names(source: &str) -> Option<ToolNames> {
    names::of_text(&format!("{PREFIX}{source}{SUFFIX}"))
}

/// The error for a text that is neither language. Modules are the likeliest reason, and deserve an answer of their own.
fn refusal(source: &str, problem: &OxcDiagnostic) -> SyntaxError {
    let allocator = Allocator::default();
    let module = parse(&allocator, source, SourceType::ts());
    if let Some(module_syntax) = modules::find(&module.program) {
        return frame::error_at(source, module_syntax.offset, module_syntax.message);
    }
    // One closing brace too many ends the function early, so that the mistake seems to be at the very end.
    let ends_early = place(problem) >= PREFIX.len() + source.len();
    let (problem, offset) = match module.diagnostics.first() {
        Some(inner) if ends_early && place(inner) < source.trim_end().len() => {
            (inner, place(inner))
        }
        Some(_) | None => (problem, in_source(source, place(problem))),
    };
    let help = problem
        .help
        .as_ref()
        .map_or_else(String::new, |help| format!(" ({help})"));
    frame::error_at(source, offset, format!("{}{help}", problem.message))
}

/// Where a mistake is, in the text that was parsed.
fn place(problem: &OxcDiagnostic) -> usize {
    problem
        .labels
        .first()
        .map_or(0, |label| label.offset() as usize)
}

/// An offset in the wrapped text as one in the script.
fn in_source(source: &str, offset: usize) -> usize {
    offset.saturating_sub(PREFIX.len()).min(source.len())
}
