//! The names that a script declares, and those that it has without declaring them.

use std::collections::BTreeSet;

use oxc_ast::ast::{
    AssignmentTarget, BindingIdentifier, IdentifierReference, Program, SimpleAssignmentTarget,
    WithStatement,
};
use oxc_ast_visit::{VisitJs, walk_js};

/// Names of the language that are no members of the global object.
const OF_THE_LANGUAGE: [&str; 4] = ["arguments", "undefined", "NaN", "Infinity"];
/// With these a script reaches names that its text does not tell.
const OPEN: [&str; 3] = ["eval", "globalThis", "Function"];

/// What a script declares, in whatever scope.
#[derive(Default)]
pub(super) struct Names {
    declared: BTreeSet<String>,
    is_open: bool,
    has_tools: bool,
}

impl Names {
    pub(super) fn of(program: &Program<'_>) -> Self {
        let mut names = Self::default();
        names.visit_program(program);
        names
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

impl<'a> VisitJs<'a> for Names {
    fn visit_binding_identifier(&mut self, identifier: &BindingIdentifier<'a>) {
        self.declared.insert(identifier.name.as_str().to_owned());
    }

    fn visit_identifier_reference(&mut self, identifier: &IdentifierReference<'a>) {
        self.is_open |= OPEN.contains(&identifier.name.as_str());
        self.has_tools |= identifier.name == "tools";
    }

    fn visit_simple_assignment_target(&mut self, target: &SimpleAssignmentTarget<'a>) {
        // Assigning to a name makes a global.
        if let SimpleAssignmentTarget::AssignmentTargetIdentifier(identifier) = target {
            self.declared.insert(identifier.name.as_str().to_owned());
        }
        walk_js::walk_simple_assignment_target(self, target);
    }

    fn visit_assignment_target(&mut self, target: &AssignmentTarget<'a>) {
        if let AssignmentTarget::AssignmentTargetIdentifier(identifier) = target {
            self.declared.insert(identifier.name.as_str().to_owned());
        }
        walk_js::walk_assignment_target(self, target);
    }

    fn visit_with_statement(&mut self, statement: &WithStatement<'a>) {
        self.is_open = true;
        walk_js::walk_with_statement(self, statement);
    }
}
