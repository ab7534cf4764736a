use super::{is_temporary_name, replace, temporary_name};
use std::fs;

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
    replace(&folder.path().join("c.txt"), b"content").unwrap();
    assert!(!stale.exists());
    assert!(used.exists());
    assert!(foreign.exists());
}
