//! What a healthy server does.

use serde_json::{Value, json};

use crate::log::Seen;
use crate::script::{Act, Script, Speaks};

const LEGACY_VERSION: &str = "2025-11-25";
const MODERN_VERSION: &str = "2026-07-28";

/// The answer of a healthy server to a message.
pub(crate) fn answer(script: &Script, seen: &Seen, session: usize) -> Vec<Act> {
    if !seen.is_request() {
        return vec![Act::Status(202)];
    }
    match (seen.method.as_str(), script.speaks) {
        ("initialize", Speaks::Legacy | Speaks::Both) => vec![
            Act::header("mcp-session-id", format!("session-{session}")),
            Act::Result(initialize_result(seen)),
        ],
        ("initialize", Speaks::Modern) => vec![Act::Status(400), Act::Text(unsupported_version())],
        ("server/discover", Speaks::Modern | Speaks::Both) => {
            vec![Act::Result(discover_result())]
        }
        ("ping" | "logging/setLevel", _) => vec![Act::Result(json!({}))],
        ("tools/list", _) => vec![Act::Result(json!({"tools": script.tools}))],
        ("tools/call", _) => vec![call(script, seen)],
        ("subscriptions/listen", Speaks::Modern | Speaks::Both) => vec![
            Act::Stream,
            Act::Notify("notifications/subscriptions/acknowledged", subscribed()),
            Act::Never,
        ],
        _ => vec![Act::Error(-32601, "Method not found")],
    }
}

/// What goes with every notification of a subscription.
pub(crate) fn subscribed() -> Value {
    json!({
        "_meta": {"io.modelcontextprotocol/subscriptionId": "$ID"},
        "notifications": {"toolsListChanged": true},
    })
}

/// Completes a result by what its revision wants in every result.
pub(crate) fn complete(mut result: Value, seen: &Seen) -> Value {
    let is_modern = seen
        .message
        .pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion")
        .is_some();
    if is_modern && let Value::Object(members) = &mut result {
        if !members.contains_key("resultType") {
            members.insert("resultType".to_owned(), json!("complete"));
        }
        if seen.method.ends_with("/list") {
            members.insert("ttlMs".to_owned(), json!(0));
            members.insert("cacheScope".to_owned(), json!("private"));
        }
    }
    result
}

fn call(script: &Script, seen: &Seen) -> Act {
    let name = seen.tool().unwrap_or_default();
    let is_known = script
        .tools
        .iter()
        .any(|tool| tool.get("name").and_then(Value::as_str) == Some(name));
    if name == "ok" {
        Act::says("fine")
    } else if is_known {
        Act::says(&format!("called {name}"))
    } else {
        Act::Error(-32602, "Unknown tool")
    }
}

fn initialize_result(seen: &Seen) -> Value {
    let asked = seen
        .message
        .pointer("/params/protocolVersion")
        .and_then(Value::as_str)
        .filter(|version| *version < MODERN_VERSION)
        .unwrap_or(LEGACY_VERSION);
    json!({
        "protocolVersion": asked,
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "fake", "version": "1.0.0"},
    })
}

fn discover_result() -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": [MODERN_VERSION],
        "capabilities": {"tools": {"listChanged": true}},
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "1.0.0"}},
    })
}

fn unsupported_version() -> Vec<u8> {
    json!({
        "jsonrpc": "2.0",
        "id": "$ID",
        "error": {
            "code": -32022,
            "message": "Unsupported protocol version",
            "data": {"supported": [MODERN_VERSION], "requested": LEGACY_VERSION},
        },
    })
    .to_string()
    .into_bytes()
}
