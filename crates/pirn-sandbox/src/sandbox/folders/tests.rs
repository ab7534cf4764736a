use super::*;

#[test]
fn are_private_and_removed_whatever_was_made_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let parts = SandboxFolders::create(folder.path()).unwrap();
    let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
    assert_eq!(mode(parts.temp()), 0o700);
    assert_eq!(mode(&parts.locked_folder()), 0);
    assert_eq!(mode(&parts.locked_file()), 0);
    let deep = parts.temp().join("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::set_permissions(deep, Permissions::from_mode(0o0)).unwrap();
    drop(parts);
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn sweeps_what_nobody_owns() {
    let folder = tempfile::tempdir().unwrap();
    let alive = SandboxFolders::create(folder.path()).unwrap();
    let dead = folder.path().join("pirn-sandbox-1-dead");
    let dead_parts = folder.path().join("pirn-sandbox-1-dead-parts");
    let strange = folder.path().join("pirn-sandbox-strange-parts");
    for path in [&dead, &dead_parts, &strange] {
        std::fs::create_dir(path).unwrap();
    }
    std::fs::write(dead_parts.join(OWNER), "").unwrap();
    sweep(folder.path());
    // Without an owner's file it may be one that is just being made.
    let found = [alive.temp(), &dead, &dead_parts, &strange].map(Path::exists);
    assert_eq!(found, [true, false, false, true]);
}
