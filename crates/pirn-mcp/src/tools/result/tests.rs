use serde_json::json;

use super::*;

const PNG: &str = "iVBORw0KGgoxMjM0";

fn shown(result: Value) -> ToolResult {
    let origin = ResultOrigin {
        server: "docs",
        tool: "get",
        structured_check: None,
    };
    to_tool_result(&origin, result, &SpillFolder::none())
}

/// Text blocks as their text, others as `<image/png>`.
fn blocks(result: &ToolResult) -> Vec<String> {
    result
        .content
        .iter()
        .map(|block| match block {
            ContentBlock::Text { text } => text.clone(),
            ContentBlock::Image { mime_type, .. } | ContentBlock::Audio { mime_type, .. } => {
                format!("<{mime_type}>")
            }
        })
        .collect()
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[test]
fn scripts_get_all_but_the_meta() {
    let mut long = json!({
        "content": [text(&"x".repeat(100_000)), {"type": "hologram", "_meta": {"kept": true}}],
        "structuredContent": [1, null],
        "isError": true,
        "resultType": "complete",
        "_meta": {"secret": 1},
    });
    let result = shown(long.clone());
    long.as_object_mut().unwrap().shift_remove("_meta");
    assert_eq!(result.structured, Some(long));
    assert!(result.is_error);
    assert!(result.joined_text().len() <= 20_480);
}

#[test]
fn whatever_a_server_sends_has_a_list_of_content() {
    let cases = [
        (json!(null), json!({"content": []})),
        (json!({}), json!({"content": []})),
        (json!({"content": null}), json!({"content": []})),
        (
            json!({"content": "hi"}),
            json!({"content": [{"type": "text", "text": "hi"}]}),
        ),
        (
            json!({"content": text("hi")}),
            json!({"content": [{"type": "text", "text": "hi"}]}),
        ),
        (
            json!("hi"),
            json!({"content": [{"type": "text", "text": "hi"}]}),
        ),
        (
            json!([text("hi")]),
            json!({"content": [{"type": "text", "text": "hi"}]}),
        ),
        (
            json!(7),
            json!({"content": [{"type": "text", "text": "7"}]}),
        ),
    ];
    for (sent, expected) in cases {
        assert_eq!(shown(sent.clone()).structured, Some(expected), "{sent}");
    }
}

#[test]
fn every_block_is_shown_or_named() {
    let cases = [
        (text("hi"), "hi"),
        (
            json!({"type": "image", "data": PNG, "mimeType": "image/png"}),
            "<image/png>",
        ),
        (
            json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}),
            "<audio/wav>",
        ),
        (
            json!({"type": "text"}),
            "[Content of type \"text\" is not shown]",
        ),
        (
            json!({"type": "holo\ngram"}),
            "[Content of type \"holo gram\" is not shown]",
        ),
        (json!("bare"), "[Content of no known type is not shown]"),
        (
            json!({"type": "resource"}),
            "[Content of type \"resource\" is not shown]",
        ),
        (
            json!({"type": "resource", "resource": {"uri": "a:b", "text": "inside"}}),
            "inside",
        ),
        (
            json!({"type": "resource", "resource": {"uri": "a:b", "blob": PNG}}),
            "<image/png>",
        ),
        (
            json!({"type": "resource", "resource": {"uri": "a:b", "blob": "aGk=", "mimeType": "text/x"}}),
            "hi",
        ),
        (
            json!({"type": "resource", "resource": {"uri": "a:b"}}),
            "[Resource a:b without contents]",
        ),
        (
            json!({"type": "resource_link", "uri": "a:b"}),
            "[Resource link: a:b. Read it with read_mcp_resource({\"server\":\"docs\",\"uri\":\"a:b\"})]",
        ),
        (
            json!({"type": "resource_link", "uri": "a:b", "name": "n", "title": "The\ntitle", "mimeType": "text/plain",
                "size": 2048, "description": "What it is."}),
            "[Resource link: a:b, \"The title\", text/plain, 2.0 KiB. What it is. Read it with \
             read_mcp_resource({\"server\":\"docs\",\"uri\":\"a:b\"})]",
        ),
    ];
    for (block, expected) in cases {
        assert_eq!(
            blocks(&shown(json!({"content": [block]}))),
            [expected],
            "{block}"
        );
    }
}

#[test]
fn structured_content_is_shown_where_nothing_says_it() {
    let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    let cases = [
        // Only structured content.
        (json!([]), json!({"a": 1}), vec!["{\n  \"a\": 1\n}"]),
        (json!([]), json!(null), vec![]),
        (
            json!([image]),
            json!({"a": 1}),
            vec!["<image/png>", "{\n  \"a\": 1\n}"],
        ),
        // The text is the JSON.
        (
            json!([text("{ \"a\": 1 }")]),
            json!({"a": 1}),
            vec!["{ \"a\": 1 }"],
        ),
        (
            json!([text("{\"a\":1}"), image]),
            json!({"a": 1}),
            vec!["{\"a\":1}", "<image/png>"],
        ),
        // The text is what the JSON wraps.
        (
            json!([text("line\n  two")]),
            json!({"content": "line\n  two"}),
            vec!["line\n  two"],
        ),
        (
            json!([text("a"), text("2")]),
            json!({"result": ["a", 2]}),
            vec!["a", "2"],
        ),
        (json!([text("[]")]), json!({"result": []}), vec!["[]"]),
        // The text is prose of the same.
        (
            json!([text("**Berlin**: 21.5 degrees, 3 stations")]),
            json!({"city": "Berlin", "weather": {"celsius": 21.5, "stations": 3, "rain": false, "note": ""}}),
            vec!["**Berlin**: 21.5 degrees, 3 stations"],
        ),
        (
            json!([text("nothing found")]),
            json!({"items": []}),
            vec!["nothing found"],
        ),
        // The text says less.
        (
            json!([text("12 found")]),
            json!({"count": 1}),
            vec!["12 found", "{\n  \"count\": 1\n}"],
        ),
        (
            json!([text("Done")]),
            json!({"valid": false}),
            vec!["Done", "{\n  \"valid\": false\n}"],
        ),
        (
            json!([text("2 found")]),
            json!({"ids": [2, 7]}),
            vec!["2 found", "{\n  \"ids\": [\n    2,\n    7\n  ]\n}"],
        ),
    ];
    for (content, structured, expected) in cases {
        let result = shown(json!({"content": content, "structuredContent": structured}));
        assert_eq!(blocks(&result), expected, "{content} {structured}");
    }
}

#[test]
fn an_error_always_says_something() {
    let generic = "The tool \"get\" of the MCP server \"docs\" failed without saying why.";
    let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    let cases = [
        (json!({"isError": true}), vec![generic]),
        (
            json!({"isError": true, "content": [text(" \n")]}),
            vec![" \n", generic],
        ),
        (
            json!({"isError": true, "content": [image]}),
            vec!["<image/png>", generic],
        ),
        (
            json!({"isError": true, "content": [text("no")]}),
            vec!["no"],
        ),
        (json!({"isError": true, "structuredContent": 5}), vec!["5"]),
    ];
    for (sent, expected) in cases {
        let result = shown(sent.clone());
        assert_eq!(
            (result.is_error, blocks(&result)),
            (true, expected.into_iter().map(str::to_owned).collect()),
            "{sent}"
        );
    }
    assert!(!shown(json!({"isError": "true"})).is_error);
}

#[test]
fn a_result_that_breaks_its_schema_is_shown_and_reported() {
    let check = SchemaCheck::new(&json!({"type": "object", "required": ["id"]}));
    let origin = ResultOrigin {
        server: "docs",
        tool: "get",
        structured_check: Some(&check),
    };
    let warnings = |sent: Value| {
        let result = to_tool_result(&origin, sent, &SpillFolder::none());
        assert!(!blocks(&result).is_empty());
        result
            .details
            .unwrap()
            .get("warnings")
            .cloned()
            .unwrap_or_default()
    };
    let plain = json!([text("x")]);
    assert_eq!(
        warnings(json!({"content": plain, "structuredContent": {"id": 1}})),
        json!(null)
    );
    assert_eq!(
        warnings(json!({"content": plain})),
        json!(["The tool has an output schema, but the result has no structured content."])
    );
    assert_eq!(
        warnings(json!({"content": plain, "structuredContent": {}})),
        json!([
            "The structured content does not fit the tool's output schema: id: is required, but missing"
        ])
    );
    assert_eq!(
        warnings(json!({"content": plain, "isError": true})),
        json!(null)
    );
}

#[test]
fn long_text_and_strange_data_go_to_files() {
    let folder = tempfile::tempdir().unwrap();
    let origin = ResultOrigin {
        server: "docs",
        tool: "get",
        structured_check: None,
    };
    let sent = json!({"content": [
        text(&"word ".repeat(10_000)),
        {"type": "resource", "resource": {"uri": "a://b/c.zip", "blob": "UEsDBA=="}},
    ]});
    let result = to_tool_result(&origin, sent, &SpillFolder::new(folder.path()));
    let details = result.details.unwrap();
    let full = std::fs::read_to_string(details["full_output_path"].as_str().unwrap()).unwrap();
    let saved = details["saved_files"][0].as_str().unwrap();
    assert_eq!(std::path::Path::new(saved).extension().unwrap(), "zip");
    assert_eq!(std::fs::read(saved).unwrap(), b"PK\x03\x04");
    assert!(
        full.ends_with(&format!("\n[Resource a://b/c.zip (4 B) saved to {saved}]")),
        "{full}"
    );
    assert!(result.content[0].as_text().unwrap().contains(saved));
}
