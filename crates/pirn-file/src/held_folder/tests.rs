use std::fs;
use std::io::{self, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{EntryKind, HeldFolder, open_readable};

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}

#[cfg(target_os = "linux")]
#[test]
fn links_of_the_system_are_not_followed() {
    let (_folder, path) = folder();
    fs::write(path.join("f"), "text").unwrap();
    let file = fs::File::open(path.join("f")).unwrap();
    let own = std::process::id();
    for shown in [
        format!("/proc/{own}/root{}", path.join("f").display()),
        format!("/proc/self/fd/{}", file.as_raw_fd()),
        format!("/dev/fd/{}", file.as_raw_fd()),
        "/proc/self/exe".to_owned(),
    ] {
        let error = open_readable(Path::new(&shown)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{shown}");
        assert!(error.to_string().contains("link of the system"), "{error}");
    }
    let error = HeldFolder::open(Path::new("/proc/self/root/usr")).unwrap_err();
    assert!(error.to_string().contains("link of the system"), "{error}");
    symlink("loop", path.join("loop")).unwrap();
    let error = open_readable(&path.join("loop")).unwrap_err();
    assert!(!error.to_string().contains("link of the system"), "{error}");
}

#[test]
fn nothing_leads_out_of_a_held_folder() {
    let (_folder, path) = folder();
    fs::create_dir(path.join("in")).unwrap();
    fs::write(path.join("out"), "secret").unwrap();
    fs::write(path.join("in/f"), "text").unwrap();
    symlink("../out", path.join("in/link")).unwrap();
    symlink("f", path.join("in/inner")).unwrap();
    let held = HeldFolder::open(&path.join("in")).unwrap();
    assert_eq!(held.path(), path.join("in"));
    let mut text = String::new();
    held.open_below(Path::new("f"))
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, "text");
    for name in ["link", "inner", "../out", "/etc/passwd"] {
        held.open_below(Path::new(name)).unwrap_err();
    }
    // A folder that is moved away stays the same folder.
    fs::rename(path.join("in"), path.join("moved")).unwrap();
    symlink("/etc", path.join("in")).unwrap();
    held.open_below(Path::new("f")).unwrap();
    let mut names: Vec<_> = held
        .entries_below(Path::new(""))
        .unwrap()
        .into_iter()
        .map(|entry| (entry.name.into_string().unwrap(), entry.kind))
        .collect();
    names.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(
        names,
        [
            ("f".to_owned(), EntryKind::File),
            ("inner".to_owned(), EntryKind::Link),
            ("link".to_owned(), EntryKind::Link)
        ]
    );
}

#[test]
fn folders_are_made_only_where_they_may_be() {
    let (_folder, path) = folder();
    let refused = HeldFolder::make(&path.join("a/b"), |place| {
        assert_eq!(place, path.join("a/b"));
        Err(io::ErrorKind::PermissionDenied.into())
    });
    refused.unwrap_err();
    assert!(!path.join("a").exists());
    let made = HeldFolder::make(&path.join("a/b"), |_| Ok(())).unwrap();
    assert_eq!(made.path(), path.join("a/b"));
    // A link among those that exist is followed, and told.
    symlink(path.join("a"), path.join("link")).unwrap();
    let made = HeldFolder::make(&path.join("link/c"), |place| {
        assert_eq!(place, path.join("a/c"));
        Ok(())
    });
    assert_eq!(made.unwrap().path(), path.join("a/c"));
    // One that leads nowhere is no place for a folder.
    symlink("nowhere", path.join("dangling")).unwrap();
    HeldFolder::make(&path.join("dangling/c"), |_| Ok(())).unwrap_err();
}
