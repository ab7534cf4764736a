//! The parts of classes that only TypeScript has.

use std::fmt::Write as _;
use std::ops::Range;

use oxc_ast::ast::{
    AccessorProperty, BindingPattern, Class, ClassElement, Expression, FunctionBody,
    MethodDefinition, MethodDefinitionKind, MethodDefinitionType, PropertyDefinition,
    PropertyDefinitionType, Statement,
};
use oxc_span::{GetSpan, Span};

use super::blank::{Blanker, range};
use super::scan;

/// Words in front of a member that JavaScript does not know.
const MODIFIERS: [&str; 7] = [
    "public",
    "private",
    "protected",
    "readonly",
    "override",
    "abstract",
    "declare",
];

/// Blanks `abstract`, type parameters, type arguments of the base class, and `implements`.
pub(super) fn blank_head(blanker: &mut Blanker<'_>, class: &Class<'_>) {
    let start = class.span.start as usize;
    if class.r#abstract {
        let word = scan::words(blanker.text, start, class.span.end as usize)
            .find(|(_, word)| *word == "abstract");
        if let Some((at, word)) = word {
            blanker.edits.blank(at..at + word.len());
        }
    }
    blanker.blank_type_parameters(class.type_parameters.as_deref());
    let heritage_arguments = class
        .heritage
        .as_ref()
        .and_then(|heritage| heritage.type_arguments.as_deref());
    blanker.blank_type_arguments(heritage_arguments);
    if let Some(last) = class.implements.last() {
        let ends = [
            class.id.as_ref().map(|id| id.span.end),
            class
                .type_parameters
                .as_ref()
                .map(|parameters| parameters.span.end),
            class
                .heritage
                .as_ref()
                .map(|heritage| heritage.expression.span().end),
            heritage_arguments.map(|arguments| arguments.span.end),
        ];
        let head_end = ends.into_iter().flatten().max().unwrap_or(class.span.start) as usize;
        let word = scan::words(blanker.text, head_end, last.span.end as usize)
            .find(|(_, word)| *word == "implements");
        // A base class in parentheses ends before its parenthesis does.
        let from = word.map_or_else(
            || {
                scan::expect(blanker.text, head_end, ')')
                    .map_or(head_end, |parenthesis| parenthesis + 1)
            },
            |(at, _)| at,
        );
        blanker.edits.blank(from..last.span.end as usize);
    }
}

/// Blanks a member that leaves nothing behind, and says whether it did.
pub(super) fn blanks_member(blanker: &mut Blanker<'_>, element: &ClassElement<'_>) -> bool {
    let is_type_only = match element {
        ClassElement::StaticBlock(_) => false,
        ClassElement::TSIndexSignature(_) => true,
        ClassElement::MethodDefinition(method) => {
            method.r#type == MethodDefinitionType::TSAbstractMethodDefinition
                || method.value.body.is_none()
        }
        ClassElement::PropertyDefinition(property) => {
            property.declare
                || property.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition
        }
        ClassElement::AccessorProperty(property) => property.r#type.is_abstract(),
    };
    if is_type_only {
        blanker.blank_item(element.span());
    }
    is_type_only
}

/// Blanks modifiers and marks of a method, and gives a constructor the assignments of its parameter properties.
pub(super) fn blank_method(blanker: &mut Blanker<'_>, method: &MethodDefinition<'_>) {
    let needs_separator = method.computed || method.value.generator;
    blank_modifiers(
        blanker,
        method.span.start,
        key_start(method.key.span(), method.computed),
        needs_separator,
    );
    if method.optional {
        let after_key = after_key(blanker.text, method.key.span(), method.computed);
        blanker.blank_mark(after_key, '?');
    }
    if method.kind == MethodDefinitionKind::Constructor {
        assign_parameter_properties(blanker, method);
    }
}

/// Blanks modifiers, marks and the type of a field.
pub(super) fn blank_property(blanker: &mut Blanker<'_>, property: &PropertyDefinition<'_>) {
    let key = property.key.span();
    blank_modifiers(
        blanker,
        property.span.start,
        key_start(key, property.computed),
        property.computed,
    );
    let after_key = after_key(blanker.text, key, property.computed);
    if property.optional {
        blanker.blank_mark(after_key, '?');
    }
    if property.definite {
        blanker.blank_mark(after_key, '!');
    }
    let Some(annotation) = &property.type_annotation else {
        return;
    };
    // A field named `get` or `static` would take the next member for its own.
    let has_terminator = scan::expect(blanker.text, annotation.span.end as usize, ';').is_some();
    if property.value.is_none() && !has_terminator && is_modifier_name(blanker.text, key) {
        blanker.edits.blank_first(range(annotation.span), ';');
    } else {
        blanker.edits.blank(range(annotation.span));
    }
}

/// Blanks modifiers, marks and the type of an auto-accessor.
pub(super) fn blank_accessor(blanker: &mut Blanker<'_>, property: &AccessorProperty<'_>) {
    let key = property.key.span();
    blank_modifiers(
        blanker,
        property.span.start,
        key_start(key, property.computed),
        false,
    );
    if property.definite {
        let after_key = after_key(blanker.text, key, property.computed);
        blanker.blank_mark(after_key, '!');
    }
    blanker.blank_annotation(property.type_annotation.as_deref());
}

fn blank_modifiers(blanker: &mut Blanker<'_>, start: u32, key_start: usize, needs_separator: bool) {
    let start = start as usize;
    for (at, word) in scan::words(blanker.text, start, key_start) {
        if !MODIFIERS.contains(&word) {
            continue;
        }
        let word = at..at + word.len();
        // `[` and `*` would continue a field before this member that has no semicolon.
        if at == start && needs_separator {
            blanker.edits.blank_first(word, ';');
        } else {
            blanker.edits.blank(word);
        }
    }
}

fn key_start(key: Span, computed: bool) -> usize {
    (key.start as usize).saturating_sub(usize::from(computed))
}

fn after_key(text: &str, key: Span, computed: bool) -> usize {
    let end = key.end as usize;
    if computed {
        scan::expect(text, end, ']').map_or(end, |bracket| bracket + 1)
    } else {
        end
    }
}

fn is_modifier_name(text: &str, key: Span) -> bool {
    let name = text.get(range(key)).unwrap_or_default();
    matches!(name, "get" | "set" | "static" | "async" | "accessor")
}

/// `constructor(private x)` assigns `this.x`: after `super()` in a derived class, else at the start of the body.
fn assign_parameter_properties(blanker: &mut Blanker<'_>, method: &MethodDefinition<'_>) {
    let mut assignments = String::new();
    for parameter in &method.value.params.items {
        let is_property =
            parameter.accessibility.is_some() || parameter.readonly || parameter.r#override;
        if let (true, BindingPattern::BindingIdentifier(id)) = (is_property, &parameter.pattern) {
            let _infallible = write!(assignments, " this.{0} = {0};", id.name);
        }
    }
    let Some(body) = method
        .value
        .body
        .as_deref()
        .filter(|_| !assignments.is_empty())
    else {
        return;
    };
    match assignment_place(blanker.text, body) {
        Some(place) => {
            let ends_statement = blanker.text.get(..place).is_some_and(|before| before.ends_with([';', '{']));
            let separator = if ends_statement { "" } else { ";" };
            blanker.edits.insert(place, format!("{separator}{assignments}"));
        }
        None => blanker.refuse(
            method.span,
            "Parameter properties need `super(…)` as a statement of its own at the top of the constructor.",
        ),
    }
}

fn assignment_place(text: &str, body: &FunctionBody<'_>) -> Option<usize> {
    let super_call = body
        .statements
        .iter()
        .find(|statement| is_super_call(statement));
    if let Some(statement) = super_call {
        return Some(statement.span().end as usize);
    }
    let calls_super: Range<usize> = range(body.span);
    if text
        .get(calls_super)
        .is_some_and(|body| body.contains("super("))
    {
        return None;
    }
    let start = body
        .directives
        .last()
        .map_or(body.span.start + 1, |directive| directive.span.end);
    Some(start as usize)
}

fn is_super_call(statement: &Statement<'_>) -> bool {
    let Statement::ExpressionStatement(statement) = statement else {
        return false;
    };
    let Expression::CallExpression(call) = &statement.expression else {
        return false;
    };
    matches!(call.callee, Expression::Super(_))
}
