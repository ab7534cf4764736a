use std::fs;

use super::*;
use crate::config::{McpExposure, ToolExposures};

/// Files of the user, the project and the command line with these contents, loaded from a folder of their own.
fn loaded(user: Option<&str>, project: Option<&str>, command_line: Option<&str>) -> LoadedConfig {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<ConfigFile> = [
        (Scope::CommandLine, command_line),
        (Scope::User, user),
        (Scope::Project, project),
    ]
    .into_iter()
    .filter_map(|(scope, text)| {
        let path = folder.path().join(format!("{scope:?}.json"));
        fs::write(&path, text?).unwrap();
        Some(ConfigFile { scope, path })
    })
    .collect();
    load(&files)
}

/// Name, scope and whether enabled, of the servers that count.
fn summary(entries: &[ServerEntry]) -> Vec<(&str, Scope, bool)> {
    entries
        .iter()
        .map(|entry| (entry.name.as_str(), entry.origin.scope, entry.enabled))
        .collect()
}

fn messages(loaded: &LoadedConfig) -> Vec<String> {
    let message = |problem: &Problem| {
        let Place::File { path, line } = &problem.place else {
            panic!("{problem}");
        };
        let file = path.file_stem().unwrap().to_string_lossy();
        let server = problem.server.as_deref().unwrap_or("-");
        let line = line.unwrap_or_default();
        format!("{file}:{line} {server} {}", problem.message)
    };
    loaded.problems.iter().map(message).collect()
}

#[test]
fn later_scopes_win_and_the_replaced_entry_stays_visible() {
    let loaded = loaded(
        Some(
            r#"{"mcpServers": {"b": {"command": "user"}, "a": {"command": "user"}, "c": {"command": "user"}}}"#,
        ),
        Some(r#"{"mcpServers": {"b": {"command": "project"}, "c": {"command": "project"}}}"#),
        Some(r#"{"mcpServers": {"c": {"command": "line"}, "d": {"url": "https://x"}}}"#),
    );
    assert_eq!(
        summary(&loaded.servers),
        [
            ("a", Scope::User, true),
            ("b", Scope::Project, true),
            ("c", Scope::CommandLine, true),
            ("d", Scope::CommandLine, true),
        ]
    );
    assert_eq!(
        summary(&loaded.shadowed),
        [
            ("b", Scope::User, true),
            ("c", Scope::User, true),
            ("c", Scope::Project, true),
        ]
    );
    assert_eq!(messages(&loaded), [""; 0]);
}

#[test]
fn an_override_changes_three_settings() {
    let loaded = loaded(
        Some(
            r#"{"mcpServers": {"a": {"command": "x", "toolExposure": {"t": "direct"}, "timeout": 5}, "b": {"command": "x"}}}"#,
        ),
        Some(
            r#"{"mcpServers": {"a": {"enabled": false, "exposure": "deferred", "toolExposure": {"u": "hidden"}}}}"#,
        ),
        Some(r#"{"mcpServers": {"b": {"enabled": false}}}"#),
    );
    let entry = loaded.server("a").unwrap();
    assert!(!entry.enabled);
    assert_eq!(entry.exposure, McpExposure::Deferred);
    assert_eq!(
        entry.tool_exposures,
        ToolExposures(vec![("u".to_owned(), McpExposure::Hidden)])
    );
    assert_eq!(entry.timeouts.request.as_secs(), 5);
    assert_eq!(entry.origin.scope, Scope::User);
    let overridden_in = entry.origin.overridden_in.as_ref().unwrap();
    assert!(overridden_in.ends_with("Project.json"));
    assert!(!loaded.server("b").unwrap().enabled);
}

#[test]
fn names_clash_across_files() {
    let loaded = loaded(
        Some(r#"{"mcpServers": {"a-b": {"command": "x"}}}"#),
        Some("{\"mcpServers\": {\n\"a_b\": {\"command\": \"x\"}}}"),
        None,
    );
    assert_eq!(summary(&loaded.servers), [("a-b", Scope::User, true)]);
    assert_eq!(
        messages(&loaded),
        [
            "Project:2 a_b has the same name as the server \"a-b\" for scripts, where - is written _; rename one of them"
        ]
    );
}

#[test]
fn an_override_of_nothing_is_reported_once() {
    let loaded = loaded(
        Some(r#"{"mcpServers": {"broken": {"command": 1}}}"#),
        Some(r#"{"mcpServers": {"broken": {"enabled": false}, "none": {"enabled": false}}}"#),
        None,
    );
    assert_eq!(
        messages(&loaded),
        [
            "User:1 broken must be a string, in quotes",
            "Project:1 none changes a server that the user's mcp.json does not have: it needs \"command\" or \"url\" to be \
             one of its own",
        ]
    );
}

#[test]
fn the_last_file_says_whether_codemode_is_switched_on() {
    let off = r#"{"autoEnableCodemode": false}"#;
    let on = r#"{"autoEnableCodemode": true}"#;
    assert!(loaded(None, None, None).auto_enable_codemode);
    assert!(!loaded(Some(off), Some("{}"), None).auto_enable_codemode);
    assert!(loaded(Some(off), Some(on), None).auto_enable_codemode);
}

#[test]
fn only_files_named_on_the_command_line_must_exist() {
    let folder = tempfile::tempdir().unwrap();
    let file = |scope| ConfigFile {
        scope,
        path: folder.path().join("none.json"),
    };
    assert_eq!(
        load(&[file(Scope::User), file(Scope::Project)]),
        LoadedConfig::default()
    );
    let loaded = load(&[file(Scope::CommandLine)]);
    assert!(messages(&loaded)[0].starts_with("none:0 - cannot be read: "));
}

#[test]
fn what_is_no_text_or_too_long_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    let length = usize::try_from(CONFIG_BYTES_MAX).unwrap();
    for (content, expected) in [
        (
            vec![0xff],
            "mcp:0 - cannot be read: stream did not contain valid UTF-8",
        ),
        (
            vec![b' '; length + 1],
            "mcp:0 - cannot be read: it is longer than 4194304 bytes",
        ),
    ] {
        fs::write(&path, content).unwrap();
        let scope = Scope::User;
        let path = path.clone();
        assert_eq!(messages(&load(&[ConfigFile { scope, path }])), [expected]);
    }
}
