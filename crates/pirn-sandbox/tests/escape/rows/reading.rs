//! Reading what is not meant for programs, and writing where nothing may be written.

use pirn_sandbox::Layer;

use crate::attempt::{Attempt, Control, FILES, PLAIN, denied, through_lite};
use crate::stage::{SECRET, Stage};

pub(super) fn rows() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "read-ssh-keys",
            stopped_by: "a cover over the place; at basic, Landlock",
            program: r#"
t(lambda: read(HOME + "/.ssh/id_ed25519"))
os.symlink(HOME + "/.ssh/id_ed25519", "key")
t(lambda: read("key"))
t(lambda: os.rename(HOME + "/.ssh", "keys"))
t(lambda: os.link(HOME + "/.ssh/id_ed25519", "linked"))
"#,
            expect: denied(&["EACCES", "ENOENT", "EXDEV", "EROFS", "EBUSY", "EPERM"]),
            intact: |stage| stage.holds("home/.ssh/id_ed25519", SECRET),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "read-env-files",
            stopped_by: "a cover over the file",
            program: r#"
t(lambda: read(".env"))
t(lambda: os.rename(".env", "env"))
t(lambda: os.unlink(".env"))
t(lambda: os.link(".env", "linked"))
t(lambda: write(".env"))
t(lambda: os.chmod(".env", 0o777))
"#,
            expect: through_lite(
                Layer::UnreadablePaths,
                &["EACCES", "EXDEV", "EBUSY", "EROFS", "EPERM"],
            ),
            intact: |stage| stage.holds("work/.env", SECRET),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "read-env-files-by-other-names",
            stopped_by: "a cover over each name of the file in places of work",
            program: r#"
t(lambda: read("other-name"))
t(lambda: read("nested/deeper/other-name"))
t(lambda: os.link("other-name", "third-name"))
t(lambda: os.rename("other-name", "moved"))
t(lambda: write("nested/deeper/other-name"))
"#,
            prepare: |stage| {
                let work = stage.root.join("work");
                std::fs::create_dir_all(work.join("nested/deeper")).map_err(|e| e.to_string())?;
                for name in ["other-name", "nested/deeper/other-name"] {
                    std::fs::hard_link(work.join(".env"), work.join(name))
                        .map_err(|e| e.to_string())?;
                }
                Ok(())
            },
            expect: through_lite(
                Layer::UnreadablePaths,
                &["EACCES", "EXDEV", "EBUSY", "EROFS", "EPERM"],
            ),
            intact: |stage| stage.holds("work/.env", SECRET),
            control: Control::GetsThrough,
        },
        Attempt {
            name: "read-passwords-of-the-system",
            stopped_by: "a cover over the file; at basic, Landlock; for ordinary users, file modes",
            program: r#"
t(lambda: read("/etc/shadow"))
t(lambda: read("/etc/gshadow"))
t(lambda: read("/etc/sudoers"))
"#,
            expect: denied(FILES),
            ..PLAIN
        },
        Attempt {
            name: "read-what-was-not-chosen",
            stopped_by: "a root that holds only what was chosen; else Landlock",
            program: r#"
t(lambda: read(OUT + "/file"))
t(lambda: read(HOME + "/notes"))
t(lambda: read("/etc/fstab"))
t(lambda: os.listdir(OUT))
t(lambda: None if open("/etc/passwd").read() == "" else "EACCES")
"#,
            prepare: |stage| {
                stage.policy.readable = pirn_sandbox::Readable::Only(Vec::new());
                Ok(())
            },
            expect: denied(FILES),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "write-without-write-rights",
            stopped_by: "read-only mounts, Landlock",
            program: r#"
t(lambda: write("file"))
t(lambda: write("new"))
t(lambda: os.unlink("file"))
t(lambda: os.mkdir(".git/hooks/folder"))
t(lambda: write(HOME + "/.bashrc"))
"#,
            prepare: |stage| {
                stage.policy.profile = pirn_sandbox::Profile::ReadOnly;
                Ok(())
            },
            expect: denied(FILES),
            intact: |stage: &Stage| {
                stage.holds("work/file", "of the project")?;
                stage.lacks("work/new")
            },
            control: Control::GetsThrough,
        },
    ]
}
