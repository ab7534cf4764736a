//! Walks a syntax tree and blanks what JavaScript does not have.

use std::ops::Range;

use oxc_ast::ast::{
    AccessorProperty, ArrowFunctionExpression, CallExpression, CatchParameter, Class, ClassElement,
    Declaration, Decorator, Expression, FormalParameter, FormalParameterRest, Function, ImportMeta,
    MethodDefinition, NewExpression, PropertyDefinition, Statement, TSAsExpression,
    TSInstantiationExpression, TSNamespaceDeclaration, TSNamespaceDeclarationBody,
    TSNonNullExpression, TSSatisfiesExpression, TSTypeAnnotation, TSTypeAssertion,
    TSTypeParameterDeclaration, TSTypeParameterInstantiation, TaggedTemplateExpression,
    VariableDeclarator,
};
use oxc_ast_visit::{VisitJs, walk_js};
use oxc_span::{GetSpan, Span};
use oxc_syntax::scope::ScopeFlags;

use super::edits::Edits;
use super::{classes, enums, modules, scan};

/// Collects the edits that make JavaScript of TypeScript.
#[derive(Debug)]
pub(super) struct Blanker<'a> {
    pub(super) text: &'a str,
    pub(super) edits: Edits,
    /// The first thing that cannot be expressed in JavaScript here.
    pub(super) refusal: Option<Refusal>,
}

/// Something that parses, but cannot be run.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) offset: usize,
    pub(super) message: String,
}

/// A span as a range of the text.
pub(super) fn range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

impl<'a> Blanker<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            edits: Edits::default(),
            refusal: None,
        }
    }

    pub(super) fn refuse(&mut self, span: Span, message: impl Into<String>) {
        self.refuse_at(span.start as usize, message.into());
    }

    fn refuse_at(&mut self, offset: usize, message: String) {
        self.refusal.get_or_insert(Refusal { offset, message });
    }

    /// Blanks a whole statement or class member. A `;` takes its place, so that its neighbours cannot become one.
    pub(super) fn blank_item(&mut self, span: Span) {
        self.edits.blank_first(range(span), ';');
    }

    pub(super) fn blank_annotation(&mut self, annotation: Option<&TSTypeAnnotation<'_>>) {
        if let Some(annotation) = annotation {
            self.edits.blank(range(annotation.span));
        }
    }

    pub(super) fn blank_type_parameters(
        &mut self,
        parameters: Option<&TSTypeParameterDeclaration<'_>>,
    ) {
        if let Some(parameters) = parameters {
            self.edits.blank(range(parameters.span));
        }
    }

    pub(super) fn blank_type_arguments(
        &mut self,
        arguments: Option<&TSTypeParameterInstantiation<'_>>,
    ) {
        if let Some(arguments) = arguments {
            self.edits.blank(range(arguments.span));
        }
    }

    /// Blanks a `?` or `!` that follows, if there is one.
    pub(super) fn blank_mark(&mut self, from: usize, mark: char) {
        if let Some(at) = scan::expect(self.text, from, mark) {
            self.edits.blank(at..at + 1);
        }
    }

    /// Blanks the tail of `expression as Type`. Where the statement ends here without a semicolon and the next line would
    /// continue it, one is put in.
    fn blank_cast_tail(&mut self, expression_end: u32, end: u32) {
        let tail = expression_end as usize..end as usize;
        let next = scan::next_token(self.text, tail.end);
        let continues = self
            .text
            .get(next..)
            .is_some_and(|rest| rest.starts_with(['(', '[', '`']));
        if continues {
            self.edits.blank_first(tail, ';');
        } else {
            self.edits.blank(tail);
        }
    }

    /// Whether a statement leaves nothing behind, in which case it is blanked.
    fn blanks_statement(&mut self, statement: &Statement<'_>) -> bool {
        let Some(declaration) = statement.as_declaration() else {
            return false;
        };
        let is_type_only = is_type_only(declaration);
        if is_type_only {
            self.blank_item(declaration.span());
        }
        is_type_only
    }
}

/// Whether a declaration exists for the type checker only.
fn is_type_only(declaration: &Declaration<'_>) -> bool {
    match declaration {
        Declaration::TSTypeAliasDeclaration(_)
        | Declaration::TSInterfaceDeclaration(_)
        | Declaration::TSExternalModuleDeclaration(_)
        | Declaration::TSGlobalDeclaration(_) => true,
        Declaration::VariableDeclaration(variables) => variables.declare,
        Declaration::FunctionDeclaration(function) => function.declare || function.body.is_none(),
        Declaration::ClassDeclaration(class) => class.declare,
        Declaration::TSEnumDeclaration(declaration) => declaration.declare,
        Declaration::TSNamespaceDeclaration(namespace) => {
            namespace.declare || !has_values(namespace)
        }
        Declaration::TSImportEqualsDeclaration(_) => false,
    }
}

/// Whether a namespace would exist at run time.
fn has_values(namespace: &TSNamespaceDeclaration<'_>) -> bool {
    match &namespace.body {
        TSNamespaceDeclarationBody::TSNamespaceDeclaration(inner) => has_values(inner),
        TSNamespaceDeclarationBody::TSModuleBlock(block) => {
            block.body.iter().any(|statement| match statement {
                Statement::ExportDeclaration(export) => !is_type_only(&export.declaration),
                other => !other.as_declaration().is_some_and(is_type_only),
            })
        }
    }
}

impl<'a> VisitJs<'a> for Blanker<'_> {
    fn visit_statement(&mut self, statement: &Statement<'a>) {
        if let Some(syntax) = modules::in_statement(statement) {
            self.refuse_at(syntax.offset, syntax.message);
            return;
        }
        if self.blanks_statement(statement) {
            return;
        }
        match statement {
            Statement::TSEnumDeclaration(declaration) => enums::compile(self, declaration),
            Statement::TSNamespaceDeclaration(namespace) => self.refuse(
                namespace.span,
                "A namespace with values cannot be used in a script. Use an object, or plain functions and constants.",
            ),
            _ => walk_js::walk_statement(self, statement),
        }
    }

    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        self.blank_type_parameters(function.type_parameters.as_deref());
        if let Some(this) = &function.this_param {
            let end = this.span.end as usize;
            let end = scan::expect(self.text, end, ',').map_or(end, |comma| comma + 1);
            self.edits.blank(this.span.start as usize..end);
        }
        self.blank_annotation(function.return_type.as_deref());
        walk_js::walk_function(self, function, flags);
    }

    fn visit_arrow_function_expression(&mut self, arrow: &ArrowFunctionExpression<'a>) {
        let parameters = range(arrow.params.span);
        match &arrow.type_parameters {
            // After `return` or `async`, the parenthesis must not move to the next line.
            Some(types)
                if scan::spans_lines(self.text, types.span.start as usize, parameters.start) =>
            {
                self.edits.blank_first(range(types.span), '(');
                self.edits.blank(parameters.start..parameters.start + 1);
            }
            types => self.blank_type_parameters(types.as_deref()),
        }
        match &arrow.return_type {
            // `=>` must stand on the line of the closing parenthesis, so the parenthesis moves down.
            Some(returned)
                if scan::spans_lines(self.text, parameters.end, returned.span.end as usize) =>
            {
                self.edits.blank(parameters.end - 1..parameters.end);
                self.edits.blank_last(range(returned.span), ')');
            }
            returned => self.blank_annotation(returned.as_deref()),
        }
        walk_js::walk_arrow_function_expression(self, arrow);
    }

    fn visit_formal_parameter(&mut self, parameter: &FormalParameter<'a>) {
        let pattern = range(parameter.pattern.span());
        if parameter.accessibility.is_some() || parameter.readonly || parameter.r#override {
            self.edits
                .blank(parameter.span.start as usize..pattern.start);
        }
        if parameter.optional {
            self.blank_mark(pattern.end, '?');
        }
        self.blank_annotation(parameter.type_annotation.as_deref());
        walk_js::walk_formal_parameter(self, parameter);
    }

    fn visit_formal_parameter_rest(&mut self, rest: &FormalParameterRest<'a>) {
        self.blank_annotation(rest.type_annotation.as_deref());
        walk_js::walk_formal_parameter_rest(self, rest);
    }

    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        if declarator.definite {
            self.blank_mark(declarator.id.span().end as usize, '!');
        }
        self.blank_annotation(declarator.type_annotation.as_deref());
        walk_js::walk_variable_declarator(self, declarator);
    }

    fn visit_catch_parameter(&mut self, parameter: &CatchParameter<'a>) {
        self.blank_annotation(parameter.type_annotation.as_deref());
        walk_js::walk_catch_parameter(self, parameter);
    }

    fn visit_class(&mut self, class: &Class<'a>) {
        classes::blank_head(self, class);
        walk_js::walk_class(self, class);
    }

    fn visit_class_element(&mut self, element: &ClassElement<'a>) {
        if !classes::blanks_member(self, element) {
            walk_js::walk_class_element(self, element);
        }
    }

    fn visit_method_definition(&mut self, method: &MethodDefinition<'a>) {
        classes::blank_method(self, method);
        walk_js::walk_method_definition(self, method);
    }

    fn visit_property_definition(&mut self, property: &PropertyDefinition<'a>) {
        classes::blank_property(self, property);
        walk_js::walk_property_definition(self, property);
    }

    fn visit_accessor_property(&mut self, property: &AccessorProperty<'a>) {
        classes::blank_accessor(self, property);
        walk_js::walk_accessor_property(self, property);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        self.blank_type_arguments(call.type_arguments.as_deref());
        walk_js::walk_call_expression(self, call);
    }

    fn visit_new_expression(&mut self, new: &NewExpression<'a>) {
        self.blank_type_arguments(new.type_arguments.as_deref());
        walk_js::walk_new_expression(self, new);
    }

    fn visit_tagged_template_expression(&mut self, template: &TaggedTemplateExpression<'a>) {
        self.blank_type_arguments(template.type_arguments.as_deref());
        walk_js::walk_tagged_template_expression(self, template);
    }

    fn visit_ts_instantiation_expression(&mut self, instantiation: &TSInstantiationExpression<'a>) {
        self.blank_type_arguments(Some(&instantiation.type_arguments));
        walk_js::walk_ts_instantiation_expression(self, instantiation);
    }

    fn visit_ts_as_expression(&mut self, cast: &TSAsExpression<'a>) {
        self.blank_cast_tail(cast.expression.span().end, cast.span.end);
        walk_js::walk_ts_as_expression(self, cast);
    }

    fn visit_ts_satisfies_expression(&mut self, cast: &TSSatisfiesExpression<'a>) {
        self.blank_cast_tail(cast.expression.span().end, cast.span.end);
        walk_js::walk_ts_satisfies_expression(self, cast);
    }

    fn visit_ts_non_null_expression(&mut self, non_null: &TSNonNullExpression<'a>) {
        let end = non_null.span.end as usize;
        self.edits.blank(end - 1..end);
        walk_js::walk_ts_non_null_expression(self, non_null);
    }

    fn visit_ts_type_assertion(&mut self, cast: &TSTypeAssertion<'a>) {
        let head = cast.span.start as usize..cast.expression.span().start as usize;
        let starts_statement = matches!(
            &cast.expression,
            Expression::ObjectExpression(_)
                | Expression::FunctionExpression(_)
                | Expression::ClassExpression(_)
        );
        // `return` must not lose its value to the next line, and `() => <T>{}` must not become a block.
        if starts_statement || scan::spans_lines(self.text, head.start, head.end) {
            self.edits.blank_first(head, '(');
            walk_js::walk_ts_type_assertion(self, cast);
            self.edits.insert(cast.span.end as usize, ")".to_owned());
        } else {
            self.edits.blank(head);
            walk_js::walk_ts_type_assertion(self, cast);
        }
    }

    fn visit_import_meta(&mut self, meta: &ImportMeta) {
        self.refuse(meta.span, modules::import_meta_message());
    }

    fn visit_decorator(&mut self, decorator: &Decorator<'a>) {
        self.refuse(decorator.span, "Decorators cannot be used in a script. Call the function on the class or value instead.");
    }
}
