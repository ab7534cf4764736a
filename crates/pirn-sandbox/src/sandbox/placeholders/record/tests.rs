use super::*;

#[test]
fn is_read_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let parts = folder.path();
    assert_eq!(Record::read(parts), Some(Record::default()));
    let placeholder = |path: &str, kind| Placeholder {
        path: path.into(),
        kind,
    };
    let full = Record {
        made: vec![
            placeholder("/srv/with\nline", PlaceholderKind::Folder),
            placeholder("/srv/empty", PlaceholderKind::File(Vec::new())),
            placeholder("/srv/file", PlaceholderKind::File(b"text\n".to_vec())),
        ],
        needed: vec!["/srv/file".into(), "/srv/other".into()],
    };
    for record in [full, Record::default()] {
        record.write(parts).unwrap();
        assert_eq!(Record::read(parts), Some(record));
    }
    assert!(Record::exists(parts));
    Record::remove(parts);
    assert!(!Record::exists(parts));
}

#[test]
fn what_is_strange_is_not_understood() {
    let folder = tempfile::tempdir().unwrap();
    let parts = folder.path();
    for text in [
        "needed\0/srv",
        "needed\0",
        "file\0/srv\0",
        "later\0/srv\0",
        "\0",
    ] {
        std::fs::write(parts.join(NAME), text).unwrap();
        assert_eq!(Record::read(parts), None, "{text:?}");
    }
    Record::remove(parts);
    std::os::unix::fs::symlink("/dev/null", parts.join(NAME)).unwrap();
    assert_eq!(Record::read(parts), None);
}
