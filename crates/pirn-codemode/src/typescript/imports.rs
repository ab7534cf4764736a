//! Import statements for an engine that has modules, in a program that is the body of a function.

use std::fmt::Write as _;

use oxc_allocator::Allocator;
use oxc_ast::ast::{ImportDeclaration, ImportDeclarationSpecifier, ModuleExportName, Statement};
use oxc_span::{GetSpan as _, SourceType};

use super::edits::Edits;
use super::parse::parse;
use super::stack;

/// Makes of each import statement the `await import(…)` that does the same, so that a program with imports can run as the body of
/// an async function. Lines stay as they are; columns change only on the lines of the statements. `None` when there is nothing to
/// change: no import statement, or a text that is no module. Statements with import attributes are left to the engine.
///
/// ```
/// let code = pirn_codemode::imports_as_calls("import fs, { join as put } from 'node:path';\nreturn fs;").unwrap();
/// assert_eq!(code, "const { default: fs, join: put } = await import('node:path');\nreturn fs;");
/// ```
pub fn imports_as_calls(source: &str) -> Option<String> {
    // Most programs have none, and are not parsed.
    if !source.contains("import") {
        return None;
    }
    stack::run(source, || rewrite(source)).flatten()
}

fn rewrite(source: &str) -> Option<String> {
    let allocator = Allocator::default();
    let parsed = parse(&allocator, source, SourceType::mjs());
    if !parsed.diagnostics.is_empty() {
        return None;
    }
    let mut edits = Edits::default();
    for statement in &parsed.program.body {
        if let Statement::ImportDeclaration(import) = statement
            && import.with_clause.is_none()
            && import.phase.is_none()
        {
            let range = import.span.start as usize..import.span.end as usize;
            edits.replace(range, call(source, import));
        }
    }
    edits.apply(source, 0..source.len())
}

fn call(source: &str, import: &ImportDeclaration<'_>) -> String {
    let specifier = text(source, import.source.span);
    let call = format!("await import({specifier})");
    let mut members = String::new();
    let mut namespace = None;
    for binding in import.specifiers.iter().flatten() {
        let (imported, local) = match binding {
            ImportDeclarationSpecifier::ImportNamespaceSpecifier(binding) => {
                namespace = Some(binding.local.name.as_str());
                continue;
            }
            ImportDeclarationSpecifier::ImportDefaultSpecifier(binding) => {
                ("default", binding.local.name.as_str())
            }
            ImportDeclarationSpecifier::ImportSpecifier(binding) => (
                imported(source, &binding.imported),
                binding.local.name.as_str(),
            ),
        };
        let separator = if members.is_empty() { "" } else { ", " };
        // Writing to a string cannot fail.
        let _infallible = if imported == local {
            write!(members, "{separator}{local}")
        } else {
            write!(members, "{separator}{imported}: {local}")
        };
    }
    match (namespace, members.is_empty()) {
        (None, true) => format!("{call};"),
        (None, false) => format!("const {{ {members} }} = {call};"),
        (Some(namespace), true) => format!("const {namespace} = {call};"),
        (Some(namespace), false) => {
            format!("const {namespace} = {call}, {{ {members} }} = {namespace};")
        }
    }
}

/// The name as it is written, quotes included.
fn imported<'s>(source: &'s str, name: &ModuleExportName<'_>) -> &'s str {
    text(source, name.span())
}

fn text(source: &str, span: oxc_span::Span) -> &str {
    source
        .get(span.start as usize..span.end as usize)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::imports_as_calls;

    #[test]
    fn each_form_of_import() {
        for (source, expected) in [
            ("import 'a'", "await import('a');"),
            (
                "import d from \"a\";",
                "const { default: d } = await import(\"a\");",
            ),
            ("import * as n from 'a';", "const n = await import('a');"),
            (
                "import d, * as n from 'a';",
                "const n = await import('a'), { default: d } = n;",
            ),
            (
                "import { a, b as c, default as e, 'x y' as f } from 'a';",
                "const { a, b: c, default: e, 'x y': f } = await import('a');",
            ),
            ("import {} from 'a';", "await import('a');"),
            (
                "import {\n  a,\n  b\n} from 'a'; return a;",
                "const { a, b } = await import('a');\n\n\n return a;",
            ),
            (
                "const x = 1;\nimport a from 'a';\nreturn `\nimport b from 'b'\n`;",
                "const x = 1;\nconst { default: a } = await import('a');\nreturn `\nimport b from 'b'\n`;",
            ),
        ] {
            assert_eq!(
                imports_as_calls(source).as_deref(),
                Some(expected),
                "{source}"
            );
        }
    }

    #[test]
    fn what_is_left_alone() {
        for source in [
            "return 1",
            "return await import('a')",
            "// import a from 'a'\nreturn 'import b from \"b\"';",
            "import a from 'a' with { type: 'json' };",
            "import a from",
        ] {
            assert_eq!(imports_as_calls(source), None, "{source}");
        }
    }
}
