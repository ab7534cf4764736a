//! One entry of `mcpServers`.

use std::time::Duration;

use http::HeaderName;
use pirn_jsonc::{Member, Node, Tree};
use pirn_settings::table::find_key;
use url::Url;

use super::fields::Fields;
use super::{Override, Written, oauth, sandbox};
use crate::config::keys::{HTTP, OVERRIDE_KEYS, SERVER_KEYS, STARTS, STDIO, TYPES};
use crate::config::{
    AnnotationTrust, EffectRules, HttpEntry, HttpKind, Scope, ServerEntry, ServerOrigin, StartMode,
    StdioEntry, Timeouts, TransportEntry,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Stdio,
    Http(HttpKind),
}

/// Reads one entry; what is wrong is in `fields`, and then there is no entry.
pub(super) fn read(fields: &mut Fields<'_>, scope: Scope, member: &Member) -> Option<Written> {
    let node = &member.node;
    if !matches!(node.value, Tree::Object(_)) {
        fields.error(
            node.line,
            "",
            "must be an object with \"command\" or \"url\"",
        );
        return None;
    }
    fields.check_names(node, SERVER_KEYS, "");
    let own = ["command", "url", "type"];
    let written = if own.iter().any(|key| node.get(key).is_some()) {
        Written::Server(Box::new(server(fields, scope, member)?))
    } else {
        match scope {
            Scope::Project | Scope::CommandLine => {
                Written::Override(override_of(fields, member, node))
            }
            Scope::User | Scope::Runtime => {
                fields.error(member.line, "", "needs \"command\" or \"url\"");
                return None;
            }
        }
    };
    (!fields.failed()).then_some(written)
}

fn override_of(fields: &mut Fields<'_>, member: &Member, node: &Node) -> Override {
    for other in node.members() {
        // `disabled` is a spelling of `enabled`.
        let allowed = OVERRIDE_KEYS.contains(&other.name.as_str()) || other.name == "disabled";
        if !allowed && find_key(SERVER_KEYS, &other.name).is_some() {
            fields.error(
                other.line,
                &other.name,
                "cannot be changed by an entry without \"command\" or \"url\": it may hold only enabled, exposure and \
                 toolExposure",
            );
        }
    }
    Override {
        name: member.name.clone(),
        line: member.line,
        enabled: enabled(fields, node),
        exposure: fields.exposure(node),
        tool_exposures: fields.exposures(node),
    }
}

fn server(fields: &mut Fields<'_>, scope: Scope, member: &Member) -> Option<ServerEntry> {
    let node = &member.node;
    let transport = transport(fields, member);
    let limits = Timeouts::default();
    let timeouts = Timeouts {
        start: fields.seconds(node, "startTimeout").unwrap_or(limits.start),
        request: fields.seconds(node, "timeout").unwrap_or(limits.request),
        total: fields.seconds(node, "totalTimeout").unwrap_or(limits.total),
    };
    Some(ServerEntry {
        name: member.name.clone(),
        origin: ServerOrigin {
            scope,
            file: Some(fields.file.to_path_buf()),
            line: Some(member.line),
            overridden_in: None,
        },
        enabled: enabled(fields, node).unwrap_or(true),
        exposure: fields.exposure(node).unwrap_or_default(),
        tool_exposures: fields.exposures(node).unwrap_or_default(),
        effects: effect_rules(fields, scope, node),
        timeouts: Timeouts {
            // Whoever allows a request more time than the default total means it.
            total: timeouts.total.max(total_at_least(node, timeouts.request)),
            ..timeouts
        },
        start: start(fields, node),
        idle_timeout: fields.seconds(node, "idleTimeout"),
        description: fields.text(node, "", "description"),
        transport: transport?,
    })
}

/// What the user says of the tools' effects. A project's file cannot say it: it came with the project.
fn effect_rules(fields: &mut Fields<'_>, scope: Scope, node: &Node) -> EffectRules {
    match scope {
        Scope::User | Scope::CommandLine | Scope::Runtime => {}
        Scope::Project => {
            for name in ["effects", "trustAnnotations"] {
                if let Some(written) = node.get(name) {
                    fields.error(
                        written.line,
                        name,
                        "can be said only in your own mcp.json, not in a project's",
                    );
                }
            }
            return EffectRules::default();
        }
    }
    EffectRules {
        tools: fields.effects(node),
        annotations: match fields.flag(node, "", "trustAnnotations") {
            Some(true) => AnnotationTrust::Believed,
            Some(false) | None => AnnotationTrust::Stricter,
        },
    }
}

/// The total limit follows a longer request limit, unless it is written.
fn total_at_least(node: &Node, request: Duration) -> Duration {
    if node.get("totalTimeout").is_some() {
        Duration::ZERO
    } else {
        request
    }
}

/// `enabled`, or its opposite as others write it.
fn enabled(fields: &mut Fields<'_>, node: &Node) -> Option<bool> {
    let enabled = fields.flag(node, "", "enabled");
    let disabled = fields.flag(node, "", "disabled");
    if let (Some(enabled), Some(disabled)) = (enabled, disabled)
        && enabled == disabled
    {
        let line = node.get("disabled").map_or(node.line, |node| node.line);
        fields.note(line, "disabled", "is ignored: \"enabled\" says otherwise");
    }
    enabled.or(disabled.map(|disabled| !disabled))
}

fn start(fields: &mut Fields<'_>, node: &Node) -> StartMode {
    let read = |word: &str| match word {
        "eager" => Some(StartMode::Eager),
        "lazy" => Some(StartMode::Lazy),
        _ => None,
    };
    fields
        .choice(node, ("", "start"), STARTS, read)
        .unwrap_or_default()
}

fn transport(fields: &mut Fields<'_>, member: &Member) -> Option<TransportEntry> {
    let node = &member.node;
    let read = |word: &str| match word {
        "stdio" => Some(Type::Stdio),
        "http" | "streamable-http" => Some(Type::Http(HttpKind::Streamable)),
        "sse" => Some(Type::Http(HttpKind::Sse)),
        _ => None,
    };
    let written = fields.choice(node, ("", "type"), TYPES, read);
    let (command, url) = (node.get("command"), node.get("url"));
    let kind = match (written, command, url) {
        (_, Some(command), Some(_)) => {
            let message = "cannot stand beside \"url\": a server is started or asked, not both";
            fields.error(command.line, "command", message);
            return None;
        }
        (Some(kind), _, _) => kind,
        (None, Some(_), None) => Type::Stdio,
        (None, None, Some(_)) => Type::Http(HttpKind::Auto),
        // A `type` that is wrong, which is reported.
        (None, None, None) => return None,
    };
    check_servers(fields, node, kind);
    match kind {
        Type::Stdio => stdio(fields, member).map(TransportEntry::Stdio),
        Type::Http(kind) => http(fields, member, kind).map(TransportEntry::Http),
    }
}

/// Notes settings that this kind of server does not have.
fn check_servers(fields: &mut Fields<'_>, node: &Node, kind: Type) {
    let (other, message) = match kind {
        Type::Stdio => (HTTP, "is ignored: only servers with a \"url\" have it"),
        Type::Http(_) => (STDIO, "is ignored: only servers with a \"command\" have it"),
    };
    for member in node.members() {
        let own = matches!(member.name.as_str(), "command" | "url");
        let foreign = find_key(SERVER_KEYS, &member.name).is_some_and(|key| key.only_with == other);
        if foreign && !own && member.node.value != Tree::Null {
            fields.note(member.line, &member.name, message);
        }
    }
}

fn stdio(fields: &mut Fields<'_>, member: &Member) -> Option<StdioEntry> {
    let node = &member.node;
    if node.get("command").is_none() {
        fields.error(member.line, "", "needs \"command\": its type is stdio");
        return None;
    }
    let env = fields.text_map(node, "env");
    for (name, _) in &env {
        if name.is_empty() || name.contains(['=', '\0']) {
            let field = format!("env.{name}");
            fields.error(node.line, &field, "is not a valid name of a variable");
        }
    }
    let args = fields.texts(node, "", "args");
    let sandbox = sandbox::read(fields, node);
    let command = fields.filled(node, "", "command")?;
    note_variables(
        fields,
        node,
        "command",
        std::iter::once((String::new(), &command)),
    );
    let numbered = args.iter().enumerate();
    let numbered = numbered.map(|(index, text)| (format!("[{index}]"), text));
    note_variables(fields, node, "args", numbered);
    note_variables(fields, node, "env", named(&env));
    Some(StdioEntry {
        command,
        args,
        env,
        cwd: fields.filled(node, "", "cwd"),
        inherit_env: fields.flag(node, "", "inheritEnv").unwrap_or_default(),
        sandbox,
    })
}

fn http(fields: &mut Fields<'_>, member: &Member, kind: HttpKind) -> Option<HttpEntry> {
    let node = &member.node;
    if let Some(auth) = node.get("auth") {
        fields.error(
            auth.line,
            "auth",
            "is not supported here yet: use headers.Authorization or oauth",
        );
    }
    let headers = headers(fields, node);
    let oauth = oauth::read(fields, node);
    let Some(written) = node.get("url") else {
        fields.error(member.line, "", "needs \"url\": its type is http or sse");
        return None;
    };
    let url = fields.filled(node, "", "url")?;
    // With variables in it, it can be checked only when they are filled in.
    if !url.contains("${")
        && let Err(message) = check_url(&url)
    {
        fields.error(written.line, "url", message);
    }
    note_variables(fields, node, "url", std::iter::once((String::new(), &url)));
    note_variables(fields, node, "headers", named(&headers));
    Some(HttpEntry {
        url,
        kind,
        headers,
        oauth,
    })
}

/// The values of an object of strings, with the ends of their fields' names.
fn named(values: &[(String, String)]) -> impl Iterator<Item = (String, &String)> {
    values
        .iter()
        .map(|(name, value)| (format!(".{name}"), value))
}

/// Notes variables in other programs' writing, which would be handed on as they are.
fn note_variables<'v>(
    fields: &mut Fields<'_>,
    node: &Node,
    key: &str,
    values: impl Iterator<Item = (String, &'v String)>,
) {
    let line = node.get(key).map_or(node.line, |node| node.line);
    for (end, text) in values {
        let references = text.split("${").skip(1);
        for inner in references
            .filter_map(|rest| rest.split_once('}'))
            .map(|(inner, _)| inner)
        {
            if inner.starts_with("env:") || inner.starts_with("input:") {
                let message =
                    format!("${{{inner}}} stays as it is: variables are written ${{NAME}} here");
                fields.note(line, &format!("{key}{end}"), message);
            }
        }
    }
}

fn headers(fields: &mut Fields<'_>, node: &Node) -> Vec<(String, String)> {
    let headers = fields.text_map(node, "headers");
    let line = node.get("headers").map_or(node.line, |node| node.line);
    for (index, (name, _)) in headers.iter().enumerate() {
        let field = format!("headers.{name}");
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            fields.error(line, &field, "is not a valid name of a header");
        } else if let Some((first, _)) = headers
            .iter()
            .take(index)
            .find(|(other, _)| other.eq_ignore_ascii_case(name))
        {
            let message = format!("is the same header as \"{first}\"");
            fields.error(line, &field, message);
        }
    }
    headers
}

/// The address of a server, or why it is none. The reason does not repeat it: it may hold secrets.
pub(crate) fn check_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text.trim()).map_err(|error| format!("is not an address: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!(
            "must be an http or https address, not {}:",
            url.scheme()
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "must not hold a user's name or password: put them into headers.Authorization"
                .to_owned(),
        );
    }
    Ok(url)
}
