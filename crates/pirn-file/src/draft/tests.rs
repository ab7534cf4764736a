use std::fs;
use std::path::Path;

use super::{Access, Draft, is_temporary_name, replace, temporary_name};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn recognises_only_its_own_names() {
    assert!(is_temporary_name(
        temporary_name("a b.rs".as_ref()).to_str().unwrap()
    ));
    assert!(is_temporary_name(
        temporary_name("x".repeat(255).as_ref()).to_str().unwrap()
    ));
    for name in [
        "a.tmp",
        ".a.pirn-1.tmp",
        "a.pirn-1-2.tmp",
        ".a.pirn-1-x.tmp",
        ".a.pirn-1-2.tmp.bak",
    ] {
        assert!(!is_temporary_name(name), "{name}");
    }
}

#[test]
fn sweeps_what_the_dead_left_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let stale = folder.path().join(".a.txt.pirn-4000000-7.tmp");
    let used = folder.path().join(".b.txt.pirn-4000000-8.tmp");
    let foreign = folder.path().join(".a.txt.swp");
    for path in [&stale, &used, &foreign] {
        fs::write(path, "half").unwrap();
    }
    let lock = fs::File::open(&used).unwrap();
    lock.try_lock().unwrap();
    replace(
        &folder.path().join("c.txt"),
        b"content",
        Access::KeptOrUsual,
    )
    .unwrap();
    assert!(!stale.exists());
    assert!(used.exists());
    assert!(foreign.exists());
}

#[test]
fn a_draft_that_is_dropped_leaves_the_old_content_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "old").unwrap();
    drop(Draft::new(&path, b"new", Access::KeptOrUsual).unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn a_file_that_came_meanwhile_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let draft = Draft::new(&path, b"new", Access::Private).unwrap();
    fs::write(&path, "came").unwrap();
    draft.publish().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn readers_find_one_content_or_the_other() {
    const ROUNDS: usize = 100;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let content = |round: usize| vec![b'a' + u8::try_from(round % 26).unwrap(); 100_000];
    replace(&path, &content(0), Access::Private).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 1..=ROUNDS {
                replace(&path, &content(round), Access::Private).unwrap();
            }
        });
        while !writer.is_finished() {
            let found = fs::read(&path).unwrap();
            assert_eq!(found.len(), 100_000);
            assert!(found.iter().all(|byte| Some(byte) == found.first()));
        }
    });
    assert_eq!(fs::read(&path).unwrap(), content(ROUNDS));
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn folders_are_not_replaced_and_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    for path in [inner.clone(), folder.path().join("missing/file")] {
        assert!(replace(&path, b"new", Access::Private).is_err());
    }
    assert!(inner.is_dir());
    assert_eq!(names(folder.path()), ["inner"]);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn access_is_what_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let usual = folder.path().join("usual");
        fs::write(&usual, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let usual = mode(&usual);
        let path = folder.path().join("file");
        for (access, before, after) in [
            (Access::Private, None, 0o600),
            (Access::Private, Some(0o644), 0o600),
            (Access::KeptOrPrivate, None, 0o600),
            (Access::KeptOrPrivate, Some(0o640), 0o640),
            (Access::KeptOrUsual, None, usual),
            (Access::KeptOrUsual, Some(0o750), 0o750),
        ] {
            if let Some(mode) = before {
                fs::write(&path, "old").unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
            replace(&path, b"new", access).unwrap();
            assert_eq!(mode(&path), after, "{access:?} {before:?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), "new");
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn links_stay_links() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::create_dir(folder.join("real")).unwrap();
        symlink("second", folder.join("first")).unwrap();
        symlink("real/file", folder.join("second")).unwrap();
        for content in ["made", "replaced"] {
            replace(&folder.join("first"), content.as_bytes(), Access::Private).unwrap();
            assert_eq!(
                fs::read_to_string(folder.join("real/file")).unwrap(),
                content
            );
            assert!(folder.join("first").is_symlink() && folder.join("second").is_symlink());
        }
        symlink("circle", folder.join("circle")).unwrap();
        assert!(replace(&folder.join("circle"), b"", Access::Private).is_err());
    }

    #[test]
    fn what_others_put_in_the_way_does_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let pipe = |name: &str| {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mkfifoat(rustix::fs::CWD, folder.join(name), mode).unwrap();
        };
        // Opening it would wait for a writer.
        pipe(".file.pirn-4000000-1.tmp");
        fs::write(folder.join("victim"), "untouched").unwrap();
        symlink("victim", folder.join(".file.pirn-4000000-2.tmp")).unwrap();
        // The next temporary names, whatever the other tests use up.
        for number in 0..4 {
            let name = format!(".file.pirn-{}-{number}.tmp", std::process::id());
            symlink("victim", folder.join(name)).unwrap();
        }
        for content in ["made", "replaced"] {
            replace(&folder.join("file"), content.as_bytes(), Access::Private).unwrap();
            assert_eq!(fs::read_to_string(folder.join("file")).unwrap(), content);
        }
        assert_eq!(
            fs::read_to_string(folder.join("victim")).unwrap(),
            "untouched"
        );

        pipe("pipe");
        assert!(replace(&folder.join("pipe"), b"", Access::KeptOrPrivate).is_err());
    }
}
