//! opencode: `opencode.json`, the object `mcp`, whose servers have lain in `mcp.servers` since its version 2.

use std::path::Path;

use pirn_jsonc::Node;

use super::objects::{converted_map, limit, oauth, texts};
use super::template::{Dialect, Place, Values};
use super::{Converted, Found};
use pirn_mcp::{
    HttpEntry, HttpKind, NewServer, OAuthSettings, StdioEntry, Timeouts, TransportEntry,
};

const KNOWN: &[&str] = &[
    "type",
    "command",
    "environment",
    "cwd",
    "url",
    "headers",
    "oauth",
    "enabled",
    "disabled",
    "timeout",
];

/// Converts the servers of a file.
pub(super) fn convert(root: &Node, project: &Path) -> Converted {
    let mcp = root.get("mcp");
    // A server may have been called "servers" once.
    let inner = mcp
        .and_then(|mcp| mcp.get("servers"))
        .filter(|servers| servers.get("type").and_then(Node::text).is_none());
    let mut converted = Converted::default();
    for member in inner.or(mcp).map_or(&[][..], Node::members) {
        if !member.node.is_object() {
            continue;
        }
        let mut values = Values::new(Dialect::Curly, project);
        match server(&mut values, &member.node) {
            Ok(Some(server)) => converted.found.push(Found {
                name: member.name.clone(),
                line: member.line,
                server,
                notes: values.notes,
                needs: values.needs,
            }),
            Ok(None) => {}
            Err(message) => {
                converted
                    .failed
                    .push((member.line, member.name.clone(), message));
            }
        }
    }
    converted
}

/// A server; `None` for an entry that only switches one of another file.
fn server(values: &mut Values<'_>, node: &Node) -> Result<Option<NewServer>, String> {
    for member in node.members() {
        if !KNOWN.contains(&member.name.as_str()) {
            values.leave_out(&member.name);
        }
    }
    let transport = match (node.get("command"), node.get("url").and_then(Node::text)) {
        (Some(command), _) => TransportEntry::Stdio(stdio(values, node, command)?),
        (None, Some(url)) => TransportEntry::Http(http(values, node, url)),
        (None, None) if node.get("type").is_none() => return Ok(None),
        (None, None) => return Err("has neither a command nor an address".to_owned()),
    };
    let enabled = node.get("enabled").and_then(Node::flag);
    let disabled = node.get("disabled").and_then(Node::flag);
    let limits = Timeouts::default();
    // For the list of tools at the start, in milliseconds.
    let timeout = node.get("timeout").and_then(Node::number);
    let start = timeout.and_then(|milliseconds| limit(milliseconds / 1000.0));
    Ok(Some(NewServer {
        enabled: enabled
            .or(disabled.map(|disabled| !disabled))
            .unwrap_or(true),
        timeouts: Timeouts {
            // Shorter ones are for programs that are there already; ours includes installing them.
            start: start.unwrap_or(limits.start).max(limits.start),
            ..limits
        },
        ..NewServer::new(transport)
    }))
}

fn stdio(values: &mut Values<'_>, node: &Node, command: &Node) -> Result<StdioEntry, String> {
    let mut words = match command.text() {
        Some(command) => vec![command.to_owned()],
        None => texts(command),
    }
    .into_iter()
    .map(|word| values.convert(Place::Plain, &word))
    .collect::<Vec<String>>()
    .into_iter();
    Ok(StdioEntry {
        command: words.next().ok_or("its command is empty")?,
        args: words.collect(),
        env: converted_map(values, node.get("environment")),
        cwd: node
            .get("cwd")
            .and_then(Node::text)
            .map(|cwd| values.convert(Place::Plain, cwd)),
        inherit_env: false,
        sandbox: None,
    })
}

fn http(values: &mut Values<'_>, node: &Node, url: &str) -> HttpEntry {
    let settings = match node.get("oauth") {
        Some(settings) if settings.is_object() => oauth(values, settings),
        // `false` says that it never signs in; here it signs in only when it is asked to.
        Some(_) | None => OAuthSettings::default(),
    };
    HttpEntry {
        url: values.convert(Place::Plain, url),
        kind: HttpKind::Auto,
        headers: converted_map(values, node.get("headers")),
        oauth: settings,
    }
}
