use pirn_tool::Effects;
use std::path::Path;
use std::time::Duration;

use pirn_sandbox::{NetworkMode, Profile};
use proptest::prelude::*;

use super::*;
use crate::config::{HttpKind, SandboxEntry, StartMode, StdioEntry, TransportEntry};

/// The problems of a user's file that has these servers, without the file's name.
fn problems(text: &str) -> Vec<String> {
    let document = parse_document(Scope::Project, Path::new("F"), text);
    document
        .problems
        .iter()
        .map(|problem| {
            let kind = match problem.severity {
                Severity::Error => "error",
                Severity::Note => "note",
            };
            format!("{kind} {problem}")
        })
        .collect()
}

/// The one problem of a server with these settings.
fn check(settings: &str, expected: &str) {
    let text = format!("{{\"mcpServers\": {{\"s\": {{{settings}}}}}}}");
    let expected: Vec<&str> = expected.lines().map(str::trim).collect();
    assert_eq!(problems(&text), expected, "{settings}");
}

fn server(settings: &str) -> ServerEntry {
    let text = format!("{{\"mcpServers\": {{\"s\": {{{settings}}}}}}}");
    let mut document = parse_document(Scope::User, Path::new("F"), &text);
    assert_eq!(document.problems, [], "{settings}");
    match document.servers.pop() {
        Some(Written::Server(entry)) => *entry,
        other => panic!("{settings}: {other:?}"),
    }
}

#[test]
fn all_keys_of_a_stdio_server_are_read() {
    let entry = server(
        r#""type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"A": "1", "B": "2"}, "cwd": "~/x", "inheritEnv": true,
           "effects": {"r*": ["read"], "*": ["read", "network"]}, "trustAnnotations": true,
           "exposure": "deferred", "toolExposure": {"z*": "hidden", "a": "direct"}, "enabled": false, "start": "lazy",
           "timeout": 1.5, "startTimeout": 5, "totalTimeout": 7, "idleTimeout": 300, "description": "d", "unknown": [1]"#,
    );
    let expected = ServerEntry {
        name: "s".to_owned(),
        origin: crate::config::ServerOrigin {
            scope: Scope::User,
            file: Some("F".into()),
            line: Some(1),
            overridden_in: None,
        },
        enabled: false,
        exposure: McpExposure::Deferred,
        tool_exposures: ToolExposures(vec![
            ("z*".to_owned(), McpExposure::Hidden),
            ("a".to_owned(), McpExposure::Direct),
        ]),
        effects: crate::config::EffectRules {
            tools: vec![
                ("r*".to_owned(), Effects::READ),
                ("*".to_owned(), Effects::READ | Effects::NETWORK),
            ],
            annotations: crate::config::AnnotationTrust::Believed,
        },
        timeouts: crate::config::Timeouts {
            start: Duration::from_secs(5),
            request: Duration::from_millis(1500),
            total: Duration::from_secs(7),
        },
        start: StartMode::Lazy,
        idle_timeout: Some(Duration::from_mins(5)),
        description: Some("d".to_owned()),
        transport: TransportEntry::Stdio(StdioEntry {
            command: "npx".to_owned(),
            args: vec!["-y".to_owned(), "x".to_owned()],
            env: vec![
                ("A".to_owned(), "1".to_owned()),
                ("B".to_owned(), "2".to_owned()),
            ],
            cwd: Some("~/x".to_owned()),
            inherit_env: true,
            sandbox: None,
        }),
    };
    assert_eq!(entry, expected);
}

#[test]
fn types_name_transports() {
    for (settings, expected) in [
        (r#""url": "https://x/mcp""#, Some(HttpKind::Auto)),
        (
            r#""url": "https://x", "type": "http""#,
            Some(HttpKind::Streamable),
        ),
        (
            r#""url": "https://x", "type": "streamable-http""#,
            Some(HttpKind::Streamable),
        ),
        (r#""url": "https://x", "type": "sse""#, Some(HttpKind::Sse)),
        (r#""command": "x", "type": null"#, None),
    ] {
        let kind = match server(settings).transport {
            TransportEntry::Http(entry) => Some(entry.kind),
            TransportEntry::Stdio(_) => None,
        };
        assert_eq!(kind, expected, "{settings}");
    }
}

#[test]
fn a_total_limit_that_is_not_written_follows_a_longer_request_limit() {
    let limits = server(r#""command": "x", "timeout": 900"#).timeouts;
    assert_eq!(limits.total, Duration::from_mins(15));
}

#[test]
fn disabled_is_the_opposite_of_enabled() {
    assert!(!server(r#""command": "x", "disabled": true"#).enabled);
    assert!(server(r#""command": "x", "disabled": false"#).enabled);
}

#[test]
fn wrong_entries_are_reported() {
    let at = |message: &str| format!("error F:1: MCP server \"s\": {message}");
    for (settings, message) in [
        (
            r#""type": "stdio""#,
            r#"needs "command": its type is stdio"#,
        ),
        (
            r#""type": "sse", "command": "x""#,
            r#"needs "url": its type is http or sse"#,
        ),
        (
            r#""type": "websocket", "command": "x""#,
            r#"type: must be "stdio", "http", "streamable-http" or "sse""#,
        ),
        (
            r#""command": "x", "url": "https://x""#,
            r#"command: cannot stand beside "url": a server is started or asked, not both"#,
        ),
        (
            r#""command": ["x"]"#,
            "command: must be a string, in quotes",
        ),
        (r#""command": " ""#, "command: must not be empty"),
        (
            r#""command": "x", "args": "y""#,
            "args: must be an array of strings",
        ),
        (
            r#""command": "x", "args": ["y", 1]"#,
            "args[1]: must be a string, in quotes",
        ),
        (
            r#""command": "x", "env": {"PORT": 1}"#,
            "env.PORT: must be a string, in quotes",
        ),
        (
            r#""command": "x", "env": {"A=B": "1"}"#,
            "env.A=B: is not a valid name of a variable",
        ),
        (
            r#""command": "x", "timeout": 0"#,
            "timeout: must be a number of seconds above 0",
        ),
        (
            r#""command": "x", "timeout": "5""#,
            "timeout: must be a number of seconds above 0",
        ),
        (
            r#""command": "x", "startTimeout": 1e7"#,
            "startTimeout: must be at most 604800 seconds; is it in milliseconds?",
        ),
        (
            r#""command": "x", "enabled": "yes""#,
            "enabled: must be true or false, without quotes",
        ),
        (
            r#""command": "x", "start": "later""#,
            r#"start: must be "eager" or "lazy""#,
        ),
        (
            r#""command": "x", "exposure": "all""#,
            r#"exposure: must be "codemode", "deferred", "direct" or "hidden""#,
        ),
        (
            r#""command": "x", "toolExposure": {"t": 1}"#,
            r#"toolExposure.t: must be "codemode", "deferred", "direct" or "hidden""#,
        ),
        (
            r#""url": "ftp://x""#,
            "url: must be an http or https address, not ftp:",
        ),
        (
            r#""url": "x/y""#,
            "url: is not an address: relative URL without a base",
        ),
        (
            r#""url": "https://me:pass@x""#,
            "url: must not hold a user's name or password: put them into headers.Authorization",
        ),
        (
            r#""url": "https://x", "headers": {"a b": "c"}"#,
            "headers.a b: is not a valid name of a header",
        ),
        (
            r#""url": "https://x", "headers": {"X-A": "c", "x-a": "d"}"#,
            "headers.x-a: is the same header as \"X-A\"",
        ),
        (
            r#""url": "https://x", "auth": {"provider": "p"}"#,
            "auth: is not supported here yet: use headers.Authorization or oauth",
        ),
        (
            r#""timeout": 5"#,
            "timeout: cannot be changed by an entry without \"command\" or \"url\": it may hold only enabled, exposure and \
             toolExposure",
        ),
    ] {
        check(settings, &at(message));
    }
}

#[test]
fn wrong_sign_in_settings_are_reported() {
    for (oauth, message) in [
        (
            r#""callbackPort": 0"#,
            "callbackPort: must be a whole number from 1 to 65535",
        ),
        (
            r#""callbackPort": "80""#,
            "callbackPort: must be a whole number from 1 to 65535, without quotes",
        ),
        (
            r#""callbackPort": 80.5"#,
            "callbackPort: must be a whole number from 1 to 65535",
        ),
        (
            r#""callbackUrl": "https://localhost/x""#,
            "callbackUrl: must be an http address on localhost, 127.0.0.1 or [::1]",
        ),
        (
            r#""callbackUrl": "http://example.com/x""#,
            "callbackUrl: must be an http address on localhost, 127.0.0.1 or [::1]",
        ),
        (
            r#""callbackUrl": "http://localhost/x?y""#,
            "callbackUrl: must have neither a query nor a fragment",
        ),
        (
            r#""callbackUrl": "http://localhost:1/x", "callbackPort": 2"#,
            "callbackPort: is 2, but the port of oauth.callbackUrl is another one",
        ),
        (
            r#""clientSecret": "x""#,
            "clientSecret: needs oauth.clientId",
        ),
        (
            r#""clientMetadataUrl": "https://x""#,
            "clientMetadataUrl: must be an https address with a path, without a fragment",
        ),
        (
            r#""authServerMetadataUrl": "http://x""#,
            "authServerMetadataUrl: must be an https address, or http on the loopback",
        ),
        (
            r#""clientRegistration": "static""#,
            "clientRegistration: must be \"auto\", \"dcr\" or \"cimd\"",
        ),
        (
            r#""clientRegistration": "cimd", "clientId": "x""#,
            "clientRegistration: \"cimd\" excludes oauth.clientId",
        ),
        (
            r#""clientRegistration": "cimd""#,
            "clientRegistration: \"cimd\" needs oauth.clientMetadataUrl",
        ),
        (
            r#""clientRegistration": "cimd", "callbackUrl": "http://[::1]/callback""#,
            "clientRegistration: \"cimd\" needs the path /callback on localhost or 127.0.0.1 in oauth.callbackUrl",
        ),
    ] {
        let settings = format!("\"url\": \"https://x\", \"oauth\": {{{oauth}}}");
        check(
            &settings,
            &format!("error F:1: MCP server \"s\": oauth.{message}"),
        );
    }
}

#[test]
fn slips_and_settings_of_the_other_kind_are_noted() {
    let at = |message: &str| format!("note F:1: MCP server \"s\": {message}");
    for (settings, message) in [
        (
            r#""command": "x", "arg": []"#,
            r#"arg: is not a setting and is ignored; did you mean "args"?"#,
        ),
        (
            r#""command": "x", "tool_exposure": {}"#,
            r#"tool_exposure: is not a setting and is ignored; did you mean "toolExposure"?"#,
        ),
        (
            r#""command": "x", "environment": {}"#,
            r#"environment: is not a setting and is ignored; did you mean "env"?"#,
        ),
        (
            r#""url": "https://x", "oauth": {"clientid": "x"}"#,
            r#"oauth.clientid: is not a setting and is ignored; did you mean "clientId"?"#,
        ),
        (
            r#""command": "x", "headers": {}"#,
            r#"headers: is ignored: only servers with a "url" have it"#,
        ),
        (
            r#""url": "https://x", "env": {}"#,
            r#"env: is ignored: only servers with a "command" have it"#,
        ),
        (
            r#""command": "x", "args": ["${env:A}"]"#,
            "args[0]: ${env:A} stays as it is: variables are written ${NAME} here",
        ),
        (
            r#""url": "https://x", "headers": {"A": "${input:key}"}"#,
            "headers.A: ${input:key} stays as it is: variables are written ${NAME} here",
        ),
        (
            r#""command": "x", "command": "y""#,
            "command: is ignored: line 1 has it already",
        ),
        (
            r#""command": "x", "enabled": true, "disabled": true"#,
            "disabled: is ignored: \"enabled\" says otherwise",
        ),
    ] {
        check(settings, &at(message));
    }
    assert!(
        problems(r#"{"mcpServers": {"s": {"command": "x", "autoApprove": [], "note": 1}}}"#)
            .is_empty()
    );
}

#[test]
fn confinements_are_read() {
    let read = |value: &str| {
        let settings = format!("\"command\": \"x\", \"sandbox\": {value}");
        match server(&settings).transport {
            TransportEntry::Stdio(entry) => entry.sandbox,
            TransportEntry::Http(_) => panic!("{value}"),
        }
    };
    let defaults = SandboxEntry::default();
    assert_eq!(read("true"), Some(defaults.clone()));
    assert_eq!(read("{}"), Some(defaults));
    assert_eq!(read("false"), None);
    assert_eq!(read("null"), None);
    let whole = read(
        r#"{"profile": "read-only", "network": "allow-list", "writeRoots": ["~/a"], "readRoots": [],
            "allowedHosts": ["A.example", "*.b:1"]}"#,
    );
    let expected = SandboxEntry {
        profile: Profile::ReadOnly,
        network: NetworkMode::AllowList,
        write_roots: vec!["~/a".to_owned()],
        read_roots: Some(Vec::new()),
        allowed_hosts: vec!["a.example".parse().unwrap(), "*.b:1".parse().unwrap()],
    };
    assert_eq!(whole, Some(expected));
    for (value, expected) in [
        (
            "\"read-only\"",
            "sandbox: must be true, false, or an object with \"profile\" and \"network\"",
        ),
        (
            r#"{"profile": "off"}"#,
            r#"sandbox.profile: must be "workspace-write" or "read-only""#,
        ),
        (
            r#"{"network": true}"#,
            r#"sandbox.network: must be "off", "allow-list" or "on""#,
        ),
        (
            r#"{"writeRoots": ["a", 1]}"#,
            "sandbox.writeRoots[1]: must be a string, in quotes",
        ),
        (
            r#"{"network": "allow-list", "allowedHosts": ["a b"]}"#,
            "sandbox.allowedHosts: `a b` is not a rule for hosts: ",
        ),
    ] {
        let text =
            format!("{{\"mcpServers\": {{\"s\": {{\"command\": \"x\", \"sandbox\": {value}}}}}}}");
        let found = problems(&text);
        let expected = format!("error F:1: MCP server \"s\": {expected}");
        assert!(
            found.len() == 1 && found[0].starts_with(&expected),
            "{found:?}"
        );
    }
    for (value, expected) in [
        (
            r#""command": "x", "sandbox": {"netwrok": "off"}"#,
            "note F:1: MCP server \"s\": sandbox.netwrok: is not a setting and is ignored; did you mean \"network\"?",
        ),
        (
            r#""command": "x", "sandbox": {"allowedHosts": ["a"]}"#,
            "note F:1: MCP server \"s\": sandbox.allowedHosts: is ignored: it has a meaning only where network is \"allow-list\"",
        ),
        (
            r#""url": "https://x", "sandbox": true"#,
            "note F:1: MCP server \"s\": sandbox: is ignored: only servers with a \"command\" have it",
        ),
    ] {
        check(value, expected);
    }
}

#[test]
fn a_bad_entry_costs_no_other() {
    let text = "\u{feff}{
        // A comment.
        \"mcpServers\": {
            \"bad name\": {\"command\": \"x\"},
            \"a-b\": {\"command\": \"x\",},
            \"a_b\": {\"command\": \"y\"},
            \"a-b\": {\"command\": \"z\"},
            \"list\": [],
            \"last\": {\"url\": \"https://x\"},
        },
        \"servers\": {},
    }";
    let document = parse_document(Scope::User, Path::new("F"), text);
    let names: Vec<&str> = document.servers.iter().map(Written::name).collect();
    assert_eq!(names, ["a-b", "last"]);
    assert_eq!(
        problems(text),
        [
            "note F:11: servers: is not a setting and is ignored; did you mean \"mcpServers\"?",
            "error F:4: MCP server \"bad name\": the name may hold only letters, digits, _ and -",
            "error F:6: MCP server \"a_b\": has the same name as the server \"a-b\" for scripts, where - is written _; \
             rename one of them",
            "error F:7: MCP server \"a-b\": is defined twice; the first counts",
            "error F:8: MCP server \"list\": must be an object with \"command\" or \"url\"",
        ]
    );
}

#[test]
fn files_that_are_no_configuration_are_reported() {
    for (text, expected) in [
        ("", None),
        ("// nothing yet\n", None),
        ("{}", None),
        (
            "{\n\"mcpServers\": {\n",
            Some("error F:2: is not valid JSON: unterminated object"),
        ),
        (
            "[]",
            Some("error F:1: must hold an object: {\"mcpServers\": {…}}"),
        ),
        (
            "{\"mcpServers\": []}",
            Some("error F:1: mcpServers: must be an object of servers by name"),
        ),
        (
            "{\"autoEnableCodemode\": 1}",
            Some("error F:1: autoEnableCodemode: must be true or false, without quotes"),
        ),
        (
            "{'mcpServers': {}}",
            Some("error F:1: is not valid JSON: single-quoted strings are not allowed"),
        ),
    ] {
        assert_eq!(problems(text), Vec::from_iter(expected), "{text}");
    }
}

#[test]
fn a_user_entry_needs_a_transport() {
    let text = r#"{"mcpServers": {"s": {"enabled": false}}}"#;
    let document = parse_document(Scope::User, Path::new("F"), text);
    assert_eq!(
        document.problems[0].to_string(),
        "F:1: MCP server \"s\": needs \"command\" or \"url\""
    );
}

proptest! {
    #[test]
    fn any_text_is_read(text in "(\\{\"mcpServers\":\\{\"a\":)?[\\[\\]{}\":,/* \n\\\\a-f0-9é\u{feff}.-]{0,40}") {
        let document = parse_document(Scope::User, Path::new("F"), &text);
        prop_assert!(document.servers.len() <= text.len());
    }
}
