use std::path::Path;

use futures_util::future::BoxFuture;

use super::*;
use crate::config::document::{Written, parse_document};
use crate::config::{HttpKind, Scope, ServerEntry};

/// Answers a command by its text in brackets; `fail` fails.
#[derive(Debug)]
struct Echo;

impl CommandRunner for Echo {
    fn run<'a>(
        &'a self,
        command: &'a str,
        _directory: &'a Path,
        _variables: &'a [(OsString, OsString)],
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            match command {
                "fail" => Err("failed with exit code 1".to_owned()),
                command => Ok(format!("[{command}]")),
            }
        })
    }
}

fn config_environment() -> ConfigEnvironment {
    let variables = [
        ("A", "1"),
        ("EMPTY", ""),
        ("DIR", "/opt"),
        ("PATH", "/bin"),
        ("LC_ALL", "C"),
        ("SECRET", "s"),
    ];
    let variables = variables.map(|(name, value)| (name.into(), value.into()));
    ConfigEnvironment {
        run_command: Arc::new(Echo),
        confinement: Some(confinement()),
        ..ConfigEnvironment::new(variables.into(), Some("/home/me".into()), "/srv".into())
    }
}

fn confinement() -> PolicySpec {
    PolicySpec {
        unreadable: vec!["~/.ssh".to_owned()],
        private_networks: true,
        ..PolicySpec::new("/", "/tmp")
    }
}

fn entry(settings: &str) -> ServerEntry {
    let text = format!("{{\"mcpServers\": {{\n\"s\": {{{settings}}}}}}}");
    let mut document = parse_document(Scope::User, Path::new("F"), &text);
    assert_eq!(document.problems, [], "{settings}");
    let Some(Written::Server(entry)) = document.servers.pop() else {
        panic!("{settings}");
    };
    *entry
}

async fn resolve(settings: &str) -> Result<Transport, String> {
    match entry(settings).resolve(&config_environment()).await {
        Ok(server) => Ok(server.transport),
        Err(error) => Err(format!("{error} {}", error.hints().join(" "))),
    }
}

async fn stdio(settings: &str) -> StdioServer {
    match resolve(settings).await {
        Ok(Transport::Stdio(server)) => server,
        other => panic!("{settings}: {other:?}"),
    }
}

async fn http(settings: &str) -> HttpServer {
    match resolve(settings).await {
        Ok(Transport::Http(server)) => server,
        other => panic!("{settings}: {other:?}"),
    }
}

#[tokio::test]
async fn command_arguments_and_folder_are_filled_in() {
    let server = stdio(
        r#""command": "~/bin/${A}", "args": ["~", "~x", "$A", "$${A}", "${NONE:-d}", "${A B}", "a~"], "cwd": "sub/${A}""#,
    )
    .await;
    assert_eq!(server.program, "/home/me/bin/1");
    assert_eq!(
        server.arguments,
        ["/home/me", "~x", "$A", "${A}", "d", "${A B}", "a~"]
    );
    assert_eq!(server.directory, Path::new("/srv/sub/1"));
    assert_eq!(
        stdio(r#""command": "x""#).await.directory,
        Path::new("/srv")
    );
    assert_eq!(
        stdio(r#""command": "x", "cwd": "~""#).await.directory,
        Path::new("/home/me")
    );
    assert_eq!(
        stdio(r#""command": "x", "cwd": "${DIR}/x""#)
            .await
            .directory,
        Path::new("/opt/x")
    );
}

#[tokio::test]
async fn values_are_filled_in() {
    for (template, expected) in [
        ("plain", "plain"),
        ("$A", "1"),
        ("${A}", "1"),
        ("x${A}y$A-z", "x1y1-z"),
        ("${EMPTY:-d}", "d"),
        ("${NONE:-}", ""),
        ("${A:-d}", "1"),
        ("$$A", "$A"),
        ("$${A}", "${A}"),
        ("$!echo", "!echo"),
        ("$", "$"),
        ("100$", "100$"),
        ("$1", "$1"),
        ("${", "${"),
        ("${}", "${}"),
        ("${A", "${A"),
        ("${1A}", "${1A}"),
        ("${A.B}", "${A.B}"),
        ("a!b", "a!b"),
        ("!token --x $A", "[token --x $A]"),
    ] {
        let server = http(&format!(
            r#""url": "https://x/", "headers": {{"X-H": "{template}"}}"#
        ))
        .await;
        assert_eq!(server.headers[0].1.expose(), expected, "{template}");
    }
}

#[tokio::test]
async fn a_server_gets_the_allowed_variables_and_its_own() {
    let mut environment = stdio(r#""command": "x", "env": {"TOKEN": "$SECRET", "PATH": "/own"}"#)
        .await
        .environment;
    environment.sort();
    let expected = [("LC_ALL", "C"), ("PATH", "/own"), ("TOKEN", "s")];
    let expected = expected.map(|(name, value)| (name.into(), value.into()));
    assert_eq!(environment, expected);
    let all = stdio(r#""command": "x", "inheritEnv": true"#).await;
    assert_eq!(all.environment, config_environment().variables);
}

#[tokio::test]
async fn an_http_server_is_filled_in() {
    let server = http(
        r#""url": "https://h/${A}?q=$A#f", "type": "sse", "headers": {"Authorization": "Bearer $SECRET"},
           "oauth": {"clientId": "$A", "clientSecret": "!secret"}"#,
    )
    .await;
    assert_eq!(server.url.as_str(), "https://h/1?q=$A");
    assert_eq!(server.kind, HttpKind::Sse);
    assert_eq!(
        server.headers,
        [("Authorization".to_owned(), Secret::new("Bearer s"))]
    );
    assert_eq!(server.oauth.client_id.as_deref(), Some("$A"));
    assert_eq!(server.oauth.client_secret, Some(Secret::new("[secret]")));
}

#[tokio::test]
async fn failures_name_server_field_and_place() {
    for (settings, expected) in [
        (
            r#""command": "x", "env": {"T": "a$NONE"}"#,
            "env.T: the variable NONE is not set or empty (F:2) \
             Set NONE before starting Pirn, or write a default: ${NONE:-VALUE}. A literal ${NONE} is written $${NONE}.",
        ),
        (
            r#""command": "x${EMPTY}", "args": ["${NONE}"], "env": {"T": "!fail"}"#,
            "variables are not set or empty: EMPTY (command), NONE (args[0]) (F:2) \
             Set EMPTY before starting Pirn, or write a default: ${EMPTY:-VALUE}. A literal ${EMPTY} is written $${EMPTY}.",
        ),
        (
            r#""command": "x", "env": {"T": "!fail"}"#,
            "env.T: the command failed with exit code 1 (F:2) ",
        ),
        (
            r#""url": "${A}://x""#,
            "url: is not an address: relative URL without a base (F:2) ",
        ),
        (
            r#""url": "https://${A}@x""#,
            "url: must not hold a user's name or password: put them into headers.Authorization (F:2) ",
        ),
        (
            r#""url": "https://x", "headers": {"X-H": "a\nb"}"#,
            "headers.X-H: has characters that a header cannot hold, such as a line's end (F:2) ",
        ),
    ] {
        let error = resolve(settings).await.unwrap_err();
        assert_eq!(error, format!("MCP server \"s\": {expected}"), "{settings}");
    }
}

#[test]
fn debug_output_hides_entries() {
    let text = r#"{"mcpServers": {"a": {"command": "x", "args": ["s3cret"], "env": {"A": "s3cret"}},
        "b": {"url": "https://h/s3cret", "headers": {"A": "s3cret"}, "oauth": {"clientId": "i", "clientSecret": "s3cret"}}}}"#;
    let document = parse_document(Scope::User, Path::new("F"), text);
    assert_eq!(document.servers.len(), 2);
    assert!(!format!("{document:?}").contains("s3cret"));
}

#[test]
fn debug_output_hides_variables() {
    assert!(!format!("{:?}", config_environment()).contains("SECRET"));
}

#[cfg(unix)]
mod commands {
    use super::*;

    async fn run(command: &str) -> Result<String, String> {
        let variables = [
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("A".into(), "1".into()),
        ];
        let directory = Path::new("/");
        ShellRunner.run(command, directory, &variables).await
    }

    #[tokio::test]
    async fn the_shell_runs_commands() {
        for (command, expected) in [
            ("echo \"x$A\"", Ok("x1")),
            ("printf 'a\\nb\\n\\n'", Ok("a\nb")),
            ("pwd", Ok("/")),
            ("echo noise >&2; echo x", Ok("x")),
            ("echo secret; exit 3", Err("failed with exit code 3")),
            ("true", Err("wrote nothing")),
            ("printf '\\377'", Err("wrote no Unicode")),
            ("kill -9 $$", Err("was ended by signal 9")),
            (
                "head -c 65537 /dev/zero",
                Err("wrote more than 65536 bytes"),
            ),
        ] {
            let outcome = run(command).await;
            let outcome = outcome.as_deref().map_err(String::as_str);
            assert_eq!(outcome, expected, "{command}");
        }
    }
}

mod templates {
    use proptest::prelude::*;

    use super::template::{Syntax, fill};

    proptest! {
        #[test]
        fn any_text_is_filled_in(text in "[$!{}:A-C_0é -]{0,20}") {
            for syntax in [Syntax::Braces, Syntax::Dollar] {
                let (filled, missing) = fill(&text, syntax, |_| None);
                prop_assert!(!missing.is_empty() || filled.len() <= text.len());
                // Doubling what may mean something makes a text literal.
                let literal = match syntax {
                    Syntax::Braces => text.replace("${", "$${"),
                    Syntax::Dollar => text.replace('$', "$$"),
                };
                prop_assert_eq!(fill(&literal, syntax, |_| None), (text.clone(), vec![]));
            }
        }
    }
}

#[tokio::test]
async fn confinements_are_filled_in() {
    let server = stdio(
        r#""command": "x", "cwd": "sub", "sandbox": {"writeRoots": ["~/a", "b/${A}", "${DIR}"], "readRoots": ["/opt"]}"#,
    )
    .await;
    let sandbox = server.sandbox.unwrap();
    let paths = |texts: &[&str]| texts.iter().map(PathBuf::from).collect::<Vec<_>>();
    assert_eq!(
        sandbox.write_roots,
        paths(&["/home/me/a", "/srv/sub/b/1", "/opt"])
    );
    assert_eq!(sandbox.readable, Readable::Only(paths(&["/opt"])));
    // What the entry does not say is as for every server.
    let rest = PolicySpec {
        working_folder: "/srv/sub".into(),
        write_roots: sandbox.write_roots.clone(),
        readable: sandbox.readable.clone(),
        home: Some("/home/me".into()),
        ..confinement()
    };
    assert_eq!(sandbox, rest);
    let error = resolve(r#""command": "x", "sandbox": {"writeRoots": ["${NONE}"]}"#)
        .await
        .unwrap_err();
    assert!(error.contains("sandbox.writeRoots[0]"), "{error}");
}

/// What an entry reads is for its server, and what every program gets is for all.
#[test]
fn entries_tell_which_variables_they_read() {
    for (entry, wanted) in [
        (
            entry(
                r#""command": "x", "args": ["--token=${PAT}", "$NONE", "${HOME}/y"], "env": {"TOKEN": "$GH_PAT", "B": "${C:-d}"}"#,
            ),
            vec!["C", "GH_PAT", "PAT"],
        ),
        (
            entry(r#""command": "x", "env": {"A": "$$B", "C": "!pass show $D"}"#),
            vec!["D"],
        ),
    ] {
        let found: Vec<String> = entry.read_variables().into_iter().collect();
        assert_eq!(found, wanted);
    }
}
