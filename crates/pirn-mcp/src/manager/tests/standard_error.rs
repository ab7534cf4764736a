//! The end in memory, the file beside it.

use crate::manager::standard_error::StandardError;

#[test]
fn the_tail_is_cut_at_a_line_and_the_file_has_everything() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("logs/one.stderr.log");
    let log = StandardError::new(Some(file.clone()));
    assert_eq!(log.tail(), "");
    log.push("first");
    log.push("sécond");
    assert_eq!(log.tail(), "first\nsécond");
    for number in 0..30_000 {
        log.push(&format!("line {number:05}"));
    }
    let tail = log.tail();
    assert!(tail.starts_with("line 29"), "{tail}");
    assert!(tail.ends_with("line 29999"));
    assert!(tail.chars().count() <= 2_000 && tail.chars().count() > 1_900);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("first\nsécond\nline 00000\n"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn a_long_line_without_an_end_is_cut_in_the_middle() {
    let log = StandardError::new(None);
    log.push(&"é".repeat(100_000));
    assert_eq!(log.tail(), "é".repeat(2_000));
}

#[test]
fn the_file_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("one.stderr.log");
    let log = StandardError::new(Some(file.clone()));
    let line = "x".repeat(100_000);
    for _ in 0..40 {
        log.push(&line);
    }
    let sizes: Vec<u64> = [file, folder.path().join("one.stderr.log.1")]
        .iter()
        .map(|path| std::fs::metadata(path).unwrap().len())
        .collect();
    assert!(sizes.iter().all(|size| *size <= 1_200_000), "{sizes:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}
