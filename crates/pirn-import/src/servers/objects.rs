//! Programs that write servers as an object of objects with `command` or `url`: Claude Code, Claude Desktop, Cursor, Visual
//! Studio Code, Gemini CLI.

use std::path::Path;
use std::time::Duration;

use pirn_jsonc::{Member, Node, Tree};

use super::template::{Dialect, Place, Values};
use super::{Converted, Found, ImportProgram};
use pirn_mcp::Secret;
use pirn_mcp::{
    HttpEntry, HttpKind, McpExposure, NewServer, OAuthSettings, StdioEntry, Timeouts,
    ToolExposures, TransportEntry,
};

/// Settings that say nothing about a server that matters here.
const SILENT: &[&str] = &[
    "type", "name", "version", "icon", "gallery", "$schema", "tools",
];

/// What is special about a program.
struct Traits {
    /// The object of servers.
    servers: &'static str,
    dialect: Dialect,
    /// What an address without a type means.
    url: HttpKind,
    /// What the type `http` means.
    http: HttpKind,
    /// Seconds that one unit of `timeout` stands for.
    timeout_unit: f64,
}

fn traits(program: ImportProgram) -> Traits {
    let usual = Traits {
        servers: "mcpServers",
        dialect: Dialect::Editor,
        url: HttpKind::Auto,
        http: HttpKind::Auto,
        timeout_unit: 1.0,
    };
    match program {
        ImportProgram::ClaudeCode => Traits {
            dialect: Dialect::Braces,
            http: HttpKind::Streamable,
            timeout_unit: MILLISECOND,
            ..usual
        },
        ImportProgram::VsCode => Traits {
            servers: "servers",
            ..usual
        },
        ImportProgram::Gemini => Traits {
            dialect: Dialect::Dollar,
            url: HttpKind::Sse,
            http: HttpKind::Streamable,
            timeout_unit: MILLISECOND,
            ..usual
        },
        ImportProgram::ClaudeDesktop => Traits {
            dialect: Dialect::Literal,
            ..usual
        },
        // The others have files of another shape.
        ImportProgram::Cursor
        | ImportProgram::Codex
        | ImportProgram::OpenCode
        | ImportProgram::Pi => usual,
    }
}

const MILLISECOND: f64 = 0.001;

/// Converts the servers of a file.
pub(super) fn convert(program: ImportProgram, root: &Node, project: &Path) -> Converted {
    let traits = traits(program);
    let mut lists = vec![root.get(traits.servers)];
    if program == ImportProgram::ClaudeCode {
        // Of the projects whose servers are in the user's file, only the present one's count.
        let projects = root.get("projects");
        let name = project.to_string_lossy();
        let own = projects.and_then(|projects| projects.get(&name));
        lists.push(own.and_then(|own| own.get(traits.servers)));
    }
    let mut converted = Converted::default();
    let members = lists.into_iter().flatten().flat_map(Node::members);
    for member in members {
        let mut values = Values::new(traits.dialect, project);
        values.inputs = root.get("inputs");
        match server(&traits, &mut values, member) {
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
    converted
}

fn server(traits: &Traits, values: &mut Values<'_>, member: &Member) -> Result<NewServer, String> {
    let node = &member.node;
    let mut known: Vec<&str> = SILENT.to_vec();
    known.extend([
        "enabled",
        "disabled",
        "timeout",
        "description",
        "includeTools",
        "excludeTools",
    ]);
    let kind = node.get("type").or_else(|| node.get("transport"));
    let transport = match kind.and_then(Node::text) {
        Some("ws" | "websocket" | "sdk") => {
            let kind = kind.and_then(Node::text).unwrap_or_default();
            return Err(format!("servers of type {kind} cannot be used here"));
        }
        kind => match (node.get("command"), node.get("httpUrl"), node.get("url")) {
            (Some(command), _, _) => {
                known.extend(["command", "args", "env", "cwd", "transport"]);
                TransportEntry::Stdio(stdio(values, command, node)?)
            }
            (None, Some(url), _) => {
                known.extend(["httpUrl", "url", "headers", "oauth", "auth", "transport"]);
                TransportEntry::Http(http(values, url, node, HttpKind::Streamable)?)
            }
            (None, None, Some(url)) => {
                known.extend(["url", "headers", "oauth", "auth", "transport"]);
                let kind = match kind {
                    Some("sse") => HttpKind::Sse,
                    Some(_) => traits.http,
                    None => traits.url,
                };
                TransportEntry::Http(http(values, url, node, kind)?)
            }
            (None, None, None) => return Err("has neither a command nor an address".to_owned()),
        },
    };
    for other in node.members() {
        if !known.contains(&other.name.as_str()) && other.node.value != Tree::Null {
            values.leave_out(&other.name);
        }
    }
    let enabled = node.get("enabled").and_then(Node::flag);
    let disabled = node.get("disabled").and_then(Node::flag);
    let timeout = node.get("timeout").and_then(Node::number);
    Ok(NewServer {
        enabled: enabled
            .or(disabled.map(|disabled| !disabled))
            .unwrap_or(true),
        tool_exposures: tool_exposures(
            node.get("includeTools").map(texts),
            node.get("excludeTools").map(texts).unwrap_or_default(),
        ),
        timeouts: with_request_limit(timeout.map(|timeout| timeout * traits.timeout_unit)),
        description: node
            .get("description")
            .and_then(Node::text)
            .map(str::to_owned),
        ..NewServer::new(transport)
    })
}

fn stdio(values: &mut Values<'_>, command: &Node, node: &Node) -> Result<StdioEntry, String> {
    let command = command.text().ok_or("its command is not a string")?;
    let args = node.get("args").map(texts).unwrap_or_default();
    Ok(StdioEntry {
        command: values.convert(Place::Plain, command),
        args: args
            .iter()
            .map(|argument| values.convert(Place::Plain, argument))
            .collect(),
        env: converted_map(values, node.get("env")),
        cwd: node
            .get("cwd")
            .and_then(Node::text)
            .map(|cwd| values.convert(Place::Plain, cwd)),
        inherit_env: false,
        sandbox: None,
    })
}

fn http(
    values: &mut Values<'_>,
    url: &Node,
    node: &Node,
    kind: HttpKind,
) -> Result<HttpEntry, String> {
    let url = url.text().ok_or("its address is not a string")?;
    let settings = node.get("oauth").or_else(|| node.get("auth"));
    Ok(HttpEntry {
        url: values.convert(Place::Plain, url),
        kind,
        headers: converted_map(values, node.get("headers")),
        oauth: settings.map(|node| oauth(values, node)).unwrap_or_default(),
    })
}

/// Settings for signing in, under the names that the programs have for them.
pub(super) fn oauth(values: &mut Values<'_>, node: &Node) -> OAuthSettings {
    let mut settings = OAuthSettings::default();
    for member in node.members() {
        let text = member.node.text();
        match (member.name.as_str(), text) {
            ("clientId" | "client_id" | "CLIENT_ID", Some(text)) => {
                settings.client_id = Some(text.to_owned());
            }
            ("clientSecret" | "client_secret" | "CLIENT_SECRET", Some(text)) => {
                let secret = values.convert(Place::Value, text);
                settings.client_secret = Some(Secret::new(secret));
            }
            ("scope", Some(text)) => settings.scope = Some(text.to_owned()),
            ("scopes", _) => settings.scope = Some(texts(&member.node).join(" ")),
            ("redirectUri" | "callbackUrl", Some(text)) => {
                settings.callback_url = Some(text.to_owned());
            }
            ("callbackPort", _) => settings.callback_port = port(&member.node),
            ("authServerMetadataUrl", Some(text)) => {
                settings.auth_server_metadata_url = Some(text.to_owned());
            }
            ("enabled", _) => {}
            (name, _) => values.leave_out(&format!("oauth.{name}")),
        }
    }
    settings
}

fn port(node: &Node) -> Option<u16> {
    let number = node.number()?;
    (1..=u16::MAX).find(|port| f64::from(*port).total_cmp(&number).is_eq())
}

/// An object of strings, numbers and truth values, with its variables in our writing.
pub(super) fn converted_map(values: &mut Values<'_>, node: Option<&Node>) -> Vec<(String, String)> {
    let members = node.map_or(&[][..], Node::members);
    members
        .iter()
        .filter_map(|member| {
            let value = match &member.node.value {
                Tree::Text(text) => values.convert(Place::Value, text),
                Tree::Number(number) => number.to_string(),
                Tree::Bool(flag) => flag.to_string(),
                Tree::Null | Tree::List(_) | Tree::Object(_) => return None,
            };
            Some((member.name.clone(), value))
        })
        .collect()
}

/// The strings of an array.
pub(super) fn texts(node: &Node) -> Vec<String> {
    let texts = node.items().iter().filter_map(Node::text);
    texts.map(str::to_owned).collect()
}

/// The default limits with this one for a request, in seconds.
pub(super) fn with_request_limit(seconds: Option<f64>) -> Timeouts {
    let limits = Timeouts::default();
    let Some(request) = seconds.and_then(limit) else {
        return limits;
    };
    Timeouts {
        request,
        total: limits.total.max(request),
        ..limits
    }
}

/// A time limit; none where the number makes none.
pub(super) fn limit(seconds: f64) -> Option<Duration> {
    let duration = Duration::try_from_secs_f64(seconds).ok()?;
    (!duration.is_zero()).then_some(duration)
}

/// Lists of wanted and unwanted tools as exposures. Some programs add the parameters in brackets.
pub(super) fn tool_exposures(wanted: Option<Vec<String>>, unwanted: Vec<String>) -> ToolExposures {
    let plain = |name: String| {
        let plain = name.split_once('(').map(|(plain, _)| plain.to_owned());
        plain.unwrap_or(name)
    };
    let unwanted: Vec<String> = unwanted.into_iter().map(plain).collect();
    let mut exposures = Vec::new();
    if let Some(wanted) = wanted {
        let wanted = wanted.into_iter().map(plain);
        let wanted = wanted.filter(|name| !unwanted.contains(name));
        exposures.extend(wanted.map(|name| (name, McpExposure::default())));
        exposures.extend(unwanted.into_iter().map(|name| (name, McpExposure::Hidden)));
        exposures.push(("*".to_owned(), McpExposure::Hidden));
    } else {
        exposures.extend(unwanted.into_iter().map(|name| (name, McpExposure::Hidden)));
    }
    ToolExposures(exposures)
}
