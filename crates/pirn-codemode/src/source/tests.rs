use super::{Source, SourceError, SourceOptions, parse_source};

fn parse(input: &str) -> Source {
    parse_source(input).unwrap_or_else(|error| panic!("{input}\n{error}"))
}

fn error(input: &str) -> SourceError {
    match parse_source(input) {
        Ok(source) => panic!("accepted:\n{input}\nas\n{source:?}"),
        Err(error) => error,
    }
}

#[test]
fn both_words_introduce_options() {
    for word in ["options", "exec"] {
        let source = parse(&format!(
            "// @{word}: {{\"timeout_ms\": 1e3, \"max_output_tokens\": 0, \"yield_time_ms\": 5}}\nreturn 1;"
        ));
        assert_eq!(source.code, "\nreturn 1;");
        let options = SourceOptions {
            max_output_tokens: Some(0),
            timeout_ms: Some(1_000),
            yield_time_ms: Some(5),
        };
        assert_eq!(source.options, options);
    }
}

#[test]
fn a_directive_on_a_later_line_is_an_error_only_as_a_comment() {
    assert_eq!(
        error("x();\n  // @exec: {}\ny();"),
        SourceError::LaterLine { line: 2 }
    );
    assert_eq!(
        error("x();\r\n\r\n// @options: {}\r\n"),
        SourceError::LaterLine { line: 3 }
    );
    let texts = [
        "return `\n// @options: {}\n`;",
        "/*\n// @options: {}\n*/ x();",
        "f('\\\n// @options: {}');",
        "x(); // @options: {}",
        "const re: RegExp = /a/;\nreturn `${`\n// @exec: {}`}`;",
    ];
    for text in texts {
        assert_eq!(parse(text).code, text);
    }
}

#[test]
fn a_shebang_becomes_a_comment() {
    assert_eq!(
        parse("#!/usr/bin/env node\nreturn 1;").code,
        "///usr/bin/env node\nreturn 1;"
    );
}

#[test]
fn a_byte_order_mark_is_white_space() {
    let source = parse("\u{FEFF}// @options: {\"timeout_ms\": 5}\nreturn 1;");
    assert_eq!(
        (source.code.as_str(), source.options.timeout_ms),
        ("\nreturn 1;", Some(5))
    );
}

#[test]
fn a_code_fence_is_removed_and_lines_stay() {
    for info in ["", "js", "typescript ", "ts"] {
        let source = parse(&format!("\n```{info}\nreturn 1;\nmore();\n```\n"));
        assert_eq!(source.code, "\n\nreturn 1;\nmore();");
        assert_eq!(source.notes.len(), 1);
    }
    let source = parse("```js\n// @options: {\"timeout_ms\": 5}\nreturn 1;\n```");
    assert_eq!(
        (source.code.as_str(), source.options.timeout_ms),
        ("\n\nreturn 1;", Some(5))
    );
    assert_eq!(
        error("```js\nx();\n// @options: {}\n```"),
        SourceError::LaterLine { line: 3 }
    );
}

#[test]
fn texts_that_only_look_fenced_stay() {
    for text in [
        "```js\na();\n```\n```js\nb();\n```",
        "```js\na();",
        "const a = `x`;\n```",
        "``` return 1 ```",
    ] {
        assert_eq!(parse(text).code, text);
    }
}

#[test]
fn json_around_code_is_removed() {
    let source = parse("{\"code\": \"// @exec: {\\\"yield_time_ms\\\": 7}\\nreturn 1;\"}");
    assert_eq!(
        (source.code.as_str(), source.options.yield_time_ms),
        ("\nreturn 1;", Some(7))
    );
    assert_eq!(source.notes.len(), 1);
    let both = parse("{\"code\": \"```js\\nreturn 1;\\n```\"}");
    assert_eq!((both.code.as_str(), both.notes.len()), ("\nreturn 1;", 2));
    assert_eq!(error("{\"code\": \" \"}"), SourceError::Blank);
    for text in ["{\"code\": 1}", "{ code: \"x\" }", "{}"] {
        assert_eq!(parse(text).code, text);
    }
}

#[test]
fn messages_name_the_field_and_its_range() {
    let message = |json: &str| error(&format!("// @options: {json}\nreturn 1;")).to_string();
    assert!(message("{\"timeout_ms\": 0}").contains("positive integer up to 2147483647"));
    assert!(
        message("{\"yield_time_ms\": -1}")
            .contains("`yield_time_ms` must be a non-negative integer")
    );
    assert!(message("{\"max_tokens\": 1}").contains("`max_tokens`"));
    assert!(message("").contains("JSON object"));
    assert!(message("{").contains("valid JSON"));
}
