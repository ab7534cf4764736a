use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::Duration;

use super::*;
use crate::paths::tests::Tree;

/// What a child does between two looks.
fn look(tree: &Tree, act: impl FnOnce(&Path)) -> (PathCache, Vec<String>) {
    let cache = PathCache::default();
    cache.get(&tree.policy(), Instant::now()).unwrap();
    cache.child_starts();
    act(&tree.root.join("work"));
    let notes = cache.look(&tree.policy(), Instant::now());
    cache.child_is_gone();
    (cache, notes)
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
    }
}

const EVIL: &str = "[core]\n\tbare = false\n\tfsmonitor = touch x\n";
const CLEAN: &str = "[core]\n\tbare = false\n";

/// Whoever makes it, at any depth, and however soon after the last look.
#[test]
fn what_appears_between_two_commands_is_covered_in_the_second() {
    for depth in 1..=12 {
        let tree = Tree::new(&["work/", "home/"]);
        let policy = tree.policy();
        let folder = (0..depth).fold(tree.root.join("work"), |folder, level| {
            folder.join(format!("level{level}"))
        });
        std::fs::create_dir_all(&folder).unwrap();
        let cache = PathCache::default();
        let first = cache.get(&policy, Instant::now()).unwrap();
        assert_eq!((first.unreadable.len(), first.protected.len()), (0, 1));
        write(
            &folder,
            &[
                (".env", "x"),
                ("new/.git/HEAD", "ref: refs/heads/main"),
                ("new/.git/config", CLEAN),
                ("new/.vscode/tasks.json", "x"),
            ],
        );
        let second = cache.get(&policy, Instant::now()).unwrap();
        let unreadable: Vec<_> = second.unreadable.iter().map(|one| &one.path).collect();
        assert_eq!(unreadable, [&folder.join(".env")], "{depth}");
        for place in ["new/.git/config", "new/.git/hooks", "new/.vscode"] {
            let place = folder.join(place);
            assert!(second.protected.contains(&place), "{}", place.display());
        }
        std::fs::remove_file(folder.join(".env")).unwrap();
        let third = cache.get(&policy, Instant::now()).unwrap();
        assert_eq!(third.unreadable.len(), 0, "{depth}");
    }
}

/// What must not be read elsewhere is asked for again when it may have changed.
#[test]
fn what_lies_elsewhere_is_kept_for_seconds() {
    let tree = Tree::new(&["work/", "home/"]);
    let policy = tree.policy();
    let cache = PathCache::default();
    let start = Instant::now();
    let first = cache.get(&policy, start).unwrap();
    let again = cache.get(&policy, start + Duration::from_secs(1)).unwrap();
    assert!(Arc::ptr_eq(&first, &again));
    std::fs::write(tree.root.join("home/.npmrc"), "x").unwrap();
    let later = cache.get(&policy, start + Duration::from_secs(6)).unwrap();
    assert_eq!(later.unreadable.len(), 1);
    std::fs::write(tree.root.join("home/.netrc"), "x").unwrap();
    let renewed = cache
        .renew(&policy, start + Duration::from_secs(7))
        .unwrap();
    assert_eq!(renewed.unreadable.len(), 2);
}

#[test]
fn a_repository_that_a_child_made_is_disarmed_and_stays_writable() {
    for folder in ["new/.git", "bare", "node_modules/x/.git"] {
        let tree = Tree::new(&["work/", "home/"]);
        let (cache, notes) = look(&tree, |work| {
            write(
                &work.join(folder),
                &[
                    ("HEAD", "ref: refs/heads/x"),
                    ("objects/x", ""),
                    ("refs/x", ""),
                    ("config", EVIL),
                    ("hooks/pre-commit", "touch x"),
                    ("hooks/a.sample", ""),
                ],
            );
        });
        assert_eq!(notes.len(), 2, "{notes:?}");
        let folder = tree.root.join("work").join(folder);
        let config = std::fs::read_to_string(folder.join("config")).unwrap();
        assert_eq!(config, CLEAN);
        assert!(!folder.join("hooks").exists());
        assert!(folder.join("hooks.set-aside-1/pre-commit").exists());
        assert!(folder.join("config.set-aside-1").exists());
        let paths = cache.renew(&tree.policy(), Instant::now()).unwrap();
        assert!(!paths.protected.iter().any(|path| path.starts_with(&folder)));
        // What is harmless is left alone, and what is not is found again.
        assert_eq!(cache.look(&tree.policy(), Instant::now()), [""; 0]);
        write(&folder, &[("config", EVIL)]);
        assert_eq!(cache.look(&tree.policy(), Instant::now()).len(), 1);
    }
}

#[test]
fn every_form_of_a_repository_is_found() {
    /// Makes a repository whose settings are at a path.
    type Form = (&'static str, fn(&Path));
    let forms: [Form; 6] = [
        ("git/config", |work| {
            write(&work.join("git"), &[("HEAD", "x"), ("config", EVIL)]);
            std::fs::create_dir(work.join("sub")).unwrap();
            symlink("../git", work.join("sub/.git")).unwrap();
        }),
        ("gd/config", |work| {
            write(&work.join("gd"), &[("config", EVIL)]);
            write(work, &[("sub/.git", "gitdir: ../gd\n")]);
        }),
        ("common/config", |work| {
            write(&work.join("common"), &[("config", EVIL)]);
            write(
                work,
                &[
                    ("sub/.git/HEAD", "x"),
                    ("sub/.git/commondir", "../../common"),
                ],
            );
        }),
        ("sub/.git/modules/a/b/config", |work| {
            write(&work.join("sub/.git/modules/a/b"), &[("config", EVIL)]);
        }),
        (".env.d/x/.git/config", |work| {
            write(&work.join(".env.d/x/.git"), &[("config", EVIL)]);
        }),
        ("closed/.git/config", |work| {
            write(&work.join("closed/.git"), &[("config", EVIL)]);
            let mode = std::fs::Permissions::from_mode(0o500);
            std::fs::set_permissions(work.join("closed"), mode).unwrap();
        }),
    ];
    for (config, make) in forms {
        let tree = Tree::new(&["work/", "home/"]);
        let (_cache, notes) = look(&tree, make);
        assert_eq!(notes.len(), 1, "{config}: {notes:?}");
        let found = std::fs::read_to_string(tree.root.join("work").join(config)).unwrap();
        assert_eq!(found, CLEAN, "{config}");
    }
}

#[test]
fn what_git_begins_to_read_in_a_known_repository_is_set_aside() {
    let tree = Tree::new(&[
        "home/",
        "work/.git/HEAD=ref: refs/heads/main",
        "work/.git/config=x",
        "work/linked/.git/HEAD=x",
        "work/linked/.git/hooks->../../hooks",
        "work/hooks/a=x",
    ]);
    let (_cache, notes) = look(&tree, |work| {
        write(work, &[(".git/config.worktree", EVIL)]);
        std::fs::remove_file(work.join(".git/HEAD")).unwrap();
        std::fs::remove_file(work.join("linked/.git/hooks")).unwrap();
        write(work, &[("linked/.git/hooks/pre-commit", "x")]);
    });
    assert_eq!(notes.len(), 3, "{notes:?}");
    let work = tree.root.join("work");
    let head = std::fs::read_to_string(work.join(".git/HEAD")).unwrap();
    assert_eq!(head, "ref: refs/heads/main");
    assert!(!work.join(".git/config.worktree").exists());
    assert!(work.join("linked/.git/hooks").is_symlink());
}

#[test]
fn files_of_other_programs_are_set_aside_unless_they_were_there() {
    let tree = Tree::new(&["home/", "work/.envrc=x", "work/a/.pirn/settings.json=x"]);
    let (_cache, notes) = look(&tree, |work| {
        write(
            work,
            &[
                ("b/.pirn/mcp.json", "x"),
                ("b/.vscode/tasks.json", "x"),
                ("node_modules/x/.vscode/tasks.json", "x"),
            ],
        );
    });
    assert_eq!(notes.len(), 2, "{notes:?}");
    let work = tree.root.join("work");
    for (name, is_there) in [
        (".envrc", true),
        ("a/.pirn/settings.json", true),
        ("b/.pirn", false),
        ("b/.vscode", false),
        ("b/.vscode.set-aside-1/tasks.json", true),
        ("node_modules/x/.vscode/tasks.json", true),
    ] {
        assert_eq!(work.join(name).exists(), is_there, "{name}");
    }
}

#[test]
fn what_appears_while_no_child_lives_is_of_the_user() {
    let tree = Tree::new(&["work/", "home/"]);
    let cache = PathCache::default();
    cache.get(&tree.policy(), Instant::now()).unwrap();
    let git = tree.root.join("work/new/.git");
    write(&git, &[("HEAD", "x"), ("config", EVIL)]);
    let later = Instant::now() + Duration::from_secs(6);
    let paths = cache.get(&tree.policy(), later).unwrap();
    assert!(paths.protected.contains(&git.join("config")));
    assert_eq!(std::fs::read_to_string(git.join("config")).unwrap(), EVIL);
}

#[test]
fn what_cannot_be_looked_at_stops_what_comes_after() {
    let tree = Tree::new(&["work/", "home/"]);
    let cache = PathCache::default();
    let mut policy = tree.policy();
    policy.protection.files_max = 1_000;
    cache.get(&policy, Instant::now()).unwrap();
    cache.child_starts();
    let many = tree.root.join("work/many");
    std::fs::create_dir(&many).unwrap();
    for number in 0..1_001 {
        std::fs::write(many.join(number.to_string()), "").unwrap();
    }
    write(&tree.root.join("work/new/.git"), &[("config", EVIL)]);
    let notes = cache.look(&policy, Instant::now());
    cache.child_is_gone();
    assert!(notes.concat().contains("sandbox.filesMax"), "{notes:?}");
    let error = cache.get(&policy, Instant::now()).unwrap_err();
    assert!(error.to_string().contains("sandbox.filesMax"), "{error}");
    // What the child has made is not forgotten meanwhile.
    std::fs::remove_dir_all(&many).unwrap();
    cache.get(&policy, Instant::now()).unwrap();
    let config = std::fs::read_to_string(tree.root.join("work/new/.git/config")).unwrap();
    assert_eq!(config, CLEAN);
}

mod cost;
