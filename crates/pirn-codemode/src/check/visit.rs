//! Looks for mistakes in a script's tree.

use std::collections::{BTreeMap, BTreeSet};

use oxc_ast::ast::{
    AssignmentTarget, AssignmentTargetPropertyIdentifier, BinaryExpression, BindingPattern,
    CallExpression, ComputedMemberExpression, ConditionalExpression, Expression, ForOfStatement,
    IdentifierReference, IfStatement, Program, SimpleAssignmentTarget, SpreadElement,
    StaticMemberExpression, TemplateLiteral, TryStatement, UnaryExpression, UnaryOperator,
    VariableDeclarator,
};
use oxc_ast_visit::{VisitJs, walk_js};
use oxc_span::{GetSpan, Span};

use super::literal::value_of;
use super::names::Names;
use super::{Findings, Mistake, Surroundings};
use crate::explain::absent_message;
use crate::shape::ResultShape;

/// The object of all tools.
const TOOLS: &str = "tools";
/// Tools that an error about an unknown one lists.
const TOOLS_LISTED_MAX: usize = 20;
/// Members that every promise has.
const OF_PROMISES: [&str; 4] = ["then", "catch", "finally", "constructor"];
/// Members of `tools` that may be asked for without there being such a tool.
const OF_OBJECTS: [&str; 9] = [
    "then",
    "toJSON",
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
];

pub(super) fn findings(
    program: &Program<'_>,
    text: &str,
    start: usize,
    surroundings: &Surroundings<'_>,
) -> Findings {
    let names = Names::of(program);
    let doubts = names
        .never_called()
        .filter_map(|(name, at)| {
            let offset = (at as usize).checked_sub(start)?;
            let message = format!("{name} is never called: call it with await {name}()");
            Some((offset, message))
        })
        .collect();
    // A script with a variable of its own called `tools` means that one; the wrapper's parameter is declared too.
    let own_tools = names.tools_declared() > 1;
    let mut visitor = Visitor {
        start,
        text,
        surroundings,
        names,
        knows_tools: !own_tools,
        held: BTreeMap::new(),
        guarded: 0,
        findings: Findings {
            mistakes: Vec::new(),
            doubts,
        },
    };
    visitor.held = Held::of(program, surroundings);
    visitor.visit_program(program);
    visitor.findings
}

/// What a variable holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Holding<'s> {
    /// The result of this tool.
    Result(&'s str, &'s ResultShape),
    /// A promise of this tool's result, since nobody awaited it.
    Promise(&'s str, &'s ResultShape),
}

impl Holding<'_> {
    fn awaited(self) -> Self {
        match self {
            Self::Promise(tool, shape) | Self::Result(tool, shape) => Self::Result(tool, shape),
        }
    }
}

/// Finds out what variables hold from their declaration on; a name that is declared twice, or assigned to, holds nothing that is
/// known.
struct Held<'s> {
    surroundings: &'s Surroundings<'s>,
    by_name: BTreeMap<String, Option<Holding<'s>>>,
    assigned: BTreeSet<String>,
}

impl<'s> Held<'s> {
    fn of(
        program: &Program<'_>,
        surroundings: &'s Surroundings<'s>,
    ) -> BTreeMap<String, Holding<'s>> {
        let mut held = Held {
            surroundings,
            by_name: BTreeMap::new(),
            assigned: BTreeSet::new(),
        };
        held.visit_program(program);
        let Held {
            by_name, assigned, ..
        } = held;
        by_name
            .into_iter()
            .filter(|(name, _)| !assigned.contains(name))
            .filter_map(|(name, holding)| Some((name, holding?)))
            .collect()
    }
}

impl<'a> VisitJs<'a> for Held<'_> {
    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        if let (BindingPattern::BindingIdentifier(identifier), Some(init)) =
            (&declarator.id, &declarator.init)
            && let Some(holding) = holding_of(init, self.surroundings)
        {
            let name = identifier.name.as_str().to_owned();
            let known = self.by_name.contains_key(&name);
            self.by_name.insert(name, (!known).then_some(holding));
            self.visit_expression(init);
            return;
        }
        walk_js::walk_variable_declarator(self, declarator);
    }

    fn visit_binding_identifier(&mut self, identifier: &oxc_ast::ast::BindingIdentifier<'a>) {
        self.by_name
            .insert(identifier.name.as_str().to_owned(), None);
    }

    fn visit_simple_assignment_target(&mut self, target: &SimpleAssignmentTarget<'a>) {
        if let SimpleAssignmentTarget::AssignmentTargetIdentifier(identifier) = target {
            self.assigned.insert(identifier.name.as_str().to_owned());
        }
        walk_js::walk_simple_assignment_target(self, target);
    }

    fn visit_assignment_target(&mut self, target: &AssignmentTarget<'a>) {
        if let AssignmentTarget::AssignmentTargetIdentifier(identifier) = target {
            self.assigned.insert(identifier.name.as_str().to_owned());
        }
        walk_js::walk_assignment_target(self, target);
    }

    fn visit_assignment_target_property_identifier(
        &mut self,
        property: &AssignmentTargetPropertyIdentifier<'a>,
    ) {
        self.assigned
            .insert(property.binding.name.as_str().to_owned());
        walk_js::walk_assignment_target_property_identifier(self, property);
    }
}

/// What an expression gives, as far as its text tells.
fn holding_of<'s>(
    expression: &Expression<'_>,
    surroundings: &'s Surroundings<'s>,
) -> Option<Holding<'s>> {
    match expression.without_parentheses() {
        Expression::AwaitExpression(awaited) => {
            holding_of(&awaited.argument, surroundings).map(Holding::awaited)
        }
        Expression::CallExpression(call) => match call.callee.without_parentheses() {
            Expression::StaticMemberExpression(member)
                if is_tools(&member.object) && !member.optional =>
            {
                let (tool, shape) = surroundings.tools.member(member.property.name.as_str())?;
                Some(Holding::Promise(tool, shape))
            }
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn is_tools(expression: &Expression<'_>) -> bool {
    matches!(expression.without_parentheses(), Expression::Identifier(identifier) if identifier.name == TOOLS)
}

pub(super) struct Visitor<'a, 's> {
    start: usize,
    pub(super) text: &'s str,
    pub(super) surroundings: &'s Surroundings<'s>,
    pub(super) names: Names<'a>,
    pub(super) knows_tools: bool,
    held: BTreeMap<String, Holding<'s>>,
    /// How many `try` blocks and optional accesses stand around.
    guarded: usize,
    findings: Findings,
}

impl<'s> Visitor<'_, 's> {
    pub(super) fn add(&mut self, span: Span, name: &'static str, message: String) {
        if self.guarded == 0
            && let Some(offset) = (span.start as usize).checked_sub(self.start)
        {
            self.findings.mistakes.push(Mistake {
                offset,
                name,
                message,
            });
        }
    }

    /// What may be meant, and is told beside the result.
    pub(super) fn doubt(&mut self, span: Span, message: String) {
        if let Some(offset) = (span.start as usize).checked_sub(self.start) {
            self.findings.doubts.push((offset, message));
        }
    }

    /// What an expression holds: a call of a tool, an awaited one, or a variable that holds either.
    pub(super) fn holding(&self, expression: &Expression<'_>) -> Option<Holding<'s>> {
        if !self.knows_tools {
            return None;
        }
        match expression.without_parentheses() {
            Expression::Identifier(identifier) => self.held.get(identifier.name.as_str()).copied(),
            Expression::AwaitExpression(awaited) => {
                self.holding(&awaited.argument).map(Holding::awaited)
            }
            Expression::CallExpression(call) => self
                .same_list(call)
                .or_else(|| holding_of(expression, self.surroundings)),
            other => holding_of(other, self.surroundings),
        }
    }

    fn check_member(&mut self, object: &Expression<'_>, member: &str, span: Span) {
        match self.holding(object) {
            Some(Holding::Promise(tool, _)) if !OF_PROMISES.contains(&member) => {
                self.add(
                    span,
                    "TypeError",
                    format!("tools.{tool}(...) gives a promise, which has no member {member}: await it first, as in (await tools.{tool}(...)).{member}"),
                );
            }
            Some(Holding::Result(tool, shape)) => {
                if let Some(message) = shape.complaint(tool, member) {
                    self.add(span, "TypeError", message);
                }
            }
            Some(Holding::Promise(..)) | None => {}
        }
    }

    fn check_tool(&mut self, name: &str, span: Span) {
        let is_known = self.surroundings.tools.shape(name).is_some()
            || OF_OBJECTS.contains(&name)
            || self
                .surroundings
                .missing_prefixes
                .iter()
                .any(|prefix| name.starts_with(prefix));
        if self.knows_tools && !is_known {
            let listed: Vec<&str> = self.surroundings.tools.listed().collect();
            let meant = pirn_tool::closest(name, listed.iter().copied());
            let hint = match (meant, listed.len()) {
                (Some(close), _) => format!("Did you mean tools.{close}?"),
                (None, 0) => "There are no tools.".to_owned(),
                (None, 1..=TOOLS_LISTED_MAX) => {
                    let tools: Vec<String> =
                        listed.iter().map(|tool| format!("tools.{tool}")).collect();
                    format!("Available: {}.", tools.join(", "))
                }
                (None, _) => "ALL_TOOLS lists the tools, searchTools(query) finds them.".to_owned(),
            };
            self.add(
                span,
                "TypeError",
                format!("tools.{name} does not exist. {hint}"),
            );
        }
    }

    fn check_iterated(&mut self, expression: &Expression<'_>) {
        if let Some(Holding::Promise(tool, _)) = self.holding(expression) {
            self.add(
                expression.span(),
                "TypeError",
                format!("tools.{tool}(...) gives a promise, which cannot be iterated: write await tools.{tool}(...)"),
            );
        }
    }
}

impl<'a> VisitJs<'a> for Visitor<'a, '_> {
    fn visit_try_statement(&mut self, statement: &TryStatement<'a>) {
        // What fails in here is caught, or the script means to clean up first.
        self.guarded += 1;
        self.visit_block_statement(&statement.block);
        self.guarded -= 1;
        if let Some(handler) = &statement.handler {
            self.visit_catch_clause(handler);
        }
        if let Some(finalizer) = &statement.finalizer {
            self.visit_block_statement(finalizer);
        }
    }

    fn visit_unary_expression(&mut self, unary: &UnaryExpression<'a>) {
        // `typeof` asks whether there is such a name.
        if unary.operator == UnaryOperator::Typeof {
            self.guarded += 1;
            walk_js::walk_unary_expression(self, unary);
            self.guarded -= 1;
        } else {
            walk_js::walk_unary_expression(self, unary);
        }
    }

    fn visit_identifier_reference(&mut self, identifier: &IdentifierReference<'a>) {
        let name = identifier.name.as_str();
        if self.names.is_unknown(name, &self.surroundings.globals) {
            self.add(identifier.span, "ReferenceError", absent_message(name));
        }
    }

    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        let name = member.property.name.as_str();
        if is_tools(&member.object) {
            if !member.optional {
                self.check_tool(name, member.property.span);
            }
            return;
        }
        self.check_member(&member.object, name, member.property.span);
        // What a call rejects with is expected there.
        let handles = usize::from(matches!(name, "catch" | "then"));
        self.guarded += handles;
        walk_js::walk_static_member_expression(self, member);
        self.guarded -= handles;
    }

    fn visit_computed_member_expression(&mut self, member: &ComputedMemberExpression<'a>) {
        if is_tools(&member.object)
            && let Some(name) = member.static_property_name()
        {
            self.check_tool(name.as_str(), member.expression.span());
            return;
        }
        walk_js::walk_computed_member_expression(self, member);
    }

    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        if let (BindingPattern::ObjectPattern(pattern), Some(init)) =
            (&declarator.id, &declarator.init)
        {
            for property in &pattern.properties {
                let has_default = matches!(property.value, BindingPattern::AssignmentPattern(_));
                let name = property.key.static_name();
                if let (false, Some(name)) = (has_default, name) {
                    if is_tools(init) {
                        self.check_tool(&name, property.key.span());
                    } else {
                        self.check_member(init, &name, property.key.span());
                    }
                }
            }
        }
        walk_js::walk_variable_declarator(self, declarator);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if self.knows_tools
            && let Expression::StaticMemberExpression(member) = call.callee.without_parentheses()
            && is_tools(&member.object)
            && let Some(tool) = self.surroundings.tools.name(member.property.name.as_str())
            && let Some(argument) = call
                .arguments
                .first()
                .and_then(|argument| argument.as_expression())
            && let Some(value) = value_of(argument)
            && let Some(complaint) = self.surroundings.host.arguments_complaint(tool, &value)
        {
            self.add(argument.span(), "Error", complaint);
        }
        self.check_given(call);
        let settles = matches!(call.callee.without_parentheses(), Expression::StaticMemberExpression(member) if member.property.name == "allSettled");
        self.guarded += usize::from(settles);
        walk_js::walk_call_expression(self, call);
        self.guarded -= usize::from(settles);
    }

    fn visit_if_statement(&mut self, statement: &IfStatement<'a>) {
        self.check_condition(&statement.test);
        walk_js::walk_if_statement(self, statement);
    }

    fn visit_conditional_expression(&mut self, conditional: &ConditionalExpression<'a>) {
        self.check_condition(&conditional.test);
        walk_js::walk_conditional_expression(self, conditional);
    }

    fn visit_binary_expression(&mut self, binary: &BinaryExpression<'a>) {
        self.check_operands(binary);
        walk_js::walk_binary_expression(self, binary);
    }

    fn visit_template_literal(&mut self, template: &TemplateLiteral<'a>) {
        self.check_template(template);
        walk_js::walk_template_literal(self, template);
    }

    fn visit_for_of_statement(&mut self, statement: &ForOfStatement<'a>) {
        self.check_iterated(&statement.right);
        walk_js::walk_for_of_statement(self, statement);
    }

    fn visit_spread_element(&mut self, spread: &SpreadElement<'a>) {
        self.check_iterated(&spread.argument);
        walk_js::walk_spread_element(self, spread);
    }
}
