//! Codex: `config.toml`, tables `[mcp_servers.NAME]`.

use std::path::Path;

use pirn_jsonc::{Member, Node, Tree};
use toml::{Table, Value};

use super::objects::{converted_map, limit, texts, tool_exposures, with_request_limit};
use super::template::{Dialect, Place, Values};
use super::{Converted, Found};
use pirn_mcp::{
    HttpEntry, HttpKind, NewServer, OAuthSettings, StdioEntry, Timeouts, TransportEntry,
};

const KNOWN: &[&str] = &[
    "command",
    "args",
    "env",
    "env_vars",
    "cwd",
    "url",
    "bearer_token_env_var",
    "http_headers",
    "env_http_headers",
    "startup_timeout_sec",
    "startup_timeout_ms",
    "tool_timeout_sec",
    "enabled",
    "enabled_tools",
    "disabled_tools",
    "scopes",
];

/// Converts the servers of a file.
pub(super) fn convert(text: &str, project: &Path) -> Result<Converted, (Option<u32>, String)> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let lines = before.map(|before| before.matches('\n').count() + 1);
        let line = lines.and_then(|lines| u32::try_from(lines).ok());
        (line, format!("is not valid TOML: {}", error.message()))
    })?;
    let root = node(&Value::Table(table));
    let mut converted = Converted::default();
    let servers = root.get("mcp_servers").map_or(&[][..], Node::members);
    for member in servers {
        let mut values = Values::new(Dialect::Literal, project);
        match server(&mut values, &member.node) {
            Ok(server) => converted.found.push(Found {
                name: member.name.clone(),
                line: member.line,
                server,
                notes: values.notes,
                needs: values.needs,
            }),
            Err(message) => {
                converted
                    .failed
                    .push((member.line, member.name.clone(), message));
            }
        }
    }
    Ok(converted)
}

fn server(values: &mut Values<'_>, node: &Node) -> Result<NewServer, String> {
    for member in node.members() {
        if !KNOWN.contains(&member.name.as_str()) {
            values.leave_out(&member.name);
        }
    }
    let text = |key: &str| node.get(key).and_then(Node::text);
    let transport = match (text("command"), text("url")) {
        (Some(command), _) => TransportEntry::Stdio(stdio(values, node, command)),
        (None, Some(url)) => TransportEntry::Http(http(values, node, url)),
        (None, None) => return Err("has neither a command nor an address".to_owned()),
    };
    let number = |key: &str| node.get(key).and_then(Node::number);
    let start = number("startup_timeout_sec")
        .or_else(|| number("startup_timeout_ms").map(|milliseconds| milliseconds / 1000.0));
    let limits = with_request_limit(number("tool_timeout_sec"));
    let tools = |key: &str| node.get(key).map(texts);
    Ok(NewServer {
        enabled: node.get("enabled").and_then(Node::flag).unwrap_or(true),
        tool_exposures: tool_exposures(
            tools("enabled_tools"),
            tools("disabled_tools").unwrap_or_default(),
        ),
        timeouts: Timeouts {
            start: start.and_then(limit).unwrap_or(limits.start),
            ..limits
        },
        ..NewServer::new(transport)
    })
}

fn stdio(values: &mut Values<'_>, node: &Node, command: &str) -> StdioEntry {
    let mut env = converted_map(values, node.get("env"));
    for variable in node.get("env_vars").map_or(&[][..], Node::items) {
        // A name, or a table with one.
        let name = variable.text().or_else(|| variable.get("name")?.text());
        if let Some(name) = name
            && !env.iter().any(|(other, _)| other == name)
        {
            env.push((name.to_owned(), format!("${{{name}}}")));
        }
    }
    let args = node.get("args").map(texts).unwrap_or_default();
    StdioEntry {
        command: values.convert(Place::Plain, command),
        args: args
            .iter()
            .map(|argument| values.convert(Place::Plain, argument))
            .collect(),
        env,
        cwd: node
            .get("cwd")
            .and_then(Node::text)
            .map(|cwd| values.convert(Place::Plain, cwd)),
        inherit_env: false,
        sandbox: None,
    }
}

fn http(values: &mut Values<'_>, node: &Node, url: &str) -> HttpEntry {
    let mut headers = converted_map(values, node.get("http_headers"));
    for member in node.get("env_http_headers").map_or(&[][..], Node::members) {
        if let Some(variable) = member.node.text() {
            headers.push((member.name.clone(), format!("${{{variable}}}")));
        }
    }
    if let Some(variable) = node.get("bearer_token_env_var").and_then(Node::text) {
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
        let value = format!("Bearer ${{{variable}}}");
        headers.push(("Authorization".to_owned(), value));
    }
    let scopes = node.get("scopes").map(texts).unwrap_or_default();
    HttpEntry {
        url: values.convert(Place::Plain, url),
        kind: HttpKind::Streamable,
        headers,
        oauth: OAuthSettings {
            scope: (!scopes.is_empty()).then(|| scopes.join(" ")),
            ..OAuthSettings::default()
        },
    }
}

/// TOML as the tree that the converters read. It has no lines.
fn node(value: &Value) -> Node {
    let value = match value {
        Value::String(text) => Tree::Text(text.clone()),
        #[expect(
            clippy::cast_precision_loss,
            reason = "time limits are far below the limit of exact numbers"
        )]
        Value::Integer(number) => Tree::Number(*number as f64),
        Value::Float(number) => Tree::Number(*number),
        Value::Boolean(flag) => Tree::Bool(*flag),
        Value::Datetime(datetime) => Tree::Text(datetime.to_string()),
        Value::Array(elements) => Tree::List(elements.iter().map(node).collect()),
        Value::Table(table) => Tree::Object(
            table
                .iter()
                .map(|(name, value)| Member {
                    name: name.clone(),
                    line: 0,
                    node: node(value),
                })
                .collect(),
        ),
    };
    Node { line: 0, value }
}
