use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::*;
use crate::paths::tests::Tree;

fn walk(scan: &mut Scan, tree: &Tree) -> Found {
    let names = NamesOfInterest {
        hidden: vec![Pattern::parse("**/.env*", &tree.root, None).unwrap()],
        unwritable: vec![Pattern::parse("**/.vscode", &tree.root, None).unwrap()],
    };
    scan.walk(std::slice::from_ref(&tree.root), &names, EntriesMax(1_000))
        .unwrap()
}

fn paths(tree: &Tree, names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(|name| tree.root.join(name)).collect()
}

#[test]
fn finds_names_at_any_depth_and_follows_no_link() {
    let tree = Tree::new(&[
        "a/b/c/.git/objects/x/.git/",
        "a/.env=x",
        "a/.vscode/",
        "a/.pirn/",
        "bare/HEAD=x",
        "bare/objects/y/.git/",
        "bare/refs/",
        "node_modules/.env=x",
        "node_modules/m/.git/",
        "loop->.",
        "worktree/HEAD=x",
        "worktree/commondir=x",
    ]);
    let found = walk(&mut Scan::default(), &tree);
    assert_eq!(
        found,
        Found {
            git: paths(&tree, &["a/b/c/.git", "node_modules/m/.git"]),
            bare: paths(&tree, &["bare", "worktree"]),
            pirn: paths(&tree, &["a/.pirn"]),
            hidden: paths(&tree, &["a/.env"]),
            unwritable: paths(&tree, &["a/.vscode"]),
        }
    );
}

/// Whatever changes between two walks is found, however soon the second one comes.
#[test]
fn a_second_walk_finds_every_change() {
    let tree = Tree::new(&["a/b/", "c/", "d/.env=x"]);
    let mut scan = Scan::default();
    let walked = |scan: &mut Scan| walk(scan, &tree) == walk(&mut Scan::default(), &tree);
    assert!(walked(&mut scan));
    let root = tree.root.clone();
    let changes: [&dyn Fn(); 6] = [
        &|| std::fs::create_dir_all(root.join("a/b/.git")).unwrap(),
        &|| std::fs::remove_file(root.join("d/.env")).unwrap(),
        &|| std::fs::rename(root.join("a/b"), root.join("c/b")).unwrap(),
        &|| {
            std::fs::rename(root.join("c"), root.join("old")).unwrap();
            std::fs::create_dir_all(root.join("c/.vscode")).unwrap();
        },
        &|| std::fs::write(root.join("c/.env"), "").unwrap(),
        &|| std::fs::remove_dir_all(root.join("old")).unwrap(),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        change();
        assert!(walked(&mut scan), "{index}");
    }
}

#[test]
fn what_has_not_changed_is_not_read_again() {
    let tree = Tree::new(&["a/b/.git/", "c/.env=x"]);
    let mut scan = Scan::default();
    let deadline = Instant::now() + Duration::from_secs(10);
    // A folder that has just changed has to be older than the clock's tick.
    loop {
        let found = walk(&mut scan, &tree);
        assert_eq!(found.git.len(), 1);
        if scan.folders.values().all(|folder| folder.stamp.is_some()) {
            break;
        }
        assert!(Instant::now() < deadline, "{scan:?}");
    }
}
