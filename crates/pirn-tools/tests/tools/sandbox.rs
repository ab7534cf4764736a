//! Confined commands, and what the other tools see of their files.

use pirn_sandbox::{Level, LevelChoice, Network, Profile};
use serde_json::{Value, json};

use crate::support::Bench;

/// What a command says of its confinement.
async fn receipt(bench: &Bench, command: &str) -> Value {
    let result = bench.result("bash", json!({"command": command})).await;
    result.details.unwrap()["sandbox"].clone()
}

/// A name that no other run of the tests uses.
fn unused(name: &str) -> String {
    let random = tempfile::Builder::new().prefix(name).tempdir().unwrap();
    random
        .path()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn the_layers_are_in_the_result() {
    let bench = Bench::confined(|policy| policy.network = Network::Off);
    let sandbox = receipt(&bench, "true").await;
    assert_eq!(sandbox["profile"], "workspace-write");
    assert_eq!(sandbox["network"], "off");
    let level = sandbox["level"].as_str().unwrap();
    assert!(Level::from_name(level).is_some(), "{level}");
    let layers = sandbox["layers"].as_array().unwrap();
    assert!(layers.contains(&json!("seccomp")), "{layers:?}");
    assert!(!sandbox.to_string().contains("reason"), "{sandbox}");
    let open = Bench::new()
        .result("bash", json!({"command": "true"}))
        .await;
    assert_eq!(open.details, None);
    // Scripts are told only where something was refused.
    let given = bench.script_end("bash", json!({"command": "true"})).await;
    assert_eq!(given.unwrap().get("sandbox"), None);
}

#[tokio::test]
async fn models_are_told_beforehand() {
    let guidelines = |bench: &Bench| {
        let tool = bench.registry.get("bash").unwrap();
        tool.spec().guidelines.join(" ")
    };
    assert_eq!(guidelines(&Bench::new()), "");
    let bench = Bench::confined(|policy| policy.network = Network::Off);
    let text = guidelines(&bench);
    assert!(
        text.contains("the working directory") && text.contains("no network"),
        "{text}"
    );
    let bench = Bench::confined(|policy| policy.profile = Profile::Off);
    assert_eq!(guidelines(&bench), "");
}

/// Also where the command succeeds and what its programs said went somewhere else.
#[tokio::test]
async fn what_is_not_in_the_private_folder_is_named() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let outside = folder.path().join("x");
    std::fs::write(&outside, "outside").unwrap();
    let bench = Bench::confined(|policy| policy.network = Network::Off);
    for command in ["cat OUT | head -n 1", "cat OUT 2>/dev/null | wc -l; true"] {
        let command = command.replace("OUT", outside.to_str().unwrap());
        let given = bench
            .script_end("bash", json!({"command": command}))
            .await
            .unwrap();
        let denied = given["denied"][0].as_str().unwrap();
        assert!(
            denied.contains(outside.to_str().unwrap()) && denied.contains("sandbox.writeRoots"),
            "{denied}"
        );
    }
}

#[tokio::test]
async fn what_is_refused_is_explained() {
    let bench = Bench::confined(|policy| policy.network = Network::Off);
    // Below `/tmp` commands have another view.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let outside = folder.path().join("x");
    let command = format!("echo a > in && echo b > {}", outside.display());
    let result = bench.result("bash", json!({"command": command})).await;
    let text = result.joined_text();
    let given = bench.script_end("bash", json!({"command": command})).await;
    let given = given.unwrap();
    assert_eq!(given["sandbox"], result.details.unwrap()["sandbox"]);
    let denied = given["denied"][0].as_str().unwrap().to_owned();
    assert!(result.is_error && text.ends_with(&denied), "{text}");
    assert!(
        text.contains("Sandbox: ") && text.contains("sandbox.writeRoots"),
        "{text}"
    );
    assert!(text.contains(outside.to_str().unwrap()), "{text}");
    assert_eq!(bench.get("in"), "a\n");
    assert!(!outside.exists());
    // Its own failures are nobody else's.
    let text = bench
        .fails("bash", json!({"command": "cat none; exit 3"}))
        .await;
    assert!(!text.contains("Sandbox: "), "{text}");
    let text = bench
        .ok("bash", json!({"command": "echo 'x: Permission denied'"}))
        .await;
    assert!(!text.contains("Sandbox: "), "{text}");
}

#[tokio::test]
async fn the_tools_see_the_commands_temporary_folder() {
    let bench = Bench::confined(|_| {});
    let name = unused("pirn-x-");
    let bash = async |command: String| bench.ok("bash", json!({"command": command})).await;
    bash(format!("mkdir /tmp/{name} && echo needle > /tmp/{name}/a")).await;
    let folder = format!("/tmp/{name}");
    let file = format!("{folder}/a");
    assert!(!std::path::Path::new(&folder).exists());
    assert_eq!(bench.ok("read", json!({"path": file})).await, "needle\n");
    assert_eq!(bench.ok("ls", json!({"path": folder})).await, "a");
    let found = bench
        .ok("find", json!({"pattern": "a", "path": folder}))
        .await;
    assert!(found.ends_with('a'), "{found}");
    let found = bench
        .ok("grep", json!({"pattern": "needle", "path": folder}))
        .await;
    assert!(found.contains("needle"), "{found}");
    let edits = json!([{"oldText": "needle", "newText": "thread"}]);
    bench
        .ok("edit", json!({"path": file, "edits": edits}))
        .await;
    let written = bench
        .ok(
            "write",
            json!({"path": format!("/var/tmp/{name}/b"), "content": "new"}),
        )
        .await;
    assert!(written.contains("private temporary folder"), "{written}");
    assert_eq!(
        bash(format!("cat {file} /tmp/{name}/b")).await,
        "thread\nnew"
    );
    assert!(!std::path::Path::new(&folder).exists());
    // What `mktemp` names is there under that name.
    let made = bash("mktemp".to_owned()).await;
    assert_eq!(bench.ok("read", json!({"path": made.trim()})).await, "");
}

#[tokio::test]
async fn a_file_outside_is_still_found() {
    let bench = Bench::confined(|_| {});
    let outside = tempfile::Builder::new()
        .prefix("pirn-x-")
        .tempfile_in("/tmp")
        .unwrap();
    std::fs::write(outside.path(), "outside").unwrap();
    assert_eq!(
        bench.ok("read", json!({"path": outside.path()})).await,
        "outside"
    );
    let copy = format!("echo private > {}", outside.path().display());
    bench.ok("bash", json!({"command": copy})).await;
    assert_eq!(
        bench.ok("read", json!({"path": outside.path()})).await,
        "private\n"
    );
    assert_eq!(std::fs::read_to_string(outside.path()).unwrap(), "outside");
}

#[tokio::test]
async fn links_do_not_lead_out_of_it() {
    let bench = Bench::confined(|_| {});
    let name = unused("pirn-x-");
    let home = bench.beside("home");
    let link = format!(
        "ln -s {} /tmp/{name} && ln -s {}/new /tmp/{name}-f",
        home.display(),
        home.display()
    );
    bench.ok("bash", json!({"command": link})).await;
    for path in [
        format!("/tmp/{name}/x"),
        format!("/tmp/{name}/a/b/x"),
        format!("/tmp/{name}-f"),
    ] {
        let text = bench
            .fails("write", json!({"path": path, "content": "x"}))
            .await;
        assert!(text.contains("leads out"), "{text}");
    }
    std::fs::write(home.join("secret"), "s").unwrap();
    let text = bench
        .fails("read", json!({"path": format!("/tmp/{name}/secret")}))
        .await;
    assert!(text.contains("ENOENT"), "{text}");
    assert_eq!(crate::support::names(&home), ["secret"]);
}

#[tokio::test]
async fn the_whole_output_is_where_commands_can_read_it() {
    let bench = Bench::confined(|_| {});
    let result = bench.result("bash", json!({"command": "seq 3000"})).await;
    let text = result.joined_text();
    let path = text.split("Full output: ").nth(1).unwrap();
    let path = path.trim_end_matches(']');
    let count = bench
        .ok("bash", json!({"command": format!("wc -l < {path}")}))
        .await;
    assert_eq!(count.trim(), "3000");
    let text = bench.ok("read", json!({"path": path, "limit": 1})).await;
    assert!(text.starts_with("1\n"), "{text}");
}

#[tokio::test]
async fn without_namespaces_there_is_one_temporary_folder() {
    let bench = Bench::confined(|policy| policy.level = LevelChoice::AtMost(Level::Basic));
    let name = unused("pirn-x-");
    bench
        .fails("bash", json!({"command": format!("echo x > /tmp/{name}")}))
        .await;
    let path = format!("/tmp/{name}");
    let text = bench
        .fails("write", json!({"path": path, "content": "x"}))
        .await;
    assert!(text.contains("sandbox.writeRoots"), "{text}");
    assert!(!std::path::Path::new(&path).exists());
    let made = bench.ok("bash", json!({"command": "mktemp"})).await;
    assert_eq!(bench.ok("read", json!({"path": made.trim()})).await, "");
}

#[tokio::test]
async fn read_only_is_read_only() {
    let bench = Bench::confined(|policy| policy.profile = Profile::ReadOnly);
    let text = bench.fails("bash", json!({"command": "echo x > in"})).await;
    assert!(text.contains("sandbox.profile"), "{text}");
    bench
        .ok(
            "bash",
            json!({"command": "echo x > /tmp/in && cat /tmp/in"}),
        )
        .await;
}

/// A bench with files that commands cannot read or change.
fn guarded(profile: Profile) -> Bench {
    let bench = Bench::confined(|policy| policy.profile = profile);
    for (name, content) in [
        ("a.txt", "needle"),
        (".env", "needle=1"),
        ("sub/.env.local", "needle=2"),
        (".git/HEAD", "ref: refs/heads/main"),
        (".git/config", "needle"),
        (".pirn/settings.json", "needle"),
    ] {
        bench.put(name, content);
    }
    let keys = bench.beside("home").join(".ssh");
    std::fs::create_dir(&keys).unwrap();
    std::fs::write(keys.join("id"), "needle").unwrap();
    std::os::unix::fs::symlink(keys.join("id"), bench.path("link")).unwrap();
    bench
}

#[tokio::test]
async fn what_commands_cannot_read_the_tools_refuse() {
    let bench = guarded(Profile::WorkspaceWrite);
    let edits = json!([{"oldText": "needle", "newText": "x"}]);
    for (tool, arguments) in [
        ("read", json!({"path": ".env"})),
        ("read", json!({"path": "~/.ssh/id"})),
        ("read", json!({"path": "link"})),
        ("read", json!({"path": "sub/../.env"})),
        ("ls", json!({"path": "~/.ssh"})),
        (
            "grep",
            json!({"pattern": "needle", "path": "sub/.env.local"}),
        ),
        ("find", json!({"pattern": "*", "path": "~/.ssh"})),
        ("edit", json!({"path": ".env", "edits": edits})),
        ("write", json!({"path": ".env", "content": "x"})),
    ] {
        let text = bench.fails(tool, arguments.clone()).await;
        assert!(
            text.contains("sandbox.unreadable"),
            "{tool} {arguments}: {text}"
        );
    }
    let found = bench.ok("grep", json!({"pattern": "needle"})).await;
    assert!(
        found.contains("a.txt") && !found.contains(".env"),
        "{found}"
    );
    let found = bench.ok("find", json!({"pattern": "*"})).await;
    assert!(
        found.contains("a.txt") && !found.contains(".env"),
        "{found}"
    );
    assert_eq!(bench.get(".env"), "needle=1");
    let open = Bench::confined(|policy| policy.unreadable.clear());
    open.put(".env", "open");
    assert_eq!(open.ok("read", json!({"path": ".env"})).await, "open");
}

#[tokio::test]
async fn what_commands_cannot_write_the_tools_refuse() {
    // Below `/tmp` commands have another view.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let outside = folder.path().join("b");
    std::fs::write(&outside, "needle").unwrap();
    let outside = outside.to_str().unwrap();
    let edits = json!([{"oldText": "needle", "newText": "x"}]);
    for (profile, path, setting) in [
        (Profile::WorkspaceWrite, ".git/config", "Change it yourself"),
        (
            Profile::WorkspaceWrite,
            ".pirn/settings.json",
            "Change it yourself",
        ),
        (Profile::WorkspaceWrite, outside, "sandbox.writeRoots"),
        (Profile::ReadOnly, "a.txt", "sandbox.profile"),
    ] {
        let bench = guarded(profile);
        let before = std::fs::read(bench.path(path)).unwrap();
        for (tool, arguments) in [
            ("write", json!({"path": path, "content": "x"})),
            ("edit", json!({"path": path, "edits": edits})),
        ] {
            let text = bench.fails(tool, arguments).await;
            assert!(text.contains(setting), "{tool} {path}: {text}");
        }
        assert_eq!(std::fs::read(bench.path(path)).unwrap(), before);
    }
    let bench = guarded(Profile::WorkspaceWrite);
    for path in ["a.txt", "new/deep", ".git/description", "/tmp/pirn-x-new"] {
        bench
            .ok("write", json!({"path": path, "content": "x"}))
            .await;
    }
    let hook = json!({"path": ".git/hooks/pre-commit", "content": "x"});
    let text = bench.fails("write", hook).await;
    assert!(text.contains("hooks"), "{text}");
    assert!(!bench.path(".git/hooks/pre-commit").exists());
}

#[tokio::test]
async fn a_command_runs_where_commands_may_work() {
    let bench = Bench::confined(|_| {});
    bench.put("sub/f", "");
    std::os::unix::fs::symlink("/usr", bench.path("link")).unwrap();
    bench
        .ok("bash", json!({"command": "mkdir -p /tmp/mine/inner"}))
        .await;
    for (cwd, wanted) in [("sub", "f\n"), ("/tmp/mine", "inner\n")] {
        let text = bench.ok("bash", json!({"command": "ls", "cwd": cwd})).await;
        assert_eq!(text, wanted, "{cwd}");
    }
    for cwd in ["/usr", "link", "link/../usr"] {
        let text = bench
            .fails("bash", json!({"command": "ls", "cwd": cwd}))
            .await;
        assert!(text.contains("sandbox.writeRoots"), "{cwd}: {text}");
    }
    // It makes nothing writable; below `/tmp` commands have a place of their own.
    let arguments = json!({"command": "echo x > ../../beside", "cwd": "sub"});
    bench.result("bash", arguments).await;
    assert!(!bench.beside("beside").exists());
}
