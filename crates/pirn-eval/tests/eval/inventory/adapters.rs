//! The tools that only programs see, called by programs.

use std::fs;
use std::path::PathBuf;

use pirn_eval::{AdapterOptions, EvalTool, eval_adapters};
use pirn_tool::Registry;
use serde_json::{Value, json};

use super::tool::{call, over};
use crate::host::marked;
use crate::support::{Bench, block_on, eventually};

/// A kernel whose programs have the adapters.
struct Folder {
    bench: Bench,
}

impl Folder {
    fn new() -> Self {
        Self {
            bench: Bench::with(|_| {}),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.bench.folder.path().join("work").join(name)
    }

    /// Runs a program and gives its value; a failed call inside is the text of its error.
    async fn value(&self, expression: &str) -> Value {
        let code = format!(
            "try:\n    kept = {expression}\nexcept Exception as error:\n    kept = 'refused: ' + str(error)\nkept"
        );
        let result = self.run(&code, 30.0).await;
        assert!(!result.is_error, "{}", result.joined_text());
        let text = result.joined_text();
        let value = text
            .split_once("result:\n")
            .map_or(text.as_str(), |(_, value)| value);
        serde_json::from_str(value).unwrap_or_else(|_| json!(value))
    }

    async fn run(&self, code: &str, timeout_seconds: f64) -> pirn_tool::ToolResult {
        let tool = EvalTool {
            adapters: eval_adapters(AdapterOptions {
                root: self.path(""),
                environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
                sandbox: None,
            }),
            output_bytes_max: 262_144,
            ..over(&self.bench.kernel)
        };
        let arguments =
            json!({"language": "python", "code": code, "timeoutSeconds": timeout_seconds});
        call(&Registry::new(), tool, arguments).await
    }

    async fn is_refused(&self, expression: &str) {
        let value = self.value(expression).await;
        let text = value.as_str().unwrap_or_default();
        assert!(text.starts_with("refused: "), "{expression}: {value}");
    }
}

pub(super) fn read_text() {
    block_on(async {
        let folder = Folder::new();
        fs::write(folder.path("lines"), "one\ntwo\nthree\nfour\n").unwrap();
        let value = folder
            .value("tool.read_text(path='lines', offset=2, limit=2)")
            .await;
        assert_eq!(value["text"].as_str().unwrap().trim_end(), "two\nthree");
        assert_eq!(value["offset"], json!(2));
        folder.is_refused("tool.read_text(path='../x')").await;
        fs::write(folder.path("big"), "x".repeat(1_000_001)).unwrap();
        folder
            .is_refused("tool.read_text(path='big', maxBytes=100_000_000)")
            .await;
    });
}

pub(super) fn two_dots() {
    block_on(async {
        let folder = Folder::new();
        fs::write(folder.path("..notes"), "kept").unwrap();
        let value = folder.value("tool.read_text(path='..notes')['text']").await;
        assert_eq!(value, json!("kept"));
    });
}

pub(super) fn no_shell() {
    block_on(async {
        let folder = Folder::new();
        let call = "tool.run_process(command='echo', args=['$HOME;', '`id`', '*'])";
        let value = folder.value(call).await;
        assert_eq!(value["stdout"], json!("$HOME; `id` *\n"));
        assert_eq!(value["exitCode"], json!(0));
    });
}

pub(super) fn list_directory() {
    block_on(async {
        let folder = Folder::new();
        fs::create_dir(folder.path("b")).unwrap();
        fs::write(folder.path("a"), "").unwrap();
        std::os::unix::fs::symlink("a", folder.path("c")).unwrap();
        // Without the empty `.pirn` that keeps programs from making one.
        let call = "[(entry['name'], entry['kind']) for entry in tool.list_directory() if entry['name'] != '.pirn']";
        let value = folder.value(call).await;
        let expected = json!([["a", "file"], ["b", "directory"], ["c", "other"]]);
        assert_eq!(value, expected);
    });
}

pub(super) fn links() {
    block_on(async {
        let folder = Folder::new();
        std::os::unix::fs::symlink("/etc", folder.path("out")).unwrap();
        for call in [
            "tool.read_text(path='out/hostname')",
            "tool.read_text(path='/etc/hostname')",
            "tool.list_directory(path='out')",
            "tool.run_process(command='pwd', cwd='out')",
        ] {
            folder.is_refused(call).await;
        }
    });
}

pub(super) fn grandchild() {
    block_on(async {
        let folder = Folder::new();
        let born = folder.path("born");
        let script = format!("touch born; exec tail -f {}", born.display());
        let code = format!(
            "tool.run_process(command='sh', args=['-c', \"(trap '' TERM INT; {script}) & wait\"], timeoutMs=100_000)"
        );
        let (result, ()) = tokio::join!(
            folder.run(&code, 1.0),
            eventually("the grandchild", || born.exists())
        );
        assert!(result.is_error);
        let details = result.details.unwrap();
        assert_eq!(details["error"]["kind"], json!("timeout"), "{details}");
        eventually("its end", || {
            !marked(&born).iter().any(|process| process.has_word("tail"))
        })
        .await;
    });
}

pub(super) fn run_process_ends() {
    block_on(async {
        let folder = Folder::new();
        let value = folder
            .value("tool.run_process(command='sleep', args=['600'], timeoutMs=100)")
            .await;
        assert_eq!(value["timedOut"], json!(true), "{value}");
        let call = "tool.run_process(command='sh', args=['-c', 'head -c 1500000 /dev/zero | tr \"\\\\0\" x; echo err >&2'])";
        let value = folder
            .value(&format!(
                "(lambda ran: [ran['stdoutTruncated'], ran['stderrTruncated'], len(ran['stdout']) <= 1_000_000])({call})"
            ))
            .await;
        assert_eq!(value, json!([true, false, true]));
        // An abort rejects the call, and with it the program.
        let code = "tool.run_process(command='sleep', args=['600'])";
        let result = folder.run(code, 1.0).await;
        assert!(result.is_error);
    });
}

pub(super) fn full_streams() {
    block_on(async {
        let folder = Folder::new();
        let call = "tool.run_process(command='sh', args=['-c', 'head -c 1000000 /dev/zero | tr \"\\\\0\" \"\\\\n\"; head -c 1000000 /dev/zero | tr \"\\\\0\" \"\\\\n\" >&2'])";
        let value = folder
            .value(&format!(
                "(lambda ran: [ran['exitCode'], len(ran['stdout']) > 100_000, len(ran['stderr']) > 100_000])({call})"
            ))
            .await;
        assert_eq!(value, json!([0, true, true]));
    });
}
