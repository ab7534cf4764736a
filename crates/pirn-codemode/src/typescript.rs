//! TypeScript to JavaScript by blanking: types become spaces, so that every line and column stays true.
//!
//! The script is the body of an async, sloppy function. A text that is no TypeScript but is JavaScript is left alone; a text
//! that is neither is refused with the place of the mistake.

mod blank;
mod classes;
mod edits;
mod enums;
mod frame;
mod imports;
mod modules;
mod names;
mod parse;
mod scan;
mod stack;

use std::collections::BTreeSet;

use oxc_ast::ast::Program;

pub use imports::imports_as_calls;
pub use modules::import_advice;

/// JavaScript that was TypeScript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stripped {
    /// The program, with the lines and columns of its source.
    pub code: String,
    /// The text was not looked at (it is too large or nests too deeply for the parser here) and is unchanged: whether it is a
    /// program is for the engine to say.
    pub engine_decides: bool,
}

/// Why a text is no program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("SyntaxError: {message} (line {line}, column {column})\n{frame}")]
pub struct SyntaxError {
    /// What is wrong, and what to write instead where that is known.
    pub message: String,
    /// Line of the mistake; the first is 1.
    pub line: usize,
    /// Column of the mistake in UTF-16 units; the first is 1.
    pub column: usize,
    /// The lines around the mistake, with a mark below it.
    pub frame: String,
}

/// Removes the types of a script.
///
/// ```
/// let stripped = pirn_codemode::strip_types("const n: number = 1; return n as any;").unwrap();
/// assert_eq!(stripped.code, "const n         = 1; return n       ;");
/// ```
pub fn strip_types(source: &str) -> Result<Stripped, SyntaxError> {
    strip_and_look(source, |_, _, _| ()).map(|(stripped, _)| stripped)
}

/// Removes the types of a script, and gives what `look` sees in its tree; nothing for one that is too large to be looked at.
pub(crate) fn strip_and_look<T: Send>(
    source: &str,
    look: impl FnOnce(&Program<'_>, &str, usize) -> T + Send,
) -> Result<(Stripped, Option<T>), SyntaxError> {
    let found = stack::run(source, || parse::strip(source, look));
    let engine_decides = found.is_none();
    let (code, seen) = match found.transpose()? {
        Some((code, seen)) => (code, Some(seen)),
        None => (None, None),
    };
    let stripped = Stripped {
        code: code.unwrap_or_else(|| source.to_owned()),
        engine_decides,
    };
    Ok((stripped, seen))
}

/// The tools that a script names, as far as its text tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolNames {
    /// Members of `tools` as the script writes them: names or identifiers, sorted, each once.
    pub names: Vec<String>,
    /// Whether it may reach others as well: it computes a name, hands `tools` on, searches, or uses the list of all tools. Also
    /// for a text that is too large to be looked at.
    pub reaches_all: bool,
}

/// Finds the tools that a script names: `tools.read`, `tools["read"]`, `const { read } = tools`, `"read" in tools`,
/// `describeTool("read")`. A text that is no program names none, since nothing of it runs.
///
/// ```
/// let found = pirn_codemode::tool_names("const { read } = tools; await tools['git-log']({ n: 1 });");
/// assert_eq!(found.names, ["git-log", "read"]);
/// assert!(!found.reaches_all);
/// assert!(pirn_codemode::tool_names("for (const name of list) await tools[name]();").reaches_all);
/// ```
pub fn tool_names(source: &str) -> ToolNames {
    match stack::run(source, || parse::tool_names(source)) {
        Some(found) => found.unwrap_or_default(),
        None => ToolNames {
            names: Vec::new(),
            reaches_all: true,
        },
    }
}

/// What `look` sees in a script's tree; `None` for a text that is no program, or too large.
pub(crate) fn parsed<T: Send>(
    source: &str,
    look: impl FnOnce(&Program<'_>, &str, usize) -> T + Send,
) -> Option<T> {
    stack::run(source, || parse::look_at(source, look)).flatten()
}

/// The error for a mistake at a byte offset of a script.
pub(crate) fn mistake_at(source: &str, offset: usize, message: String) -> SyntaxError {
    frame::error_at(source, offset, message)
}

/// The lines around a byte offset of a script, with a mark below it.
pub(crate) fn frame_at(source: &str, offset: usize) -> Option<String> {
    frame::at(source, offset)
}

/// The byte offsets at which comments start. Empty for a text that is too large to be looked at.
pub(crate) fn comment_starts(source: &str) -> BTreeSet<usize> {
    stack::run(source, || parse::comment_starts(source)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
