//! What servers ask and tell by themselves.

use rmcp::model::{ServerJsonRpcMessage, ServerNotification, ServerRequest};
use serde_json::{Value, json};

use super::wire_with;

fn pass(message: &Value) -> Option<ServerJsonRpcMessage> {
    let wire = wire_with(&["tools/call"]);
    let mut messages = wire.incoming(message.to_string().as_bytes(), None);
    assert!(messages.len() < 2);
    messages.pop()
}

/// A message, what it becomes, and the type it must have.
type Case = (Value, Option<Value>, fn(&ServerJsonRpcMessage) -> bool);

fn check(cases: Vec<Case>) {
    for (message, expected, is_expected) in cases {
        let passed = pass(&message);
        let json = passed.as_ref().map(|passed| json!(passed));
        assert_eq!(json, expected, "for {message}");
        assert!(
            passed.as_ref().is_none_or(is_expected),
            "{passed:?} for {message}"
        );
    }
}

#[test]
fn requests() {
    let is_ping = |message: &ServerJsonRpcMessage| matches!(message, ServerJsonRpcMessage::Request(request) if matches!(request.request, ServerRequest::PingRequest(_)));
    let is_custom = |message: &ServerJsonRpcMessage| matches!(message, ServerJsonRpcMessage::Request(request) if matches!(request.request, ServerRequest::CustomRequest(_)));
    let is_question = |message: &ServerJsonRpcMessage| matches!(message, ServerJsonRpcMessage::Request(request) if matches!(request.request, ServerRequest::ElicitRequest(_)));
    check(vec![
        (
            json!({"id": 1, "method": "ping"}),
            Some(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})),
            is_ping,
        ),
        (
            json!({"jsonrpc": "2.0", "id": "1", "method": "ping", "params": [], "error": null}),
            Some(json!({"jsonrpc": "2.0", "id": "1", "method": "ping"})),
            is_ping,
        ),
        (
            json!({"id": 2.0, "method": "roots/spoil", "params": {"a": 1}}),
            Some(json!({"jsonrpc": "2.0", "id": 2, "method": "roots/spoil", "params": {"a": 1}})),
            is_custom,
        ),
        (
            json!({"id": 2, "method": "elicitation/create", "params": {"message": "m", "requestedSchema": {}}}),
            Some(
                json!({"jsonrpc": "2.0", "id": 2, "method": "elicitation/create", "params": {"mode": "form", "message": "m", "requestedSchema": {"type": "object", "properties": {}}}}),
            ),
            is_question,
        ),
        (
            json!({"id": 2, "method": "elicitation/create", "params": {"message": "m", "requestedSchema": {"type": "object", "properties": {"a": {"type": "object"}}}}}),
            Some(
                json!({"jsonrpc": "2.0", "id": 2, "method": "elicitation/create", "params": {"message": "m", "requestedSchema": {"type": "object", "properties": {"a": {"type": "object"}}}}}),
            ),
            is_custom,
        ),
        (json!({"id": [1], "method": "ping"}), None, is_ping),
        (json!({"id": true, "method": "what"}), None, is_ping),
    ]);
}

#[test]
fn notifications() {
    let is_progress = |message: &ServerJsonRpcMessage| matches!(message, ServerJsonRpcMessage::Notification(told) if matches!(told.notification, ServerNotification::ProgressNotification(_)));
    let is_log = |message: &ServerJsonRpcMessage| matches!(message, ServerJsonRpcMessage::Notification(told) if matches!(told.notification, ServerNotification::LoggingMessageNotification(_)));
    let is_change = |message: &ServerJsonRpcMessage| matches!(message, ServerJsonRpcMessage::Notification(told) if matches!(told.notification, ServerNotification::ToolListChangedNotification(_)));
    let is_custom = |message: &ServerJsonRpcMessage| matches!(message, ServerJsonRpcMessage::Notification(told) if matches!(told.notification, ServerNotification::CustomNotification(_)));
    let progress = |params: Value| json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
    let log = |params: Value| json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params});
    let change = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    check(vec![
        (
            progress(json!({"progressToken": "3", "progress": "0.5", "total": null, "message": 5})),
            Some(progress(
                json!({"progressToken": 3, "progress": 0.5, "message": "5"}),
            )),
            is_progress,
        ),
        (
            progress(json!({"progressToken": 3.0})),
            Some(progress(json!({"progressToken": 3, "progress": 0.0}))),
            is_progress,
        ),
        (
            json!({"method": "notifications/odd", "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": "7"}}}),
            Some(
                json!({"jsonrpc": "2.0", "method": "notifications/odd", "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": 7}}}),
            ),
            is_custom,
        ),
        (
            log(json!({"level": "WARN", "message": "m", "logger": 5})),
            Some(log(json!({"level": "warning", "data": "m"}))),
            is_log,
        ),
        (
            log(json!({"level": "Error", "data": null})),
            Some(log(json!({"level": "error", "data": null}))),
            is_log,
        ),
        (
            json!({"method": "notifications/tools/list_changed", "params": null}),
            Some(change.clone()),
            is_change,
        ),
        (
            json!({"method": "notifications/tools/list_changed", "params": [], "id": 5}),
            Some(change.clone()),
            is_change,
        ),
        (
            json!({"method": "notifications/tools/list_changed", "id": null}),
            Some(change),
            is_change,
        ),
        (
            json!({"method": "notifications/odd", "params": {"a": 1}}),
            Some(json!({"jsonrpc": "2.0", "method": "notifications/odd", "params": {"a": 1}})),
            is_custom,
        ),
    ]);
}
