//! Results of calls that are not shaped as they should be.

use pirn_testkit::{Act, On};
use serde_json::{Value, json};

use crate::row::{Call, Called, PIPE_AND_HTTP, Row, legacy};

/// A row whose tool `odd` is answered with this result.
fn result(name: &'static str, result: Value) -> Row {
    let script = legacy()
        .tool("odd")
        .on(On::Tool("odd"), [Act::Result(result)]);
    Row::new(name, PIPE_AND_HTTP, script)
}

fn gives(text: &'static str) -> Call {
    Call::text("odd", text)
}

const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

pub(super) fn rows() -> Vec<Row> {
    [contents(), blocks(), flags(), kinds()].concat()
}

fn contents() -> Vec<Row> {
    vec![
        result("content_is_a_string", json!({"content": "plain"})).call(gives("plain")),
        result(
            "content_is_one_block",
            json!({"content": {"type": "text", "text": "alone"}}),
        )
        .call(gives("alone")),
        result("content_is_a_number", json!({"content": 42})).call(gives("42")),
        result("content_is_null", json!({"content": null})).call(gives("")),
        result("content_is_missing", json!({})).call(gives("")),
        result(
            "content_is_missing_beside_structured",
            json!({"structuredContent": {"count": 3}}),
        )
        .call(gives("\"count\": 3")),
        result("content_is_empty", json!({"content": []})).call(gives("")),
        result("result_is_null", Value::Null).call(Call::ends("odd")),
        result("result_is_a_string", json!("plain")).call(gives("plain")),
        result(
            "result_is_a_list_of_blocks",
            json!([{"type": "text", "text": "listed"}]),
        )
        .call(gives("listed")),
        result("result_is_true", json!(true)).call(Call::ends("odd")),
        result(
            "result_of_a_tool_before_2024_11",
            json!({"toolResult": {"count": 3}}),
        )
        .call(gives("")),
    ]
}

fn blocks() -> Vec<Row> {
    let block = |name, block: Value| {
        result(
            name,
            json!({"content": [block, {"type": "text", "text": "the rest"}]}),
        )
    };
    vec![
        block("block_of_an_unknown_type", json!({"type": "hologram", "frames": 3})).call(gives("the rest")),
        block("block_without_a_type", json!({"text": "typeless"})).call(gives("the rest")),
        block("block_is_a_string", json!("bare")).call(gives("bare")),
        block("block_is_null", Value::Null).call(gives("the rest")),
        block("block_is_a_list", json!([1, 2])).call(gives("the rest")),
        block("text_is_missing", json!({"type": "text"})).call(gives("the rest")),
        block("text_is_a_number", json!({"type": "text", "text": 42})).call(gives("42")),
        block("text_is_null", json!({"type": "text", "text": null})).call(gives("the rest")),
        block("text_is_an_object", json!({"type": "text", "text": {"a": 1}})).call(gives("the rest")),
        block("image_without_a_type", json!({"type": "image", "data": PIXEL})).call(gives("the rest")),
        block("image_without_data", json!({"type": "image", "mimeType": "image/png"})).call(gives("the rest")),
        block("image_that_is_no_base64", json!({"type": "image", "data": "%%%", "mimeType": "image/png"}))
            .call(gives("the rest")),
        block(
            "image_as_a_data_url",
            json!({"type": "image", "data": format!("data:image/png;base64,{PIXEL}"), "mimeType": "image/png"}),
        )
        .call(gives("the rest")),
        block("audio", json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"})).call(gives("the rest")),
        block("resource_without_an_address", json!({"type": "resource", "resource": {"text": "embedded"}}))
            .call(gives("the rest")),
        block("resource_is_null", json!({"type": "resource", "resource": null})).call(gives("the rest")),
        block(
            "resource_with_text_and_blob",
            json!({"type": "resource", "resource": {"uri": "test://a", "text": "embedded", "blob": "AAAA"}}),
        )
        .call(gives("embedded")),
        block("link_without_a_name", json!({"type": "resource_link", "uri": "test://a"})).call(gives("test://a")),
        block("link_without_an_address", json!({"type": "resource_link", "name": "a"})).call(gives("the rest")),
        block(
            "annotations_that_are_odd",
            json!({"type": "text", "text": "kept", "annotations": {"priority": "high", "audience": "everyone", "lastModified": 7}}),
        )
        .call(gives("kept")),
        block("annotations_that_are_a_list", json!({"type": "text", "text": "kept", "annotations": []}))
            .call(gives("kept")),
        block("meta_that_is_a_string", json!({"type": "text", "text": "kept", "_meta": "x"})).call(gives("kept")),
        result(
            "ten_thousand_blocks",
            json!({"content": vec![json!({"type": "text", "text": "again"}); 10_000]}),
        )
        .call(gives("again")),
    ]
}

fn flags() -> Vec<Row> {
    let text = |name, more: Value| {
        let mut whole = json!({"content": [{"type": "text", "text": "said"}]});
        if let (Value::Object(whole), Value::Object(more)) = (&mut whole, more) {
            whole.extend(more);
        }
        result(name, whole)
    };
    vec![
        text("is_error", json!({"isError": true})).call(Call::error("odd", &["said"])),
        text("is_error_is_a_string", json!({"isError": "true"})).call(Call::ends("odd")),
        text("is_error_is_null", json!({"isError": null})).call(gives("said")),
        text("is_error_is_a_number", json!({"isError": 0})).call(Call::ends("odd")),
        result("is_error_without_content", json!({"isError": true})).call(Call::error("odd", &[])),
        text("result_meta_is_null", json!({"_meta": null})).call(gives("said")),
        text("result_meta_is_a_list", json!({"_meta": [1]})).call(gives("said")),
        text("structured_is_null", json!({"structuredContent": null})).call(gives("said")),
        text("structured_is_a_list", json!({"structuredContent": [1, 2]}))
            .call(Call::result("odd", |called| {
                whole(called, "/structuredContent/1", &json!(2))
            })),
        text("structured_is_a_word", json!({"structuredContent": "x"}))
            .call(Call::result("odd", |called| {
                whole(called, "/structuredContent", &json!("x"))
            })),
        text("result_type_is_unknown", json!({"resultType": "hologram"})).call(Call::ends("odd")),
        text("result_type_is_a_number", json!({"resultType": 7})).call(Call::ends("odd")),
    ]
}

/// Several kinds of content at once.
fn kinds() -> Vec<Row> {
    vec![
        result(
            "image_beside_structured",
            json!({
                "content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}],
                "structuredContent": {"width": 1},
            }),
        )
        .call(Call::result("odd", |called| {
            if called.images != 1 {
                return Err(format!("the model gets {} images", called.images));
            }
            whole(called, "/structuredContent/width", &json!(1))
        })),
        result(
            "image_of_two_megabytes",
            json!({"content": [{"type": "image", "data": "$X(2000000)", "mimeType": "image/png"}]}),
        )
        .call(Call::ends("odd")),
        Row::new(
            "structured_that_breaks_its_schema",
            PIPE_AND_HTTP,
            legacy()
                .raw_tool(json!({
                    "name": "odd",
                    "inputSchema": {"type": "object"},
                    "outputSchema": {"type": "object", "properties": {"count": {"type": "number"}}, "required": ["count"]},
                }))
                .on(
                    On::Tool("odd"),
                    [Act::Result(json!({
                        "content": [{"type": "text", "text": "three"}],
                        "structuredContent": {"count": "three"},
                    }))],
                ),
        )
        .call(gives("three")),
        Row::new(
            "structured_that_is_promised_and_missing",
            PIPE_AND_HTTP,
            legacy()
                .raw_tool(json!({
                    "name": "odd",
                    "inputSchema": {"type": "object"},
                    "outputSchema": {"type": "object", "properties": {"count": {"type": "number"}}, "required": ["count"]},
                }))
                .on(On::Tool("odd"), [Act::says("three")]),
        )
        .call(gives("three")),
    ]
}

fn whole(called: &Called, pointer: &str, wanted: &Value) -> Result<(), String> {
    match called.structured.pointer(pointer) {
        Some(found) if found == wanted => Ok(()),
        found => Err(format!("{pointer} is {found:?}")),
    }
}
