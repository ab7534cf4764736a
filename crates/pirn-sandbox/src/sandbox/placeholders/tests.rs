use super::*;
use crate::sandbox::folders::SandboxFolders;

/// A folder for work and one for sandboxes.
struct Stage {
    _folder: tempfile::TempDir,
    root: PathBuf,
    temp: PathBuf,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let temp = root.join("temp");
        std::fs::create_dir(&temp).unwrap();
        Self {
            _folder: folder,
            root,
            temp,
        }
    }

    fn sandbox(&self) -> (Placeholders, SandboxFolders) {
        let parts = SandboxFolders::create(&self.temp).unwrap();
        (Placeholders::new(parts.folder()), parts)
    }

    /// What a killed process leaves.
    fn dead(&self, made: &[Placeholder]) -> PathBuf {
        let parts = self.temp.join("pirn-sandbox-1-dead-parts");
        std::fs::create_dir(&parts).unwrap();
        std::fs::write(parts.join("owner"), "").unwrap();
        let record = Record {
            made: made.to_vec(),
            needed: Vec::new(),
        };
        record.write(&parts).unwrap();
        parts
    }
}

fn placeholder(path: &Path, kind: PlaceholderKind) -> Placeholder {
    Placeholder {
        path: path.to_owned(),
        kind,
    }
}

fn paths(placeholders: &[Placeholder], protected: &[PathBuf]) -> Paths {
    Paths {
        placeholders: placeholders.to_vec(),
        protected: protected.to_vec(),
        ..Paths::default()
    }
}

#[test]
fn stay_for_as_long_as_anybody_needs_them() {
    let stage = Stage::new();
    let protected = [
        stage.root.join("config"),
        stage.root.join("config/inner"),
        stage.root.join("file"),
    ];
    let [outer, inner, file] = &protected;
    let missing = [
        placeholder(outer, PlaceholderKind::Folder),
        placeholder(inner, PlaceholderKind::Folder),
        placeholder(file, PlaceholderKind::File(b"text".to_vec())),
    ];
    let first = stage.sandbox();
    assert_eq!(
        first.0.hold(&paths(&missing, &protected)).unwrap(),
        PlaceholderCheck::All
    );
    assert_eq!(std::fs::read(file).unwrap(), b"text");
    let second = stage.sandbox();
    // To the second one they are just there.
    assert_eq!(
        second.0.hold(&paths(&[], &protected)).unwrap(),
        PlaceholderCheck::All
    );
    // Should its process be killed, they are its to remove.
    let record = Record::read(second.1.folder()).unwrap();
    assert_eq!(record.made, missing);
    drop(first);
    assert!(inner.is_dir() && file.is_file());
    std::fs::write(file, "changed").unwrap();
    drop(second);
    assert_eq!((outer.exists(), file.exists()), (false, true));
    assert_eq!(stage.temp.read_dir().unwrap().count(), 0);
}

#[test]
fn are_made_again_when_they_have_gone() {
    let stage = Stage::new();
    let path = stage.root.join("made");
    let missing = paths(
        &[placeholder(&path, PlaceholderKind::Folder)],
        std::slice::from_ref(&path),
    );
    let there = paths(&[], std::slice::from_ref(&path));
    let (held, _parts) = stage.sandbox();
    assert_eq!(held.hold(&missing).unwrap(), PlaceholderCheck::All);
    assert_eq!(held.hold(&there).unwrap(), PlaceholderCheck::All);
    std::fs::remove_dir(&path).unwrap();
    assert_eq!(held.hold(&there).unwrap(), PlaceholderCheck::Outdated);
    assert_eq!(held.hold(&missing).unwrap(), PlaceholderCheck::All);
    assert!(path.is_dir());
    drop(held);
    assert!(!path.exists());
}

#[test]
fn are_not_made_through_links() {
    let stage = Stage::new();
    std::fs::create_dir(stage.root.join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", stage.root.join("link")).unwrap();
    let path = stage.root.join("link/made");
    let (held, parts) = stage.sandbox();
    held.hold(&paths(
        &[placeholder(&path, PlaceholderKind::Folder)],
        &[path],
    ))
    .unwrap();
    assert!(!stage.root.join("elsewhere/made").exists());
    assert_eq!(Record::read(parts.folder()).unwrap().made, []);
}

#[test]
fn of_the_dead_are_removed_where_a_policy_can_have_made_them() {
    let stage = Stage::new();
    let at = |name: &str| stage.root.join(name);
    std::fs::create_dir_all(at("elsewhere/.pirn")).unwrap();
    std::os::unix::fs::symlink("elsewhere", at("link")).unwrap();
    for folder in [".git/hooks", "empty", ".config/fish", ".pirn/used"] {
        std::fs::create_dir_all(at(folder)).unwrap();
    }
    for (file, content) in [
        (".bashrc", ""),
        (".bash_profile", ". ~/.profile\n"),
        (".profile", "mine"),
        (".zshrc", "changed"),
        ("empty.py", ""),
    ] {
        std::fs::write(at(file), content).unwrap();
    }
    let file =
        |name: &str, content: &str| placeholder(&at(name), PlaceholderKind::File(content.into()));
    let folder = |name: &str| placeholder(&at(name), PlaceholderKind::Folder);
    let parts = stage.dead(&[
        folder(".config"),
        folder(".config/fish"),
        folder(".git/hooks"),
        folder(".pirn"),
        folder("empty"),
        folder("link/.pirn"),
        folder("empty/../elsewhere/.pirn"),
        file(".bashrc", ""),
        file(".bash_profile", ". ~/.profile\n"),
        file(".profile", "mine"),
        file(".zshrc", ""),
        file("empty.py", ""),
    ]);
    clear(&parts, Some(&[]));
    for (name, stays) in [
        (".config", false),
        (".git/hooks", false),
        (".bashrc", false),
        (".bash_profile", false),
        // Used or changed since.
        (".pirn/used", true),
        (".zshrc", true),
        // Never made by us.
        ("elsewhere/.pirn", true),
        ("empty", true),
        ("empty.py", true),
        (".profile", true),
    ] {
        assert_eq!(at(name).exists(), stays, "{name}");
    }
    assert!(!are_left(&parts));
}

#[test]
fn of_the_dead_stay_while_somebody_needs_them_or_nobody_knows() {
    let stage = Stage::new();
    // The first sandbox of a process sweeps.
    let (held, parts) = stage.sandbox();
    let [fish, pirn] = [".config/fish", ".pirn"].map(|name| stage.root.join(name));
    for path in [&fish, &pirn] {
        std::fs::create_dir_all(path).unwrap();
    }
    let config = stage.root.join(".config");
    let made = [&config, &fish, &pirn].map(|path| placeholder(path, PlaceholderKind::Folder));
    let dead = stage.dead(&made);
    held.hold(&paths(&[], std::slice::from_ref(&fish))).unwrap();
    clear(&dead, None);
    assert!(fish.is_dir() && pirn.is_dir() && are_left(&dead));
    let needed = needed_by_living(&stage.temp, None);
    assert_eq!(needed.as_deref(), Some(std::slice::from_ref(&fish)));
    clear(&dead, needed.as_deref());
    assert!(fish.is_dir() && !pirn.exists() && are_left(&dead));
    std::fs::write(parts.folder().join("placeholders"), "strange").unwrap();
    assert_eq!(needed_by_living(&stage.temp, None), None);
    drop((held, parts));
    clear(&dead, needed_by_living(&stage.temp, None).as_deref());
    assert!(!config.exists() && !are_left(&dead));
}
