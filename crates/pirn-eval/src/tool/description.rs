//! What models read about the tool.

use super::catalog::Catalog;

/// Advice for the system prompt.
pub(super) const GUIDELINES: &[&str] = &[
    "Use eval for many repetitive tool calls, for computing and for data: one program instead of ten calls. For a single call, \
     call the tool itself.",
    "In eval, keep what later programs need in `state`, and print or return only what you need to read.",
];

/// How programs are written.
const LANGUAGES: &str = "\
Runs a small program in Python or JavaScript with the user's own interpreter, and returns its output and its value.

python: a module body in a new namespace; the value of the last expression is the result. No top-level await.
  tools.NAME(key=value) or tools.NAME({...}) blocks and returns the value.
javascript: the body of an async function; the result is what it returns.
  await tools.NAME({...}) resolves to the value. In Node, import and require find its modules and the project's packages.
Both: tools.call(name, input), tools.list(), tools.parallel([{name, input}, ...], workers) with 1 to 32 workers and results in order.
  `state` is an object that later programs of the same language find again: JSON only, at most 1 MB, kept only when the program
  succeeds. Nothing else is kept. Standard input is empty.";

pub(super) fn render(catalog: &Catalog, confinement: &str) -> String {
    let lines = catalog.lines();
    let callable = if lines.is_empty() {
        "No tools can be called from programs.".to_owned()
    } else {
        format!(
            "Tools that programs can call (with their effects):\n{}",
            lines.trim_end()
        )
    };
    format!(
        "{LANGUAGES}\n\n{confinement} The user may be asked before a program runs.\n\n{callable}"
    )
}
