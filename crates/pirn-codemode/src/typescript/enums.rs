//! Enums, compiled in place: every member stays on its line.

use oxc_ast::ast::{Expression, TSEnumDeclaration, TSEnumMember, TSEnumMemberName};
use oxc_ast_visit::VisitJs as _;
use oxc_span::GetSpan as _;

use super::blank::{Blanker, range};
use super::scan;

/// The object that is being filled; a name that scripts do not use.
const OBJECT: &str = "$enum";

/// Words that cannot name a constant. The engine has the last word on others.
const RESERVED: [&str; 47] = [
    "arguments",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "yield",
];
const RESERVED_MORE: [&str; 4] = ["while", "with", "NaN", "Infinity"];

/// Rewrites an enum as an object that is filled member by member. Each member is a constant too, so that later initialisers
/// can name it.
pub(super) fn compile(blanker: &mut Blanker<'_>, declaration: &TSEnumDeclaration<'_>) {
    let name = declaration.id.name.as_str();
    let body = range(declaration.body.span);
    blanker.edits.replace(
        declaration.span.start as usize..body.start + 1,
        format!("var {name}; (({OBJECT}) => {{"),
    );
    let mut next_value = "0".to_owned();
    for (index, member) in declaration.body.members.iter().enumerate() {
        next_value = compile_member(blanker, member, index, &next_value);
    }
    blanker.edits.replace(
        body.end - 1..body.end,
        format!("}})({name} || ({name} = {{}}));"),
    );
}

/// Rewrites one member; returns the value of the next one, should that have no initialiser.
fn compile_member(
    blanker: &mut Blanker<'_>,
    member: &TSEnumMember<'_>,
    index: usize,
    value: &str,
) -> String {
    let Some(name) = member_name(member) else {
        blanker.refuse(
            member.span,
            "The name of an enum member must be a plain name or string.",
        );
        return value.to_owned();
    };
    let key = serde_json::Value::from(name.as_str()).to_string();
    let constant = if can_name_constant(&name) {
        name
    } else {
        format!("$member{index}")
    };
    let head = format!("const {constant} = {OBJECT}[{key}] =");
    let reverse = format!("{OBJECT}[{constant}] = {key};");
    let span = range(member.span);
    if let Some(comma) = scan::expect(blanker.text, span.end, ',') {
        blanker.edits.blank(comma..comma + 1);
    }
    let Some(initializer) = &member.initializer else {
        blanker
            .edits
            .replace(span, format!("{head} {value}; {reverse}"));
        return format!("{constant} + 1");
    };
    let initial = range(initializer.span());
    blanker
        .edits
        .replace(span.start..initial.start, format!("{head} "));
    blanker.visit_expression(initializer);
    let reverse = match initializer {
        Expression::StringLiteral(_) | Expression::TemplateLiteral(_) => String::new(),
        Expression::NumericLiteral(_) => format!(" {reverse}"),
        _ => format!(" if (typeof {constant} !== \"string\") {reverse}"),
    };
    blanker.edits.insert(span.end, format!(";{reverse}"));
    format!("{constant} + 1")
}

fn member_name(member: &TSEnumMember<'_>) -> Option<String> {
    match &member.id {
        TSEnumMemberName::Identifier(name) => Some(name.name.to_string()),
        TSEnumMemberName::String(text) | TSEnumMemberName::ComputedString(text) => {
            Some(text.value.to_string())
        }
        TSEnumMemberName::ComputedTemplateString(template) => {
            template.single_quasi().map(|quasi| quasi.to_string())
        }
    }
}

fn can_name_constant(name: &str) -> bool {
    pirn_tool::to_identifier(name) == name
        && !RESERVED.contains(&name)
        && !RESERVED_MORE.contains(&name)
}
