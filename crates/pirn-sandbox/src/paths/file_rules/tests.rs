use std::path::Path;

use super::FileRefusal;
use crate::policy::{Profile, Readable, SandboxPolicy};
use crate::sandbox::Sandbox;

/// What a check says, in a word.
fn word(result: &Result<(), FileRefusal>) -> &'static str {
    match result {
        Ok(()) => "ok",
        Err(FileRefusal::Unreadable(_)) => "unreadable",
        Err(FileRefusal::HomeFile(_)) => "home file",
        Err(FileRefusal::PirnHome(_)) => "pirn home",
        Err(FileRefusal::Unknown(..)) => "unknown",
        Err(FileRefusal::NotListed(_)) => "not listed",
        Err(FileRefusal::OutsideWriteRoots(_)) => "outside",
        Err(FileRefusal::Protected(_)) => "protected",
        Err(FileRefusal::ReadOnly(_)) => "read-only",
    }
}

/// A folder with places of every kind.
fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    for folder in [
        "user/.config/fish",
        "work/headed",
        "work/laid",
        "work/sub/.env.d",
        "work/.git/hooks",
        "work/bare/objects",
        "work/bare/refs",
        "user/.ssh",
        "extra/.pirn",
    ] {
        std::fs::create_dir_all(place.path().join(folder)).unwrap();
    }
    for file in [
        "work/a",
        "work/sub/.env",
        "work/bare/HEAD",
        "work/headed/HEAD",
        "work/laid/config",
        "user/.ssh/id",
        "user/b",
    ] {
        std::fs::write(place.path().join(file), "x").unwrap();
    }
    #[cfg(unix)]
    for (link, target) in [
        ("work/to-key", "../user/.ssh/id"),
        ("work/to-home", "../user"),
        ("work/.env.link", "a"),
        ("work/up", "missing/../../user/new"),
        ("user/to-work", "../work"),
    ] {
        std::os::unix::fs::symlink(target, place.path().join(link)).unwrap();
    }
    place
}

fn policy(place: &Path, profile: Profile) -> SandboxPolicy {
    let mut policy = SandboxPolicy::new(place.join("work"), place);
    policy.profile = profile;
    policy.home = Some(place.join("user"));
    policy.write_roots = vec![place.join("extra")];
    policy
}

#[test]
fn files_are_judged_as_for_commands() {
    let place = place();
    let root = place.path();
    // A path, whether it may be read, and whether it may be written under `workspace-write`.
    let rows = [
        ("work/a", "ok", "ok"),
        ("work/new/deep/file", "ok", "ok"),
        ("extra/file", "ok", "ok"),
        ("user/b", "ok", "outside"),
        ("user/to-work/a", "ok", "ok"),
        ("work/to-home/b", "ok", "outside"),
        ("work/missing/../../user/new", "ok", "outside"),
        ("user/.ssh/id", "unreadable", "outside"),
        ("user/.ssh", "unreadable", "outside"),
        ("work/to-key", "unreadable", "outside"),
        ("work/to-home/.ssh/id", "unreadable", "outside"),
        ("work/sub/.env", "unreadable", "unreadable"),
        ("work/sub/.env.d/deep/x", "unreadable", "unreadable"),
        ("work/.env.link", "unreadable", "unreadable"),
        ("work/.git/hooks/pre-commit", "ok", "protected"),
        ("work/.git/config", "ok", "protected"),
        ("work/.git/HEAD", "ok", "ok"),
        ("work/sub/.git", "ok", "protected"),
        ("work/.git/modules/m/config", "ok", "protected"),
        ("work/bare/hooks/update", "ok", "protected"),
        ("work/sub/hooks/use.ts", "ok", "ok"),
        ("work/config", "ok", "ok"),
        ("work/.pirn/settings.json", "ok", "protected"),
        ("extra/.pirn/settings.json", "ok", "protected"),
        ("work/sub/.pirn/mcp.json", "ok", "protected"),
        ("work/sub/.vscode/tasks.json", "ok", "protected"),
        ("work/node_modules/x/.vscode/tasks.json", "ok", "ok"),
        ("work/laid/HEAD", "ok", "protected"),
        ("work/headed/config", "ok", "protected"),
        ("work/headed/hooks/update", "ok", "protected"),
        ("user/.npmrc", "home file", "outside"),
        ("user/.cargo/config.toml", "ok", "outside"),
    ];
    let write = Sandbox::on_demand(policy(root, Profile::WorkspaceWrite));
    let read_only = Sandbox::on_demand(policy(root, Profile::ReadOnly));
    let off = Sandbox::on_demand(policy(root, Profile::Off));
    for (path, readable, writable) in rows {
        let full = root.join(path);
        let rules = write.file_rules();
        assert_eq!(word(&rules.check_read(&full)), readable, "read {path}");
        assert_eq!(word(&rules.check_write(&full)), writable, "write {path}");
        let rules = read_only.file_rules();
        assert_eq!(word(&rules.check_read(&full)), readable, "{path}");
        assert_eq!(word(&rules.check_write(&full)), "read-only", "{path}");
        let rules = off.file_rules();
        assert_eq!(word(&rules.check_read(&full)), "ok", "{path}");
        assert_eq!(word(&rules.check_write(&full)), "ok", "{path}");
    }
    assert!(![write, read_only, off].iter().any(Sandbox::is_prepared));
}

#[test]
fn listed_places_and_start_up_files() {
    let place = place();
    let root = place.path();
    let mut policy = policy(root, Profile::WorkspaceWrite);
    policy.readable = Readable::Only(Vec::new());
    policy.write_roots = vec![root.join("user"), root.join("user/.config/fish")];
    let rules = Sandbox::on_demand(policy).file_rules();
    let check = |path: &str| {
        let full = root.join(path);
        [
            word(&rules.check_read(&full)),
            word(&rules.check_write(&full)),
        ]
        .join(", ")
    };
    assert_eq!(check("work/a"), "ok, ok");
    assert_eq!(check("extra/x"), "not listed, outside");
    assert_eq!(check("user/.bashrc"), "home file, protected");
    assert_eq!(check("user/.profile.d"), "home file, protected");
    assert_eq!(check("user/.config/fish/x"), "ok, ok");
    assert_eq!(check("user/.ssh/new"), "unreadable, protected");
}

/// A file that is hidden by a pattern has its other names hidden, wherever they are.
#[cfg(unix)]
#[test]
fn other_names_of_hidden_files_are_refused() {
    let place = place();
    let root = place.path();
    for name in ["work/x", "user/y", "extra/z"] {
        std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        std::fs::hard_link(root.join("work/sub/.env"), root.join(name)).unwrap();
    }
    std::fs::hard_link(root.join("work/a"), root.join("work/a2")).unwrap();
    let rules = Sandbox::on_demand(policy(root, Profile::WorkspaceWrite)).file_rules();
    let real = root.canonicalize().unwrap();
    for (name, wanted) in [
        ("work/x", "unreadable"),
        ("user/y", "unreadable"),
        ("extra/z", "unreadable"),
        ("work/a2", "ok"),
    ] {
        let path = real.join(name);
        let metadata = path.metadata().unwrap();
        assert_eq!(
            word(&rules.check_read_opened(&path, &metadata)),
            wanted,
            "{name}"
        );
        assert_eq!(
            word(&rules.check_other_names(&path, &metadata)),
            wanted,
            "{name}"
        );
    }
}
