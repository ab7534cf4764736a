//! Paths of policies over folders made for the purpose.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::pattern::{Pattern, name_matches};
use super::{Paths, PlaceholderKind};
use crate::policy::{Profile, Readable, SandboxPolicy};

/// A folder that is gone after the test.
pub(super) struct Tree {
    _folder: tempfile::TempDir,
    pub(super) root: PathBuf,
}

impl Tree {
    /// Creates entries: `folder/`, `file`, `file=content` and `link->target`. `ROOT` stands for the tree's own path.
    pub(super) fn new(entries: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for entry in entries {
            let entry = entry.replace("ROOT", root.to_str().unwrap());
            let (path, rest) = entry
                .split_once("->")
                .or_else(|| entry.split_once('='))
                .unwrap_or((&entry, ""));
            let at = root.join(path);
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            if entry.contains("->") {
                symlink(rest, at).unwrap();
            } else if path.ends_with('/') {
                std::fs::create_dir_all(at).unwrap();
            } else {
                std::fs::write(at, rest).unwrap();
            }
        }
        Self {
            _folder: folder,
            root,
        }
    }

    pub(super) fn policy(&self) -> SandboxPolicy {
        let mut policy = SandboxPolicy::new(self.root.join("work"), "/tmp");
        policy.home = Some(self.root.join("home"));
        // Not the system's: those depend on the machine and the user.
        policy
            .unreadable
            .retain(|place| !place.starts_with("/etc/"));
        policy
    }

    /// Paths below the tree, by their names in it.
    fn named<'path>(&self, paths: impl IntoIterator<Item = &'path PathBuf>) -> BTreeSet<String> {
        paths
            .into_iter()
            .map(|path| {
                path.strip_prefix(&self.root)
                    .unwrap_or(path)
                    .display()
                    .to_string()
            })
            .collect()
    }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

/// An ordinary git folder.
fn git(at: &str) -> Vec<String> {
    ["HEAD", "config", "hooks/", "objects/", "refs/"]
        .iter()
        .map(|name| format!("{at}/{name}"))
        .collect()
}

fn tree_with_git(at: &[&str], others: &[&str]) -> Tree {
    let mut entries: Vec<String> = at.iter().flat_map(|at| git(at)).collect();
    entries.extend(others.iter().map(ToString::to_string));
    let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
    Tree::new(&entries)
}

#[test]
fn names_match_wildcards() {
    for (pattern, name, expected) in [
        (".env*", ".env", true),
        (".env*", ".env.local", true),
        (".env*", "x.env", false),
        ("*.pem", "key.pem", true),
        ("*.pem", "key.pem.txt", false),
        ("a*b*c", "aXbXbYc", true),
        ("a*b*c", "aXbXbY", false),
        ("?", "x", true),
        ("?", "", false),
        ("a?c", "abc", true),
        ("*", "", true),
        ("**a", "bba", true),
        ("", "", true),
        ("", "a", false),
        ("a*", "", false),
    ] {
        assert_eq!(
            name_matches(pattern.as_bytes(), name.as_bytes()),
            expected,
            "{pattern} {name}"
        );
    }
}

#[test]
fn a_name_without_end_is_matched_in_bounded_time() {
    let name = vec![b'a'; 255];
    assert!(!name_matches(b"*a*a*a*a*a*a*a*a*b", &name));
}

#[test]
fn patterns_are_parsed() {
    let parse = |text| Pattern::parse(text, Path::new("/w"), Some(Path::new("/h")));
    let at = |path: &str| Some(Pattern::At(path.into()));
    assert_eq!(parse("~/.ssh"), at("/h/.ssh"));
    assert_eq!(parse("~/.ssh/"), at("/h/.ssh"));
    assert_eq!(parse("/etc/shadow"), at("/etc/shadow"));
    assert_eq!(parse("secret/key"), at("/w/secret/key"));
    assert_eq!(parse(""), None);
    assert_eq!(parse("**/"), None);
    assert_eq!(Pattern::parse("~/x", Path::new("/w"), None), None);
    let nested = parse("**/secrets/*.pem").unwrap();
    assert!(nested.matches_end(Path::new("/w/a/secrets/b.pem")));
    assert!(!nested.matches_end(Path::new("/w/secrets/a/b.pem")));
}

#[test]
fn write_roots_are_resolved_and_merged() {
    let tree = Tree::new(&[
        "real/inner/",
        "work->real",
        "other/a/",
        "file.txt",
        "linked->other/a",
        "home/",
    ]);
    let mut policy = tree.policy();
    policy.write_roots = ["real/inner", "other/a", "linked", "file.txt", "missing"]
        .map(|name| tree.root.join(name))
        .to_vec();
    policy
        .write_roots
        .extend(["/", "/proc/self", "/dev"].map(PathBuf::from));
    let paths = Paths::of(&policy).unwrap();
    assert_eq!(paths.working_folder, tree.root.join("real"));
    assert_eq!(
        tree.named(&paths.write_roots),
        set(&["file.txt", "other/a", "real"])
    );
    assert_eq!(paths.refused_roots.len(), 4, "{:?}", paths.refused_roots);
}

#[test]
fn reading_only_means_no_write_roots() {
    let tree = tree_with_git(&["work/.git"], &["work/.env=x", "home/"]);
    let mut policy = tree.policy();
    policy.profile = Profile::ReadOnly;
    policy.write_roots = vec![tree.root.join("home")];
    let paths = Paths::of(&policy).unwrap();
    assert_eq!(paths.write_roots, Vec::<PathBuf>::new());
    assert_eq!(paths.protected, Vec::<PathBuf>::new());
    assert_eq!(paths.placeholders, Vec::new());
    assert_eq!(
        tree.named(paths.unreadable.iter().map(|place| &place.path)),
        set(&["work/.env"])
    );
}

#[test]
fn git_folders_are_protected_at_any_depth() {
    let tree = tree_with_git(
        &["work/.git", "work/deep/er/.git", "work/.git/modules/lib/a"],
        &[
            "work/node_modules/x/.git/HEAD",
            "work/.git/worktrees/side/commondir=../..",
            "work/empty/.git/",
            "home/",
        ],
    );
    std::fs::remove_dir(tree.root.join("work/deep/er/.git/hooks")).unwrap();
    let paths = Paths::of(&tree.policy()).unwrap();
    assert_eq!(
        tree.named(&paths.protected),
        set(&[
            "work/.git/commondir",
            "work/.git/config",
            "work/.git/hooks",
            "work/.git/modules/lib/a/commondir",
            "work/.git/modules/lib/a/config",
            "work/.git/modules/lib/a/hooks",
            "work/.git/worktrees/side/commondir",
            "work/.pirn",
            "work/deep/er/.git/commondir",
            "work/deep/er/.git/config",
            "work/deep/er/.git/hooks",
            "work/empty/.git/commondir",
            "work/empty/.git/config",
            "work/empty/.git/hooks",
            "work/node_modules/x/.git/commondir",
            "work/node_modules/x/.git/config",
            "work/node_modules/x/.git/hooks",
        ])
    );
    assert_eq!(
        tree.named(&paths.pinned),
        set(&[
            "work/.git",
            "work/.git/modules",
            "work/.git/modules/lib",
            "work/.git/modules/lib/a",
            "work/.git/worktrees",
            "work/.git/worktrees/side",
            "work/deep",
            "work/deep/er",
            "work/deep/er/.git",
            "work/empty",
            "work/empty/.git",
            "work/node_modules",
            "work/node_modules/x",
            "work/node_modules/x/.git",
        ])
    );
    assert_eq!(
        tree.named(paths.placeholders.iter().map(|place| &place.path)),
        set(&[
            "work/.git/commondir",
            "work/.git/modules/lib/a/commondir",
            "work/.pirn",
            "work/deep/er/.git/commondir",
            "work/deep/er/.git/hooks",
            "work/empty/.git/commondir",
            "work/empty/.git/config",
            "work/empty/.git/hooks",
            "work/node_modules/x/.git/commondir",
            "work/node_modules/x/.git/config",
            "work/node_modules/x/.git/hooks",
        ])
    );
    // Parents come before what lies in them.
    for (index, folder) in paths.pinned.iter().enumerate() {
        assert!(!paths.pinned[..index].iter().any(|p| p.starts_with(folder)));
    }
}

#[test]
fn links_lead_to_git_folders() {
    let tree = tree_with_git(&["work/real"], &["work/.git->real", "home/"]);
    let paths = Paths::of(&tree.policy()).unwrap();
    assert!(tree.named(&paths.protected).contains("work/real/hooks"));
}

/// The folder of a repository becomes writable for a worktree of it, and only if it says so itself.
#[test]
fn worktrees_lead_to_their_repository() {
    let entries = |back: &str, common: &str| {
        tree_with_git(
            &["main/.git"],
            &[
                "work/.git=gitdir: ROOT/main/.git/worktrees/side",
                &format!("main/.git/worktrees/side/gitdir={back}"),
                &format!("main/.git/worktrees/side/commondir={common}"),
                "home/",
            ],
        )
    };
    let tree = entries("ROOT/work/.git\n", "../..\n");
    let paths = Paths::of(&tree.policy()).unwrap();
    assert_eq!(tree.named(&paths.write_roots), set(&["main/.git", "work"]));
    assert_eq!(
        tree.named(&paths.protected),
        set(&[
            "main/.git/commondir",
            "main/.git/config",
            "main/.git/hooks",
            "main/.git/worktrees/side/commondir",
            "main/.git/worktrees/side/gitdir",
            "work/.git",
            "work/.pirn",
        ])
    );
    for (back, common) in [
        ("ROOT/elsewhere/.git", "../.."),
        ("ROOT/work/.git", "ROOT/home"),
        ("ROOT/work/.git", ".."),
        ("", "../.."),
    ] {
        let tree = entries(back, common);
        let paths = Paths::of(&tree.policy()).unwrap();
        assert_eq!(
            tree.named(&paths.write_roots),
            set(&["work"]),
            "{back} {common}"
        );
    }
}

/// A confined program can write both ends of the pointer when both lie in the working folder.
#[test]
fn a_forged_worktree_opens_nothing() {
    let tree = tree_with_git(
        &["home/secret"],
        &[
            "work/.git=gitdir: ROOT/work/forged/worktrees/a",
            "work/forged/worktrees/a/gitdir=ROOT/work/.git",
            "work/forged/worktrees/a/commondir=ROOT/home/secret",
        ],
    );
    let paths = Paths::of(&tree.policy()).unwrap();
    assert_eq!(tree.named(&paths.write_roots), set(&["work"]));
}

#[test]
fn start_up_files_are_protected_where_the_home_folder_is_writable() {
    let tree = Tree::new(&["home/.bashrc=x", "home/.profile=x", "home/work/"]);
    let mut policy = tree.policy();
    policy.working_folder = tree.root.join("home");
    let paths = Paths::of(&policy).unwrap();
    let protected = tree.named(&paths.protected);
    for name in [
        ".bashrc",
        ".profile",
        ".zshrc",
        ".config/fish",
        ".gitconfig",
        ".ssh",
        ".pirn",
    ] {
        assert!(protected.contains(&format!("home/{name}")), "{name}");
    }
    let placeholders: Vec<(String, &PlaceholderKind)> = paths
        .placeholders
        .iter()
        .map(|place| {
            let name = place.path.strip_prefix(tree.root.join("home")).unwrap();
            (name.display().to_string(), &place.kind)
        })
        .collect();
    assert!(placeholders.contains(&(
        ".bash_profile".to_owned(),
        &PlaceholderKind::File(b". ~/.profile\n".to_vec())
    )));
    let position = |name: &str| placeholders.iter().position(|(found, _)| found == name);
    assert!(position(".config").unwrap() < position(".config/fish").unwrap());
    assert!(!placeholders.iter().any(|(name, _)| name == ".bashrc"));
    assert_eq!(tree.named(&paths.pinned), set(&["home/.config"]));

    policy.working_folder = tree.root.join("home/work");
    let paths = Paths::of(&policy).unwrap();
    assert_eq!(tree.named(&paths.protected), set(&["home/work/.pirn"]));
}

#[test]
fn what_is_named_outright_is_not_protected() {
    let tree = tree_with_git(&["work/.git"], &["home/"]);
    let mut policy = tree.policy();
    policy.write_roots = vec![tree.root.join("work/.git/hooks")];
    let paths = Paths::of(&policy).unwrap();
    assert_eq!(
        tree.named(&paths.protected),
        set(&["work/.git/commondir", "work/.git/config", "work/.pirn"])
    );
}

#[test]
fn unreadable_places_are_found() {
    let tree = Tree::new(&[
        "work/.env=x",
        "work/sub/.env.local=x",
        "work/sub/.envs/a=x",
        "work/node_modules/.env=x",
        "work/.env.system->/etc/passwd",
        "work/.env.folder->ROOT/home",
        "work/.env.linked->ROOT/elsewhere/secret",
        "work/src/keys/a.pem=x",
        "elsewhere/secret=x",
        "home/.ssh/id=x",
        "home/.config/one/token=x",
        "home/.config/two/token=x",
        "home/.netrc->ROOT/elsewhere/netrc",
        "elsewhere/netrc=x",
    ]);
    let mut policy = tree.policy();
    policy.unreadable.extend(
        [
            "~/.config/*/token",
            "src/keys",
            "/missing/file",
            "**/keys/*.pem",
        ]
        .map(str::to_owned),
    );
    let paths = Paths::of(&policy).unwrap();
    let found: Vec<(BTreeSet<String>, bool)> = [true, false]
        .map(|is_folder| {
            let places = paths.unreadable.iter().filter(|p| p.is_folder == is_folder);
            (tree.named(places.map(|place| &place.path)), is_folder)
        })
        .to_vec();
    assert_eq!(
        found,
        [
            (
                set(&[
                    "home/.config",
                    "home/.ssh",
                    "work/src/keys",
                    "work/sub/.envs"
                ]),
                true
            ),
            (
                set(&[
                    "elsewhere/netrc",
                    "elsewhere/secret",
                    "work/.env",
                    "work/sub/.env.local",
                ]),
                false
            ),
        ]
    );
    assert_eq!(paths.unreadable_gaps, Vec::<String>::new());
}

#[test]
fn no_work_happens_in_an_unreadable_place_or_in_the_folder_of_pirn() {
    let tree = Tree::new(&["home/.kube/work/", "home/.dotfiles/work/", "own/work/"]);
    let mut policy = tree.policy();
    policy.protection.pirn_home = Some(tree.root.join("own"));
    for (folder, is_refused) in [
        ("home/.kube/work", true),
        ("own/work", true),
        ("own", true),
        ("home/.dotfiles/work", false),
    ] {
        policy.working_folder = tree.root.join(folder);
        let paths = Paths::of(&policy);
        assert_eq!(paths.is_err(), is_refused, "{folder}: {paths:?}");
    }
}

#[test]
fn dotfiles_are_closed_but_for_what_is_listed() {
    let tree = Tree::new(&[
        "work/",
        "home/.aws/credentials=x",
        "home/.bashrc=x",
        "home/.cargo/bin/",
        "home/.cargo/credentials.toml=x",
        "home/.config/git/config=x",
        "home/.config/other/token=x",
        "home/.dotfiles/work/",
        "home/.dotfiles/token=x",
        "home/.npmrc=x",
        "home/.ssh/id=x",
        "home/.ssh/known_hosts=x",
        "home/.system->/usr",
        "home/.work->ROOT/work",
        "home/notes=x",
        "own/auth.json=x",
        "own/skills/one/",
    ]);
    let mut policy = tree.policy();
    policy.write_roots = vec![tree.root.join("home/.dotfiles/work")];
    policy.protection.pirn_home = Some(tree.root.join("own"));
    policy.protection.pirn_home_readable = vec![tree.root.join("own/skills")];
    let hidden = |policy: &SandboxPolicy| {
        let paths = Paths::of(policy).unwrap();
        tree.named(paths.unreadable.iter().map(|place| &place.path))
    };
    let expected = [
        "home/.aws",
        "home/.bashrc",
        "home/.cargo/credentials.toml",
        "home/.config/other",
        "home/.dotfiles/token",
        "home/.npmrc",
        "home/.ssh/id",
        "own/auth.json",
    ];
    assert_eq!(hidden(&policy), set(&expected));
    policy.protection.home_readable = vec!["~/.bashrc".to_owned()];
    policy.protection.pirn_home_readable.clear();
    assert_eq!(
        hidden(&policy),
        set(&[
            "home/.aws",
            "home/.cargo",
            "home/.config",
            "home/.dotfiles/token",
            "home/.npmrc",
            "home/.ssh",
            "own",
        ])
    );
}

#[test]
fn what_starts_other_programs_is_protected_at_any_depth() {
    let tree = Tree::new(&[
        "home/",
        "work/.envrc=x",
        "work/a/.vscode/tasks.json=x",
        "work/a/b/.pirn/mcp.json=x",
        "work/node_modules/x/.vscode/tasks.json=x",
        "work/node_modules/x/.git/",
        "work/bare/HEAD=x",
        "work/bare/objects/",
        "work/bare/refs/",
    ]);
    let mut policy = tree.policy();
    let protected = |policy: &SandboxPolicy| {
        let paths = Paths::of(policy).unwrap();
        tree.named(
            paths
                .protected
                .iter()
                .filter(|path| !path.ends_with("commondir")),
        )
    };
    let always = [
        "work/.pirn",
        "work/a/b/.pirn",
        "work/bare/config",
        "work/bare/hooks",
        "work/node_modules/x/.git/config",
        "work/node_modules/x/.git/hooks",
    ];
    let mut all = set(&always);
    all.extend(set(&["work/.envrc", "work/a/.vscode"]));
    assert_eq!(protected(&policy), all);
    policy.protection.unwritable.clear();
    assert_eq!(protected(&policy), set(&always));
}

#[test]
fn a_bound_that_is_reached_is_an_error_that_names_its_setting() {
    let tree = tree_with_git(&["work/a/.git", "work/b/.git"], &["home/", "work/.env=x"]);
    for (files, places, setting) in [(4, 100, "sandbox.filesMax"), (100, 3, "sandbox.placesMax")] {
        let mut policy = tree.policy();
        policy.protection.files_max = files;
        policy.protection.places_max = places;
        let error = Paths::of(&policy).unwrap_err().to_string();
        assert!(error.contains(setting), "{error}");
    }
}

#[test]
fn what_is_no_regular_file_is_neither_opened_nor_waited_for() {
    let tree = Tree::new(&[
        "home/",
        "work/sub/",
        "work/loop->loop",
        "work/ok/.git/HEAD=x",
    ]);
    for name in ["work/sub/.git", "work/.env", "work/ok/.git/commondir"] {
        let made = std::process::Command::new("mkfifo")
            .arg(tree.root.join(name))
            .status();
        assert!(made.unwrap().success());
    }
    let paths = Paths::of(&tree.policy()).unwrap();
    assert!(tree.named(&paths.protected).contains("work/ok/.git/hooks"));
}

#[test]
fn chosen_places_are_readable_by_name_and_target() {
    let tree = Tree::new(&["work/", "home/data/", "chosen->home/data"]);
    let mut policy = tree.policy();
    policy.readable = Readable::Only(vec![tree.root.join("chosen"), "~/nothing".into()]);
    let roots = Paths::of(&policy).unwrap().read_roots.unwrap();
    for path in ["/usr", "/etc/passwd"] {
        assert!(roots.contains(&PathBuf::from(path)), "{path}");
    }
    assert!(!roots.contains(&PathBuf::from("/etc/shadow")));
    let below: BTreeSet<String> = tree
        .named(&roots)
        .into_iter()
        .filter(|name| !name.starts_with('/'))
        .collect();
    assert_eq!(below, set(&["chosen", "home/data", "work"]));
    policy.readable = Readable::Everything;
    assert_eq!(Paths::of(&policy).unwrap().read_roots, None);
}

/// What lies in a protected folder and is protected itself does not take its protection away.
#[test]
fn a_protected_folder_in_another_leaves_both_protected() {
    let tree = Tree::new(&[
        "work/.vscode/.pirn/",
        "work/.idea/x/.git/HEAD=ref: refs/heads/x",
        "work/.claude/.vscode/",
        "home/",
    ]);
    let paths = Paths::of(&tree.policy()).unwrap();
    for place in [
        ".vscode",
        ".vscode/.pirn",
        ".idea",
        ".claude",
        ".claude/.vscode",
    ] {
        let place = tree.root.join("work").join(place);
        assert!(paths.protected.contains(&place), "{paths:?}");
    }
}
