//! A folder to work in and tools that work there.

use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(target_os = "linux")]
use pirn_sandbox::{Sandbox, SandboxPolicy};
use pirn_tool::{CallOutcome, CallRequest, Origin, Pipeline, Registry, ToolResult};
use pirn_tools::{ToolsOptions, builtin_tools};
use serde_json::Value;

/// The longest any call in these tests may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A folder to work in, with tools that work there.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
    pub(crate) registry: Registry,
    pub(crate) pipeline: Pipeline,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// A bench with changed options. `home` and `tmp` are folders beside the working directory.
    pub(crate) fn with(change: impl FnOnce(&mut ToolsOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["work", "home", "tmp"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        let mut options = ToolsOptions::new(root.join("work"), root.join("tmp"));
        options.home = Some(root.join("home"));
        options.environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
        change(&mut options);
        let registry = Registry::new();
        for tool in builtin_tools(options) {
            registry.register(tool);
        }
        Self {
            folder,
            pipeline: Pipeline::builder(registry.clone()).build(),
            registry,
        }
    }

    /// A bench whose commands are confined. The policy's folders are those of the bench.
    #[cfg(target_os = "linux")]
    pub(crate) fn confined(change: impl FnOnce(&mut SandboxPolicy)) -> Self {
        Self::with(|options| {
            let mut policy = SandboxPolicy::new(&options.cwd, &options.temp_dir);
            policy.home.clone_from(&options.home);
            change(&mut policy);
            options.sandbox = Some(Sandbox::prepare(policy).unwrap());
        })
    }

    /// A path below the working directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.beside("work").join(name)
    }

    /// A folder beside the working directory.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Writes a file, with its folders.
    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// What a file of the folder holds.
    pub(crate) fn get(&self, name: &str) -> String {
        String::from_utf8(std::fs::read(self.path(name)).unwrap()).unwrap()
    }

    pub(crate) fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    pub(crate) async fn outcome(&self, tool: &str, arguments: Value) -> CallOutcome {
        let call = self.pipeline.call(CallRequest::new("1", tool, arguments));
        tokio::time::timeout(PATIENCE, call).await.unwrap()
    }

    pub(crate) async fn result(&self, tool: &str, arguments: Value) -> ToolResult {
        self.outcome(tool, arguments).await.result
    }

    /// The value that a script gets of a call; the error is the text.
    pub(crate) async fn script(&self, tool: &str, arguments: Value) -> Result<Value, String> {
        let request = CallRequest::new("1", tool, arguments).origin(Origin::Nested);
        let call = self.pipeline.call(request);
        let result = tokio::time::timeout(PATIENCE, call).await.unwrap().result;
        let text = result.joined_text();
        if result.is_error {
            Err(text)
        } else {
            Ok(result.structured.unwrap_or(Value::String(text)))
        }
    }

    /// The value that a script gets of a call, also of one that failed with data.
    pub(crate) async fn script_end(&self, tool: &str, arguments: Value) -> Option<Value> {
        let request = CallRequest::new("1", tool, arguments).origin(Origin::Nested);
        let call = self.pipeline.call(request);
        let outcome = tokio::time::timeout(PATIENCE, call).await.unwrap();
        outcome.result.structured
    }

    /// The text of a call that must succeed.
    pub(crate) async fn ok(&self, tool: &str, arguments: Value) -> String {
        let result = self.result(tool, arguments.clone()).await;
        let text = result.joined_text();
        assert!(!result.is_error, "{tool} {arguments}: {text}");
        text
    }

    /// The text of a call that must fail.
    pub(crate) async fn fails(&self, tool: &str, arguments: Value) -> String {
        let result = self.result(tool, arguments.clone()).await;
        let text = result.joined_text();
        assert!(result.is_error, "{tool} {arguments}: {text}");
        text
    }
}

/// The names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    names
}
