//! Lists of tools: pages, names, entries and changes.

use std::time::Duration;

use pirn_testkit::{Act, On};
use serde_json::{Value, json};

use crate::row::{
    ALL, Call, Connect, Healthy, JSON, Kind, PIPE_AND_HTTP, Row, STDIO, Saw, Tools, legacy,
};

const LIST: On = On::Method("tools/list");

fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

/// A row whose list of tools is answered with this result.
fn list(name: &'static str, result: Value) -> Row {
    Row::new(
        name,
        PIPE_AND_HTTP,
        legacy().on(LIST, [Act::Result(result)]),
    )
}

/// A row whose list has these entries besides `ok`.
fn entries(name: &'static str, entries: Vec<Value>) -> Row {
    let script = entries
        .into_iter()
        .fold(legacy(), pirn_testkit::Script::raw_tool);
    Row::new(name, PIPE_AND_HTTP, script)
}

pub(super) fn rows() -> Vec<Row> {
    [
        pages(),
        cursors(),
        broken_pages(),
        answers(),
        names(),
        others(),
        changes(),
        storms(),
    ]
    .concat()
}

/// Lists of one page that name another one.
fn cursors() -> Vec<Row> {
    let paged = |name, cursor: Value| {
        Row::new(
            name,
            PIPE_AND_HTTP,
            legacy().on(
                LIST,
                [Act::Result(
                    json!({"tools": [tool("ok")], "nextCursor": cursor}),
                )],
            ),
        )
    };
    vec![
        paged("constant_cursor", json!("again")).saw(Saw::Times("tools/list", 2, 3)),
        paged("empty_cursor", json!("")).saw(Saw::Times("tools/list", 1, 1)),
        paged("null_cursor", Value::Null).saw(Saw::Times("tools/list", 1, 1)),
        paged("number_as_cursor", json!(2)).saw(Saw::Times("tools/list", 1, 3)),
        paged("object_as_cursor", json!({"page": 2})).saw(Saw::Times("tools/list", 1, 3)),
        paged("cursors_without_end", json!("page-$COUNT"))
            .healthy_or_absent()
            .connect(Connect::Ends)
            .tools(Tools::Any)
            .saw(Saw::Times("tools/list", 2, 1001)),
    ]
}

fn pages() -> Vec<Row> {
    vec![
        Row::new(
            "three_pages",
            ALL,
            legacy()
                .first(
                    1,
                    LIST,
                    [Act::Result(
                        json!({"tools": [tool("a")], "nextCursor": "2"}),
                    )],
                )
                .first(
                    1,
                    LIST,
                    [Act::Result(
                        json!({"tools": [tool("b")], "nextCursor": "3"}),
                    )],
                )
                .on(LIST, [Act::Result(json!({"tools": [tool("ok")]}))]),
        )
        .tools(Tools::Exactly(vec!["a", "b", "ok"]))
        .saw(Saw::That("the cursors in their order", |seen| {
            let cursors: Vec<Option<&str>> = seen
                .iter()
                .filter(|seen| seen.method == "tools/list")
                .map(|seen| {
                    seen.message
                        .pointer("/params/cursor")
                        .and_then(Value::as_str)
                })
                .collect();
            cursors == [None, Some("2"), Some("3")]
        })),
        Row::new(
            "empty_page_in_between",
            PIPE_AND_HTTP,
            legacy()
                .first(
                    1,
                    LIST,
                    [Act::Result(
                        json!({"tools": [tool("a")], "nextCursor": "2"}),
                    )],
                )
                .first(
                    1,
                    LIST,
                    [Act::Result(json!({"tools": [], "nextCursor": "3"}))],
                )
                .on(LIST, [Act::Result(json!({"tools": [tool("ok")]}))]),
        )
        .tools(Tools::Exactly(vec!["a", "ok"])),
        Row::new(
            "two_cursors_by_turns",
            PIPE_AND_HTTP,
            legacy()
                .first(
                    1,
                    LIST,
                    [Act::Result(
                        json!({"tools": [tool("ok")], "nextCursor": "a"}),
                    )],
                )
                .first(
                    1,
                    LIST,
                    [Act::Result(
                        json!({"tools": [tool("x")], "nextCursor": "b"}),
                    )],
                )
                .on(
                    LIST,
                    [Act::Result(
                        json!({"tools": [tool("y")], "nextCursor": "a"}),
                    )],
                ),
        )
        .tools(Tools::With(vec!["ok", "x", "y"]))
        .saw(Saw::Times("tools/list", 3, 4)),
    ]
}

/// Lists whose first page is not all.
fn broken_pages() -> Vec<Row> {
    vec![
        Row::new(
            "second_page_fails",
            PIPE_AND_HTTP,
            legacy()
                .first(
                    1,
                    LIST,
                    [Act::Result(
                        json!({"tools": [tool("ok")], "nextCursor": "2"}),
                    )],
                )
                .on(LIST, [Act::Error(-32603, "the index is broken")]),
        )
        .connect(Connect::Ends)
        .tools(Tools::Any)
        .healthy_or_absent(),
        Row::new(
            "second_page_never_comes",
            PIPE_AND_HTTP,
            legacy()
                .first(
                    1,
                    LIST,
                    [Act::Result(
                        json!({"tools": [tool("ok")], "nextCursor": "2"}),
                    )],
                )
                .on(LIST, [Act::Never]),
        )
        .short()
        .connect(Connect::Ends)
        .tools(Tools::Any)
        .healthy_or_absent(),
        Row::new(
            "pages_that_repeat_a_tool",
            PIPE_AND_HTTP,
            legacy()
                .first(
                    1,
                    LIST,
                    [Act::Result(
                        json!({"tools": [tool("ok")], "nextCursor": "2"}),
                    )],
                )
                .on(
                    LIST,
                    [Act::Result(json!({"tools": [tool("ok"), tool("b")]}))],
                ),
        )
        .tools(Tools::With(vec!["ok", "b"])),
    ]
}

/// What comes instead of a list.
fn answers() -> Vec<Row> {
    let nothing = |name, result| {
        list(name, result)
            .connect(Connect::Ends)
            .tools(Tools::Exactly(Vec::new()))
            .healthy(Healthy::Absent)
    };
    vec![
        nothing("list_is_null", json!({"tools": null})),
        nothing("list_is_missing", json!({})),
        nothing("list_is_empty", json!({"tools": []})),
        nothing("list_is_a_string", json!({"tools": "none"})),
        nothing("list_result_is_null", Value::Null),
        nothing("list_result_is_a_number", json!(7)),
        list("list_is_an_object_by_name", json!({"tools": {"ok": tool("ok")}}))
            .connect(Connect::Ends)
            .tools(Tools::Any)
            .healthy_or_absent(),
        list("list_without_the_object_around", json!([tool("ok")]))
            .connect(Connect::Ends)
            .tools(Tools::Any)
            .healthy_or_absent(),
        Row::new(
            "list_is_an_error",
            PIPE_AND_HTTP,
            legacy().on(LIST, [Act::Error(-32603, "the index is broken")]),
        )
        .fails(Kind::Any, &["the index is broken"]),
        Row::new(
            "list_is_not_known",
            PIPE_AND_HTTP,
            legacy().on(LIST, [Act::Error(-32601, "Method not found")]),
        )
        .connect(Connect::Ends)
        .tools(Tools::Exactly(Vec::new()))
        .healthy(Healthy::Absent),
        Row::new("list_never_comes", PIPE_AND_HTTP, legacy().on(LIST, [Act::Never]))
            .short()
            .fails(Kind::Timeout, &[]),
        Row::new("list_kills_the_server", PIPE_AND_HTTP, legacy().on(LIST, [Act::Exit(1)])).fails(Kind::Any, &[]),
        Row::new("list_is_garbage", PIPE_AND_HTTP, legacy().on(LIST, [Act::text("tools: ok")]))
            .short()
            .fails(Kind::Any, &[]),
        Row::new(
            "list_with_invalid_utf8",
            ALL,
            legacy().on(
                LIST,
                [Act::text(
                    b"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"tools\":[{\"name\":\"ok\",\"description\":\"caf\xff\",\"inputSchema\":{\"type\":\"object\"}}]}}",
                )],
            ),
        ),
        list(
            "five_hundred_tools",
            json!({"tools": (0..500).map(|number| tool(&format!("tool_{number}"))).chain([tool("ok")]).collect::<Vec<_>>()}),
        )
        .tools(Tools::Count(501)),
        list(
            "description_of_five_megabytes",
            json!({"tools": [tool("ok"), {"name": "odd", "description": "$X(5000000)", "inputSchema": {"type": "object"}}]}),
        ),
        Row::new(
            "list_larger_than_the_limit",
            PIPE_AND_HTTP,
            legacy().on(
                LIST,
                [Act::Result(json!({"tools": [tool("ok"), {"name": "odd", "description": "$X(17000000)", "inputSchema": {"type": "object"}}]}))],
            ),
        )
        .fails(Kind::Any, &["16"]),
        Row::new(
            "list_after_a_second",
            PIPE_AND_HTTP,
            legacy().on(LIST, [Act::Pause(Duration::from_secs(1)), Act::Result(json!({"tools": [tool("ok")]}))]),
        ),
    ]
}

fn names() -> Vec<Row> {
    let hundred = "a_name_of_one_hundred_characters_that_no_model_provider_takes_as_it_is_because_sixty_four_is_the_most";
    vec![
        entries("name_of_one_hundred_characters", vec![tool(hundred)])
            .tools(Tools::With(vec!["ok", hundred]))
            .call(Call::text(hundred, "called a_name_of")),
        entries(
            "two_long_names_with_one_beginning",
            vec![
                tool(&format!("{hundred}_one")),
                tool(&format!("{hundred}_two")),
            ],
        )
        .tools(Tools::Count(3)),
        entries("same_name_twice", vec![tool("twin"), tool("twin")])
            .call(Call::text("twin", "called twin")),
        entries("ok_twice", vec![tool("ok")]),
        entries(
            "names_that_become_equal",
            vec![tool("a-b"), tool("a_b"), tool("a.b")],
        )
        .tools(Tools::Count(4))
        .call(Call::text("a-b", "called a-b"))
        .call(Call::text("a_b", "called a_b"))
        .call(Call::text("a.b", "called a.b")),
        entries(
            "name_with_blanks_and_slashes",
            vec![tool("files/read all\n")],
        )
        .call(Call::text("files/read all\n", "called files/read all")),
        entries("name_in_another_script", vec![tool("読む"), tool("書く")])
            .tools(Tools::Count(3))
            .call(Call::text("読む", "called 読む")),
        entries(
            "name_of_a_prototype",
            vec![tool("__proto__"), tool("constructor")],
        )
        .call(Call::text("constructor", "called constructor")),
        entries("name_is_empty", vec![tool("")]),
        entries("name_is_missing", vec![json!({"description": "nameless"})])
            .tools(Tools::Exactly(vec!["ok"])),
        entries(
            "name_is_null",
            vec![json!({"name": null, "inputSchema": {}})],
        )
        .tools(Tools::Exactly(vec!["ok"])),
        entries(
            "name_is_a_number",
            vec![json!({"name": 7, "inputSchema": {}})],
        )
        .tools(Tools::With(vec!["ok"])),
    ]
}

/// Entries that are no tools, or odd ones.
fn others() -> Vec<Row> {
    let odd = |name, more: Value| {
        let mut entry = tool("odd");
        if let (Value::Object(entry), Value::Object(more)) = (&mut entry, more) {
            entry.extend(more);
        }
        entries(name, vec![entry])
    };
    let kept = |name, more| odd(name, more).call(Call::text("odd", "called odd"));
    vec![
        entries("entry_is_null", vec![Value::Null]).tools(Tools::Exactly(vec!["ok"])),
        entries("entry_is_a_string", vec![json!("odd")]).tools(Tools::Exactly(vec!["ok"])),
        entries("entry_is_a_list", vec![json!([tool("odd")])]).tools(Tools::With(vec!["ok"])),
        kept("description_is_null", json!({"description": null})),
        kept("description_is_a_number", json!({"description": 7})),
        kept(
            "description_is_a_list",
            json!({"description": ["two", "lines"]}),
        ),
        kept("title_is_an_object", json!({"title": {"en": "Odd"}})),
        kept("annotations_are_true", json!({"annotations": true})),
        kept("annotations_are_null", json!({"annotations": null})),
        kept(
            "hint_is_a_string",
            json!({"annotations": {"readOnlyHint": "yes", "title": 7}}),
        ),
        kept(
            "icons_with_sizes_as_a_string",
            json!({"icons": [{"src": "data:,", "sizes": "48x48"}]}),
        ),
        kept("icons_are_an_object", json!({"icons": {"src": "data:,"}})),
        kept("icon_without_an_address", json!({"icons": [{}]})),
        kept(
            "execution_is_odd",
            json!({"execution": {"taskSupport": "perhaps"}}),
        ),
        kept("tool_meta_is_a_string", json!({"_meta": "x"})),
        kept("tool_meta_is_null", json!({"_meta": null})),
    ]
}

fn changed() -> Act {
    Act::Notify("notifications/tools/list_changed", json!({}))
}

/// The list changes while the server runs.
fn changes() -> Vec<Row> {
    let on_stream =
        |acts: Vec<Act>| -> Vec<Act> { [vec![Act::Stream], acts, vec![Act::Never]].concat() };
    let (first, second) = (
        json!({"tools": [tool("ok"), tool("gone")]}),
        json!({"tools": [tool("ok"), tool("new")]}),
    );
    vec![
        Row::new(
            "tool_replaced",
            STDIO,
            legacy()
                .first(
                    1,
                    LIST,
                    [
                        Act::Result(first.clone()),
                        Act::WaitFor("tools/call", 1),
                        changed(),
                    ],
                )
                .on(LIST, [Act::Result(second.clone())]),
        )
        .call(Call::text("ok", "fine"))
        .tools(Tools::Exactly(vec!["ok", "new"])),
        Row::new(
            "tool_replaced_over_the_stream",
            JSON,
            legacy()
                .on(
                    On::Http("GET"),
                    on_stream(vec![Act::WaitFor("tools/call", 1), changed()]),
                )
                .first(1, LIST, [Act::Result(first)])
                .on(LIST, [Act::Result(second)]),
        )
        .call(Call::text("ok", "fine"))
        .tools(Tools::Exactly(vec!["ok", "new"])),
    ]
}

/// Changes that are announced at odd times.
fn storms() -> Vec<Row> {
    vec![
        Row::new(
            "storm_of_changes",
            STDIO,
            legacy().on(
                On::Tool("ok"),
                [vec![changed(); 500], vec![Act::says("fine")]].concat(),
            ),
        )
        .call(Call::text("ok", "fine"))
        .saw(Saw::Times("tools/list", 1, 6)),
        Row::new(
            "every_list_announces_a_change",
            STDIO,
            legacy().on(
                LIST,
                [
                    changed(),
                    Act::Result(json!({"tools": [tool("ok")]})),
                    changed(),
                ],
            ),
        )
        .call(Call::text("ok", "fine"))
        .saw(Saw::Times("tools/list", 1, 20)),
        Row::new(
            "change_right_after_the_handshake",
            STDIO,
            legacy().on(On::Method("notifications/initialized"), [changed()]),
        ),
        Row::new(
            "change_before_the_handshake",
            STDIO,
            legacy().greeting([changed()]),
        ),
        Row::new(
            "change_to_a_list_that_fails",
            STDIO,
            legacy()
                .first(
                    1,
                    LIST,
                    [
                        Act::Result(json!({"tools": [tool("ok")]})),
                        Act::WaitFor("tools/call", 1),
                        changed(),
                    ],
                )
                .on(LIST, [Act::Error(-32603, "the index is broken")]),
        )
        .call(Call::text("ok", "fine")),
        Row::new(
            "change_to_a_list_that_never_comes",
            STDIO,
            legacy()
                .first(
                    1,
                    LIST,
                    [
                        Act::Result(json!({"tools": [tool("ok")]})),
                        Act::WaitFor("tools/call", 1),
                        changed(),
                    ],
                )
                .on(LIST, [Act::Never]),
        )
        .short()
        .call(Call::text("ok", "fine")),
    ]
}
