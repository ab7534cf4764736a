//! Children in a sandbox: what goes on as without one. What is kept from them is tested elsewhere.

mod evil;
mod faults;
mod files;
mod killed;
mod leftovers;
mod life;
mod machine;
mod random;
mod weaker;

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use pirn_sandbox::{Command, ExitStatus, Level, LevelChoice, Sandbox, SandboxPolicy, levels_here};
use tempfile::TempDir;

use crate::support::{PATIENCE, run, shell};

/// A working folder, a home and a place for private temporary folders, all below one.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) work: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) temp: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::in_folder(tempfile::tempdir().unwrap())
    }

    /// In an empty folder.
    pub(crate) fn in_folder(folder: TempDir) -> Self {
        let root = folder.path().canonicalize().unwrap();
        let [work, home, temp] = ["work", "home", "temp"].map(|name| root.join(name));
        for path in [&work, &home, &temp] {
            std::fs::create_dir(path).unwrap();
        }
        Self {
            folder,
            work,
            home,
            temp,
        }
    }

    /// The default policy at a level and no other.
    pub(crate) fn policy(&self, level: Level) -> SandboxPolicy {
        let mut policy = SandboxPolicy::new(&self.work, &self.temp);
        policy.home = Some(self.home.clone());
        policy.level = LevelChoice::AtMost(level);
        policy.require = Some(level);
        policy
    }

    pub(crate) fn sandbox(&self, level: Level) -> Sandbox {
        Sandbox::prepare(self.policy(level)).unwrap()
    }

    /// A script in a sandbox of the default policy, with a home.
    pub(crate) fn shell(&self, sandbox: &Sandbox, script: &str) -> Command {
        shell(script).env("HOME", &self.home).sandbox(sandbox)
    }

    /// How a script ended, and everything it printed.
    pub(crate) async fn run(&self, sandbox: &Sandbox, script: &str) -> (ExitStatus, String) {
        let (status, captured) = run(self.shell(sandbox, script)).await;
        (status, String::from_utf8(captured.bytes).unwrap())
    }

    /// Asserts that a script ends well and prints this.
    pub(crate) async fn check(&self, sandbox: &Sandbox, script: &str, wanted: &str) {
        let level = sandbox.report().unwrap().level;
        let (status, text) = self.run(sandbox, script).await;
        assert_eq!(
            (status, text.as_str()),
            (ExitStatus::Code(0), wanted),
            "{level:?}: {script}"
        );
    }

    /// Waits until no private temporary folder is left: the last child's supervisor task releases it.
    pub(crate) async fn wait_for_clean_temp(&self) {
        wait_until("the temporary folder is empty", || {
            entries(&self.temp).is_empty()
        })
        .await;
    }
}

/// Waits until something holds that no event tells of.
pub(crate) async fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await; // sleeps: no event tells of a file that is removed
    }
}

pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = folder
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    found.sort();
    found
}

/// The levels of this machine, weakest first.
pub(crate) fn levels() -> &'static [Level] {
    static LEVELS: OnceLock<Vec<Level>> = OnceLock::new();
    LEVELS.get_or_init(|| {
        let place = Place::new();
        let levels: Vec<Level> = levels_here(&place.policy(Level::Strict))
            .into_iter()
            .filter_map(|(level, report)| report.ok().map(|_report| level))
            .collect();
        assert!(levels.contains(&Level::Basic), "every Linux machine has it");
        levels
    })
}

/// The levels with namespaces.
pub(crate) fn levels_with_namespaces() -> impl Iterator<Item = Level> {
    levels()
        .iter()
        .copied()
        .filter(|level| *level > Level::Basic)
}

/// The variable that marks a test which runs as an ordinary user.
const ORDINARY: &str = "PIRN_SANDBOX_TEST_ORDINARY";
/// A user without rights and without files.
const NOBODY: u32 = 65_534;

/// Lets root run the test once more as an ordinary user, by its name in this binary.
pub(crate) fn also_as_ordinary_user(name: &str) {
    // Our own process belongs to us.
    let is_root =
        std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0;
    if !is_root || std::env::var_os(ORDINARY).is_some() {
        return;
    }
    // Where it lies the other user may not get at it.
    let own = std::env::current_exe().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).unwrap();
    let program = folder.path().join("sandbox");
    if std::fs::hard_link(&own, &program).is_err() {
        std::fs::copy(&own, &program).unwrap();
    }
    let output = std::process::Command::new(program)
        .args(["--exact", name, "--nocapture"])
        .env(ORDINARY, "1")
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "as an ordinary user: {text}{errors}"
    );
}

/// The variable that marks a test which has a mount namespace of its own.
const MOUNTS: &str = "PIRN_SANDBOX_TEST_MOUNTS";

/// Whether this is the test in a mount namespace of its own, with the rights to mount; else it runs there and comes back.
pub(crate) fn in_own_mount_namespace(name: &str) -> bool {
    if std::env::var_os(MOUNTS).is_some() {
        return true;
    }
    let output = std::process::Command::new("unshare")
        .args(["--map-root-user", "--mount"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(MOUNTS, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}{errors}"
    );
    false
}

/// Runs `mount` or `umount`.
pub(crate) fn change_mounts(program: &str, arguments: &[&std::ffi::OsStr]) {
    let status = std::process::Command::new(program).args(arguments).status();
    assert!(status.unwrap().success(), "{program} {arguments:?}");
}
