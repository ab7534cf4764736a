//! A folder to work in, and runtimes over it.

use std::path::Path;

use pirn_runtime::{Client, ClientOptions, HostEnv, Runtime, RuntimeBuilder, ScriptRun};
use pirn_tool::RulePolicy;
use tempfile::TempDir;

pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self(TempDir::new().unwrap());
        for folder in ["project", "pirn", "tmp"] {
            std::fs::create_dir(place.0.path().join(folder)).unwrap();
        }
        place
    }

    pub(crate) fn project(&self) -> std::path::PathBuf {
        self.0.path().join("project")
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> std::path::PathBuf {
        let path = self.project().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// How many files there are in the folders of runs.
    pub(crate) fn temporary_files(&self) -> usize {
        let folders = std::fs::read_dir(self.0.path().join("tmp")).unwrap();
        folders
            .map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap().count())
            .sum()
    }

    pub(crate) fn builder(&self) -> RuntimeBuilder {
        let host = HostEnv {
            cwd: self.project(),
            pirn_home: Some(self.0.path().join("pirn")),
            temp_dir: self.0.path().join("tmp"),
            environment: std::env::vars_os().collect(),
            ..HostEnv::default()
        };
        Runtime::builder(host, self.project())
    }
}

/// A client that sees and may do everything.
pub(crate) fn anything(runtime: &Runtime) -> Client {
    runtime.client(ClientOptions::new(RulePolicy::allow_all()))
}

/// What a script returns, or how it failed.
pub(crate) async fn run(client: &Client, code: &str) -> String {
    let end = client
        .run_script(ScriptRun::new("run", code))
        .await
        .unwrap();
    match end.result.outcome {
        Ok(value) => value
            .map(|json| json.as_str().to_owned())
            .unwrap_or_default(),
        Err(error) => format!("{}: {}", error.name.unwrap_or_default(), error.message),
    }
}

/// Waits until a file is there and gives what it holds; another process writes it.
pub(crate) async fn content(path: &Path) -> String {
    loop {
        if let Ok(text) = std::fs::read_to_string(path)
            && text.ends_with('\n')
        {
            return text.trim().to_owned();
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await; // sleeps: another process writes the file
    }
}
