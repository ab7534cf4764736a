use std::collections::BTreeMap;
use std::sync::Arc;

use pirn_tool::{Effects, ToolSpec};
use serde_json::json;

use super::*;
use crate::error::ErrorKind;

/// Servers with pages of entries and with resources, by name.
#[derive(Default)]
struct Library {
    pages: BTreeMap<&'static str, Result<Vec<Page>, &'static str>>,
    contents: Value,
}

impl ResourceSource for Library {
    fn servers<'a>(&'a self, _context: &'a CallContext) -> BoxFuture<'a, Vec<String>> {
        let names = self
            .pages
            .keys()
            .rev()
            .map(|name| (*name).to_owned())
            .collect();
        Box::pin(std::future::ready(names))
    }

    fn list<'a>(
        &'a self,
        server: &'a str,
        _what: ResourceList,
        cursor: Option<String>,
        _context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Page, Error>> {
        let index: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        let page = match &self.pages[server] {
            Ok(pages) => Ok(pages[index].clone()),
            Err(message) => {
                Err(Error::new(ErrorKind::Closed, server, *message).with_hint("Try again."))
            }
        };
        Box::pin(std::future::ready(page))
    }

    fn read<'a>(
        &'a self,
        server: &'a str,
        uri: &'a str,
        _context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Value, Error>> {
        let answer = match uri {
            "a:missing" => Err(Error::new(
                ErrorKind::Server { code: -32002 },
                server,
                "no such resource",
            )),
            _ => Ok(self.contents.clone()),
        };
        Box::pin(std::future::ready(answer))
    }
}

fn page(items: Value, next_cursor: Option<&str>) -> Page {
    let Value::Array(items) = items else {
        panic!("{items}")
    };
    Page {
        items,
        next_cursor: next_cursor.map(str::to_owned),
    }
}

fn library() -> Library {
    Library {
        pages: BTreeMap::from([
            (
                "web",
                Ok(vec![
                    page(
                        json!([
                            {"uri": "a:1", "name": "one", "icons": [], "_meta": {}, "mimeType": "text/plain"},
                            {"uri": "ui://panel", "name": "panel"},
                            {"uri": "a:app", "name": "app", "mimeType": "text/html; profile=mcp-app"},
                            {"uri": "a:2"},
                            "no object",
                            {"name": "no uri"},
                        ]),
                        Some("1"),
                    ),
                    page(json!([{"uri": "a:3", "name": "three"}]), Some("")),
                ]),
            ),
            (
                "docs",
                Ok(vec![page(
                    json!([{"uri": "d:1", "name": "d", "server": "forged"}]),
                    None,
                )]),
            ),
            ("bad", Err("the process ended")),
            (
                "loop",
                Ok(vec![page(json!([{"uri": "l:1", "name": "l"}]), Some("0"))]),
            ),
        ]),
        contents: json!({}),
    }
}

async fn call(library: Library, tool: &str, arguments: Value) -> ToolResult {
    let source: Arc<dyn ResourceSource> = Arc::new(library);
    let tools = resource_tools(Exposure::Codemode, &source, &SpillFolder::none());
    let tool = tools
        .iter()
        .find(|known| known.spec().name == tool)
        .unwrap();
    tool.call_alone(arguments).await.result
}

#[test]
fn the_tools_read_and_nothing_else() {
    let source: Arc<dyn ResourceSource> = Arc::new(Library::default());
    let tools = resource_tools(Exposure::Direct, &source, &SpillFolder::none());
    let specs: Vec<&ToolSpec> = tools.iter().map(Tool::spec).collect();
    assert_eq!(
        specs
            .iter()
            .map(|spec| spec.name.as_str())
            .collect::<Vec<_>>(),
        RESOURCE_TOOL_NAMES
    );
    for spec in specs {
        assert_eq!(spec.effects, Effects::READ | Effects::NETWORK);
        assert_eq!(spec.annotations.read_only_hint, Some(true));
        assert_eq!(spec.exposure, Exposure::Direct);
        assert!(spec.output_schema.is_some());
    }
}

#[tokio::test]
async fn all_servers_are_listed_by_name_with_all_pages() {
    let result = call(library(), "list_mcp_resources", json!({})).await;
    let structured = json!({
        "resources": [
            {"server": "docs", "uri": "d:1", "name": "d"},
            {"server": "loop", "uri": "l:1", "name": "l"},
            {"server": "loop", "uri": "l:1", "name": "l"},
            {"server": "web", "uri": "a:1", "name": "one", "mimeType": "text/plain"},
            {"server": "web", "uri": "a:2", "name": "a:2"},
            {"server": "web", "uri": "a:3", "name": "three"},
        ],
        "errors": [
            {"server": "bad", "error": "the process ended\nTry again."},
            {"server": "loop", "error": "the list is not complete: it repeats a cursor\nName the server to read its list page by page."},
        ],
    });
    assert_eq!(result.structured, Some(structured.clone()));
    assert_eq!(
        serde_json::from_str::<Value>(&result.joined_text()).unwrap(),
        structured
    );
    assert!(!result.is_error);
}

#[tokio::test]
async fn one_server_is_listed_by_the_page() {
    let first = call(library(), "list_mcp_resources", json!({"server": "web"}))
        .await
        .structured
        .unwrap();
    assert_eq!(
        (&first["server"], &first["nextCursor"]),
        (&json!("web"), &json!("1"))
    );
    assert_eq!(first["resources"].as_array().unwrap().len(), 2);
    let second = call(
        library(),
        "list_mcp_resources",
        json!({"server": "web", "cursor": "1"}),
    )
    .await;
    assert_eq!(
        second.structured,
        Some(
            json!({"server": "web", "resources": [{"server": "web", "uri": "a:3", "name": "three"}]})
        )
    );
}

#[tokio::test]
async fn templates_are_listed_by_their_patterns() {
    let library = Library {
        pages: BTreeMap::from([(
            "docs",
            Ok(vec![page(
                json!([{"uriTemplate": "d:{id}", "name": "d"}, {"uriTemplate": "ui://{x}", "name": "x"}]),
                None,
            )]),
        )]),
        ..Library::default()
    };
    let result = call(library, "list_mcp_resource_templates", json!({})).await;
    assert_eq!(
        result.structured,
        Some(
            json!({"resourceTemplates": [{"server": "docs", "uriTemplate": "d:{id}", "name": "d"}]})
        )
    );
}

#[tokio::test]
async fn failures_say_what_there_is() {
    let unknown = "There is no MCP server \"x\" with resources. Servers with resources: bad, docs, loop, web.";
    let cases = [
        ("list_mcp_resources", json!({"server": "x"}), unknown),
        (
            "read_mcp_resource",
            json!({"server": "x", "uri": "a:1"}),
            unknown,
        ),
        (
            "list_mcp_resources",
            json!({"cursor": "1"}),
            "A cursor belongs to one server: name the server too.",
        ),
        (
            "list_mcp_resources",
            json!({"server": "bad"}),
            "MCP server \"bad\": the process ended\nTry again.",
        ),
        (
            "read_mcp_resource",
            json!({"server": "web", "uri": "a:missing"}),
            "MCP server \"web\": no such resource",
        ),
    ];
    for (tool, arguments, expected) in cases {
        assert_eq!(
            call(library(), tool, arguments).await,
            ToolResult::error(expected)
        );
    }
    let none = call(
        Library::default(),
        "read_mcp_resource",
        json!({"server": "x", "uri": "a:1"}),
    )
    .await;
    assert_eq!(
        none,
        ToolResult::error(
            "There is no MCP server \"x\" with resources. No connected server has resources."
        )
    );
    let only_bad = Library {
        pages: BTreeMap::from([("bad", Err("the process ended"))]),
        ..Library::default()
    };
    let result = call(only_bad, "list_mcp_resources", json!({})).await;
    assert!(result.is_error && result.structured.is_some());
}

#[tokio::test]
async fn contents_are_shown_by_their_kind() {
    let png = "iVBORw0KGgoxMjM0";
    let cases = [
        (
            json!([{"uri": "a:1", "text": "one", "_meta": {}}]),
            vec!["one"],
        ),
        (json!([{"text": "one", "mimeType": null}]), vec!["one"]),
        (
            json!([{"uri": "a:1", "text": "one"}, {"uri": "a:2", "blob": png, "mimeType": "image/png"}]),
            vec!["a:1:", "one", "a:2:", "image/png"],
        ),
        (json!([]), vec!["[Resource a:1 is empty]"]),
        (json!(null), vec!["[Resource a:1 is empty]"]),
    ];
    for (contents, expected) in cases {
        let library = Library {
            contents: json!({"contents": contents, "_meta": {}}),
            ..library()
        };
        let result = call(
            library,
            "read_mcp_resource",
            json!({"server": "web", "uri": "a:1"}),
        )
        .await;
        let shown: Vec<&str> = result
            .content
            .iter()
            .map(|block| match block {
                pirn_tool::ContentBlock::Text { text } => text.as_str(),
                pirn_tool::ContentBlock::Image { mime_type, .. }
                | pirn_tool::ContentBlock::Audio { mime_type, .. } => mime_type,
            })
            .collect();
        assert_eq!(shown, expected, "{contents}");
        let structured = result.structured.unwrap();
        assert!(!structured.to_string().contains("_meta"));
        for content in structured["contents"].as_array().unwrap() {
            assert!(content["uri"].is_string());
        }
    }
}
