//! Answers whose envelope or JSON is wrong.

use pirn_testkit::{Act, On};

use crate::row::{ALL, Call, EVENTS, JSON, Over, PIPE_AND_HTTP, Row, STDIO, STREAMABLE, legacy};

/// A row whose tool `odd` is answered with these texts, each one message.
fn answers(name: &'static str, over: &'static [Over], texts: &[&[u8]]) -> Row {
    let acts: Vec<Act> = texts.iter().map(Act::text).collect();
    Row::new(name, over, legacy().tool("odd").on(On::Tool("odd"), acts))
}

fn answer(name: &'static str, over: &'static [Over], text: impl AsRef<[u8]>) -> Row {
    answers(name, over, &[text.as_ref()])
}

fn gives(text: &'static str) -> Call {
    Call::text("odd", text)
}

fn fails(says: &[&'static str]) -> Call {
    Call::error("odd", says)
}

pub(super) fn rows() -> Vec<Row> {
    [
        encoding(),
        layout(),
        envelope(),
        errors(),
        correlation(),
        framing(),
        sizes(),
    ]
    .concat()
}

/// What is no JSON, or hardly.
fn encoding() -> Vec<Row> {
    let text = |inner: &[u8]| -> Vec<u8> {
        [
            br#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":""#.as_slice(),
            inner,
            br#""}]}}"#,
        ]
        .concat()
    };
    vec![
        answer("invalid_utf8", ALL, text(b"caf\xff\xfe!")).call(gives("caf\u{fffd}")),
        answer("utf8_cut_in_a_character", ALL, text(b"caf\xc3")).call(gives("caf\u{fffd}")),
        answer("lone_surrogate", ALL, text(br"a\ud800b")).call(gives("a\u{fffd}b")),
        answer("lone_low_surrogate_at_the_end", ALL, text(br"a\udc00")).call(gives("a\u{fffd}")),
        answer("surrogate_pair", ALL, text(br"\ud83d\ude00")).call(gives("\u{1f600}")),
        answer("nul_escape", ALL, text(br"a\u0000b")).call(gives("a\0b")),
        answer("line_separator", ALL, text("a\u{2028}b\u{85}c".as_bytes())).call(gives("a\u{2028}b\u{85}c")),
        answer("raw_control_character", ALL, text(b"a\tb")).call(Call::ends("odd")),
        answer(
            "nan",
            ALL,
            r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"sum"}],"structuredContent":{"sum":NaN}}}"#,
        )
        .call(Call::ends("odd")),
        answer(
            "infinity",
            ALL,
            r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"structuredContent":{"low":-Infinity,"high":Infinity}}}"#,
        )
        .call(Call::ends("odd")),
        answer(
            "number_too_large",
            ALL,
            r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"big"}],"structuredContent":1e999}}"#,
        )
        .call(Call::ends("odd")),
        answer(
            "number_of_forty_digits",
            ALL,
            r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"big"}],"structuredContent":1234567890123456789012345678901234567890}}"#,
        )
        .call(gives("big")),
    ]
}

/// JSON of unusual layout, and what is none.
fn layout() -> Vec<Row> {
    vec![
        answer(
            "pretty_printed",
            ALL,
            "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": $ID,\n  \"result\": {\n    \"content\": [\n      {\n        \"type\": \"text\",\n        \"text\": \"spread\"\n      }\n    ]\n  }\n}",
        )
        .call(gives("spread")),
        answer(
            "pretty_printed_with_crlf",
            ALL,
            "{\r\n  \"jsonrpc\": \"2.0\",\r\n  \"id\": $ID,\r\n  \"result\": {\"content\": [\r\n{\"type\": \"text\", \"text\": \"spread\"}]}\r\n}\r",
        )
        .call(gives("spread")),
        answer(
            "nested_ten_thousand_deep",
            ALL,
            format!(
                r#"{{"jsonrpc":"2.0","id":$ID,"result":{{"content":[],"structuredContent":{}{}}}}}"#,
                "[".repeat(10_000),
                "]".repeat(10_000)
            ),
        )
        .call(fails(&[])),
        answer(
            "nested_one_hundred_deep",
            ALL,
            format!(
                r#"{{"jsonrpc":"2.0","id":$ID,"result":{{"content":[{{"type":"text","text":"deep"}}],"structuredContent":{}{}}}}}"#,
                "[".repeat(100),
                "]".repeat(100)
            ),
        )
        .call(gives("deep")),
        answer(
            "trailing_comma",
            ALL,
            r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"comma"},],},}"#,
        )
        .call(Call::ends("odd")),
        answer(
            "python_literals",
            ALL,
            "{'jsonrpc': '2.0', 'id': $ID, 'result': {'content': [], 'isError': False, '_meta': None}}",
        )
        .short()
        .call(fails(&[])),
        answer(
            "duplicate_keys",
            ALL,
            r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[]},"result":{"content":[{"type":"text","text":"second"}]}}"#,
        )
        .call(Call::ends("odd")),
        answer("cut_json", ALL, r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"te"#)
            .short()
            .call(fails(&[])),
        answer("words_instead_of_json", ALL, "Segmentation fault").short().call(fails(&[])),
        answer("nothing_instead_of_json", ALL, "").short().call(fails(&[])),
        answer("json_that_is_no_message", ALL, "[1, null, \"two\", {}]").short().call(fails(&[])),
        answer("byte_order_mark", ALL, "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"marked\"}]}}")
            .call(gives("marked")),
    ]
}

/// What is JSON and hardly JSON-RPC.
fn envelope() -> Vec<Row> {
    vec![
        answer(
            "jsonrpc_missing",
            ALL,
            r#"{"id":$ID,"result":{"content":[{"type":"text","text":"bare"}]}}"#,
        )
        .call(gives("bare")),
        answer(
            "jsonrpc_one",
            ALL,
            r#"{"jsonrpc":"1.0","id":$ID,"result":{"content":[{"type":"text","text":"old"}]},"error":null}"#,
        )
        .call(gives("old")),
        answer(
            "jsonrpc_number",
            ALL,
            r#"{"jsonrpc":2.0,"id":$ID,"result":{"content":[{"type":"text","text":"number"}]}}"#,
        )
        .call(gives("number")),
        answer(
            "result_and_null_error",
            ALL,
            r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"both"}]},"error":null}"#,
        )
        .call(gives("both")),
        answer(
            "error_and_null_result",
            ALL,
            r#"{"jsonrpc":"2.0","id":$ID,"result":null,"error":{"code":-32000,"message":"no luck"}}"#,
        )
        .call(fails(&["no luck"])),
        answer(
            "result_and_error",
            ALL,
            r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[]},"error":{"code":-32000,"message":"no luck"}}"#,
        )
        .call(Call::ends("odd")),
        answer("neither_result_nor_error", ALL, r#"{"jsonrpc":"2.0","id":$ID}"#).call(Call::ends("odd")),
        answer(
            "batch_of_one",
            ALL,
            r#"[{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"wrapped"}]}}]"#,
        )
        .call(gives("wrapped")),
        answer(
            "batch_with_notifications",
            ALL,
            r#"[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hello"}},{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"wrapped"}]}},{"jsonrpc":"2.0","method":"notifications/unheard-of"}]"#,
        )
        .call(gives("wrapped")),
        answer(
            "unknown_members",
            ALL,
            r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"more","colour":"red"}],"took":3},"elapsed":0.1,"_meta":null}"#,
        )
        .call(gives("more")),
        answer(
            "answer_with_a_method",
            ALL,
            r#"{"jsonrpc":"2.0","id":$ID,"method":"tools/call","result":{"content":[{"type":"text","text":"named"}]}}"#,
        )
        .call(Call::ends("odd"))
        .short(),
        answer(
            "answer_with_params_null",
            ALL,
            r#"{"jsonrpc":"2.0","id":$ID,"params":null,"result":{"content":[{"type":"text","text":"params"}]}}"#,
        )
        .call(gives("params")),
    ]
}

fn error(name: &'static str, error: &str) -> Row {
    answer(
        name,
        ALL,
        format!(r#"{{"jsonrpc":"2.0","id":$ID,"error":{error}}}"#),
    )
}

fn errors() -> Vec<Row> {
    vec![
        error(
            "error_code_is_a_string",
            r#"{"code":"E_DENIED","message":"not for you"}"#,
        )
        .call(fails(&["not for you"])),
        error(
            "error_code_is_a_float",
            r#"{"code":-32000.0,"message":"not for you"}"#,
        )
        .call(fails(&["not for you"])),
        error(
            "error_code_is_huge",
            r#"{"code":99999999999999999999,"message":"not for you"}"#,
        )
        .call(fails(&["not for you"])),
        error("error_code_is_missing", r#"{"message":"not for you"}"#)
            .call(fails(&["not for you"])),
        error("error_message_is_null", r#"{"code":-32000,"message":null}"#).call(fails(&[])),
        error(
            "error_message_is_an_object",
            r#"{"code":-32000,"message":{"en":"not for you"}}"#,
        )
        .call(fails(&["not for you"])),
        error(
            "error_message_is_missing",
            r#"{"code":-32000,"data":{"why":"not for you"}}"#,
        )
        .call(fails(&[])),
        error("error_is_a_string", r#""not for you""#).call(fails(&["not for you"])),
        error("error_is_empty", "{}").call(fails(&[])),
        error("error_is_true", "true").call(fails(&[])),
        error("error_is_null_and_alone", "null").call(Call::ends("odd")),
        error(
            "error_of_a_healthy_server",
            r#"{"code":-32602,"message":"Unknown tool: odd"}"#,
        )
        .call(fails(&["Unknown tool: odd"])),
    ]
}

/// Whose answer it is.
fn correlation() -> Vec<Row> {
    vec![
        answer(
            "id_as_a_string",
            ALL,
            r#"{"jsonrpc":"2.0","id":$STRING_ID,"result":{"content":[{"type":"text","text":"quoted"}]}}"#,
        )
        .call(gives("quoted")),
        answer(
            "id_as_a_float",
            ALL,
            r#"{"jsonrpc":"2.0","id":$ID.0,"result":{"content":[{"type":"text","text":"floating"}]}}"#,
        )
        .short()
        .call(Call::ends("odd")),
        answer(
            "id_is_null",
            ALL,
            r#"{"jsonrpc":"2.0","id":null,"result":{"content":[{"type":"text","text":"nobody's"}]}}"#,
        )
        .short()
        .call(Call::ends("odd")),
        answer(
            "error_with_null_id",
            ALL,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
        )
        .short()
        .call(fails(&[])),
        answer(
            "id_is_missing",
            ALL,
            r#"{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"nobody's"}]}}"#,
        )
        .short()
        .call(Call::ends("odd")),
        answer(
            "id_of_somebody_else",
            ALL,
            r#"{"jsonrpc":"2.0","id":987654,"result":{"content":[{"type":"text","text":"strange"}]}}"#,
        )
        .short()
        .call(fails(&[])),
        answer(
            "id_is_an_object",
            ALL,
            r#"{"jsonrpc":"2.0","id":{"n":$ID},"result":{"content":[{"type":"text","text":"strange"}]}}"#,
        )
        .short()
        .call(Call::ends("odd")),
        answers(
            "answered_twice",
            &[Over::Stdio, Over::Events, Over::Old],
            &[
                br#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"first"}]}}"#,
                br#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"second"}]}}"#,
            ],
        )
        .call(gives("first"))
        .call(gives("first")),
        answers(
            "answers_in_the_wrong_order_of_kinds",
            &[Over::Stdio, Over::Events, Over::Old],
            &[
                br#"{"jsonrpc":"2.0","id":123456,"error":{"code":-32000,"message":"not yours"}}"#,
                br#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"yours"}]}}"#,
            ],
        )
        .call(gives("yours")),
    ]
}

const GOOD: &[u8] =
    br#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"found"}]}}"#;

fn acts(name: &'static str, over: &'static [Over], acts: Vec<Act>) -> Row {
    Row::new(name, over, legacy().tool("odd").on(On::Tool("odd"), acts))
}

/// Where a message begins and ends.
fn framing() -> Vec<Row> {
    vec![
        answers(
            "noise_before",
            STDIO,
            &[b"Listening on stdio...", b"", b"  {not json}", b"[info] ready", GOOD],
        )
        .call(gives("found")),
        answers("noise_that_begins_like_json", STDIO, &[b"{ starting up", b"[debug] x=1", GOOD])
            .call(gives("found")),
        answers("noise_with_invalid_utf8", STDIO, &[b"\xff\xfe\x00garbage", GOOD]).call(gives("found")),
        answers("noise_after", STDIO, &[GOOD, b"done, waiting for more"]).call(gives("found")),
        acts(
            "crlf",
            STDIO,
            vec![Act::bytes([GOOD, b"\r\n\r\n"].concat())],
        )
        .call(gives("found")),
        acts(
            "two_messages_in_a_line",
            STDIO,
            vec![Act::bytes(
                [
                    br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#.as_slice(),
                    GOOD,
                    b"\n",
                ]
                .concat(),
            )],
        )
        .short()
        .call(Call::ends("odd")),
        acts(
            "junk_after_the_message_in_its_line",
            STDIO,
            vec![Act::bytes([GOOD, b" done\n"].concat())],
        )
        .short()
        .call(Call::ends("odd")),
        acts(
            "prompt_before_the_message_in_its_line",
            STDIO,
            vec![Act::bytes([b"> ".as_slice(), GOOD, b"\n"].concat())],
        )
        .short()
        .call(Call::ends("odd")),
        acts(
            "byte_by_byte",
            PIPE_AND_HTTP,
            vec![Act::Drip(
                [GOOD, b"\n"].concat(),
                std::time::Duration::from_micros(500),
            )],
        )
        .call(gives("found")),
    ]
}

/// Messages that are large, and much besides the message.
fn sizes() -> Vec<Row> {
    vec![
        acts("five_megabytes", ALL, vec![Act::says("$X(5000000)")]).call(Call::result("odd", |called| {
            let text = called.structured.pointer("/content/0/text").and_then(serde_json::Value::as_str);
            if text.map(str::len) != Some(5_000_000) {
                return Err("a script does not get the whole text".to_owned());
            }
            if called.text.len() > 25_000 || !called.text.contains("truncated") {
                return Err(format!("the model gets {} bytes", called.text.len()));
            }
            Ok(())
        })),
        acts("twenty_megabytes", ALL, vec![Act::says("$X(20000000)")]).call(fails(&["16"])),
        acts("twenty_megabytes_of_noise_in_a_line", STDIO, vec![Act::text("$X(20000000)"), Act::says("after")])
            // Whose line it was cannot be known, so the open call pays.
            .call(Call::ends("odd")),
        acts(
            "forty_megabytes_without_an_end",
            STDIO,
            vec![Act::Repeat(" ", 40_000_000), Act::Never],
        )
        .short()
        .call(fails(&[]))
        .healthy(crate::row::Healthy::Ends),
        acts("many_blank_lines", STDIO, vec![Act::Repeat("\n", 1_000_000), Act::says("after")])
            .call(gives("after")),
        answer("json_body_with_a_line_end", JSON, [GOOD, b"\r\n\n"].concat()).call(gives("found")),
        answers("empty_event_before", EVENTS, &[b"", GOOD]).call(gives("found")),
        answers("unparsable_event_before", STREAMABLE, &[b"ping", GOOD]).short().call(Call::ends("odd")),
        acts(
            "ten_thousand_notifications_before",
            STDIO,
            vec![
                Act::Repeat(
                    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"debug\",\"data\":\"tick\"}}\n",
                    10_000,
                ),
                Act::says("after"),
            ],
        )
        .call(gives("after")),
        answer(
            "healthy",
            PIPE_AND_HTTP,
            GOOD,
        )
        .call(gives("found")),
    ]
}
