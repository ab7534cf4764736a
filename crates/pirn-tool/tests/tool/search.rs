//! Ranking against the recorded cases, and the rules they do not reach.

use std::collections::BTreeMap;
use std::sync::Arc;

use pirn_tool::{
    Namespace, SearchDocument, Tool, ToolResult, ToolSpec, rank, search_tools, tokenize,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// How far a score may be from the recorded one, which is rounded to four decimals.
const SCORE_TOLERANCE: f64 = 0.0005;
const LIMIT_DEFAULT: usize = 8;

#[derive(Deserialize)]
struct CaseFile {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    #[serde(default)]
    query: String,
    tokenize: Option<String>,
    namespace: Option<String>,
    limit: Option<usize>,
    expect: Expect,
}

#[derive(Deserialize)]
struct Expect {
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    scores: Vec<f64>,
    #[serde(default)]
    tokens: Vec<String>,
}

#[derive(Deserialize)]
struct Fixture {
    namespaces: Vec<Namespace>,
    tools: Vec<FixtureTool>,
}

#[derive(Deserialize)]
struct FixtureTool {
    name: String,
    description: String,
    parameters: Value,
    namespace: Option<String>,
}

fn tool(name: &str, description: &str) -> Tool {
    silent(ToolSpec::new(name, description))
}

fn silent(spec: ToolSpec) -> Tool {
    Tool::from_fn(spec, |_, _| async { ToolResult::default() })
}

fn fixture_tools() -> Vec<Tool> {
    let fixture: Fixture = serde_json::from_str(include_str!("cases/search-tools.json")).unwrap();
    let namespaces: BTreeMap<String, Arc<Namespace>> = fixture
        .namespaces
        .into_iter()
        .map(|namespace| (namespace.name.clone(), Arc::new(namespace)))
        .collect();
    let make = |tool: FixtureTool| {
        let mut spec = ToolSpec::new(tool.name, tool.description).input_schema(tool.parameters);
        spec.namespace = tool.namespace.map(|name| Arc::clone(&namespaces[&name]));
        silent(spec)
    };
    fixture.tools.into_iter().map(make).collect()
}

/// The names found, best first.
fn found(tools: &[Tool], query: &str) -> Vec<String> {
    let ranked = search_tools(tools, query, None, LIMIT_DEFAULT);
    ranked
        .iter()
        .map(|entry| tools[entry.index].spec().name.clone())
        .collect()
}

#[test]
fn agrees_with_every_recorded_case() {
    let tools = fixture_tools();
    let file: CaseFile = serde_json::from_str(include_str!("cases/search.json")).unwrap();
    assert!(!file.cases.is_empty());
    for case in file.cases {
        if let Some(text) = &case.tokenize {
            assert_eq!(tokenize(text), case.expect.tokens, "{}", case.name);
            continue;
        }
        let limit = case.limit.unwrap_or(LIMIT_DEFAULT);
        let ranked = search_tools(&tools, &case.query, case.namespace.as_deref(), limit);
        let names: Vec<_> = ranked
            .iter()
            .map(|entry| tools[entry.index].spec().name.clone())
            .collect();
        assert_eq!(names, case.expect.names, "{}", case.name);
        for (entry, expected) in ranked.iter().zip(&case.expect.scores) {
            let close = (entry.score - expected).abs() <= SCORE_TOLERANCE;
            assert!(close, "{}: {} is not {expected}", case.name, entry.score);
        }
    }
}

#[test]
fn cuts_text_into_terms() {
    let cases: [(&str, &[&str]); 12] = [
        ("", &[]),
        (
            "XMLHttp2Request iOSApp ABCd aB1C",
            &[
                "xml", "http2", "request", "i", "os", "app", "ab", "cd", "b1", "c",
            ],
        ),
        (
            "Ties axes buses watches sses news APIs quizzes",
            &["tie", "axe", "buse", "watch", "sse", "new", "ap", "quizz"],
        ),
        ("ands ors tos", &["and", "ors", "tos"]),
        (
            "cafés étÉs straßeGroß",
            &["cafés", "étés", "straße", "groß"],
        ),
        (
            "can't l'été 3.14 1,000",
            &["can", "t", "l", "été", "3", "14", "1", "000"],
        ),
        (
            "ab½cd x² Ⅳ ٣٤ 👍🏽done",
            &["ab", "cd", "x", "ⅳ", "٣٤", "done"],
        ),
        ("नमस्ते 한국어 단어", &["नमस्ते", "한국어", "단어"]),
        (
            "搜索记录并返回匹配的条目",
            &["搜索", "记录", "并", "返回", "匹配", "的", "条目"],
        ),
        (
            "使用API查询 search搜索",
            &["使用", "api", "查询", "search", "搜索"],
        ),
        (
            "日本語テキスト ภาษาไทย",
            &["日本語", "テキスト", "ภาษา", "ไทย"],
        ),
        ("of the and", &[]),
    ];
    for (text, terms) in cases {
        assert_eq!(tokenize(text), terms, "{text}");
    }
}

#[test]
fn the_asked_name_comes_first_whatever_the_scores() {
    let cases: [(&str, &[&str], &[&str]); 5] = [
        (
            "bar",
            &["bar baz", "x__y__bar", "x_bar", "BAR"],
            &["x__y__bar", "BAR", "bar baz", "x_bar"],
        ),
        (
            "y__bar",
            &["bar y", "x__y__bar", "x_bar"],
            &["x__y__bar", "bar y", "x_bar"],
        ),
        (
            "foo😀bar",
            &["zfoo", "foo_bar", "foo__bar"],
            &["foo__bar", "foo_bar"],
        ),
        (
            "foo",
            &["foo___", "foo", "__foo", "foo__"],
            &["foo", "__foo", "foo___", "foo__"],
        ),
        ("of the", &["of_the", "x__of_the"], &[]),
    ];
    for (query, names, expected) in cases {
        let tools: Vec<_> = names.iter().map(|name| tool(name, "")).collect();
        assert_eq!(found(&tools, query), expected, "{query}");
    }
}

#[test]
fn more_matched_terms_beat_a_higher_score() {
    let tools = [
        tool("screenshot", "screenshot screenshot screenshot"),
        tool("window", "Takes a screenshot"),
        tool("other", "nothing"),
    ];
    assert_eq!(found(&tools, "screenshot window"), ["window", "screenshot"]);
}

#[test]
fn equal_tools_stay_in_their_order_and_the_limit_holds() {
    let documents: Vec<_> = (0..20)
        .map(|n| SearchDocument::new(&ToolSpec::new(format!("t{n}"), "same words")))
        .collect();
    for limit in [0, 1, 20, usize::MAX] {
        let ranked = rank("same", &documents, limit);
        let expected: Vec<_> = (0..20.min(limit)).collect();
        assert_eq!(
            ranked.iter().map(|entry| entry.index).collect::<Vec<_>>(),
            expected
        );
    }
    assert_eq!(rank("same", &[], 8), []);
}

#[test]
fn reads_descriptions_and_property_names_of_the_schema() {
    let schema = json!({
        "description": "rootword",
        "properties": {
            "propword": {"items": {"description": "itemword"}},
            "via": {"$ref": "#/$defs/a~1b%20c", "description": "besideword"},
            "again": {"$ref": "#/$defs/a~1b c"},
            "self": {"$ref": "#"},
            "remote": {"$ref": "https://example.org/schema.json"},
            "broken": {"$ref": "#/%ZZ"},
            "gone": {"$ref": "#/$defs/none"},
            "true": true,
            "odd": {"description": 5, "properties": [], "anyOf": {}, "enum": ["enumword"], "title": "titleword"},
        },
        "anyOf": [{"description": "anyword"}], "oneOf": [{"description": "oneword"}], "allOf": [{"description": "allword"}],
        "$defs": {
            "a/b c": {"description": "refword", "allOf": [{"$ref": "#/$defs/a~1b c"}]},
            "unused": {"description": "unusedword"},
        },
    });
    let tools = [
        silent(ToolSpec::new("tool", "").input_schema(schema)),
        tool("none", ""),
    ];
    for word in [
        "rootword",
        "propword",
        "itemword",
        "besideword",
        "refword",
        "anyword",
        "oneword",
        "allword",
    ] {
        assert_eq!(found(&tools, word), ["tool"], "{word}");
    }
    for word in ["enumword", "titleword", "unusedword"] {
        assert!(found(&tools, word).is_empty(), "{word}");
    }
}

#[test]
fn a_namespace_is_found_by_every_name_it_has() {
    let namespace = Arc::new(Namespace {
        name: "mcp__dev_radius".into(),
        aliases: vec!["dev-radius".into(), "radius".into()],
        ..Namespace::default()
    });
    let tools = [
        tool("outside", "word"),
        silent(ToolSpec::new("inside", "word").namespace(namespace)),
        tool("after", "word"),
    ];
    let places = |namespace| -> Vec<usize> {
        search_tools(&tools, "word", Some(namespace), 8)
            .iter()
            .map(|entry| entry.index)
            .collect()
    };
    for name in [
        "mcp__dev_radius",
        "mcp__dev-radius",
        "dev-radius",
        "dev_radius",
        "radius",
    ] {
        assert_eq!(places(name), [1], "{name}");
    }
    for name in ["", "dev", "RADIUS", "inside"] {
        assert!(places(name).is_empty(), "{name}");
    }
}
