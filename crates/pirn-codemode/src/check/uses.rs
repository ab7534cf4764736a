//! Results of tools that are used as something that they are not: as a condition, a number, a text, a file to parse.

use oxc_ast::ast::{
    Argument, BinaryExpression, BinaryOperator, CallExpression, Expression, ObjectPropertyKind,
    TemplateLiteral, UnaryOperator,
};
use oxc_span::{GetSpan, Span};

use super::visit::{Holding, Visitor, is_tools};
use crate::shape::ResultShape;

/// Functions that take a text, and give nothing of use for an object.
const OF_TEXTS: [&str; 4] = ["Number", "String", "parseFloat", "parseInt"];
/// Methods of lists that give a list of the same elements.
const SAME_ELEMENTS: [&str; 6] = ["concat", "filter", "reverse", "slice", "sort", "toSorted"];
/// Methods of lists that ask a function about each element.
const ASKS: [&str; 7] = [
    "every",
    "filter",
    "find",
    "findIndex",
    "findLast",
    "some",
    "sort",
];
/// What a call of a tool takes beside its arguments.
const CALL_OPTIONS: [&str; 1] = ["signal"];
/// What models expect as a value of a member, the tool whose results have the member, and what it is there.
const VALUES_ELSEWHERE: [(&str, &str, &[&str], &str); 2] = [
    ("ls", "type", &["d", "dir", "directory"], "folder"),
    ("ls", "type", &["symlink", "symbolic_link"], "link"),
];

/// What an expression is, in a sentence about it.
struct Used<'s> {
    tool: &'s str,
    what: &'static str,
    /// What to use instead.
    instead: String,
}

impl<'s> Visitor<'_, 's> {
    /// The list behind `list.filter(...)` and its like.
    pub(super) fn same_list(&self, call: &CallExpression<'_>) -> Option<Holding<'s>> {
        let Expression::StaticMemberExpression(member) = call.callee.without_parentheses() else {
            return None;
        };
        let holding = self.holding(&member.object)?;
        let is_list = matches!(holding, Holding::Result(_, ResultShape::List(_)));
        (is_list && SAME_ELEMENTS.contains(&member.property.name.as_str())).then_some(holding)
    }

    /// A result that is an object, or a list of objects: neither is a text or a number.
    fn used(&self, expression: &Expression<'_>) -> Option<Used<'s>> {
        let Holding::Result(tool, shape) = self.holding(expression)? else {
            return None;
        };
        match shape {
            ResultShape::Object(members) => Some(Used {
                tool,
                what: "an object",
                instead: format!("use a member of it: {}", members.join(", ")),
            }),
            ResultShape::List(members) if !members.is_empty() => Some(Used {
                tool,
                what: "a list of objects",
                instead: format!("use their members: {}", members.join(", ")),
            }),
            ResultShape::List(_) | ResultShape::Text(_) | ResultShape::Unknown => None,
        }
    }

    fn add_use(&mut self, expression: &Expression<'_>, consequence: &str) {
        if let Some(Used {
            tool,
            what,
            instead,
        }) = self.used(expression)
        {
            let message =
                format!("The result of tools.{tool} is {what}, {consequence}; {instead}.");
            self.add(expression.span(), "TypeError", message);
        }
    }

    /// A condition that is always true.
    pub(super) fn check_condition(&mut self, test: &Expression<'_>) {
        let test = test.without_parentheses();
        if let Expression::UnaryExpression(unary) = test
            && unary.operator == UnaryOperator::LogicalNot
        {
            return self.check_condition(&unary.argument);
        }
        let Some(Holding::Result(tool, shape)) = self.holding(test) else {
            return;
        };
        let message = match shape {
            ResultShape::List(_) => format!(
                "the result of tools.{tool} is a list, which is true as a condition also when it is empty: test its length"
            ),
            ResultShape::Object(members) => format!(
                "the result of tools.{tool} is an object, which is always true as a condition: test a member of it ({})",
                members.join(", ")
            ),
            ResultShape::Text(_) | ResultShape::Unknown => return,
        };
        self.doubt(test.span(), message);
    }

    pub(super) fn check_operands(&mut self, binary: &BinaryExpression<'_>) {
        let consequence = match binary.operator {
            BinaryOperator::Addition => "which becomes \"[object Object]\" in a text",
            BinaryOperator::Subtraction
            | BinaryOperator::Multiplication
            | BinaryOperator::Division
            | BinaryOperator::Remainder
            | BinaryOperator::Exponential => "which is not a number",
            BinaryOperator::LessThan
            | BinaryOperator::LessEqualThan
            | BinaryOperator::GreaterThan
            | BinaryOperator::GreaterEqualThan => "which cannot be compared",
            BinaryOperator::Equality
            | BinaryOperator::Inequality
            | BinaryOperator::StrictEquality
            | BinaryOperator::StrictInequality => {
                self.check_value(&binary.left, &binary.right);
                self.check_value(&binary.right, &binary.left);
                let is_plain = |side: &Expression<'_>| {
                    matches!(
                        side.without_parentheses(),
                        Expression::StringLiteral(_) | Expression::NumericLiteral(_)
                    )
                };
                if !is_plain(&binary.left) && !is_plain(&binary.right) {
                    return;
                }
                "which equals no text and no number"
            }
            BinaryOperator::In
            | BinaryOperator::Instanceof
            | BinaryOperator::BitwiseAnd
            | BinaryOperator::BitwiseOR
            | BinaryOperator::BitwiseXOR
            | BinaryOperator::ShiftLeft
            | BinaryOperator::ShiftRight
            | BinaryOperator::ShiftRightZeroFill => return,
        };
        self.add_use(&binary.left, consequence);
        self.add_use(&binary.right, consequence);
    }

    /// `entry.type === "directory"`, which no entry is.
    fn check_value(&mut self, member: &Expression<'_>, value: &Expression<'_>) {
        if let Expression::StaticMemberExpression(member) = member.without_parentheses()
            && let Expression::StringLiteral(value) = value.without_parentheses()
        {
            let value = value.value.as_str();
            let found = VALUES_ELSEWHERE.iter().find(|(tool, name, values, _)| {
                *name == member.property.name.as_str()
                    && values.contains(&value)
                    && self.names.names_tool(tool)
            });
            if let Some((tool, name, _, meant)) = found {
                self.doubt(
                    member.span,
                    format!(
                        "no {name} in a result of tools.{tool} is \"{value}\"; write \"{meant}\""
                    ),
                );
            }
        }
    }

    pub(super) fn check_template(&mut self, template: &TemplateLiteral<'_>) {
        for part in &template.expressions {
            self.add_use(part, "which becomes \"[object Object]\" in a text");
        }
    }

    /// Calls of functions that want a text, and of `join` on objects.
    pub(super) fn check_given(&mut self, call: &CallExpression<'_>) {
        let first = call.arguments.first().and_then(Argument::as_expression);
        match call.callee.without_parentheses() {
            Expression::Identifier(callee) if OF_TEXTS.contains(&callee.name.as_str()) => {
                if let Some(argument) = first {
                    self.add_use(argument, "not a text");
                }
            }
            Expression::StaticMemberExpression(member) => {
                let is_json = matches!(&member.object, Expression::Identifier(object) if object.name == "JSON");
                match (member.property.name.as_str(), first) {
                    ("parse", Some(argument)) if is_json => {
                        self.add_use(argument, "not a text of JSON");
                    }
                    ("join", _) => {
                        self.add_use(&member.object, "which join makes \"[object Object]\" of");
                    }
                    _ => {}
                }
                self.check_callback(call, member.property.name.as_str());
                if self.knows_tools && is_tools(&member.object) {
                    self.check_call(member.property.name.as_str(), call);
                }
            }
            _ => {}
        }
    }

    /// Async functions that are given to methods which do not wait for them.
    fn check_callback(&mut self, call: &CallExpression<'_>, method: &str) {
        let is_async = match call.arguments.first().and_then(Argument::as_expression) {
            Some(Expression::ArrowFunctionExpression(arrow)) => arrow.r#async,
            Some(Expression::FunctionExpression(function)) => function.r#async,
            _ => false,
        };
        if !is_async {
            return;
        }
        let message = if ASKS.contains(&method) {
            format!(
                "{method} takes the promise of an async function for true: await the answers first, as in const answers = await Promise.all(list.map(...))"
            )
        } else if method == "forEach" && self.is_followed(call.span) {
            "forEach does not wait for an async function, so what follows runs first: write for (const item of list) with await, or await Promise.all(list.map(...))".to_owned()
        } else {
            return;
        };
        self.doubt(call.span, message);
    }

    /// Whether something follows in the script but closing brackets.
    fn is_followed(&self, span: Span) -> bool {
        let rest = self.text.get(span.end as usize..).unwrap_or_default();
        rest.chars()
            .any(|character| !character.is_whitespace() && !matches!(character, ';' | '}' | ')'))
    }

    /// What a tool is given besides plain arguments.
    fn check_call(&mut self, tool: &str, call: &CallExpression<'_>) {
        let has_shape = self
            .surroundings
            .tools
            .shape(tool)
            .is_some_and(|shape| *shape != ResultShape::Unknown);
        let given = |at: usize| match call.arguments.get(at).and_then(Argument::as_expression) {
            Some(Expression::ObjectExpression(object)) => Some(&object.properties),
            _ => None,
        };
        for property in given(0).into_iter().flatten().filter(|_| has_shape) {
            if let ObjectPropertyKind::ObjectProperty(property) = property
                && let Expression::RegExpLiteral(literal) = property.value.without_parentheses()
                && let Some(name) = property.key.static_name()
            {
                let source = literal.regex.pattern.text.as_str();
                let flags = if literal.regex.flags.is_empty() {
                    ""
                } else {
                    "; what its flags say is an argument of its own, such as ignoreCase"
                };
                self.add(
                    literal.span,
                    "TypeError",
                    format!(
                        "tools.{tool} takes {name} as a text, not as a RegExp: write {name}: {}{flags}",
                        serde_json::Value::from(source)
                    ),
                );
            }
        }
        let Some(options) = given(1) else { return };
        let names: Vec<_> = options
            .iter()
            .filter_map(|option| match option {
                ObjectPropertyKind::ObjectProperty(option) => option.key.static_name(),
                ObjectPropertyKind::SpreadProperty(_) => None,
            })
            .collect();
        let span: Option<Span> = call.arguments.get(1).map(GetSpan::span);
        let unknown = names
            .iter()
            .find(|name| !CALL_OPTIONS.contains(&name.as_ref()));
        if let (Some(span), Some(unknown)) = (span, unknown) {
            self.add(
                span,
                "TypeError",
                format!("tools.{tool} takes one object with all its arguments, {unknown} too: tools.{tool}({{ ..., {unknown}: ... }}); the second object can only hold signal"),
            );
        }
    }
}
