//! What confined children find in the file system.

use std::path::Path;

use pirn_sandbox::{ExitStatus, Layer, Level, Profile, Readable, Sandbox};

use super::{
    Place, also_as_ordinary_user, change_mounts, entries, in_own_mount_namespace, levels,
    levels_with_namespaces, wait_until,
};

#[tokio::test]
async fn writes_the_working_folder_and_nothing_else() {
    also_as_ordinary_user("confined::files::writes_the_working_folder_and_nothing_else");
    let place = Place::new();
    let extra = place.folder.path().join("extra");
    let other = place.folder.path().join("other");
    for folder in [&extra, &other] {
        std::fs::create_dir(folder).unwrap();
    }
    for level in levels() {
        for (profile, writable) in [(Profile::WorkspaceWrite, true), (Profile::ReadOnly, false)] {
            let mut policy = place.policy(*level);
            policy.profile = profile;
            policy.write_roots = vec![extra.clone()];
            let sandbox = Sandbox::prepare(policy).unwrap();
            for (target, wanted) in [
                (place.work.join("file"), writable),
                (extra.join("file"), writable),
                (sandbox.private_temp().unwrap().unwrap().join("file"), true),
                (other.join("file"), false),
                (place.home.join("file"), false),
                (Path::new("/etc/pirn-file").to_owned(), false),
                (Path::new("/usr/pirn-file").to_owned(), false),
                (Path::new("/pirn-file").to_owned(), false),
                (Path::new("/dev/pirn-file").to_owned(), false),
            ] {
                let script = format!("echo x > '{}'", target.display());
                let (status, text) = place.run(&sandbox, &script).await;
                assert_eq!(
                    status.is_success(),
                    wanted,
                    "{level:?} {profile:?} {script}: {text}"
                );
                assert_eq!(target.exists(), wanted, "{level:?} {profile:?} {script}");
                let _gone = std::fs::remove_file(&target);
            }
        }
    }
}

#[tokio::test]
async fn has_a_temporary_folder_of_its_own_by_both_names() {
    also_as_ordinary_user("confined::files::has_a_temporary_folder_of_its_own_by_both_names");
    let place = Place::new();
    for level in levels_with_namespaces() {
        // Below /tmp, and /tmp itself.
        for temp_dir in [place.temp.clone(), std::env::temp_dir()] {
            let mut policy = place.policy(level);
            policy.temp_dir = temp_dir;
            let sandbox = Sandbox::prepare(policy).unwrap();
            let temp = sandbox.private_temp().unwrap().unwrap().to_owned();
            std::fs::write(temp.join("from-outside"), "outside\n").unwrap();
            let outside = temp.join("from-outside");
            let script = format!(
                "cat /tmp/from-outside '{}'; cat /var/tmp/from-outside; echo inside > /tmp/from-inside; mktemp -d > /dev/null",
                outside.display()
            );
            place
                .check(&sandbox, &script, "outside\noutside\noutside\n")
                .await;
            let inside = std::fs::read_to_string(temp.join("from-inside")).unwrap();
            assert_eq!(inside, "inside\n");
            drop(sandbox);
            wait_until("it is removed", || !temp.exists()).await;
        }
        place.wait_for_clean_temp().await;
    }
}

#[tokio::test]
async fn finds_what_programs_need() {
    also_as_ordinary_user("confined::files::finds_what_programs_need");
    let place = Place::new();
    std::fs::write(place.home.join("notes"), "home\n").unwrap();
    let host_names = std::fs::read_to_string("/etc/resolv.conf").unwrap();
    for level in levels() {
        let sandbox = place.sandbox(*level);
        let who = std::process::Command::new("id")
            .args(["-u"])
            .output()
            .unwrap();
        let who = String::from_utf8(who.stdout).unwrap();
        place.check(&sandbox, "id -u", &who).await;
        place
            .check(&sandbox, "cat /etc/resolv.conf", &host_names)
            .await;
        place
            .check(
                &sandbox,
                "echo x > /dev/null; head -c 3 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c",
                "3\n4\n",
            )
            .await;
        place
            .check(
                &sandbox,
                "ls -d /usr/bin /etc/passwd",
                "/etc/passwd\n/usr/bin\n",
            )
            .await;
        place.check(&sandbox, "python3 -c 'import json, os, sys; print(json.dumps(os.getcwd() == sys.argv[1]))' \"$PWD\"", "true\n").await;
        place
            .check(
                &sandbox,
                "node -e 'console.log(process.cwd() === process.argv[1])' \"$PWD\"",
                "true\n",
            )
            .await;
        place.check(&sandbox, "mkdir -p a/b && echo x > a/b/c && mv a/b a/d && ln a/d/c a/e && chmod 600 a/e && cat a/e && rm -r a", "x\n").await;
        place
            .check(
                &sandbox,
                "printf '#!/bin/sh\\necho ran\\n' > s && chmod +x s && ./s && rm s",
                "ran\n",
            )
            .await;
        if *level > Level::Basic {
            place.check(&sandbox, "cat ~/notes", "home\n").await;
            place
                .check(
                    &sandbox,
                    "echo x > /dev/shm/f && cat /dev/shm/f && rm /dev/shm/f",
                    "x\n",
                )
                .await;
            place.check(&sandbox, "python3 -c 'import multiprocessing as m; m.Lock(); print(m.Value(\"i\", 5).value)'", "5\n").await;
            place.check(&sandbox, "python3 -c 'import os, pty; a, b = pty.openpty(); os.write(b, b\"x\"); print(os.ttyname(b))'", "/dev/pts/0\n").await;
            place
                .check(
                    &sandbox,
                    "echo to-stderr > /dev/stderr; echo $((`cat /proc/sys/kernel/pid_max` > 0))",
                    "to-stderr\n1\n",
                )
                .await;
        }
    }
}

#[tokio::test]
async fn commits_with_git_but_leaves_hooks_and_settings() {
    also_as_ordinary_user("confined::files::commits_with_git_but_leaves_hooks_and_settings");
    for level in levels() {
        let place = Place::new();
        let git = |arguments: &[&str]| {
            let status = std::process::Command::new("git")
                .args(arguments)
                .current_dir(&place.work)
                .env("HOME", &place.home)
                .output()
                .unwrap();
            assert!(status.status.success(), "{arguments:?} {status:?}");
            String::from_utf8(status.stdout).unwrap()
        };
        git(&["init", "-q"]);
        git(&["config", "user.name", "Nobody"]);
        git(&["config", "user.email", "nobody@example.org"]);
        let sandbox = place.sandbox(*level);
        let (status, text) = place
            .run(
                &sandbox,
                "echo a > file && git add file && git commit -q -m first && git log --format=%s",
            )
            .await;
        assert_eq!(
            (status, text.as_str()),
            (ExitStatus::Code(0), "first\n"),
            "{level:?}"
        );
        if *level > Level::Basic {
            for script in [
                "echo x > .git/hooks/pre-commit",
                "git config core.fsmonitor evil",
                "mv .git moved",
                "mv .git/hooks moved || { rm -rf moved; false; }",
                "rm -rf .git/hooks",
                "mkdir .pirn/agents",
            ] {
                let (status, text) = place.run(&sandbox, script).await;
                assert!(!status.is_success(), "{level:?} {script}: {text}");
            }
            assert!(!place.work.join(".git/hooks/pre-commit").exists());
        }
        drop(sandbox);
        wait_until("what stands in is removed", || {
            !place.work.join(".pirn").exists()
        })
        .await;
        assert_eq!(git(&["log", "--format=%s"]), "first\n");
        assert_eq!(git(&["status", "--short"]), "");
    }
}

#[tokio::test]
async fn hides_what_must_not_be_read() {
    also_as_ordinary_user("confined::files::hides_what_must_not_be_read");
    for level in levels() {
        let place = Place::new();
        std::fs::create_dir(place.home.join(".ssh")).unwrap();
        std::fs::write(place.home.join(".ssh/id"), "secret\n").unwrap();
        std::fs::write(place.work.join(".env"), "secret\n").unwrap();
        std::fs::write(place.work.join("seen"), "seen\n").unwrap();
        let sandbox = place.sandbox(*level);
        place.check(&sandbox, "cat seen", "seen\n").await;
        let hidden: &[&str] = if *level > Level::Basic {
            &[
                "cat ~/.ssh/id",
                "ls ~/.ssh",
                "cat .env",
                "chmod 700 ~/.ssh",
                "rm -f .env",
            ]
        } else {
            // Names can be listed.
            &["cat ~/.ssh/id"]
        };
        for script in hidden {
            let (status, text) = place.run(&sandbox, script).await;
            assert!(
                !status.is_success() && !text.contains("secret\n"),
                "{level:?} {script}: {text}"
            );
        }
    }
}

#[tokio::test]
async fn shows_chosen_places_only() {
    also_as_ordinary_user("confined::files::shows_chosen_places_only");
    let place = Place::new();
    let chosen = place.folder.path().join("chosen");
    std::fs::create_dir(&chosen).unwrap();
    std::fs::write(chosen.join("file"), "chosen\n").unwrap();
    std::fs::write(place.home.join("notes"), "home\n").unwrap();
    for level in levels() {
        let mut policy = place.policy(*level);
        policy.readable = Readable::Only(vec![chosen.clone()]);
        let sandbox = Sandbox::prepare(policy).unwrap();
        let script = format!(
            "cat '{}/file'; echo x > y && cat y && rm y",
            chosen.display()
        );
        place.check(&sandbox, &script, "chosen\nx\n").await;
        place
            .check(
                &sandbox,
                "python3 -c 'print(1)'; ls /proc/self/fd | wc -l",
                "1\n4\n",
            )
            .await;
        for script in [
            "cat ~/notes",
            "cat /etc/shadow",
            "ls /root",
            "ls /home",
            "ls /var/lib",
        ] {
            let (status, text) = place.run(&sandbox, script).await;
            assert!(!status.is_success(), "{level:?} {script}: {text}");
        }
    }
}

#[tokio::test]
async fn leaves_nothing_behind() {
    let place = Place::new();
    for level in levels() {
        let sandbox = place.sandbox(*level);
        place.check(&sandbox, "echo x > /dev/null", "").await;
        let child = place.shell(&sandbox, "true").spawn().unwrap();
        child.wait_all().await;
        assert_eq!(child.sandbox_report(), Some(sandbox.report().unwrap()));
        drop((child, sandbox));
    }
    place.wait_for_clean_temp().await;
    assert_eq!(entries(&place.work), [] as [&Path; 0]);
}

/// What a command puts in the place of a write root leads neither commands nor file tools anywhere.
#[tokio::test]
async fn a_write_root_that_becomes_a_link_is_refused() {
    for level in levels() {
        let place = Place::new();
        std::fs::create_dir(place.work.join("sub")).unwrap();
        let mut policy = place.policy(*level);
        policy.write_roots = vec!["sub".into()];
        let sandbox = Sandbox::prepare(policy).unwrap();
        let target = place.home.join("file");
        std::fs::write(&target, "untouched").unwrap();
        let script = format!(
            "mv sub moved && ln -s '{}' sub && echo swapped",
            place.home.display()
        );
        place.check(&sandbox, &script, "swapped\n").await;
        // What was found before is kept for some seconds; commands are confined to that meanwhile.
        let (_status, text) = match place.shell(&sandbox, "echo x > sub/file").spawn() {
            Ok(_child) => place.run(&sandbox, "echo x > sub/file; echo done").await,
            Err(error) => (ExitStatus::Lost, format!("{error} done")),
        };
        assert!(text.contains("done"), "{level:?}: {text}");
        let refusal = sandbox
            .file_rules()
            .check_write(&place.work.join("sub/file"));
        assert!(refusal.is_err(), "{level:?}");
        assert_eq!(
            std::fs::read_to_string(&target).unwrap(),
            "untouched",
            "{level:?}"
        );
    }
}

/// A part of the home folder that is mounted in the working folder as well is hidden there, too.
#[tokio::test]
async fn other_mounts_of_hidden_places_are_hidden() {
    let name = "confined::files::other_mounts_of_hidden_places_are_hidden";
    if !in_own_mount_namespace(name) {
        return;
    }
    let place = Place::new();
    std::fs::create_dir_all(place.home.join(".ssh/keys")).unwrap();
    for (path, content) in [
        (".ssh/keys/key", "secret"),
        (".npmrc", "secret"),
        ("notes", "open"),
    ] {
        std::fs::write(place.home.join(path), content).unwrap();
    }
    let bound = [
        ("home", "all"),
        ("home/.ssh", "ssh"),
        ("home/.ssh/keys", "keys with spaces"),
    ];
    for (source, target) in bound {
        let target = place.work.join(target);
        std::fs::create_dir(&target).unwrap();
        let source = place.home.parent().unwrap().join(source);
        change_mounts(
            "mount",
            &["--bind".as_ref(), source.as_os_str(), target.as_os_str()],
        );
    }
    for level in levels() {
        let sandbox = place.sandbox(*level);
        let script =
            "cat all/.ssh/keys/key ssh/keys/key 'keys with spaces/key' all/.npmrc; cat all/notes";
        let (_status, text) = place.run(&sandbox, script).await;
        let is_said = sandbox
            .report()
            .unwrap()
            .missing
            .iter()
            .any(|missing| missing.layer == Layer::UnreadablePaths);
        // Landlock cannot take a place out of a folder that it opens; that is told.
        let is_kept = !text.contains("secret") || *level == Level::Basic && is_said;
        assert!(is_kept && text.ends_with("open"), "{level:?}: {text}");
        let rules = sandbox.file_rules();
        for path in [
            "all/.ssh/keys/key",
            "ssh/keys/key",
            "keys with spaces/key",
            "all/.npmrc",
        ] {
            assert!(
                rules.check_read(&place.work.join(path)).is_err(),
                "{level:?} {path}"
            );
        }
        assert!(rules.check_read(&place.work.join("all/notes")).is_ok());
    }
    for (_source, target) in bound {
        change_mounts("umount", &[place.work.join(target).as_os_str()]);
    }
}
