use pirn_model::{
    AssistantMessage, Block, Message, ToolCall, ToolResultMessage, UserContent, UserMessage,
};
use serde_json::{Value, json};

use super::{PrivateParts, html_page, private_parts};
use crate::{NewSession, Session};

/// Text as a hostile server would send it.
const HOSTILE: &str =
    "</pre><script>alert(1)</script><img src=x onerror='alert(2)'>\"\u{202e}\u{1b}[2J&amp;";

fn message(value: Value) -> Message {
    serde_json::from_value(value).unwrap()
}

fn session(messages: impl IntoIterator<Item = Message>) -> Session {
    let mut session = Session::create(NewSession::default()).unwrap();
    for message in messages {
        session.append_message(message).unwrap();
    }
    session
}

fn reply(content: Vec<Block>) -> Message {
    let mut reply: AssistantMessage = serde_json::from_value(json!({
        "content": [], "api": "a", "provider": "p", "model": HOSTILE, "usage": {
            "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
        }, "stopReason": "stop", "timestamp": 0,
    }))
    .unwrap();
    reply.content = content;
    reply.error_message = Some(HOSTILE.to_owned());
    Message::Assistant(reply.into())
}

fn hostile_session() -> Session {
    let call: ToolCall =
        serde_json::from_value(json!({"id": "c", "name": HOSTILE, "arguments": {"code": HOSTILE}}))
            .unwrap();
    let result: ToolResultMessage = serde_json::from_value(json!({
        "toolCallId": "c", "toolName": HOSTILE, "timestamp": 0,
        "content": [
            {"type": "text", "text": HOSTILE},
            {"type": "image", "data": "iVBO\" onerror=\"alert(3)", "mimeType": "image/png"},
            {"type": "image", "data": "PHN2Zz4=", "mimeType": "image/svg+xml"},
            {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
        ],
        "nestedCalls": {"calls": [{"id": "c/1", "name": HOSTILE, "status": "error", "error": HOSTILE, "argumentsStart": HOSTILE}]},
    }))
    .unwrap();
    let user = UserMessage {
        content: UserContent::Text(HOSTILE.to_owned()),
        ..UserMessage::text("", 0)
    };
    session([
        Message::User(user),
        reply(vec![
            message_block(json!({"type": "thinking", "thinking": HOSTILE})),
            message_block(json!({"type": "text", "text": HOSTILE})),
            Block::ToolCall(call),
        ]),
        Message::ToolResult(Box::new(result)),
        message(
            json!({"role": "bashExecution", "command": HOSTILE, "output": HOSTILE, "exitCode": 0,
            "cancelled": false, "truncated": false, "timestamp": 0}),
        ),
    ])
}

fn message_block(value: Value) -> Block {
    serde_json::from_value(value).unwrap()
}

/// The names of the tags of a page, with their attributes.
fn tags(page: &str) -> Vec<&str> {
    page.split('<')
        .skip(1)
        .map(|rest| rest.split_once('>').unwrap().0)
        .collect()
}

#[test]
fn nothing_of_a_stranger_becomes_a_tag_or_an_attribute() {
    let session = hostile_session();
    let page = html_page(session.header(), session.tree());
    for tag in tags(&page) {
        let name = tag
            .trim_start_matches('/')
            .split([' ', '!'])
            .next()
            .unwrap();
        let known = [
            "", "html", "head", "meta", "title", "style", "body", "header", "main", "section",
            "details", "summary", "h1", "h2", "p", "br", "pre", "ul", "li", "img",
        ];
        assert!(known.contains(&name), "<{tag}>");
        assert!(!tag.contains("onerror"), "<{tag}>");
    }
    assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'));
    assert!(page.contains("&lt;script&gt;alert(1)"));
}

#[test]
fn a_page_loads_nothing() {
    let session = hostile_session();
    let page = html_page(session.header(), session.tree());
    let sources: Vec<&str> = tags(&page)
        .into_iter()
        .filter(|tag| tag.contains("src=") || tag.contains("href="))
        .collect();
    assert_eq!(
        sources,
        ["img alt=\"a picture\" src=\"data:image/png;base64,iVBORw0KGgo=\""]
    );
    assert!(page.contains("default-src 'none'"));
    assert_eq!(page.matches("a picture that cannot be shown").count(), 2);
}

#[test]
fn a_page_holds_messages_calls_results_and_nested_calls() {
    let session = session([
        Message::User(UserMessage::text("Count the files", 0)),
        reply(vec![
            message_block(json!({"type": "text", "text": "I count."})),
            message_block(
                json!({"type": "toolCall", "id": "1", "name": "exec", "arguments": {"code": "return 1 < 2"}}),
            ),
        ]),
        message(
            json!({"role": "toolResult", "toolCallId": "1", "toolName": "exec", "timestamp": 0, "durationMs": 12,
            "content": [{"type": "text", "text": "true"}],
            "nestedCalls": {"calls": [{"id": "1/1", "name": "ls", "status": "ok", "arguments": {"path": "."}, "durationMs": 3}]}}),
        ),
    ]);
    let page = html_page(session.header(), session.tree());
    for part in [
        "<title>Count the files</title>",
        "<pre class=\"said\">I count.</pre>",
        "<summary>Call of exec</summary><pre>return 1 &lt; 2</pre>",
        "<h2>exec gave after 12 ms</h2>",
        "<li>ok ls {&quot;path&quot;:&quot;.&quot;} (3 ms)</li>",
    ] {
        assert_eq!(page.matches(part).count(), 1, "{part} in\n{page}");
    }
}

#[test]
fn what_is_private_is_counted() {
    let session = hostile_session();
    let parts = PrivateParts {
        results: 1,
        commands: 1,
        images: 3,
        thoughts: 1,
    };
    assert_eq!(private_parts(session.tree()), parts);
}
