//! The names that a script declares, and those that it has without declaring them.

use std::collections::{BTreeMap, BTreeSet};

use oxc_ast::ast::{
    AssignmentTarget, BindingIdentifier, BindingPattern, Expression, Function, IdentifierReference,
    Program, SimpleAssignmentTarget, StaticMemberExpression, VariableDeclarator, WithStatement,
};
use oxc_ast_visit::{VisitJs, walk_js};
use oxc_syntax::scope::ScopeFlags;

/// Names of the language that are no members of the global object.
const OF_THE_LANGUAGE: [&str; 4] = ["arguments", "undefined", "NaN", "Infinity"];
/// With these a script reaches names that its text does not tell.
const OPEN: [&str; 3] = ["eval", "globalThis", "Function"];

/// What a script declares, in whatever scope.
#[derive(Default)]
pub(super) struct Names<'a> {
    declared: BTreeSet<&'a str>,
    referenced: BTreeSet<&'a str>,
    /// Members of `tools` that it names.
    tools: BTreeSet<&'a str>,
    tools_declared: usize,
    /// Async functions with a name, and where they begin.
    async_functions: BTreeMap<&'a str, u32>,
    is_open: bool,
    has_tools: bool,
}

impl<'a> Names<'a> {
    pub(super) fn of(program: &Program<'a>) -> Self {
        let mut names = Self::default();
        names.visit_program(program);
        names
    }

    /// Whether the script names this tool.
    pub(super) fn names_tool(&self, tool: &str) -> bool {
        self.tools.contains(tool)
    }

    /// Async functions that nothing refers to, and where they begin.
    pub(super) fn never_called(&self) -> impl Iterator<Item = (&str, u32)> {
        self.async_functions
            .iter()
            .filter(|(name, _)| self.has_tools && !self.is_open && !self.referenced.contains(*name))
            .map(|(name, at)| (*name, *at))
    }

    /// How often `tools` is declared.
    pub(super) fn tools_declared(&self) -> usize {
        self.tools_declared
    }

    /// Whether nothing can have this name.
    pub(super) fn is_unknown(&self, name: &str, globals: &[&str]) -> bool {
        self.has_tools
            && !self.is_open
            && !self.declared.contains(name)
            && !OF_THE_LANGUAGE.contains(&name)
            && !crate::host::is_reserved(name)
            && !globals.contains(&name)
    }
}

impl<'a> VisitJs<'a> for Names<'a> {
    fn visit_binding_identifier(&mut self, identifier: &BindingIdentifier<'a>) {
        self.tools_declared += usize::from(identifier.name == "tools");
        self.declared.insert(identifier.name.as_str());
    }

    fn visit_identifier_reference(&mut self, identifier: &IdentifierReference<'a>) {
        self.is_open |= OPEN.contains(&identifier.name.as_str());
        self.has_tools |= identifier.name == "tools";
        self.referenced.insert(identifier.name.as_str());
    }

    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        if matches!(&member.object, Expression::Identifier(object) if object.name == "tools") {
            self.tools.insert(member.property.name.as_str());
        }
        walk_js::walk_static_member_expression(self, member);
    }

    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        // The wrapper around the script begins the text; expressions are called where they stand.
        if function.r#async
            && function.is_function_declaration()
            && function.span.start > 0
            && let Some(identifier) = &function.id
        {
            self.async_functions
                .insert(identifier.name.as_str(), identifier.span.start);
        }
        walk_js::walk_function(self, function, flags);
    }

    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        let is_async = match &declarator.init {
            Some(Expression::ArrowFunctionExpression(arrow)) => arrow.r#async,
            Some(Expression::FunctionExpression(function)) => function.r#async,
            _ => false,
        };
        if let (BindingPattern::BindingIdentifier(identifier), true) = (&declarator.id, is_async) {
            self.async_functions
                .insert(identifier.name.as_str(), identifier.span.start);
        }
        walk_js::walk_variable_declarator(self, declarator);
    }

    fn visit_simple_assignment_target(&mut self, target: &SimpleAssignmentTarget<'a>) {
        // Assigning to a name makes a global.
        if let SimpleAssignmentTarget::AssignmentTargetIdentifier(identifier) = target {
            self.declared.insert(identifier.name.as_str());
        }
        walk_js::walk_simple_assignment_target(self, target);
    }

    fn visit_assignment_target(&mut self, target: &AssignmentTarget<'a>) {
        if let AssignmentTarget::AssignmentTargetIdentifier(identifier) = target {
            self.declared.insert(identifier.name.as_str());
        }
        walk_js::walk_assignment_target(self, target);
    }

    fn visit_with_statement(&mut self, statement: &WithStatement<'a>) {
        self.is_open = true;
        walk_js::walk_with_statement(self, statement);
    }
}
