use super::*;

#[test]
fn unique_files_have_names_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let first = write_unique(folder.path(), "a-", "txt", b"one").unwrap();
    let second = write_unique(folder.path(), "a-", "txt", b"two").unwrap();
    assert_ne!(first, second);
    assert_eq!(std::fs::read(&first).unwrap(), b"one");
    let name = first.file_name().unwrap().to_str().unwrap();
    let digits = name
        .strip_prefix("a-")
        .unwrap()
        .strip_suffix(".txt")
        .unwrap();
    assert!(
        digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{name}"
    );
    let missing = write_unique(&folder.path().join("none"), "a-", "txt", b"").unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
}

#[cfg(unix)]
#[test]
fn new_files_are_private_and_follow_no_link() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    let file = create_new(&path).unwrap();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &link).unwrap();
    for taken in [&path, &link] {
        let error = create_new(taken).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }
    assert!(!folder.path().join("elsewhere").exists());
}
