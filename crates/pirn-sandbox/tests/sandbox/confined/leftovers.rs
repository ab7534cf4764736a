//! What stands in for something missing, when the process that put it there was killed.

use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use pirn_sandbox::{Level, LevelChoice, Sandbox, SandboxPolicy};

use super::{Place, also_as_ordinary_user, entries, levels_with_namespaces};
use crate::support::shell;

/// The variable that turns [`owner`] into a process that has a sandbox: the folder of the [`Place`], the working folder in it
/// and the level, apart by `|`.
const OWNER: &str = "PIRN_SANDBOX_TEST_OWNER";
/// Ends an owner in order.
const ENDS: &str = "PIRN_SANDBOX_TEST_OWNER_ENDS";

#[tokio::test]
async fn are_removed_by_the_next_process_unless_somebody_needs_them() {
    also_as_ordinary_user(
        "confined::leftovers::are_removed_by_the_next_process_unless_somebody_needs_them",
    );
    for level in levels_with_namespaces() {
        let place = Place::new();
        for name in ["work", "other"] {
            std::fs::create_dir_all(place.home.join(name)).unwrap();
        }
        let at = |name: &str| place.home.join(name);
        let mut first = start(&place, "work", level);
        let made = ["work/.pirn", ".bashrc", ".zshrc", ".config/fish"];
        for name in made {
            assert!(at(name).exists(), "{level:?} {name}");
        }
        // To the second one they are just there, but for its own.
        let mut second = start(&place, "other", level);
        assert!(at("other/.pirn").exists());
        first.kill().unwrap();
        first.wait().unwrap();
        std::fs::write(at(".zshrc"), "changed").unwrap();
        sweep(&place, level);
        // It lies in the home folder, all of which the second one may write, so that one protects it as well.
        for name in [
            "work/.pirn",
            "other/.pirn",
            ".bashrc",
            ".zshrc",
            ".config/fish",
        ] {
            assert!(at(name).exists(), "{level:?} {name}");
        }
        second.kill().unwrap();
        second.wait().unwrap();
        sweep(&place, level);
        assert_eq!(
            entries(&place.home),
            [".zshrc", "other", "work"].map(at),
            "{level:?}"
        );
        assert_eq!(entries(&at("other")), [] as [&Path; 0]);
        assert_eq!(entries(&at("work")), [] as [&Path; 0]);
        assert_eq!(entries(&place.temp), [] as [&Path; 0]);
    }
}

#[tokio::test]
async fn stay_when_their_owner_ends_in_order_and_somebody_needs_them() {
    for level in levels_with_namespaces() {
        let place = Place::new();
        std::fs::create_dir(place.home.join("work")).unwrap();
        let pirn = place.home.join("work/.pirn");
        let mut first = start(&place, "work", level);
        let mut second = start(&place, "work", level);
        end(&mut first);
        assert!(pirn.exists(), "{level:?}");
        end(&mut second);
        // To the second one it was just there.
        assert!(pirn.exists(), "{level:?}");
        sweep(&place, level);
        assert!(!pirn.exists(), "{level:?}");
        assert_eq!(entries(&place.temp), [] as [&Path; 0]);
    }
}

#[tokio::test]
async fn are_recorded_where_programs_cannot_write() {
    also_as_ordinary_user("confined::leftovers::are_recorded_where_programs_cannot_write");
    let place = Place::new();
    for level in levels_with_namespaces() {
        let sandbox = place.sandbox(level);
        let parts: PathBuf = sandbox.private_temp().unwrap().unwrap().into();
        let parts = format!("{}-parts", parts.display());
        let record = Path::new(&parts).join("placeholders");
        let before = std::fs::read(&record).unwrap();
        for script in [
            format!("echo x >> '{}'", record.display()),
            format!("rm -f '{0}' && ls '{parts}'", record.display()),
            format!("mv '{parts}' '{parts}-moved'"),
        ] {
            let (status, text) = place.run(&sandbox, &script).await;
            assert!(!status.is_success(), "{level:?} {script}: {text}");
        }
        assert_eq!(std::fs::read(&record).unwrap(), before);
    }
}

/// Starts a process that has a sandbox, with a child that has run in it.
fn start(place: &Place, work: &str, level: Level) -> Child {
    let mut owner = owner_command(place, work, level)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The pipe stays open: more is printed at the end.
    let mut lines = std::io::BufReader::new(owner.stdout.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("owner is ready")));
    owner
}

/// Lets a process end that was started.
fn end(owner: &mut Child) {
    drop(owner.stdin.take());
    assert!(owner.wait().unwrap().success());
}

/// A process that sweeps, and leaves nothing itself.
fn sweep(place: &Place, level: Level) {
    let status = owner_command(place, "", level)
        .env(ENDS, "1")
        .stdout(Stdio::null())
        .status();
    assert!(status.unwrap().success());
}

fn owner_command(place: &Place, work: &str, level: Level) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let root = place.folder.path().canonicalize().unwrap();
    let level = level.as_str();
    command
        .args(["--exact", "confined::leftovers::owner", "--nocapture"])
        .env(OWNER, format!("{}|{work}|{level}", root.display()));
    command
}

/// Not a test by itself: a process that has a sandbox.
#[tokio::test]
async fn owner() {
    let Ok(text) = std::env::var(OWNER) else {
        return;
    };
    let mut fields = text.split('|');
    let root = PathBuf::from(fields.next().unwrap());
    let work = fields.next().unwrap();
    let level = fields.next().unwrap();
    let level = Level::ALL.into_iter().find(|one| one.as_str() == level);
    // The sweeper works elsewhere, and needs nothing of what the others do.
    let working_folder = if work.is_empty() {
        root.join("work")
    } else {
        root.join("home").join(work)
    };
    let mut policy = SandboxPolicy::new(working_folder, root.join("temp"));
    policy.home = Some(root.join("home"));
    if !work.is_empty() {
        policy.write_roots = vec![root.join("home")];
    }
    policy.level = LevelChoice::AtMost(level.unwrap());
    policy.require = level;
    let sandbox = Sandbox::prepare(policy).unwrap();
    let child = shell("true").sandbox(&sandbox).spawn().unwrap();
    child.wait_all().await;
    drop(child);
    println!("owner is ready");
    if std::env::var_os(ENDS).is_none() {
        let mut line = String::new();
        // Lives until it is killed or told to end.
        let _end = std::io::stdin().lock().read_line(&mut line);
    }
}
