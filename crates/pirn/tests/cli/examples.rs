//! The example scripts, run for real.

use std::process::Command;

use serde_json::json;

use crate::mcp::SERVER;
use crate::place::{Place, repository};

fn git(place: &Place, arguments: &[&str]) {
    let mut command: Command = place.program("git");
    command.args([
        "-c",
        "user.name=Ada",
        "-c",
        "user.email=ada@localhost",
        "-c",
        "init.defaultBranch=main",
    ]);
    let output = command
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?} {output:?}");
}

fn example(name: &str) -> String {
    repository(&format!("examples/{name}"))
        .to_str()
        .unwrap()
        .to_owned()
}

fn small_repository() -> Place {
    let place = Place::new();
    place.write("README.md", "# Sample project\n");
    place.write(
        "src/main.rs",
        "fn main() {\n    // TODO: say hello\n    fetch_user();\n}\n\nfn fetch_user() {}\n",
    );
    place.write(
        "src/fetch_user.rs",
        "pub struct FetchUser;\npub const FETCH_USER: u8 = 1; // not fetch_users\n",
    );
    place.write("Cargo.toml", "[package]\nname = \"sample\"\n");
    git(&place, &["init", "--quiet"]);
    git(&place, &["add", "."]);
    git(&place, &["commit", "--quiet", "-m", "first"]);
    place
}

#[test]
fn repository_report() {
    let place = small_repository();
    let report = place
        .run(&[
            "exec",
            "-q",
            "--yes=process",
            &example("repository-report.ts"),
        ])
        .good();
    for line in [
        "Report on Sample project",
        "4 files, 11 lines, 1 KiB",
        "Manifests: 1 × Cargo.toml",
        "        6  src/main.rs",
        "1 TODO and FIXME in 1 file, the oldest first",
        "  src/main.rs:2  // TODO: say hello  (Ada, today)",
        "Commits in the last 90 days: Ada (1)",
    ] {
        assert!(
            report.lines().any(|shown| shown == line),
            "{line}\n{report}"
        );
    }
}

#[test]
fn log_triage() {
    let place = Place::new();
    place.write("a.log", "2026-01-02 03:04:05 ERROR cannot reach 10.0.0.1:80\n2026-01-02 03:04:06 ERROR cannot reach 10.0.0.2:80\nno errors\n");
    place.write("b.jsonl", "{\"level\":50,\"msg\":\"disk full\",\"time\":1767323045000}\n{\"level\":30,\"msg\":\"error-free\"}\n");
    let arguments = [
        "exec",
        "-q",
        "--yes=process",
        "--store",
        "store.json",
        &example("log-triage.js"),
    ];
    let first = place.run(&arguments).good();
    assert!(
        first.starts_with("3 errors in 2 groups, from 2 files\n"),
        "{first}"
    );
    assert!(
        first.contains("2×; 2026-01-02 03:04:05 to 2026-01-02 03:04:06; ./a.log"),
        "{first}"
    );
    assert!(first.contains("disk full"), "{first}");
    let second = place.run(&arguments).good();
    assert!(second.contains("2×, 2 at the last run"), "{second}");
}

#[test]
fn log_triage_counts_whatever_ends_the_lines() {
    let place = Place::new();
    place.write(
        "crlf.log",
        "2026-01-02 03:04:05 ERROR disk full\r\n2026-01-02 03:04:06 ERROR disk full\r\n",
    );
    place.write("open.log", "2026-01-02 03:04:07 ERROR disk full");
    let told = place
        .run(&["exec", "-q", "--yes=process", &example("log-triage.js")])
        .good();
    assert!(
        told.starts_with("3 errors in 1 group, from 2 files\n"),
        "{told}"
    );
}

/// Many files with one error each, and an unfinished last line in some of them; one file is packed.
fn place_with_logs(count: usize) -> Place {
    let place = Place::new();
    for file in 0..count {
        let end = ["\n", "\r\n", ""][file % 3];
        let text = format!(
            "2026-01-02 03:04:05 INFO started\n2026-01-02 03:04:06 ERROR cannot reach host {file}{end}"
        );
        place.write(&format!("logs/{}/service-{file}.log", file / 500), text);
    }
    place.write(
        "logs/packed.log.1",
        "2026-01-02 03:04:07 ERROR cannot reach host 9\n",
    );
    let packed = place
        .program("gzip")
        .arg("logs/packed.log.1")
        .status()
        .unwrap();
    assert!(packed.success());
    place
}

#[test]
fn log_triage_and_repository_report_count_two_thousand_files() {
    count_logs(2_000, "2,001 files, 4,0");
}

#[test]
fn log_triage_and_repository_report_count_fifty_thousand_files() {
    count_logs(50_000, "50,001 files, 100,0");
}

/// Runs both examples over so many logs. `counted` begins the line of the report.
fn count_logs(files: usize, counted: &str) {
    let place = place_with_logs(files);
    let told = place
        .run(&["exec", "-q", "--yes=process", &example("log-triage.js")])
        .good();
    assert!(
        told.starts_with(&format!(
            "{0} errors in 1 group, from {0} files\n",
            files + 1
        )),
        "{told}"
    );
    let group = format!(
        "{}×; 2026-01-02 03:04:06 to 2026-01-02 03:04:07;",
        files + 1
    );
    assert!(told.contains(&group), "{told}");
    let report = place
        .run(&[
            "exec",
            "-q",
            "--yes=process",
            &example("repository-report.ts"),
        ])
        .good();
    // The packed file has no line end, or as many as its bytes happen to have.
    assert!(report.contains(&format!("\n{counted}")), "{report}");
}

#[test]
fn log_triage_names_what_it_cannot_read_and_how_much_it_left_out() {
    let place = Place::new();
    place.write("broken.log.1.gz", "not packed at all\n".repeat(3));
    place.write("long.log", "ERROR again\n".repeat(6_000));
    let told = place
        .run(&["exec", "-q", "--yes=process", &example("log-triage.js")])
        .good();
    assert!(
        told.starts_with("5000 errors in 1 group, from 2 files\nOnly 5000 of 6000 matching lines were looked at.\n"),
        "{told}"
    );
}

#[test]
fn repository_report_counts_whatever_ends_the_lines() {
    let place = Place::new();
    place.write("README.md", "# Sample project\r\n\r\nText\r\n");
    place.write("src/open.rs", "fn a() {}\n// TODO: end");
    let arguments = [
        "exec",
        "-q",
        "--yes=process",
        &example("repository-report.ts"),
    ];
    for is_repository in [false, true] {
        if is_repository {
            git(&place, &["init", "--quiet"]);
            git(&place, &["add", "."]);
            git(&place, &["commit", "--quiet", "-m", "first"]);
        }
        let report = place.run(&arguments).good();
        assert!(
            report.starts_with("Report on Sample project\n2 files, 5 lines, 1 KiB\n"),
            "{report}"
        );
        assert!(report.contains("src/open.rs:2  // TODO: end"), "{report}");
    }
}

/// A place with the files that the documentation's scripts read, and a server for issues.
fn place_with_issues() -> Place {
    let place = Place::new();
    let server = SERVER.replace("Says it again.", "Lists the open issues.");
    let script = place.write("server.py", server);
    place.write_user_config(
        &json!({"mcpServers": {"github": {"command": "python3", "args": [script]}}}),
    );
    place.write("README.md", "# Sample project\n");
    place.write("CHANGELOG.md", "# Changelog\n");
    place.write("src/lib.rs", "// unsafe\n");
    place
}

/// The scripts that a page of the documentation shows.
fn snippets(page: &str) -> Vec<String> {
    let text = std::fs::read_to_string(repository(page)).unwrap();
    let mut blocks = text.split("\n```").skip(1).step_by(2);
    let mut found = Vec::new();
    for block in &mut blocks {
        let (language, code) = block.split_once('\n').unwrap();
        if matches!(language, "js" | "ts") {
            found.push(code.to_owned());
        }
    }
    found
}

#[test]
fn snippets_of_the_manual_run() {
    let server = place_with_issues();
    let found = snippets("docs/scripting.md");
    assert!(found.len() >= 9, "{found:#?}");
    for mut code in found {
        // An options line alone is no script.
        if code.lines().count() == 1 {
            code.push_str("\nreturn 'done'");
        }
        // Nothing listens there; the command is not allowed to try.
        let fails = code.contains("curl ");
        // Outside a repository the snippet says so.
        let needs_repository = code.contains("git status");
        let allowed = if fails { "--deny=process" } else { "--yes" };
        let run = server.run(&[
            "exec",
            "-q",
            allowed,
            "--store",
            "../store.json",
            "-e",
            &code,
        ]);
        let expected = i32::from(fails || needs_repository);
        assert_eq!(run.code, Some(expected), "{code}\n{run:#?}");
        if needs_repository {
            assert!(run.stderr.contains("not a git repository"), "{run:#?}");
            git(&server, &["init", "--quiet"]);
            server.run(&["exec", "-q", "--yes", "-e", &code]).good();
        }
    }
}

#[test]
fn bulk_rename() {
    let place = small_repository();
    let arguments = [
        "exec",
        "-q",
        "--yes",
        "--store",
        "../store.json",
        &example("bulk-rename.ts"),
    ];
    let dry = place.run(&arguments).good();
    assert!(
        dry.contains("src/main.rs") && dry.contains("load_account"),
        "{dry}"
    );
    assert!(place.read("src/main.rs").contains("fetch_user()"));
    place
        .run(&[
            "exec",
            "--store",
            "../store.json",
            "-e",
            "store('bulk-rename:apply', true)",
        ])
        .good();
    place.run(&arguments).good();
    assert!(place.read("src/main.rs").contains("load_account()"));
    let renamed = place.read("src/load_account.rs");
    assert_eq!(
        renamed,
        "pub struct LoadAccount;\npub const LOAD_ACCOUNT: u8 = 1; // not fetch_users\n"
    );
}

#[test]
fn bulk_rename_outside_a_repository() {
    let place = Place::new();
    place.write("src/main.rs", "fn main() {\r\n    fetch_user();\r\n}");
    place.write("src/fetch_user it's.rs", "pub struct FetchUser;\n");
    place.write("taken/fetch_user.rs", "a\n");
    place.write("taken/load_account.rs", "b\n");
    place.write("node_modules/x/fetch_user.js", "fetch_user\n");
    let rename = |script: &[&str]| {
        let mut arguments = vec!["exec", "-q", "--yes", "--store", "../store.json"];
        arguments.extend(script);
        place.run(&arguments).good()
    };
    rename(&["-e", "store('bulk-rename:apply', true)"]);
    let told = rename(&[&example("bulk-rename.ts")]);
    assert_eq!(
        place.read("src/main.rs"),
        "fn main() {\r\n    load_account();\r\n}"
    );
    assert_eq!(
        place.read("src/load_account it's.rs"),
        "pub struct LoadAccount;\n"
    );
    assert_eq!(place.read("taken/load_account.rs"), "b\n");
    assert_eq!(place.read("node_modules/x/fetch_user.js"), "fetch_user\n");
    assert!(
        told.contains("Not changed: taken/fetch_user.rs: the new name is taken"),
        "{told}"
    );
}
