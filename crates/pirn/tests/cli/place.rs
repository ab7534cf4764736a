//! A folder to run the program in, with a home and a temporary folder of its own.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

pub(crate) struct Place {
    folder: tempfile::TempDir,
}

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// The output of a run that went well.
    pub(crate) fn good(self) -> String {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self.stdout
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::in_folder(&std::env::temp_dir())
    }

    /// A place that is not in the folder for temporary files, of which confined commands have one of their own.
    pub(crate) fn lasting() -> Self {
        Self::in_folder(Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    fn in_folder(folder: &Path) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("pirn-cli-")
            .tempdir_in(folder)
            .unwrap();
        for name in ["project", "home", "temp"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    /// The folder in which the program runs.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Writes the user's settings.
    pub(crate) fn write_settings(&self, settings: &str) {
        std::fs::create_dir_all(self.pirn_home()).unwrap();
        std::fs::write(self.pirn_home().join("settings.json"), settings).unwrap();
    }

    /// The folder of Pirn's own files, which is not made.
    pub(crate) fn pirn_home(&self) -> PathBuf {
        self.folder.path().join("home/.pirn")
    }

    /// Writes the user's configuration of MCP servers.
    pub(crate) fn write_user_config(&self, config: &Value) {
        std::fs::create_dir_all(self.pirn_home()).unwrap();
        std::fs::write(self.pirn_home().join("mcp.json"), format!("{config:#}\n")).unwrap();
    }

    /// The folder for temporary files.
    pub(crate) fn temp(&self) -> PathBuf {
        self.folder.path().join("temp")
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// A program with the surroundings of this place and nothing of the machine's.
    pub(crate) fn program(&self, name: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(name);
        command
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path().join("home"))
            .env("TMPDIR", self.temp())
            .env("COLUMNS", "100")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn pirn(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_pirn"));
        command.args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.ended(self.pirn(arguments).output().unwrap())
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Run {
        let mut child = self
            .pirn(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It may end before it has read everything.
        let _unread = child.stdin.take().unwrap().write_all(input);
        self.ended(child.wait_with_output().unwrap())
    }

    pub(crate) fn ended(&self, output: Output) -> Run {
        Run {
            code: output.status.code(),
            stdout: self.without_paths(&String::from_utf8(output.stdout).unwrap()),
            stderr: self.without_paths(&String::from_utf8(output.stderr).unwrap()),
        }
    }

    pub(crate) fn without_paths(&self, text: &str) -> String {
        let real = self.folder.path().canonicalize().unwrap();
        text.replace(real.to_str().unwrap(), "[PLACE]")
            .replace(self.folder.path().to_str().unwrap(), "[PLACE]")
    }
}

/// A run as snapshots show it.
pub(crate) fn transcript(arguments: &[&str], run: &Run) -> String {
    let shown: Vec<String> = arguments
        .iter()
        .map(|argument| {
            if argument.contains([' ', '"', '*']) || argument.is_empty() {
                format!("'{argument}'")
            } else {
                (*argument).to_owned()
            }
        })
        .collect();
    let mut text = format!("$ pirn {}\n", shown.join(" "));
    for (name, content) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
        if !content.is_empty() {
            let end = if content.ends_with('\n') { "" } else { "\n" };
            write!(text, "--- {name}\n{content}{end}").unwrap();
        }
    }
    writeln!(
        text,
        "--- exit code {}\n",
        run.code.map_or("none".to_owned(), |code| code.to_string())
    )
    .unwrap();
    text
}

/// A file of this repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
        .canonicalize()
        .unwrap()
}
