//! A server whose only tool does nothing, as fast as a server can be: what is measured against it is the client.

use std::io::{BufRead as _, Write as _};

use anyhow::Result;
use serde_json::{Value, json};

/// Answers on standard input and output until the input ends.
pub(crate) fn serve() -> Result<()> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let Some(id) = message.get("id") else {
            continue;
        };
        let answer = match message.get("method").and_then(Value::as_str) {
            Some("initialize") => json!({"result": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "noop", "version": "1"},
            }}),
            Some("tools/list") => json!({"result": {"tools": [{
                "name": "noop",
                "description": "Does nothing",
                "inputSchema": {"type": "object", "properties": {"value": {"type": "string"}}},
            }]}}),
            Some("tools/call") => {
                json!({"result": {"content": [{"type": "text", "text": "done"}]}})
            }
            _ => json!({"error": {"code": -32601, "message": "no such method"}}),
        };
        let mut answer = answer;
        if let Some(object) = answer.as_object_mut() {
            object.insert("jsonrpc".to_owned(), json!("2.0"));
            object.insert("id".to_owned(), id.clone());
        }
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}
