use std::os::unix::fs::symlink;

use super::super::tests::Tree;
use super::*;

/// The roots of a policy with these write roots, by their names in the tree.
fn roots(
    tree: &Tree,
    held: &HeldRoots,
    write_roots: &[&str],
) -> Result<(Vec<String>, usize), String> {
    let mut policy = tree.policy();
    policy.write_roots = write_roots.iter().map(PathBuf::from).collect();
    let roots = held.of(&policy).map_err(|error| error.to_string())?;
    let named = roots.named.iter().map(|root| {
        let below = root.strip_prefix(&tree.root).unwrap();
        below.to_str().unwrap().to_owned()
    });
    Ok((named.collect(), roots.refused.len()))
}

#[test]
fn a_root_that_is_a_link_is_left_out_and_named() {
    let tree = Tree::new(&[
        "work/",
        "work/sub/deep/",
        "other/",
        "work/link->../other",
        "work/loop->loop",
        "link->other",
        "work/via->../other/",
        "other/inner/",
    ]);
    for (named, wanted) in [
        ("sub", Ok(("work/sub", 0))),
        ("sub/deep", Ok(("work/sub/deep", 0))),
        ("../other", Ok(("other", 0))),
        ("../other/inner", Ok(("other/inner", 0))),
        ("link", Err(())),
        ("via/inner", Err(())),
        ("via/../other", Ok(("", 0))),
        ("../link", Err(())),
        ("missing", Ok(("", 0))),
        ("loop", Ok(("", 0))),
    ] {
        let (mut found, refused) = roots(&tree, &HeldRoots::default(), &[named]).unwrap();
        assert_eq!(found.remove(0), "work");
        match wanted {
            Ok((path, 0)) => assert_eq!((found.concat().as_str(), refused), (path, 0), "{named}"),
            Ok(_) | Err(()) => assert_eq!((found.len(), refused), (0, 1), "{named}"),
        }
    }
}

#[test]
fn a_root_that_becomes_a_link_is_refused() {
    for place in ["work", "work/sub", "other"] {
        let tree = Tree::new(&["work/sub/", "other/", "secret/"]);
        let held = HeldRoots::default();
        let names = ["sub", "../other"];
        let before = roots(&tree, &held, &names).unwrap();
        assert_eq!(
            before,
            (vec!["work".into(), "work/sub".into(), "other".into()], 0)
        );
        let at = tree.root.join(place);
        std::fs::rename(&at, tree.root.join("moved")).unwrap();
        symlink(tree.root.join("secret"), &at).unwrap();
        let error = roots(&tree, &held, &names).unwrap_err();
        assert!(error.contains("link"), "{error}");
        std::fs::remove_file(&at).unwrap();
        symlink("nowhere", &at).unwrap();
        roots(&tree, &held, &names).unwrap_err();
        // What is back as a folder is worked in again.
        std::fs::remove_file(&at).unwrap();
        std::fs::rename(tree.root.join("moved"), &at).unwrap();
        assert_eq!(roots(&tree, &held, &names).unwrap(), before);
    }
}

#[test]
fn another_folder_in_the_place_of_a_root_is_refused() {
    for (moved, wanted) in [
        ("work/sub", "work/sub"),
        ("other", "other"),
        // A parent of it.
        ("above", "above/inner"),
        ("work", "work"),
    ] {
        let tree = Tree::new(&["work/sub/", "other/", "above/inner/", "taken/inner/"]);
        let held = HeldRoots::default();
        let names = ["sub", "../other", "../above/inner"];
        let before = roots(&tree, &held, &names).unwrap();
        assert_eq!(before.0.len(), 4);
        let at = tree.root.join(moved);
        std::fs::rename(&at, tree.root.join("moved")).unwrap();
        std::fs::rename(tree.root.join("taken"), &at).unwrap();
        let error = roots(&tree, &held, &names).unwrap_err();
        let place = tree.root.join(wanted).display().to_string();
        assert!(
            error.starts_with(&place) && error.contains("another folder"),
            "{moved}: {error}"
        );
        std::fs::rename(&at, tree.root.join("taken")).unwrap();
        std::fs::rename(tree.root.join("moved"), &at).unwrap();
        assert_eq!(roots(&tree, &held, &names).unwrap(), before, "{moved}");
    }
}

#[test]
fn a_root_that_is_removed_and_made_anew_is_worked_in() {
    let tree = Tree::new(&["work/target/"]);
    let held = HeldRoots::default();
    let before = roots(&tree, &held, &["target"]).unwrap();
    let target = tree.root.join("work/target");
    std::fs::remove_dir(&target).unwrap();
    let without = roots(&tree, &held, &["target"]).unwrap();
    assert_eq!(without, (vec!["work".into()], 0));
    std::fs::create_dir(&target).unwrap();
    assert_eq!(roots(&tree, &held, &["target"]).unwrap(), before);
    // And held as the new one.
    std::fs::rename(&target, tree.root.join("moved")).unwrap();
    std::fs::create_dir(&target).unwrap();
    roots(&tree, &held, &["target"]).unwrap_err();
}
