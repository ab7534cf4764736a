//! Module syntax, which scripts do not have, and what to write instead.

use oxc_ast::ast::{ImportMeta, ModuleDeclaration, Program, Statement, TSModuleReference};
use oxc_ast_visit::VisitJs;

/// What is refused, and where.
#[derive(Debug)]
pub(super) struct ModuleSyntax {
    /// Byte offset of the statement.
    pub(super) offset: usize,
    pub(super) message: String,
}

/// What stands in for the modules models reach for first.
const SUBSTITUTES: [(&[&str], &str); 5] = [
    (
        &["fs", "fs/promises", "fs-extra", "glob", "fast-glob"],
        "Read, write and search files with tools, such as `await tools.read({ path })`",
    ),
    (
        &["child_process", "execa", "zx"],
        "Run commands with a tool, such as `await tools.bash({ command })`",
    ),
    (
        &[
            "http",
            "https",
            "net",
            "axios",
            "node-fetch",
            "undici",
            "got",
        ],
        "A script has no network of its own; use a tool that has",
    ),
    (
        &["timers", "timers/promises"],
        "`setTimeout` is a global; wait with `await new Promise((resolve) => setTimeout(resolve, ms))`",
    ),
    (
        &[
            "path", "util", "url", "os", "crypto", "buffer", "events", "assert", "process",
        ],
        "Write it in plain JavaScript",
    ),
];

/// Says what to use instead of importing `specifier`; one sentence or two, ending in a full stop.
///
/// ```
/// assert!(pirn_codemode::import_advice("node:fs").contains("tools.read"));
/// ```
pub fn import_advice(specifier: &str) -> String {
    let bare = specifier.strip_prefix("node:").unwrap_or(specifier);
    let substitute = SUBSTITUTES
        .iter()
        .find(|(names, _)| names.contains(&bare))
        .map(|(_, advice)| *advice);
    match substitute {
        Some(advice) => format!("Scripts cannot import modules. {advice}."),
        None => "Scripts cannot import modules: everything they can reach is a global or a member of `tools`. \
                 `ALL_TOOLS` lists the tools, `searchTools(query)` finds them."
            .to_owned(),
    }
}

/// Looks for import and export statements, and for `import.meta`, in a program that was parsed as a module.
pub(super) fn find(program: &Program<'_>) -> Option<ModuleSyntax> {
    program.body.iter().find_map(in_statement).or_else(|| {
        let mut finder = MetaFinder::default();
        finder.visit_program(program);
        finder.offset.map(|offset| ModuleSyntax {
            offset,
            message: import_meta_message(),
        })
    })
}

pub(super) fn import_meta_message() -> String {
    "`import.meta` is not available: a script is not a module and has no file of its own."
        .to_owned()
}

/// What a statement imports or exports, as a refusal.
pub(super) fn in_statement(statement: &Statement<'_>) -> Option<ModuleSyntax> {
    if let Statement::TSImportEqualsDeclaration(import) = statement {
        let specifier = match &import.module_reference {
            TSModuleReference::ExternalModuleReference(reference) => {
                reference.expression.value.as_str()
            }
            TSModuleReference::IdentifierReference(_) | TSModuleReference::QualifiedName(_) => {
                import.id.name.as_str()
            }
        };
        return Some(importing(specifier, import.span.start));
    }
    let found = match statement.as_module_declaration()? {
        ModuleDeclaration::ImportDeclaration(import) => {
            importing(import.source.value.as_str(), import.span.start)
        }
        ModuleDeclaration::ExportFromDeclaration(export) => {
            importing(export.source.value.as_str(), export.span.start)
        }
        ModuleDeclaration::ExportAllDeclaration(export) => {
            importing(export.source.value.as_str(), export.span.start)
        }
        ModuleDeclaration::ExportDeclaration(export) => exporting(export.span.start),
        ModuleDeclaration::ExportDefaultDeclaration(export) => exporting(export.span.start),
        ModuleDeclaration::ExportNamedDeclaration(export) => exporting(export.span.start),
        ModuleDeclaration::TSExportAssignment(export) => exporting(export.span.start),
        ModuleDeclaration::TSNamespaceExportDeclaration(export) => exporting(export.span.start),
    };
    Some(found)
}

fn importing(specifier: &str, start: u32) -> ModuleSyntax {
    let message = format!(
        "Cannot import \"{specifier}\". {}",
        import_advice(specifier)
    );
    ModuleSyntax {
        offset: start as usize,
        message,
    }
}

fn exporting(start: u32) -> ModuleSyntax {
    let message = "`export` is not available: a script is the body of a function. Hand a value over with `return`, or keep \
                   it for later scripts with `store(key, value)`."
        .to_owned();
    ModuleSyntax {
        offset: start as usize,
        message,
    }
}

#[derive(Debug, Default)]
struct MetaFinder {
    offset: Option<usize>,
}

impl VisitJs<'_> for MetaFinder {
    fn visit_import_meta(&mut self, meta: &ImportMeta) {
        self.offset.get_or_insert(meta.span.start as usize);
    }
}
