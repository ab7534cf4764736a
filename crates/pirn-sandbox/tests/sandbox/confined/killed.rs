//! What commands made when Pirn was killed while they ran: the next Pirn looks at it before anything else.

use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use pirn_sandbox::{ErrorKind, FileRefusal, Level, LevelChoice, Sandbox, SandboxPolicy};

use super::{Place, also_as_ordinary_user, entries, levels, wait_until};
use crate::support::shell;

/// The variable that turns [`owner`] into a process whose command makes things: the folder of the [`Place`] and the level, apart by
/// `|`.
const OWNER: &str = "PIRN_SANDBOX_TEST_KILLED";

/// What the command makes, and that it is done. It goes on, with its file open.
const MAKES: &str = "mkdir -p sub/.vscode x/.git/hooks x/.git/objects x/.git/refs; echo '{}' > sub/.vscode/tasks.json; \
                     echo ref: refs/heads/x > x/.git/HEAD; printf '[core]\\n\\tfsmonitor = evil\\n' > x/.git/config; \
                     echo evil > x/.git/hooks/post-checkout; echo x > file; : > made; exec sleep 1000";

fn policy(root: &Path, level: Level) -> SandboxPolicy {
    let mut policy = SandboxPolicy::new(root.join("work"), root.join("temp"));
    policy.home = Some(root.join("home"));
    policy.protection.pirn_home = Some(root.join("pirn"));
    policy.level = LevelChoice::AtMost(level);
    policy.require = Some(level);
    policy
}

/// A place in which a command has made things, and whose owner was killed.
fn killed(level: Level) -> Place {
    let place = Place::new();
    let own = place.work.join("own/.git/hooks");
    std::fs::create_dir_all(&own).unwrap();
    for (path, content) in [
        ("work/own/.git/HEAD", "ref: refs/heads/main\n"),
        ("work/own/.git/config", "[core]\n\tfsmonitor = mine\n"),
        ("work/own/.git/hooks/post-commit", "mine"),
        ("work/own/.vscode/tasks.json", "mine"),
    ] {
        let path = place.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let root = place.folder.path().canonicalize().unwrap();
    let mut owner = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "confined::killed::owner", "--nocapture"])
        .env(OWNER, format!("{}|{}", root.display(), level.as_str()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_the_command(&mut owner);
    owner.kill().unwrap();
    owner.wait().unwrap();
    place
}

fn wait_for_the_command(owner: &mut Child) {
    let mut lines = std::io::BufReader::new(owner.stdout.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("the command has made all")));
}

fn is_disarmed(place: &Place) {
    let work = &place.work;
    assert!(!work.join("sub/.vscode").exists());
    assert!(work.join("sub/.vscode.set-aside-1/tasks.json").exists());
    // An empty folder may stand in for it by now.
    assert!(!work.join("x/.git/hooks/post-checkout").exists());
    assert!(work.join("x/.git/hooks.set-aside-1/post-checkout").exists());
    assert_eq!(
        std::fs::read_to_string(work.join("x/.git/config")).unwrap(),
        "[core]\n"
    );
    // The user's own.
    let config = std::fs::read_to_string(work.join("own/.git/config")).unwrap();
    assert_eq!(config, "[core]\n\tfsmonitor = mine\n");
    for path in ["own/.git/hooks/post-commit", "own/.vscode/tasks.json"] {
        assert_eq!(std::fs::read_to_string(work.join(path)).unwrap(), "mine");
    }
}

#[tokio::test]
async fn is_looked_at_before_the_first_command() {
    also_as_ordinary_user("confined::killed::is_looked_at_before_the_first_command");
    for level in levels() {
        let place = killed(*level);
        let sandbox =
            Sandbox::prepare(policy(&place.folder.path().canonicalize().unwrap(), *level)).unwrap();
        is_disarmed(&place);
        let child = place.shell(&sandbox, "true").spawn().unwrap();
        child.wait_all().await;
        let notes = child.set_aside().join("\n");
        for said in ["was killed", "sub/.vscode", "x/.git/hooks", "x/.git/config"] {
            assert!(notes.contains(said), "{level:?}: {notes}");
        }
        assert_eq!(sandbox.take_notes(), [""; 0]);
        drop((child, sandbox));
        let list = place.folder.path().join("pirn/sandboxes");
        wait_until("nothing is left of the list but its lock", || {
            entries(&list) == [list.canonicalize().unwrap().join("turn")]
        })
        .await;
    }
}

#[test]
fn is_looked_at_before_the_first_file_tool() {
    let place = killed(Level::Basic);
    let sandbox = Sandbox::on_demand(policy(
        &place.folder.path().canonicalize().unwrap(),
        Level::Basic,
    ));
    sandbox
        .file_rules()
        .check_read(&place.work.join("file"))
        .unwrap();
    is_disarmed(&place);
    assert_eq!(sandbox.take_notes().len(), 4);
    assert!(!sandbox.is_prepared());
}

/// Work elsewhere looks as well, since the owner's git may run there before Pirn does.
#[test]
fn is_looked_at_by_who_works_elsewhere() {
    let place = killed(Level::Basic);
    let root = place.folder.path().canonicalize().unwrap();
    let mut elsewhere = policy(&root, Level::Basic);
    elsewhere.working_folder = root.join("home");
    elsewhere.home = None;
    Sandbox::prepare(elsewhere).unwrap();
    is_disarmed(&place);
}

#[tokio::test]
async fn without_a_look_nothing_is_run_or_opened() {
    let place = killed(Level::Basic);
    let root = place.folder.path().canonicalize().unwrap();
    let list = root.join("pirn/sandboxes");
    for record in entries(&list)
        .iter()
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
    {
        std::fs::write(record, "{").unwrap();
    }
    let sandbox = Sandbox::on_demand(policy(&root, Level::Basic));
    let error = place.shell(&sandbox, "true").spawn().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Confinement);
    assert!(error.to_string().contains("pirn/sandboxes/"), "{error}");
    let refusal = sandbox.file_rules().check_read(&place.work.join("file"));
    assert!(
        matches!(refusal, Err(FileRefusal::Unknown(..))),
        "{refusal:?}"
    );
}

/// What another Pirn does that lives is its own business.
#[tokio::test]
async fn a_living_pirn_is_left_alone() {
    let place = Place::new();
    let root = place.folder.path().canonicalize().unwrap();
    let first = Sandbox::prepare(policy(&root, Level::Basic)).unwrap();
    let child = place
        .shell(&first, "mkdir .vscode; : > made; exec sleep 1000")
        .spawn()
        .unwrap();
    wait_until("the command has made it", || {
        place.work.join("made").exists()
    })
    .await;
    let second = Sandbox::prepare(policy(&root, Level::Basic)).unwrap();
    assert_eq!(second.take_notes(), [""; 0]);
    assert!(place.work.join(".vscode").exists());
    child.kill_all().await;
    assert!(!place.work.join(".vscode").exists());
}

/// Not a test by itself: a process whose command makes things.
#[tokio::test]
async fn owner() {
    let Ok(text) = std::env::var(OWNER) else {
        return;
    };
    let (root, level) = text.split_once('|').unwrap();
    let root = PathBuf::from(root);
    let level = Level::ALL.into_iter().find(|one| one.as_str() == level);
    let sandbox = Sandbox::prepare(policy(&root, level.unwrap())).unwrap();
    // Looked at whole before the next one starts, or that look might find what the next one makes.
    shell("true")
        .sandbox(&sandbox)
        .spawn()
        .unwrap()
        .wait_all()
        .await;
    let child = shell(MAKES).sandbox(&sandbox).spawn().unwrap();
    wait_until("everything is made", || root.join("work/made").exists()).await;
    println!("the command has made all");
    child.wait_all().await;
}
