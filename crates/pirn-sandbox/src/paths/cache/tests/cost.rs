//! What a command costs in a large workspace, counted in folders that are read: a time would say more about the machine.

use std::path::PathBuf;

use super::*;

/// Makes the trees as large as they are in the largest workspaces: half a million files.
const SOAK: &str = "PIRN_SANDBOX_TEST_SOAK";

const FILES_EACH: usize = 20;

/// Folders with files, three levels deep.
struct Large {
    tree: Tree,
    folders: u64,
    deepest: PathBuf,
}

impl Large {
    fn new() -> Self {
        let (outer, inner) = match std::env::var_os(SOAK) {
            Some(_) => (50, 500),
            None => (5, 20),
        };
        let tree = Tree::new(&["work/", "home/"]);
        let work = tree.root.join("work");
        let mut deepest = work.clone();
        for one in 0..outer {
            for other in 0..inner {
                deepest = work.join(format!("outer{one}/inner{other}"));
                std::fs::create_dir_all(&deepest).unwrap();
                for file in 0..FILES_EACH {
                    std::fs::write(deepest.join(format!("file{file}.rs")), "").unwrap();
                }
            }
        }
        Self {
            tree,
            folders: 1 + outer + outer * inner,
            deepest,
        }
    }
}

fn read(cache: &PathCache) -> u64 {
    cache.state().scan.listings()
}

/// Asks until nothing is read any more: a folder that has just changed has to be older than the clock's tick.
fn settle(cache: &PathCache, policy: &SandboxPolicy) {
    let deadline = Instant::now() + Duration::from_mins(1);
    loop {
        let before = read(cache);
        cache.get(policy, Instant::now()).unwrap();
        if read(cache) == before {
            return;
        }
        assert!(Instant::now() < deadline, "folders never settle");
    }
}

#[test]
fn the_first_command_reads_each_folder_once() {
    let Large { tree, folders, .. } = Large::new();
    let cache = PathCache::default();
    cache.get(&tree.policy(), Instant::now()).unwrap();
    // The empty folder that stands in for `.pirn` is made later.
    assert_eq!(read(&cache), folders);
}

#[test]
fn a_later_command_reads_only_what_has_changed() {
    let Large { tree, deepest, .. } = Large::new();
    let policy = tree.policy();
    let cache = PathCache::default();
    settle(&cache, &policy);
    let before = read(&cache);
    for _command in 0..3 {
        cache.get(&policy, Instant::now()).unwrap();
        cache.child_starts();
        assert_eq!(cache.look(&policy, Instant::now()), [""; 0]);
        cache.child_is_gone();
    }
    assert_eq!(read(&cache), before, "nothing has changed");
    cache.get(&policy, Instant::now()).unwrap();
    cache.child_starts();
    std::fs::write(deepest.join(".env"), "x").unwrap();
    assert_eq!(cache.look(&policy, Instant::now()), [""; 0]);
    cache.child_is_gone();
    assert_eq!(read(&cache), before + 1, "one folder has changed");
    let paths = cache.last().unwrap();
    assert_eq!(paths.unreadable.len(), 1);
}

/// Four hundred repositories are as many as anybody has in one folder.
#[test]
fn many_repositories_are_protected_without_reading_what_is_in_them() {
    let count = 400;
    let tree = Tree::new(&["work/", "home/"]);
    let work = tree.root.join("work");
    for number in 0..count {
        write(
            &work.join(format!("repository{number}/.git")),
            &[
                ("HEAD", "ref: refs/heads/main"),
                ("config", CLEAN),
                ("objects/00/x", ""),
                ("refs/heads/main", ""),
            ],
        );
    }
    let cache = PathCache::default();
    let paths = cache.get(&tree.policy(), Instant::now()).unwrap();
    assert_eq!(read(&cache), 1 + count);
    for number in 0..count {
        let config = work.join(format!("repository{number}/.git/config"));
        assert!(paths.protected.contains(&config), "{}", config.display());
    }
}
