//! Workspaces that were made to get in the way of what protects them: held or refused, never weaker, never hung.

use std::path::Path;

use pirn_sandbox::{ErrorKind, ExitStatus, Level, Sandbox};

use super::{
    Place, change_mounts, in_own_mount_namespace, levels, levels_with_namespaces, wait_until,
};
use crate::support::{run, shell};

/// What must not be read.
const SECRET: &str = "the secret of the owner";

/// What a command does to a workspace before the attempt. `WORK` is its working folder.
const EVIL: &[(&str, &str)] = &[
    (
        "pipes",
        "mkfifo sub/.git .env.pipe sub/.pirn sub/.vscode; mkdir -p x/.git && mkfifo x/.git/HEAD x/.git/config x/.git/commondir",
    ),
    (
        "sockets",
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sub/.git\")'",
    ),
    (
        "loops of links",
        "ln -s loop loop; ln -s . here; ln -s .git sub/.git; mkdir y; ln -s ../y y/.git; ln -s .pirn sub/.pirn",
    ),
    (
        "1,500 files to hide",
        "mkdir -- -a; for i in $(seq 1500); do : > ./-a/.env$i; done",
    ),
    (
        "400 repositories",
        "for i in $(seq 400); do mkdir -p g/$i/.git/objects g/$i/.git/refs; : > g/$i/.git/HEAD; done",
    ),
    (
        "folders without rights",
        "mkdir -p closed/.git; chmod 0 closed/.git closed",
    ),
    (
        "the longest names",
        "n=$(printf %255s | tr ' ' d); mkdir $n; mkdir $n/.git; : > .env${n%????}; mkdir sub/.git; : > sub/.git/$n",
    ),
    (
        "the longest paths",
        "python3 -c '\nimport os\nn = 4090 - 5 - len(os.getcwd())\nwhile n > 0:\n    part = \"d\" * min(255, n)\n    os.mkdir(part)\n    os.chdir(part)\n    n -= len(part) + 1\nos.mkdir(\".git\")\nopen(\".git/HEAD\", \"w\").write(\"ref: refs/heads/x\\n\")\n'",
    ),
    ("a moved HEAD", "mv .git/HEAD .git/H"),
    (
        "a repository around it",
        "rm .git/HEAD; mkdir objects refs; echo 'ref: refs/heads/x' > HEAD; printf '[core]\\n\\tbare = true\\n' > config",
    ),
];

/// What a second command tries, which must get nothing.
const ATTEMPT: &str = "cat \"$HOME/.ssh/key\" \"$HOME/.npmrc\" .env; echo x > .git/hooks/evil; echo x >> .git/config; \
                       mkdir .pirn/evil; echo done";

async fn is_held(place: &Place, level: Level, what: &str) {
    let sandbox = match Sandbox::prepare(place.policy(level)) {
        Ok(sandbox) => sandbox,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Confinement, "{what}: {error}");
            return;
        }
    };
    assert_eq!(sandbox.report().unwrap().level, Some(level), "{what}");
    let spawned = place.shell(&sandbox, ATTEMPT).spawn();
    if let Err(error) = spawned {
        assert_eq!(error.kind(), ErrorKind::Confinement, "{what}: {error}");
        return;
    }
    let (_status, text) = place.run(&sandbox, ATTEMPT).await;
    assert!(
        !text.contains(SECRET) && text.contains("done"),
        "{what}: {text}"
    );
    for path in [".git/hooks/evil", ".pirn/evil"] {
        assert!(!place.work.join(path).exists(), "{what}: {path}");
    }
    let config = std::fs::read_to_string(place.work.join(".git/config")).unwrap();
    assert_eq!(config, "[core]\n", "{what}");
    let head = std::fs::read_to_string(place.work.join(".git/HEAD")).unwrap();
    assert_eq!(head, "ref: refs/heads/main\n", "{what}");
}

fn filled() -> Place {
    let place = Place::new();
    for (path, content) in [
        ("home/.ssh/key", SECRET),
        ("home/.npmrc", SECRET),
        ("work/.env", SECRET),
        ("work/.git/HEAD", "ref: refs/heads/main\n"),
        ("work/.git/config", "[core]\n"),
        ("work/.git/objects/x", ""),
        ("work/.git/refs/x", ""),
        ("work/sub/file", ""),
    ] {
        let path = place.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    place
}

#[tokio::test]
async fn workspaces_are_held_or_refused() {
    for level in levels_with_namespaces() {
        for (what, script) in EVIL {
            let place = filled();
            {
                let sandbox = place.sandbox(level);
                let (_status, captured) = run(place.shell(&sandbox, script)).await;
                assert!(captured.bytes.is_empty(), "{what}: {captured:?}");
            }
            is_held(&place, level, what).await;
            // Or the folder could not be removed.
            let opened = shell("chmod -Rf u+rwx . ; true").current_dir(&place.work);
            run(opened).await;
        }
    }
}

/// A repository that a command made runs nothing when its owner uses git, in it and above it.
#[tokio::test]
async fn a_new_repository_runs_nothing_of_its_own() {
    for level in levels_with_namespaces() {
        let place = Place::new();
        let mark = place.folder.path().join("ran");
        let sandbox = place.sandbox(level);
        let git = "export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x";
        let script = format!(
            "{git}; git init -q s && cd s && git commit -q --allow-empty -m 1 && git config core.fsmonitor 'touch {mark}; false' && \
             printf '#!/bin/sh\\ntouch {mark}\\n' > .git/hooks/post-index-change && chmod +x .git/hooks/post-index-change",
            mark = mark.display()
        );
        let child = place.shell(&sandbox, &script).spawn().unwrap();
        child.wait().await;
        let notes = child.set_aside();
        assert_eq!(notes.len(), 2, "{notes:?}");
        // Commands go on to use it.
        let more = format!(
            "{git}; cd s && echo 1 > a && git add a && git commit -qm 2 && git config user.name y && echo works"
        );
        place.check(&sandbox, &more, "works\n").await;
        let owner = format!(
            "{git}; cd s && git status -s; cd .. && git init -q . && git add s 2>/dev/null; git status -s"
        );
        run(shell(&owner)
            .env("PATH", "/usr/bin:/bin")
            .current_dir(&place.work))
        .await;
        assert!(!mark.exists(), "{level:?}");
    }
}

/// Where the folders of a sandbox cannot be made, nothing runs; when they can, it does, at the same level.
#[tokio::test]
async fn without_a_place_for_its_folders_nothing_runs() {
    let place = Place::new();
    let mut policy = place.policy(Level::Strict);
    policy.require = None;
    policy.temp_dir = place.folder.path().join("later");
    let sandbox = Sandbox::on_demand(policy);
    let command = || place.shell(&sandbox, "echo ran");
    let error = command().spawn().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Confinement, "{error}");
    assert!(error.to_string().contains("later"), "{error}");
    assert!(sandbox.report().is_err());
    std::fs::create_dir(place.folder.path().join("later")).unwrap();
    place.check(&sandbox, "echo ran", "ran\n").await;
    let here = super::levels().last().copied();
    assert_eq!(sandbox.report().unwrap().level, here);
    drop(sandbox);
    let later = place.folder.path().join("later");
    wait_until("the folder is empty", || is_empty(&later)).await;
}

fn is_empty(folder: &Path) -> bool {
    folder
        .read_dir()
        .is_ok_and(|mut entries| entries.next().is_none())
}

/// A file system without room for a byte or a file, in each place that preparing writes to: nothing runs, or it is confined.
#[tokio::test]
async fn a_full_disk_is_no_way_out() {
    if !in_own_mount_namespace("confined::evil::a_full_disk_is_no_way_out") {
        return;
    }
    for level in levels() {
        for full in ["temp", "pirn", "work"] {
            for options in ["size=64k", "nr_inodes=3"] {
                let place = filled();
                let root = place.folder.path().canonicalize().unwrap();
                std::fs::create_dir(root.join("pirn")).unwrap();
                let at = root.join(full);
                let kept = root.join("kept");
                std::fs::rename(&at, &kept).unwrap();
                std::fs::create_dir(&at).unwrap();
                let arguments = ["-t", "tmpfs", "-o", options, "none"];
                let mut arguments: Vec<&std::ffi::OsStr> = arguments.map(AsRef::as_ref).to_vec();
                arguments.push(at.as_os_str());
                change_mounts("mount", &arguments);
                std::fs::write(at.join("filler"), vec![0; 1 << 17]).unwrap_or_default();
                std::fs::write(at.join("filler2"), "").unwrap_or_default();
                std::fs::write(at.join("filler3"), "").unwrap_or_default();
                let what = format!("{level:?}, {full}, {options}");
                let mut policy = place.policy(*level);
                policy.protection.pirn_home = Some(root.join("pirn"));
                let sandbox = Sandbox::on_demand(policy);
                let attempt = "cat \"$HOME/.ssh/key\" \"$HOME/.npmrc\"; echo x > \"$HOME/evil\"; mkdir .pirn/evil; echo done";
                let (status, text) = match place.shell(&sandbox, attempt).spawn() {
                    Ok(_child) => place.run(&sandbox, attempt).await,
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Confinement, "{what}: {error}");
                        (ExitStatus::Lost, error.to_string())
                    }
                };
                assert!(!text.contains(SECRET), "{what}: {text}");
                assert!(!root.join("home/evil").exists(), "{what}: {text}");
                assert_ne!(status, ExitStatus::Code(127), "{what}: {text}");
                drop(sandbox);
                change_mounts("umount", &["--lazy".as_ref(), at.as_os_str()]);
            }
        }
    }
}
