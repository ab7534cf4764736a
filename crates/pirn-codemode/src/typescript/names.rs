//! Which tools a script names.

use std::collections::BTreeSet;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    BinaryExpression, BinaryOperator, BindingPattern, CallExpression, ComputedMemberExpression,
    Expression, IdentifierReference, Program, StaticMemberExpression, VariableDeclarator,
};
use oxc_ast_visit::{VisitJs, walk_js};

use super::ToolNames;

/// The object of all tools.
const TOOLS: &str = "tools";
/// Names by which a script reaches tools that it does not name: the functions that search, the list of all tools, and the ways
/// to reach a global by a computed name.
const REACHING: [&str; 8] = [
    "ALL_TOOLS",
    "Function",
    "describeNamespace",
    "describeTool",
    "eval",
    "globalThis",
    "searchTools",
    "tools",
];
/// The function whose only argument is the name of a tool.
const DESCRIBE: &str = "describeTool";

/// The tools that a parsed script names.
pub(super) fn of_program(program: &Program<'_>) -> ToolNames {
    let mut finder = Finder::default();
    finder.visit_program(program);
    ToolNames {
        names: finder.names.into_iter().collect(),
        reaches_all: finder.reaches_all,
    }
}

#[derive(Default)]
struct Finder {
    names: BTreeSet<String>,
    reaches_all: bool,
}

impl Finder {
    /// Takes the names that a pattern gets out of `tools`. Says whether it gets no others.
    fn take_pattern(&mut self, pattern: &BindingPattern<'_>) -> bool {
        let BindingPattern::ObjectPattern(pattern) = pattern else {
            return false;
        };
        let names: Option<Vec<String>> = pattern
            .properties
            .iter()
            .map(|property| property.key.static_name().map(Into::into))
            .collect();
        match names {
            Some(names) if pattern.rest.is_none() => {
                self.names.extend(names);
                true
            }
            Some(_) | None => false,
        }
    }
}

impl<'a> VisitJs<'a> for Finder {
    fn visit_identifier_reference(&mut self, identifier: &IdentifierReference<'a>) {
        // Every use that names its tool is caught before its identifier is visited.
        self.reaches_all |= REACHING.contains(&identifier.name.as_str());
    }

    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        let name = member.property.name.as_str();
        if is_named(&member.object, TOOLS) {
            self.names.insert(name.to_owned());
            return;
        }
        // `this` may be the global object.
        self.reaches_all |= name == TOOLS && matches!(member.object, Expression::ThisExpression(_));
        walk_js::walk_static_member_expression(self, member);
    }

    fn visit_computed_member_expression(&mut self, member: &ComputedMemberExpression<'a>) {
        if is_named(&member.object, TOOLS)
            && let Some(name) = member.static_property_name()
        {
            self.names.insert(name.as_str().to_owned());
            return;
        }
        walk_js::walk_computed_member_expression(self, member);
    }

    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        let is_of_tools = declarator
            .init
            .as_ref()
            .is_some_and(|init| is_named(init, TOOLS));
        if is_of_tools && self.take_pattern(&declarator.id) {
            // Defaults and keys may hold anything; the initial value is `tools` itself.
            self.visit_binding_pattern(&declarator.id);
            return;
        }
        walk_js::walk_variable_declarator(self, declarator);
    }

    fn visit_binary_expression(&mut self, binary: &BinaryExpression<'a>) {
        if binary.operator == BinaryOperator::In
            && is_named(&binary.right, TOOLS)
            && let Expression::StringLiteral(name) = &binary.left
        {
            self.names.insert(name.value.as_str().to_owned());
            return;
        }
        walk_js::walk_binary_expression(self, binary);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if is_named(&call.callee, DESCRIBE)
            && let [argument] = call.arguments.as_slice()
            && let Some(Expression::StringLiteral(name)) = argument.as_expression()
        {
            self.names.insert(name.value.as_str().to_owned());
            return;
        }
        walk_js::walk_call_expression(self, call);
    }
}

fn is_named(expression: &Expression<'_>, name: &str) -> bool {
    match expression.without_parentheses() {
        Expression::Identifier(identifier) => identifier.name == name,
        _ => false,
    }
}

/// The tools that a text names, whichever of the two languages it is; `None` for a text that is neither.
pub(super) fn of_text(wrapped: &str) -> Option<ToolNames> {
    [
        oxc_span::SourceType::ts().with_script(true),
        oxc_span::SourceType::script(),
    ]
    .into_iter()
    .find_map(|language| {
        let allocator = Allocator::default();
        let parsed = super::parse::parse(&allocator, wrapped, language);
        parsed
            .diagnostics
            .is_empty()
            .then(|| of_program(&parsed.program))
    })
}
