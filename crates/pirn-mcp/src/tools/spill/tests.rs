use super::*;

#[test]
fn files_are_private_and_named_by_chance() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/folder");
    let spill = SpillFolder::new(&path);
    let file = spill.write(b"abc", "txt").unwrap();
    assert_ne!(file, spill.write(b"abc", "txt").unwrap());
    assert_eq!(std::fs::read(&file).unwrap(), b"abc");
    let name = file.file_name().unwrap().to_str().unwrap();
    assert!(
        name.starts_with("pirn-mcp-") && name.len() == "pirn-mcp-".len() + 16 + 4,
        "{name}"
    );
    assert_eq!(file.extension().unwrap(), "txt");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(&path)), (0o600, 0o700));
    }
}

#[test]
fn the_oldest_files_make_room() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = folder.path().join("foreign.txt");
    std::fs::write(&foreign, "kept").unwrap();
    let spill = SpillFolder::new(folder.path());
    let files: Vec<PathBuf> = (0..FILES_MAX + 2)
        .map(|index| {
            spill
                .clone()
                .write(index.to_string().as_bytes(), "txt")
                .unwrap()
        })
        .collect();
    let left: Vec<bool> = files.iter().map(|file| file.exists()).collect();
    assert!(!left[0] && !left[1] && left[2..].iter().all(|exists| *exists));
    assert!(foreign.exists());
    let mut written = spill.written.lock().unwrap();
    assert_eq!(written.files.len(), FILES_MAX);
    written.make_room(BYTES_MAX);
    assert_eq!((written.files.len(), written.bytes), (0, 0));
}

#[test]
fn failures_are_said() {
    assert_eq!(
        SpillFolder::none().write(b"", "txt"),
        Err("no folder for such files is set".to_owned())
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = SpillFolder::new(file.path().join("below"))
        .write(b"", "txt")
        .unwrap_err();
    assert!(
        error.starts_with(&file.path().join("below").display().to_string()),
        "{error}"
    );
}
