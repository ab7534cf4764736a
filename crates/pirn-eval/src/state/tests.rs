use std::path::Path;

use super::*;
use crate::error::ErrorKind;

const PYTHON: Language = Language::Python;
const JAVASCRIPT: Language = Language::JavaScript;

/// What every store does.
fn behaves(store: &dyn StateStore) {
    assert_eq!(store.load("main", PYTHON).unwrap(), None);
    let big = r#"{"n":9007199254740993123456789,"x":1.0,"text":"ä\u0000"}"#;
    store.commit("main", PYTHON, big).unwrap();
    store.commit("main", JAVASCRIPT, "{}").unwrap();
    store.commit("main", PYTHON, r#"{"n":1}"#).unwrap();
    store.commit("main", PYTHON, big).unwrap();
    assert_eq!(store.load("main", PYTHON).unwrap(), Some(big.to_owned()));
    assert_eq!(store.load("other", PYTHON).unwrap(), None);

    store.fork("main", "side").unwrap();
    store.commit("side", PYTHON, r#"{"side":true}"#).unwrap();
    assert_eq!(store.load("main", PYTHON).unwrap(), Some(big.to_owned()));
    assert_eq!(
        store.load("side", JAVASCRIPT).unwrap(),
        Some("{}".to_owned())
    );

    store.clear("main").unwrap();
    store.clear("never was").unwrap();
    assert_eq!(store.load("main", PYTHON).unwrap(), None);
    store.fork("main", "side").unwrap();
    assert_eq!(store.load("side", PYTHON).unwrap(), None);
}

#[test]
fn memory_keeps_states() {
    behaves(&MemoryStateStore::new());
}

#[test]
fn memory_is_bounded() {
    let store = MemoryStateStore::new();
    let state = format!("{{\"x\":\"{}\"}}", "a".repeat(TOTAL_BYTES_MAX / 2));
    store.commit("main", PYTHON, &state).unwrap();
    assert!(
        store
            .fork("main", "side")
            .unwrap_err()
            .to_string()
            .contains("64 MiB")
    );
    assert!(store.commit("side", PYTHON, &state).is_err());
    // Replacing does not count the old one.
    store.commit("main", PYTHON, &state).unwrap();
}

#[test]
fn a_file_keeps_states_for_the_next_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    behaves(&FileStateStore::open(&path).unwrap());
    FileStateStore::open(&path)
        .unwrap()
        .commit("main", PYTHON, r#"{"kept":true}"#)
        .unwrap();
    assert_eq!(
        FileStateStore::open(&path)
            .unwrap()
            .load("main", PYTHON)
            .unwrap(),
        Some(r#"{"kept":true}"#.to_owned())
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn looking_makes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    let store = FileStateStore::open(&path).unwrap();
    assert_eq!(store.load("main", PYTHON).unwrap(), None);
    store.clear("main").unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn files_of_others_and_damaged_ones_are_refused_and_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    let store = FileStateStore::open(&path).unwrap();
    for (content, problem) in [
        ("", "not a file of this kind, or it is damaged"),
        (
            "{\"name\": \"a package\"}",
            "not a file of this kind, or it is damaged",
        ),
        (
            r#"{"format":"other","version":1,"branches":{}}"#,
            "another kind",
        ),
        (
            r#"{"format":"pirn-eval-state","version":2,"new":[]}"#,
            "a later version (format 2, this one knows 1)",
        ),
        (
            r#"{"format":"pirn-eval-state","version":1,"branches":{"main":{"python":{"x":1}"#,
            "damaged",
        ),
    ] {
        std::fs::write(&path, content).unwrap();
        for error in [
            FileStateStore::open(&path).unwrap_err(),
            store.load("main", PYTHON).unwrap_err(),
            store.commit("main", PYTHON, "{}").unwrap_err(),
            store.clear("main").unwrap_err(),
            store.fork("main", "side").unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::StateUnreadable);
            let message = error.to_string();
            assert!(message.contains(problem), "{message}");
            assert!(message.contains("state.json") && message.contains("not changed"));
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert!(FileStateStore::open(&path).is_err());
}

/// The golden file of version 1, with fields of others, by hand.
#[test]
fn version_1_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    let content = r#"{
      "format": "pirn-eval-state", "version": 1, "later": null,
      "branches": {"main": {"python": {"n": 9007199254740993}, "javascript": {"list": [1]}}}
    }"#;
    std::fs::write(&path, content).unwrap();
    let store = FileStateStore::open(&path).unwrap();
    assert_eq!(
        store.load("main", PYTHON).unwrap(),
        Some(r#"{"n": 9007199254740993}"#.to_owned())
    );
    assert_eq!(
        store.load("main", JAVASCRIPT).unwrap(),
        Some(r#"{"list": [1]}"#.to_owned())
    );
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("real.json");
    let link = folder.path().join("link.json");
    FileStateStore::open(&real)
        .unwrap()
        .commit("main", PYTHON, "{}")
        .unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    FileStateStore::open(&link)
        .unwrap()
        .commit("main", PYTHON, r#"{"x":1}"#)
        .unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(load(&real), Some(r#"{"x":1}"#.to_owned()));
}

#[test]
fn changes_at_the_same_time_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let path = &path;
            scope.spawn(move || {
                let store = FileStateStore::open(path).unwrap();
                for round in 0..5 {
                    store
                        .commit(&format!("{thread}-{round}"), PYTHON, "{}")
                        .unwrap();
                }
            });
        }
    });
    let store = FileStateStore::open(&path).unwrap();
    for thread in 0..4 {
        for round in 0..5 {
            let branch = format!("{thread}-{round}");
            assert_eq!(store.load(&branch, PYTHON).unwrap(), Some("{}".to_owned()));
        }
    }
}

fn load(path: &Path) -> Option<String> {
    FileStateStore::open(path)
        .unwrap()
        .load("main", PYTHON)
        .unwrap()
}

/// The file that [`victim`] writes; also the mark of its process.
#[cfg(unix)]
const VICTIM_FILE: &str = "PIRN_EVAL_TEST_VICTIM_FILE";

/// Kills, and the span in which their moments lie after the victim has begun.
#[cfg(unix)]
const KILLS: u64 = 20;
#[cfg(unix)]
const MOMENT_MAX_US: u64 = 20_000;

#[cfg(unix)]
#[test]
fn a_killed_process_leaves_the_last_commit() {
    use std::io::BufRead as _;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    for round in 0..KILLS {
        let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "state::tests::victim", "--nocapture"])
            .env(VICTIM_FILE, &path)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = std::io::BufReader::new(victim.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("committed 0")));
        // Spread evenly and always the same: multiples of the golden ratio.
        let moment_us = round.wrapping_mul(11_400_714_819_323_198_485) % MOMENT_MAX_US;
        std::thread::sleep(std::time::Duration::from_micros(moment_us)); // sleeps: the moment of the kill is what is tested
        victim.kill().unwrap();
        victim.wait().unwrap();
        let acknowledged = lines
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("committed ")?.parse::<u64>().ok())
            .max()
            .unwrap_or(0);
        let state: serde_json::Value = serde_json::from_str(&load(&path).unwrap()).unwrap();
        // What was acknowledged is there, or what came right after it.
        assert!(
            state["n"].as_u64().unwrap() >= acknowledged,
            "{state} after {acknowledged}"
        );
        // A process that comes later can go on.
        FileStateStore::open(&path)
            .unwrap()
            .commit("main", PYTHON, r#"{"n":0}"#)
            .unwrap();
    }
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(names.len() <= 3, "{names:?}");
}

/// Commits until it is killed. Does nothing but in a process that [`a_killed_process_leaves_the_last_commit`] started.
#[cfg(unix)]
#[test]
fn victim() {
    let Some(path) = std::env::var_os(VICTIM_FILE) else {
        return;
    };
    let store = FileStateStore::open(Path::new(&path)).unwrap();
    for number in 0_u64.. {
        let state = format!("{{\"n\":{number},\"filler\":\"{}\"}}", "x".repeat(50_000));
        store.commit("main", PYTHON, &state).unwrap();
        println!("committed {number}");
    }
}
