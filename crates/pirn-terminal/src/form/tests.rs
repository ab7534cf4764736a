use serde_json::{Value, json};

use super::Form;

/// What a single field makes of what is typed: JSON, `-` where it stays out, or the complaint.
fn read(schema: &Value, typed: &str) -> String {
    let form = Form::parse(&json!({"properties": {"field": schema}, "required": ["field"]}))
        .unwrap_or_else(|error| panic!("{error}"));
    match form.fields[0].read(typed) {
        Ok(Some(value)) => value.to_string(),
        Ok(None) => "-".to_owned(),
        Err(problem) => problem,
    }
}

#[test]
fn what_is_typed_becomes_values() {
    let text = json!({"type": "string", "minLength": 2, "maxLength": 4});
    let integer = json!({"type": "integer", "minimum": 1, "maximum": 10});
    let number = json!({"type": "number", "maximum": 1.5});
    let flag = json!({"type": "boolean"});
    let one = json!({"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]});
    let titled = json!({"oneOf": [{"const": "1", "title": "One"}, {"const": "2"}, {"const": "x", "title": "2"}]});
    let several =
        json!({"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 1, "maxItems": 2});
    let cases = [
        (&text, "äö", "\"äö\""),
        (&text, "a", "2 to 4 characters are needed"),
        (&text, "abcde", "2 to 4 characters are needed"),
        (&text, "  ", "an answer is needed"),
        (&integer, "10", "10"),
        (&integer, "11", "a number from 1 to 10 is needed"),
        (&integer, "1.5", "that is not a whole number"),
        (&number, "1.5", "1.5"),
        (&number, "-3", "-3"),
        (&number, "2", "a number of at most 1.5 is needed"),
        (&number, "NaN", "that is not a number"),
        (&number, "inf", "that is not a number"),
        (&flag, "Y", "true"),
        (&flag, "false", "false"),
        (&flag, "perhaps", "answer yes or no"),
        (&one, "2", "\"g\""),
        (&one, "red", "\"r\""),
        (&one, "G", "\"g\""),
        (&one, "3", "`3` is none of the choices"),
        (&one, "0", "`0` is none of the choices"),
        (&titled, "2", "\"2\""),
        (&titled, "one", "\"1\""),
        (&several, "a, 3", "[\"a\",\"c\"]"),
        (&several, "a, 1, A", "[\"a\"]"),
        (&several, ",", "1 to 2 choices are needed"),
        (&several, "a,b,c", "1 to 2 choices are needed"),
        (&several, "d", "`d` is none of the choices"),
    ];
    for (schema, typed, expected) in cases {
        assert_eq!(read(schema, typed), expected, "{schema} {typed}");
    }
}

#[test]
fn formats_are_checked() {
    let cases = [
        ("email", "a@b.c", true),
        ("email", "a@b@c", false),
        ("email", "@b", false),
        ("email", "a b@c", false),
        ("uri", "https://a/b", true),
        ("uri", "a/b", false),
        ("date", "2024-02-29", true),
        ("date", "2023-02-29", false),
        ("date", "2023-13-01", false),
        ("date", "23-01-01", false),
        ("date", "2023-01-+1", false),
        ("date-time", "2023-01-01T00:00:00Z", true),
        ("date-time", "2023-01-01T00:00:00.5+02:00", true),
        ("date-time", "2023-01-01T00:00:00", false),
        ("date-time", "2023-01-01T24:00:00Z", false),
        ("date-time", "2023-01-01", false),
        ("postcode", "anything", true),
    ];
    for (format, typed, fits) in cases {
        let schema = json!({"type": "string", "format": format});
        let read = read(&schema, typed);
        assert_eq!(
            read == format!("\"{typed}\""),
            fits,
            "{format} {typed} {read}"
        );
    }
}

#[test]
fn prompts_say_what_is_wanted() {
    let cases = [
        (json!({"type": "string"}), "  field (may stay empty): "),
        (
            json!({"type": "string", "title": "Name\u{1b}[2J", "description": "Yours", "format": "email", "default": "a@b"}),
            "  Name\\u{1b}[2J (e-mail address) [a@b]: ",
        ),
        (
            json!({"type": "integer", "minimum": 1, "default": 3}),
            "  field (whole number of at least 1) [3]: ",
        ),
        (
            json!({"type": "integer", "minimum": 1, "default": 0}),
            "  field (whole number of at least 1; may stay empty): ",
        ),
        (
            json!({"type": "boolean", "default": true}),
            "  field (yes or no) [yes]: ",
        ),
        (
            json!({"enum": ["a", "b"], "enumNames": ["A", "B"], "default": "b"}),
            "  field. Number or name [b]: ",
        ),
        (
            json!({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "default": ["a"]}),
            "  field (any, separated by commas). Number or name [a]: ",
        ),
    ];
    for (schema, prompt) in cases {
        let form = Form::parse(&json!({"properties": {"field": schema}})).unwrap();
        assert_eq!(form.fields[0].prompt(), prompt, "{schema}");
    }
    let details = |schema: Value| {
        let form = Form::parse(&json!({"properties": {"field": schema}})).unwrap();
        form.fields[0].details()
    };
    assert_eq!(details(json!({"type": "string", "title": "T"})), None);
    assert_eq!(
        details(
            json!({"enum": ["a", "b"], "enumNames": ["A", "B\nC"], "description": "Choose\u{1b}"})
        )
        .unwrap(),
        "Choose\\u{1b}\n 1  A\n 2  B\\nC"
    );
    let long = "t".repeat(60);
    assert_eq!(
        details(json!({"type": "string", "title": long})),
        Some(long)
    );
}

#[test]
fn optional_fields_stay_out_and_defaults_count() {
    let form = Form::parse(&json!({
        "properties": {"a": {"type": "string"}, "b": {"type": "integer", "default": 7}},
        "required": ["b"],
    }))
    .unwrap();
    let values: Vec<_> = form.fields.iter().map(|field| field.read("")).collect();
    assert_eq!(values, [Ok(None), Ok(Some(json!(7)))]);
}

#[test]
fn what_cannot_be_shown_is_refused() {
    let many: serde_json::Map<String, Value> = (0..51)
        .map(|index| (index.to_string(), json!({"type": "string"})))
        .collect();
    for properties in [
        json!({"a": {"type": "object"}}),
        json!({"a": {}}),
        json!({"a": {"enum": []}}),
        json!({"a": {"enum": [1]}}),
        json!({"a": {"type": "array", "items": {"type": "string"}}}),
        json!(many),
        json!([]),
    ] {
        assert!(
            Form::parse(&json!({"properties": properties})).is_err(),
            "{properties}"
        );
    }
    assert_eq!(Form::parse(&json!({})), Ok(Form { fields: Vec::new() }));
}
