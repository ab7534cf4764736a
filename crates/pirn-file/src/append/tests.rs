use super::*;

#[test]
fn a_torn_line_is_never_glued_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    AppendFile::create(&path)
        .unwrap()
        .append(["one", "two"])
        .unwrap();
    let whole = std::fs::read(&path).unwrap();
    for end in 0..=whole.len() {
        std::fs::write(&path, &whole[..end]).unwrap();
        let (mut file, content) = AppendFile::open(&path, 1024).unwrap();
        assert_eq!(content, &whole[..end]);
        file.append(["three"]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().last(), Some("three"), "{end}");
        assert!(text.ends_with('\n'));
    }
}

#[test]
fn a_second_writer_is_told_who_the_first_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let first = AppendFile::create(&path).unwrap();
    match AppendFile::open(&path, 1024) {
        Err(AppendError::Busy { process_id }) => {
            if cfg!(target_os = "linux") {
                assert_eq!(process_id, Some(std::process::id()));
            }
        }
        other => panic!("{other:?}"),
    }
    drop(first);
    assert!(AppendFile::open(&path, 1024).is_ok());
}
