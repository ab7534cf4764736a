//! The places of a script at which the engine can throw, with the text that stands there.

use std::collections::BTreeMap;

use oxc_ast::ast::{
    AssignmentExpression, AssignmentTarget, BinaryExpression, BindingPattern, CallExpression,
    ComputedMemberExpression, Expression, ForOfStatement, ForStatementLeft, NewExpression, Program,
    SpreadElement, StaticMemberExpression, VariableDeclarator,
};
use oxc_ast_visit::{VisitJs, walk_js};
use oxc_span::{GetSpan, Span};

/// Characters of an expression that a sentence shows.
const TEXT_CHARS_MAX: usize = 60;

/// An expression as written, and the tool whose result it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) text: String,
    pub(super) origin: Option<String>,
}

/// What the engine does at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Site {
    /// It calls or constructs something.
    Call {
        callee: Named,
        object: Option<Named>,
        method: Option<String>,
        is_new: bool,
    },
    /// It reads a member of this.
    Member {
        object: Named,
        /// The member's name; `None` where it is computed.
        member: Option<String>,
    },
    /// It goes over this.
    Iterated(Named),
    /// It takes this apart.
    Destructured(Named),
    /// An operator calculates with it.
    Operator,
}

/// The sites of a program, by byte offset in the script, which begins at `start` of `text`.
pub(super) fn find(program: &Program<'_>, text: &str, start: usize) -> BTreeMap<usize, Vec<Site>> {
    let mut origins = Origins::default();
    origins.visit_program(program);
    let mut finder = Finder {
        text,
        start,
        origins,
        sites: BTreeMap::new(),
    };
    finder.visit_program(program);
    finder.sites
}

/// Which variables hold what a tool gave; a name that is declared twice says nothing.
#[derive(Default)]
struct Origins {
    by_name: BTreeMap<String, Option<String>>,
}

impl Origins {
    fn declare(&mut self, pattern: &BindingPattern<'_>, origin: Option<&str>) {
        match pattern {
            BindingPattern::BindingIdentifier(identifier) => {
                let origin = origin.map(str::to_owned);
                self.by_name
                    .entry(identifier.name.as_str().to_owned())
                    .and_modify(|known| *known = None)
                    .or_insert(origin);
            }
            BindingPattern::ObjectPattern(pattern) => {
                for property in &pattern.properties {
                    self.declare(&property.value, origin);
                }
            }
            BindingPattern::ArrayPattern(pattern) => {
                for element in pattern.elements.iter().flatten() {
                    self.declare(element, None);
                }
            }
            BindingPattern::AssignmentPattern(pattern) => self.declare(&pattern.left, origin),
        }
    }

    /// The tool whose result an expression is or is a part of.
    fn of(&self, expression: &Expression<'_>) -> Option<String> {
        match expression.without_parentheses() {
            Expression::AwaitExpression(awaited) => self.of(&awaited.argument),
            Expression::CallExpression(call) => tool_of(&call.callee),
            Expression::Identifier(identifier) => self
                .by_name
                .get(identifier.name.as_str())
                .cloned()
                .flatten(),
            Expression::StaticMemberExpression(member) => self.of(&member.object),
            Expression::ComputedMemberExpression(member) => self.of(&member.object),
            _ => None,
        }
    }
}

/// `tools.name` of a callee that is a tool.
fn tool_of(callee: &Expression<'_>) -> Option<String> {
    let is_tools = |object: &Expression<'_>| matches!(object.without_parentheses(), Expression::Identifier(identifier) if identifier.name == "tools");
    match callee.without_parentheses() {
        Expression::StaticMemberExpression(member) if is_tools(&member.object) => {
            Some(format!("tools.{}", member.property.name))
        }
        Expression::ComputedMemberExpression(member) if is_tools(&member.object) => member
            .static_property_name()
            .map(|name| format!("tools[\"{}\"]", name.as_str())),
        _ => None,
    }
}

impl<'a> VisitJs<'a> for Origins {
    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        let origin = declarator.init.as_ref().and_then(|init| self.of(init));
        self.declare(&declarator.id, origin.as_deref());
        walk_js::walk_variable_declarator(self, declarator);
    }
}

struct Finder<'t> {
    text: &'t str,
    start: usize,
    origins: Origins,
    sites: BTreeMap<usize, Vec<Site>>,
}

impl Finder<'_> {
    fn add(&mut self, at: usize, site: Site) {
        if let Some(offset) = at.checked_sub(self.start) {
            self.sites.entry(offset).or_default().push(site);
        }
    }

    fn named(&self, expression: &Expression<'_>) -> Named {
        Named {
            text: excerpt(self.text, expression.span()),
            origin: self.origins.of(expression),
        }
    }

    /// The first place at or after `from` where `token` stands.
    fn token_after(&self, from: u32, token: &str) -> Option<usize> {
        let from = from as usize;
        self.text.get(from..)?.find(token).map(|at| from + at)
    }

    fn add_call(&mut self, callee: &Expression<'_>, start: u32, is_new: bool) {
        let inner = callee.without_parentheses();
        let named = self.named(callee);
        let (at, object, method) = match inner {
            Expression::StaticMemberExpression(member) => (
                Some(member.property.span.start as usize),
                Some(self.named(&member.object)),
                Some(member.property.name.as_str().to_owned()),
            ),
            Expression::ComputedMemberExpression(member) => (
                self.token_after(member.object.span().end, "["),
                Some(self.named(&member.object)),
                None,
            ),
            _ => (Some(callee.span().start as usize), None, None),
        };
        let at = if is_new { Some(start as usize) } else { at };
        // The engine says what was called on nothing of a constructor.
        let object = if is_new { None } else { object };
        if let Some(at) = at {
            self.add(
                at,
                Site::Call {
                    callee: named,
                    object,
                    method,
                    is_new,
                },
            );
        }
    }

    fn add_pattern(&mut self, pattern: &BindingPattern<'_>, named: &Named) {
        match pattern {
            BindingPattern::ObjectPattern(pattern) => {
                self.add(
                    pattern.span.start as usize,
                    Site::Destructured(named.clone()),
                );
                for property in &pattern.properties {
                    if let Some(key) = property.key.static_name() {
                        let inner = Named {
                            text: format!("{}.{key}", named.text),
                            origin: named.origin.clone(),
                        };
                        self.add_pattern(&property.value, &inner);
                    }
                }
            }
            BindingPattern::ArrayPattern(pattern) => {
                self.add(
                    pattern.span.start as usize,
                    Site::Destructured(named.clone()),
                );
                for (at, element) in pattern.elements.iter().enumerate() {
                    let inner = Named {
                        text: format!("{}[{at}]", named.text),
                        origin: named.origin.clone(),
                    };
                    if let Some(element) = element {
                        self.add_pattern(element, &inner);
                    }
                }
            }
            BindingPattern::AssignmentPattern(pattern) => self.add_pattern(&pattern.left, named),
            BindingPattern::BindingIdentifier(_) => {}
        }
    }
}

/// An expression on one line, cut where it is long.
fn excerpt(text: &str, span: Span) -> String {
    let written = text
        .get(span.start as usize..span.end as usize)
        .unwrap_or_default();
    let line = written.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= TEXT_CHARS_MAX {
        return line;
    }
    let mut cut: String = line.chars().take(TEXT_CHARS_MAX - 3).collect();
    cut.push_str("...");
    cut
}

impl<'a> VisitJs<'a> for Finder<'_> {
    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        self.add_call(&call.callee, call.span.start, false);
        walk_js::walk_call_expression(self, call);
    }

    fn visit_new_expression(&mut self, new: &NewExpression<'a>) {
        self.add_call(&new.callee, new.span.start, true);
        walk_js::walk_new_expression(self, new);
    }

    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        let object = self.named(&member.object);
        self.add(
            member.property.span.start as usize,
            Site::Member {
                object,
                member: Some(member.property.name.as_str().to_owned()),
            },
        );
        walk_js::walk_static_member_expression(self, member);
    }

    fn visit_computed_member_expression(&mut self, member: &ComputedMemberExpression<'a>) {
        let object = self.named(&member.object);
        if let Some(at) = self.token_after(member.object.span().end, "[") {
            self.add(
                at,
                Site::Member {
                    object,
                    member: None,
                },
            );
        }
        walk_js::walk_computed_member_expression(self, member);
    }

    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        if let Some(init) = &declarator.init {
            let named = self.named(init);
            self.add_pattern(&declarator.id, &named);
        }
        walk_js::walk_variable_declarator(self, declarator);
    }

    fn visit_assignment_expression(&mut self, assignment: &AssignmentExpression<'a>) {
        let start = match &assignment.left {
            AssignmentTarget::ObjectAssignmentTarget(target) => Some(target.span.start),
            AssignmentTarget::ArrayAssignmentTarget(target) => Some(target.span.start),
            _ => None,
        };
        if let Some(start) = start {
            let named = self.named(&assignment.right);
            self.add(start as usize, Site::Destructured(named));
        }
        walk_js::walk_assignment_expression(self, assignment);
    }

    fn visit_for_of_statement(&mut self, statement: &ForOfStatement<'a>) {
        let named = self.named(&statement.right);
        self.add(
            statement.right.span().start as usize,
            Site::Iterated(named.clone()),
        );
        if let ForStatementLeft::VariableDeclaration(declaration) = &statement.left {
            let element = Named {
                text: format!("an element of {}", named.text),
                origin: named.origin,
            };
            for declarator in &declaration.declarations {
                self.add_pattern(&declarator.id, &element);
            }
        }
        walk_js::walk_for_of_statement(self, statement);
    }

    fn visit_spread_element(&mut self, spread: &SpreadElement<'a>) {
        let named = self.named(&spread.argument);
        self.add(spread.argument.span().start as usize, Site::Iterated(named));
        walk_js::walk_spread_element(self, spread);
    }

    fn visit_binary_expression(&mut self, binary: &BinaryExpression<'a>) {
        if let Some(at) = self.token_after(binary.left.span().end, binary.operator.as_str()) {
            self.add(at, Site::Operator);
        }
        walk_js::walk_binary_expression(self, binary);
    }
}
