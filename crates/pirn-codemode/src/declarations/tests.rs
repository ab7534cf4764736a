use serde_json::{Map, Value, json};

use super::schema_to_type;

#[test]
fn numbers_are_written_as_javascript_writes_them() {
    let pairs = [
        (json!(1.0), "1"),
        (json!(-0.0), "0"),
        (json!(1e21), "1e+21"),
        (json!(1e20), "100000000000000000000"),
        (json!(1e-6), "0.000001"),
        (json!(1.5e-7), "1.5e-7"),
        (json!(123_456.789), "123456.789"),
        (json!(9_007_199_254_740_993_u64), "9007199254740992"),
        (json!(u64::MAX), "18446744073709552000"),
        (json!(i64::MIN), "-9223372036854776000"),
    ];
    for (number, expected) in pairs {
        let rendered = schema_to_type(&json!({ "const": number }), None);
        assert_eq!(rendered, expected);
    }
}

#[test]
fn members_of_literals_keep_the_order_of_javascript() {
    let literal = json!({"const": {"b": 1, "10": 2, "2": 3, "01": 4}});
    assert_eq!(
        schema_to_type(&literal, None),
        r#"{"2":3,"10":2,"b":1,"01":4}"#
    );
}

#[test]
fn deep_nesting_ends_in_unknown() {
    let mut schema = json!({"type": "string"});
    for _ in 0..5_000 {
        schema = Value::Object(Map::from_iter([("items".to_owned(), schema)]));
    }
    assert!(schema_to_type(&schema, None).contains("Array<unknown>"));
    // A value this deep must be taken apart by hand.
    while let Some(items) = schema.get_mut("items").map(Value::take) {
        schema = items;
    }
}

#[test]
fn a_schema_cannot_ask_for_endless_work() {
    let types: Vec<&str> = vec!["object"; 20];
    let mut schema = json!({"type": "string"});
    for _ in 0..20 {
        schema = json!({"type": types, "properties": {"a": schema}});
    }
    assert!(schema_to_type(&schema, None).contains("unknown"));
}
