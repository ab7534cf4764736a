use super::*;

#[test]
fn locks_exclude_each_other_and_end_with_their_owner() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("a.lock");
    let held = FileLock::try_acquire(&lock).unwrap();
    assert!(held.is_some());
    assert!(FileLock::try_acquire(&lock).unwrap().is_none());
    assert!(FileLock::acquire(&lock, RETRY).unwrap().is_none());
    let other = folder.path().join("b.lock");
    assert!(FileLock::try_acquire(&other).unwrap().is_some());
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| FileLock::acquire(&lock, Duration::from_mins(1)));
        drop(held);
        assert!(waiting.join().unwrap().unwrap().is_some());
    });
    assert!(FileLock::try_acquire(&lock).unwrap().is_some());
}

#[test]
fn a_place_without_a_folder_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let error = FileLock::try_acquire(&folder.path().join("none/a.lock")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_and_the_file_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("a.lock");
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &lock).unwrap();
    assert!(FileLock::try_acquire(&lock).is_err());
    assert!(!folder.path().join("elsewhere").exists());
    let lock = folder.path().join("b.lock");
    let _held = FileLock::try_acquire(&lock).unwrap();
    let mode = std::fs::metadata(&lock).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
