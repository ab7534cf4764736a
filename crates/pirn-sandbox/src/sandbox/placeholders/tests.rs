use super::*;

fn placeholder(path: &Path, kind: PlaceholderKind) -> Placeholder {
    Placeholder {
        path: path.to_owned(),
        kind,
    }
}

#[test]
fn stay_for_as_long_as_anybody_needs_them() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let paths = [
        root.join("config"),
        root.join("config/inner"),
        root.join("file"),
    ];
    let [outer, inner, file] = &paths;
    let missing = [
        placeholder(outer, PlaceholderKind::Folder),
        placeholder(inner, PlaceholderKind::Folder),
        placeholder(file, PlaceholderKind::File(b"text".to_vec())),
    ];
    let first = Placeholders::default();
    first.hold(&missing, &paths);
    assert_eq!(std::fs::read(file).unwrap(), b"text");
    let second = Placeholders::default();
    // To the second one they are just there.
    second.hold(&[], &paths);
    drop(first);
    assert!(inner.is_dir() && file.is_file());
    std::fs::write(file, "changed").unwrap();
    drop(second);
    assert_eq!((outer.exists(), file.exists()), (false, true));
}

#[test]
fn are_not_made_through_links() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", root.join("link")).unwrap();
    let path = root.join("link/made");
    let held = Placeholders::default();
    held.hold(&[placeholder(&path, PlaceholderKind::Folder)], &[path]);
    assert!(!root.join("elsewhere/made").exists());
}
