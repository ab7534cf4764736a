//! The place of an attempt: a working folder, a home folder, what lies outside, and processes that must not be harmed.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use pirn_sandbox::{Level, LevelChoice, Network, Sandbox, SandboxPolicy};

/// What a file outside holds, and has to hold afterwards.
pub(crate) const OUTSIDE: &str = "untouched";
/// What must not be read.
pub(crate) const SECRET: &str = "the secret of the owner";

/// Everything an attempt needs, gone afterwards.
pub(crate) struct Stage {
    /// Holds `work`, `home` and `outside`.
    pub(crate) root: PathBuf,
    /// What the attempt runs under.
    pub(crate) policy: SandboxPolicy,
    /// Variables of the program.
    pub(crate) variables: Vec<(&'static str, String)>,
    /// Ends after this; the program is killed then.
    pub(crate) kill_after: Option<std::time::Duration>,
    /// What ends with the stage.
    pub(crate) helpers: Vec<Helper>,
    victim: Child,
}

/// Something outside that lives as long as the attempt.
pub(crate) enum Helper {
    /// A process; it ends when its input does.
    Process(Child),
    /// A socket that listens.
    #[expect(dead_code, reason = "held open")]
    Socket(std::os::unix::net::UnixListener),
    /// A file outside the stage; removed.
    File(PathBuf),
    /// Something of a row's own, which is looked at after the attempt and kept until then.
    Watch(Box<dyn Fn() -> Result<(), String>>),
    /// A folder outside the stage; removed with what is in it.
    Folder(PathBuf),
}

impl Drop for Helper {
    fn drop(&mut self) {
        match self {
            Self::Process(child) => {
                // Closes its input first.
                let _gone = child.wait();
            }
            Self::Socket(_) | Self::Watch(_) => {}
            Self::File(path) => {
                let _gone = fs::remove_file(path);
            }
            Self::Folder(path) => {
                let _gone = fs::remove_dir_all(path);
            }
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _gone = self.victim.kill();
        let _gone = self.victim.wait();
    }
}

impl Stage {
    /// Fills an empty folder.
    pub(crate) fn set(root: &Path, level: Level) -> Result<Self, String> {
        let root = root.canonicalize().map_err(text)?;
        for (path, content) in [
            ("work/file", "of the project"),
            ("work/.env", SECRET),
            ("work/.git/HEAD", "ref: refs/heads/main\n"),
            ("work/.git/config", GIT_CONFIG),
            ("work/.git/hooks/README", "none\n"),
            ("work/nested/.git/HEAD", "ref: refs/heads/main\n"),
            ("work/nested/.git/config", GIT_CONFIG),
            ("home/.ssh/id_ed25519", SECRET),
            ("home/.bashrc", "# start\n"),
            ("home/.profile", "# start\n"),
            ("home/notes", "of the owner"),
            ("outside/file", OUTSIDE),
            ("outside/secret", SECRET),
        ] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&root)).map_err(text)?;
            fs::write(path, content).map_err(text)?;
        }
        for folder in ["work/.git", "work/nested/.git"] {
            fs::create_dir(root.join(folder).join("objects")).map_err(text)?;
            fs::create_dir(root.join(folder).join("refs")).map_err(text)?;
        }
        let mut policy = SandboxPolicy::new(root.join("work"), std::env::temp_dir());
        policy.home = Some(root.join("home"));
        policy.network = Network::Off;
        policy.level = LevelChoice::AtMost(level);
        let victim = Command::new("sleep")
            .arg("600")
            .stdin(Stdio::null())
            .spawn()
            .map_err(|error| format!("sleep: {error}"))?;
        let path = |name: &str| root.join(name).display().to_string();
        let variables = vec![
            ("PATH", "/usr/bin:/bin:/usr/sbin:/sbin".to_owned()),
            ("WORK", path("work")),
            ("HOME", path("home")),
            ("OUT", path("outside")),
            ("LEVEL", level.as_str().to_owned()),
            ("OWNER", std::process::id().to_string()),
            ("VICTIM", victim.id().to_string()),
        ];
        Ok(Self {
            root,
            policy,
            variables,
            kill_after: None,
            helpers: Vec::new(),
            victim,
        })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// What this is called in everything that is made outside the stage.
    pub(crate) fn unique() -> String {
        format!("pirn-escape-{}", std::process::id())
    }

    /// Whether the victim still sleeps, at its own priority.
    pub(crate) fn victim_is_well(&mut self) -> Result<(), String> {
        match self.victim.try_wait() {
            Ok(None) => {}
            other => return Err(format!("the victim has ended: {other:?}")),
        }
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.victim.id())).map_err(text)?;
        // The 17th field after the name is the nice value.
        let nice = stat
            .rsplit_once(") ")
            .and_then(|(_, rest)| rest.split(' ').nth(16))
            .unwrap_or("unknown");
        let own = fs::read_to_string("/proc/self/stat").map_err(text)?;
        let wanted = own
            .rsplit_once(") ")
            .and_then(|(_, rest)| rest.split(' ').nth(16))
            .unwrap_or("unknown");
        expect(nice == wanted, || {
            format!("the victim's nice value is {nice}")
        })
    }

    /// What holds after every attempt.
    pub(crate) fn outside_is_intact(&self) -> Result<(), String> {
        let mut names: Vec<String> = fs::read_dir(self.path("outside"))
            .map_err(text)?
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        expect(names == ["file", "secret"], || {
            format!("outside there is {names:?}")
        })?;
        self.holds("outside/file", OUTSIDE)?;
        self.holds("outside/secret", SECRET)
    }

    /// Whether a file holds exactly this.
    pub(crate) fn holds(&self, name: &str, content: &str) -> Result<(), String> {
        let found =
            fs::read_to_string(self.path(name)).map_err(|error| format!("{name}: {error}"))?;
        expect(found == content, || format!("{name} holds {found:?}"))
    }

    /// Whether there is nothing of this name.
    pub(crate) fn lacks(&self, name: &str) -> Result<(), String> {
        expect(self.path(name).symlink_metadata().is_err(), || {
            format!("{name} exists")
        })
    }

    /// Whether nothing below a folder would run with other rights than the caller's.
    pub(crate) fn has_no_set_id_files(&self, name: &str) -> Result<(), String> {
        for entry in fs::read_dir(self.path(name)).map_err(text)?.flatten() {
            let mode = entry.metadata().map_err(text)?.mode();
            let is_ours = entry.file_name() != SET_ID_PROGRAM;
            expect(mode & 0o6000 == 0 || !is_ours, || {
                format!("{} has mode {mode:o}", entry.path().display())
            })?;
        }
        Ok(())
    }

    pub(crate) fn sandbox(&self) -> Result<Sandbox, pirn_sandbox::Error> {
        Sandbox::prepare(self.policy.clone())
    }
}

/// A program in the working folder that is root's and has the set-user-id bit, where the tests could make one.
pub(crate) const SET_ID_PROGRAM: &str = "set-id";

/// Names a folder below `/run` for sockets, where the tests could make one.
pub(crate) const RUNTIME_VARIABLE: &str = "PIRN_ESCAPE_RUNTIME";

const GIT_CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n";

pub(crate) fn expect(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

pub(crate) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
