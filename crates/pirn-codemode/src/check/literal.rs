//! Values that stand in a script as they are.

use oxc_ast::ast::{
    ArrayExpressionElement, Expression, ObjectPropertyKind, PropertyKind, UnaryOperator,
};
use serde_json::{Map, Number, Value};

/// The value of an expression that is written out in full; `None` for any other.
pub(super) fn value_of(expression: &Expression<'_>) -> Option<Value> {
    match expression.without_parentheses() {
        Expression::StringLiteral(text) => Some(Value::String(text.value.as_str().to_owned())),
        Expression::BooleanLiteral(flag) => Some(Value::Bool(flag.value)),
        Expression::NullLiteral(_) => Some(Value::Null),
        Expression::NumericLiteral(number) => number_of(number.value),
        Expression::UnaryExpression(unary) if unary.operator == UnaryOperator::UnaryNegation => {
            match unary.argument.without_parentheses() {
                Expression::NumericLiteral(number) => number_of(-number.value),
                _ => None,
            }
        }
        Expression::TemplateLiteral(template) if template.expressions.is_empty() => template
            .quasis
            .first()
            .and_then(|part| part.value.cooked.as_ref())
            .map(|text| Value::String(text.as_str().to_owned())),
        Expression::ArrayExpression(array) => array
            .elements
            .iter()
            .map(|element| match element {
                ArrayExpressionElement::SpreadElement(_) | ArrayExpressionElement::Elision(_) => {
                    None
                }
                element => value_of(element.as_expression()?),
            })
            .collect::<Option<Vec<_>>>()
            .map(Value::Array),
        Expression::ObjectExpression(object) => object
            .properties
            .iter()
            .map(|property| match property {
                ObjectPropertyKind::ObjectProperty(property)
                    if property.kind == PropertyKind::Init && !property.computed =>
                {
                    Some((
                        property.key.static_name()?.to_string(),
                        value_of(&property.value)?,
                    ))
                }
                ObjectPropertyKind::ObjectProperty(_) | ObjectPropertyKind::SpreadProperty(_) => {
                    None
                }
            })
            .collect::<Option<Map<_, _>>>()
            .map(Value::Object),
        _ => None,
    }
}

/// A whole number as one, so that a schema that wants integers is content.
#[expect(
    clippy::cast_possible_truncation,
    reason = "only numbers that are whole and small are cast"
)]
fn number_of(value: f64) -> Option<Value> {
    const EXACT_MAX: f64 = 9_007_199_254_740_991.0;
    if value.fract() == 0.0 && value.abs() <= EXACT_MAX {
        return Some(Value::Number(Number::from(value as i64)));
    }
    Number::from_f64(value).map(Value::Number)
}
