//! Who can read such files, how long they live, and what makes room.

use super::*;

#[test]
fn files_are_private_and_named_by_chance() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/folder");
    let spill = SpillFolder::new(&path);
    let file = spill.write("pirn-mcp-", "txt", b"abc").unwrap();
    assert_ne!(file, spill.write("pirn-mcp-", "txt", b"abc").unwrap());
    assert_eq!(std::fs::read(&file).unwrap(), b"abc");
    assert!(spill.holds(&file) && !spill.holds(&path));
    let name = file.file_name().unwrap().to_str().unwrap();
    assert!(
        name.starts_with("pirn-mcp-") && name.len() == "pirn-mcp-".len() + 16 + 4,
        "{name}"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(&path)), (0o600, 0o700));
    }
    drop(spill);
    assert!(file.exists(), "a named folder stays");
}

#[test]
fn the_folder_of_a_run_ends_with_its_last_user() {
    let parent = tempfile::tempdir().unwrap();
    let spill = SpillFolder::temporary(parent.path());
    assert_eq!(
        std::fs::read_dir(parent.path()).unwrap().count(),
        0,
        "made when it is needed"
    );
    let other = spill.clone();
    let files = [("a-", &spill), ("b-", &other)]
        .map(|(prefix, spill)| spill.write(prefix, "txt", b"x").unwrap());
    let folder = files[0].parent().unwrap().to_owned();
    assert_eq!(files[1].parent(), Some(&*folder));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(
            std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
            0o700
        );
    }
    drop(spill);
    assert!(files.iter().all(|file| file.exists()));
    drop(other);
    assert!(!folder.exists());
}

#[test]
fn the_oldest_make_room_and_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = folder.path().join("foreign.txt");
    std::fs::write(&foreign, "kept").unwrap();
    let spill = SpillFolder::new(folder.path());
    let files = [1, 2, 3].map(|byte| spill.write("a-", "txt", &[byte; 10]).unwrap());
    // As if the first two were as large as all may be.
    {
        let shared = spill.shared.as_ref().unwrap();
        let mut state = shared.state.lock().unwrap();
        for (index, bytes) in [(0, SPILL_BYTES_MAX / 2), (1, SPILL_BYTES_MAX / 2 - 10)] {
            state.bytes += bytes - state.files[index].bytes;
            state.files[index].bytes = bytes;
        }
        assert_eq!(state.bytes, SPILL_BYTES_MAX);
    }
    let newest = spill.write("a-", "txt", b"1").unwrap();
    let text = std::fs::read_to_string(&files[0]).unwrap();
    assert!(
        text.starts_with("What was here is deleted: ") && text.contains("256 MiB"),
        "{text}"
    );
    assert!(!spill.holds(&files[0]));
    for file in [&files[1], &files[2], &newest] {
        assert!(spill.holds(file));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(
            std::fs::metadata(&files[0]).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    assert!(foreign.exists());
}

#[test]
fn a_file_that_grows_makes_no_room_and_stops_at_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    let spill = SpillFolder::new(folder.path());
    let old = spill.write("a-", "txt", &[1; 10]).unwrap();
    let mut growing = spill.create("b-", "log").unwrap();
    growing.append(b"one\n").unwrap();
    let new = spill.write("a-", "txt", &[2; 10]).unwrap();
    // As if it were nearly as large as all may be.
    let as_if = |bytes: u64| {
        let mut state = spill.shared.as_ref().unwrap().lock();
        state.grow(growing.path(), bytes);
    };
    as_if(SPILL_BYTES_MAX - 24);
    assert!(spill.holds(&old));
    growing.append(b"two\n").unwrap();
    assert!(!spill.holds(&old) && spill.holds(&new) && growing.is_whole());
    growing.append(&[3; 20]).unwrap();
    assert!(!spill.holds(&new) && !growing.is_whole());
    growing.append(b"never").unwrap();
    let refused = spill.write("a-", "txt", b"x");
    assert!(refused.unwrap_err().contains("still being written"));
    let path = growing.path().to_owned();
    drop(growing);
    let content = [b"one\ntwo\n".as_slice(), &[3; 16]].concat();
    assert_eq!(std::fs::read(&path).unwrap(), content);
    spill.write("a-", "txt", b"x").unwrap();
    assert!(!spill.holds(&path), "now it makes room");
}

#[test]
fn files_elsewhere_count_too() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let spill = SpillFolder::temporary(folder.path());
    let file = spill
        .within(elsewhere.path())
        .write("a-", "txt", b"abc")
        .unwrap();
    assert_eq!(file.parent(), Some(elsewhere.path()));
    assert!(spill.holds(&file));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn the_number_of_files_is_bounded_too() {
    let folder = tempfile::tempdir().unwrap();
    let spill = SpillFolder::new(folder.path());
    let files: Vec<PathBuf> = (0..5_u8)
        .map(|byte| spill.write("a-", "txt", &[byte]).unwrap())
        .collect();
    let shared = spill.shared.as_ref().unwrap();
    shared.state.lock().unwrap().make_room(0, 4);
    let left: Vec<bool> = files.iter().map(|file| file.exists()).collect();
    assert_eq!(left, [false, false, true, true, true]);
    assert_eq!(shared.state.lock().unwrap().bytes, 3);
}

#[test]
fn failures_are_said() {
    assert_eq!(
        SpillFolder::none().write("a-", "txt", b""),
        Err("no folder for such files is set".to_owned())
    );
    assert!(SpillFolder::none().create("a-", "txt").is_err());
    let file = tempfile::NamedTempFile::new().unwrap();
    for spill in [
        SpillFolder::new(file.path().join("below")),
        SpillFolder::temporary(file.path().join("below")),
    ] {
        let error = spill.write("a-", "txt", b"").unwrap_err();
        assert!(
            error.starts_with(&file.path().join("below").display().to_string()),
            "{error}"
        );
    }
}
