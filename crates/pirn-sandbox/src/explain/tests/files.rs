//! Complaints about files, as programs write them.

use super::*;

/// Outputs, with the path that is refused and what is to be added to the write roots.
const READ_ONLY: &[(&str, &str, &str)] = &[
    (
        "touch: cannot touch '/etc/new': Read-only file system",
        "/etc/new",
        "/etc",
    ),
    (
        "bash: line 1: /etc/new: Read-only file system",
        "/etc/new",
        "/etc",
    ),
    (
        "sh: 1: cannot create /etc/new: Read-only file system",
        "/etc/new",
        "/etc",
    ),
    (
        "/bin/sh: 1: cannot create /etc/new: Read-only file system",
        "/etc/new",
        "/etc",
    ),
    (
        "mkdir: cannot create directory ‘/opt/new’: Read-only file system",
        "/opt/new",
        "/opt",
    ),
    (
        "rm: cannot remove '/etc/hostname': Read-only file system",
        "/etc/hostname",
        "/etc",
    ),
    (
        "mv: inter-device move failed: '/srv/project/mine' to '/etc/mine'; unable to remove target: Read-only file system",
        "/etc/mine",
        "/etc",
    ),
    (
        "cp: cannot create regular file '/etc/a b': Read-only file system",
        "/etc/a b",
        "/etc",
    ),
    ("tee: '/etc/a b': Read-only file system", "/etc/a b", "/etc"),
    ("tee: /etc/a b: Read-only file system", "/etc/a b", "/etc"),
    (
        "chmod: changing permissions of '/etc/hostname': Read-only file system",
        "/etc/hostname",
        "/etc",
    ),
    (
        "ln: failed to create symbolic link '/etc/new': Read-only file system",
        "/etc/new",
        "/etc",
    ),
    (
        "error: could not lock config file /usr/local/etc/gitconfig: Read-only file system",
        "/usr/local/etc/gitconfig",
        "/usr/local/etc",
    ),
    (
        "fatal: cannot mkdir /opt/repo: Read-only file system",
        "/opt/repo",
        "/opt",
    ),
    (
        "fatal: Unable to create '/srv/other/.git/index.lock': Read-only file system",
        "/srv/other/.git/index.lock",
        "/srv/other/.git",
    ),
    (
        "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\n\
              OSError: [Errno 30] Read-only file system: '/etc/new'",
        "/etc/new",
        "/etc",
    ),
    (
        "node:fs:573\n  return binding.open(\n\nError: EROFS: read-only file system, open '/etc/new'\n\
                  at Object.openSync (node:fs:573:18)\n  errno: -30,\n  code: 'EROFS',\n  syscall: 'open',\n\
                  path: '/etc/new'\n}\n\nNode.js v20.20.2",
        "/etc/new",
        "/etc",
    ),
    ("/etc/new: Read-only file system", "/etc/new", "/etc"),
    (
        "Warning: Failed to open the file /etc/new: Read-only file system\ncurl: (23) Failure writing output to destination",
        "/etc/new",
        "/etc",
    ),
    (
        "error: Failed to create package `project` at `/opt/project`\n\nCaused by:\n  failed to create directory `/opt/project`\n\n\
              Caused by:\n  Read-only file system (os error 30)",
        "/opt/project",
        "/opt",
    ),
    (
        "error: failed to write /srv/other/Cargo.lock\n\nCaused by:\n  failed to open: /srv/other/Cargo.lock\n\nCaused by:\n  \
              Read-only file system (os error 30)",
        "/srv/other/Cargo.lock",
        "/srv/other",
    ),
    (
        "dd: failed to open '/etc/new': Read-only file system",
        "/etc/new",
        "/etc",
    ),
    (
        "sed: couldn't open temporary file /etc/sedOP50ln: Read-only file system",
        "/etc/sedOP50ln",
        "/etc",
    ),
    (
        "tar: /etc/new.tar: Cannot open: Read-only file system\ntar: Error is not recoverable: exiting now",
        "/etc/new.tar",
        "/etc",
    ),
    (
        "install: cannot create regular file '/etc/new': Read-only file system",
        "/etc/new",
        "/etc",
    ),
    (
        "\u{1b}[1m\u{1b}[91merror\u{1b}[0m: failed to create directory `/srv/user/.cargo/registry/cache`\n\n\
              Caused by:\n  Read-only file system (os error 30)",
        "/srv/user/.cargo/registry/cache",
        "~/.cargo",
    ),
    (
        "ERROR: Could not install packages due to an OSError: [Errno 30] Read-only file system: '/srv/user/.cache/pip/wheels'",
        "/srv/user/.cache/pip/wheels",
        "~/.cache/pip",
    ),
    (
        "touch: cannot touch '/srv/user/.bashrc': Read-only file system",
        "/srv/user/.bashrc",
        "~/.bashrc",
    ),
    (
        "touch: cannot touch '~/.bashrc': Read-only file system",
        "~/.bashrc",
        "~/.bashrc",
    ),
    (
        "mkdir: cannot create directory '/new': Read-only file system",
        "/new",
        "/new",
    ),
    (
        "touch: cannot touch '../other/x': Read-only file system",
        "../other/x",
        "/srv/other",
    ),
];

#[test]
fn complaints_about_a_read_only_file_system() {
    for level in [Level::Standard, Level::Strict] {
        let case = Case::new(level, Network::On);
        for (output, path, root) in READ_ONLY {
            assert_eq!(case.notes(output), [outside(path, root)], "{output}");
        }
    }
}

#[test]
fn one_output_with_several_complaints() {
    let case = Case::new(Level::Strict, Network::On);
    let output = "npm error code EROFS\nnpm error syscall symlink\nnpm error path ../../../tmp/w/pkg\n\
                  npm error dest /usr/lib/node_modules/pkg\nnpm error errno -30\n\
                  npm error rofs EROFS: read-only file system, symlink '../../../tmp/w/pkg' -> '/usr/lib/node_modules/pkg'\n\
                  npm error rofs Often virtualized file systems, or other file systems that don't support symlinks, give this error.\n\
                  npm error Log files were not written due to an error writing to the directory: /srv/user/.npm/_logs";
    assert_eq!(
        case.notes(output),
        [outside(
            "/usr/lib/node_modules/pkg",
            "/usr/lib/node_modules"
        )]
    );
    let lines =
        (0..20).map(|i| format!("cp: cannot create '/etc/{}': Read-only file system", i / 2));
    let output = lines.collect::<Vec<_>>().join("\n");
    let notes = case.notes(&output);
    assert_eq!(notes.len(), DENIALS_MAX);
    assert_eq!(notes[4], outside("/etc/4", "/etc"));
}

#[test]
fn names_that_do_not_say_where_they_are() {
    let case = Case::new(Level::Strict, Network::On);
    let note = |name: &str| {
        format!("writing {name}: its folder is not among the writable folders [sandbox.writeRoots]")
    };
    for (output, name) in [
        ("touch: cannot touch 'rel': Read-only file system", "rel"),
        (
            "OSError: [Errno 30] Read-only file system: 'main.rs'",
            "main.rs",
        ),
        (
            "echo > out\n/bin/sh: 1: cannot create out: Read-only file system\nmake: *** [Makefile:2: all] Error 2",
            "out",
        ),
        ("bash: line 1: rel: Read-only file system", "rel"),
        (
            "tar: out.tar: Cannot open: Read-only file system",
            "out.tar",
        ),
    ] {
        assert_eq!(case.notes(output), [note(name)], "{output}");
    }
    for output in [
        "cannot: Read-only file system at -e line 1.",
        "npm error code EROFS",
        "  code: 'EROFS',",
        "Read-only file system",
        "/srv/project/on/a/real/read-only/disk: Read-only file system",
        "touch: cannot touch '/proc/sys/kernel/x': Read-only file system",
    ] {
        assert_eq!(case.notes(output), [""; 0], "{output}");
    }
}

const KEY: &str =
    "reading /srv/user/.ssh/id_rsa: it is among the unreadable places [sandbox.unreadable ~/.ssh]";

/// An output, with what is said at every level, or else at the lowest: the path and the root.
type Permission = (
    &'static str,
    Option<&'static str>,
    Option<(&'static str, &'static str)>,
);

const PERMISSIONS: &[Permission] = &[
    (
        "cat: /srv/user/.ssh/id_rsa: Permission denied",
        Some(KEY),
        None,
    ),
    (
        "bash: line 1: /srv/user/.ssh/id_rsa: Permission denied",
        Some(KEY),
        None,
    ),
    (
        "PermissionError: [Errno 13] Permission denied: '/srv/user/.ssh/id_rsa'",
        Some(KEY),
        None,
    ),
    (
        "Error: EACCES: permission denied, open '/srv/user/.ssh/id_rsa'",
        Some(KEY),
        None,
    ),
    (
        "Load key \"/srv/user/.ssh/id_rsa\": Permission denied",
        Some(KEY),
        None,
    ),
    (
        "grep: /srv/user/.ssh/id_rsa: Permission denied",
        Some(KEY),
        None,
    ),
    (
        "cp: cannot open '/srv/user/.ssh/id_rsa' for reading: Permission denied",
        Some(KEY),
        None,
    ),
    (
        "sh: 1: cannot open /srv/user/.ssh/id_rsa: Permission denied",
        Some(KEY),
        None,
    ),
    ("Error: Permission denied (os error 13)", None, None),
    (
        "cat: .env: Permission denied",
        Some(
            "reading .env: it is among the unreadable places [sandbox.unreadable /srv/project/.env]",
        ),
        None,
    ),
    (
        "touch: cannot touch '/etc/new': Permission denied",
        None,
        Some(("/etc/new", "/etc")),
    ),
    (
        "bash: line 1: /etc/new: Permission denied",
        None,
        Some(("/etc/new", "/etc")),
    ),
    (
        "PermissionError: [Errno 13] Permission denied: '/etc/new'",
        None,
        Some(("/etc/new", "/etc")),
    ),
    // Ordinary failures of an ordinary user.
    ("cat: /etc/shadow: Permission denied", None, None),
    (
        "ls: cannot open directory '/var/lib/private': Permission denied",
        None,
        None,
    ),
    ("find: ‘/var/lib/private’: Permission denied", None, None),
    (
        "head: cannot open '/etc/shadow' for reading: Permission denied",
        None,
        None,
    ),
    ("bash: ./script.sh: Permission denied", None, None),
    ("bash: line 1: ./script.sh: Permission denied", None, None),
    ("cat: /srv/project/locked: Permission denied", None, None),
    (
        "error: could not lock config file /srv/more/config: Permission denied",
        None,
        None,
    ),
    ("git@github.com: Permission denied (publickey).", None, None),
    (
        "chown: changing ownership of '/srv/project/x': Operation not permitted",
        None,
        None,
    ),
    ("mount: /mnt: must be superuser to use mount.", None, None),
    (
        "ls: cannot access '/srv/nothing': No such file or directory",
        None,
        None,
    ),
];

#[test]
fn complaints_about_permissions() {
    for (output, everywhere, lite_alone) in PERMISSIONS {
        for level in Level::ALL {
            let case = Case::new(level, Network::On);
            let wanted: Vec<String> = match (everywhere, lite_alone, level) {
                (Some(note), _, _) => vec![(*note).to_owned()],
                (None, Some((path, root)), Level::Basic) => vec![outside(path, root)],
                (None, _, Level::Basic | Level::Standard | Level::Strict) => Vec::new(),
            };
            assert_eq!(case.notes(output), wanted, "{level:?}: {output}");
        }
    }
}
