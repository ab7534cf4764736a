use std::fs;

use super::RotatingLog;

#[test]
fn a_full_file_is_moved_away_once_whoever_notices() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/folder/log");
    let read = |name: &str| fs::read_to_string(path.with_file_name(name)).unwrap_or_default();
    let mut one = RotatingLog::new(path.clone(), 8);
    let mut other = RotatingLog::new(path.clone(), 8);
    assert!(!path.exists());
    one.append(b"first\n").unwrap();
    other.append(b"second\n").unwrap();
    assert_eq!(read("log"), "first\nsecond\n");
    one.append(b"third\n").unwrap();
    assert_eq!(
        (read("log.1"), read("log")),
        ("first\nsecond\n".into(), "third\n".into())
    );
    // The other one still has the file that is full and moved away.
    other.append(b"fourth\n").unwrap();
    assert_eq!(
        (read("log.1"), read("log")),
        ("first\nsecond\n".into(), "third\nfourth\n".into())
    );
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_use_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("logs/log");
    RotatingLog::new(path.clone(), 1).append(b"x").unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
}
