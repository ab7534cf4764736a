//! The servers that are installed for tests, as entries of `mcp.json`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::place::Place;
use crate::processes::MARK;

/// The folder of `xtask/peers.py`.
pub(crate) struct Installed {
    folder: PathBuf,
}

impl Installed {
    /// Fails where they are not installed: a test that does not run shows nothing.
    pub(crate) fn find() -> Self {
        let folder = std::env::var_os("PIRN_MCP_PEERS").map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers"),
            PathBuf::from,
        );
        let Ok(folder) = folder.canonicalize() else {
            panic!(
                "{} is missing: `make peers` installs the servers that this test talks to",
                folder.display()
            );
        };
        let installed = Self { folder };
        installed.file("installed.json");
        installed
    }

    fn file(&self, path: &str) -> PathBuf {
        let path = self.folder.join(path);
        assert!(
            path.exists(),
            "{} is missing: `make peers` installs it",
            path.display()
        );
        path
    }

    /// Python with the packages of the new SDK.
    pub(crate) fn python(&self) -> PathBuf {
        self.file("python/bin/python")
    }

    /// A server of models that fails on purpose; `None` where it was not installed.
    pub(crate) fn model_server(&self) -> Option<PathBuf> {
        let program = self.folder.join("python-models/bin/llmock");
        program.exists().then_some(program)
    }

    fn node(&self, script: &str, arguments: &[&str]) -> Value {
        let script = self.file(&format!("node_modules/{script}"));
        let mut all = vec![script.to_str().unwrap()];
        all.extend(arguments);
        entry(&self.file("node_modules/node/bin/node"), &all)
    }

    /// Knows the time everywhere.
    pub(crate) fn time(&self) -> Value {
        let arguments = ["-m", "mcp_server_time", "--local-timezone", "UTC"];
        entry(&self.python(), &arguments)
    }

    /// Uses everything the protocol has.
    pub(crate) fn everything(&self) -> Value {
        self.node("@modelcontextprotocol/server-everything/dist/index.js", &[])
    }

    /// Reads and writes in one folder.
    pub(crate) fn filesystem(&self, folder: &Path) -> Value {
        let script = "@modelcontextprotocol/server-filesystem/dist/index.js";
        self.node(script, &[folder.to_str().unwrap()])
    }

    /// Keeps a graph of knowledge in a file.
    pub(crate) fn memory(&self, file: &Path) -> Value {
        let mut memory = self.node("@modelcontextprotocol/server-memory/dist/index.js", &[]);
        memory["env"]["MEMORY_FILE_PATH"] = json!(file);
        memory
    }

    pub(crate) fn sequential_thinking(&self) -> Value {
        let script = "@modelcontextprotocol/server-sequential-thinking/dist/index.js";
        self.node(script, &[])
    }

    /// Reads and changes repositories.
    pub(crate) fn git(&self) -> Value {
        entry(&self.python(), &["-m", "mcp_server_git"])
    }

    /// Queries a database; built with the old SDK.
    pub(crate) fn sqlite(&self, file: &Path) -> Value {
        let program = self.file("python-old/bin/mcp-server-sqlite");
        entry(&program, &["--db-path", file.to_str().unwrap()])
    }

    pub(crate) fn playwright(&self, browser: &Path) -> Value {
        let arguments = ["--headless", "--isolated", "--no-sandbox"];
        let browser = ["--executable-path", browser.to_str().unwrap()];
        self.node(
            "@playwright/mcp/cli.js",
            &[&arguments[..], &browser].concat(),
        )
    }

    pub(crate) fn rude(&self, name: &str, habit: &str, place: &Place) -> Value {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/rude.py");
        let arguments = ["-IS", script.to_str().unwrap(), name, habit];
        let folder = place.path();
        entry(
            &self.python(),
            &[&arguments[..], &[folder.to_str().unwrap()]].concat(),
        )
    }
}

/// A server that hands the mark of its run down to whatever it starts.
pub(crate) fn entry(program: &Path, arguments: &[&str]) -> Value {
    let mark = format!("${{{MARK}:-none}}");
    json!({"command": program, "args": arguments, "env": {MARK: mark}})
}

/// A place whose user has these servers.
pub(crate) fn write_servers(place: &Place, servers: &Value) {
    place.write_user_config(&json!({"mcpServers": servers}));
}
