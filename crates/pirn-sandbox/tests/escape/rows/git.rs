//! Repositories, which the owner's git reads settings from and runs hooks of.

use pirn_sandbox::Layer;

use crate::attempt::{Attempt, Control, PLAIN, through_lite};
use crate::stage::{Stage, expect, text};

const READ_ONLY: &str = "read-only covers inside writable folders";
/// What is covered cannot be removed or moved; what lies in a cover cannot be written.
const COVERED: &[&str] = &["EROFS", "EBUSY", "EXDEV", "EACCES"];

pub(super) fn rows() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "git-hooks",
            stopped_by: READ_ONLY,
            program: r#"
t(lambda: write(".git/hooks/post-checkout"))
t(lambda: os.rename(".git/hooks", ".git/hooks.old"))
t(lambda: os.rmdir(".git/hooks"))
t(lambda: os.unlink(".git/hooks/README"))
t(lambda: os.rename("file", ".git/hooks/pre-commit"))
t(lambda: os.link("file", ".git/hooks/pre-commit"))
"#,
            expect: through_lite(Layer::ProtectedPaths, COVERED),
            intact: |stage| {
                stage.lacks("work/.git/hooks/post-checkout")?;
                stage.lacks("work/.git/hooks/pre-commit")?;
                stage.holds("work/.git/hooks/README", "none\n")
            },
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "git-settings",
            stopped_by: READ_ONLY,
            program: r#"
t(lambda: write(".git/config"))
t(lambda: os.unlink(".git/config"))
t(lambda: os.rename("file", ".git/config"))
t(lambda: write(".git/commondir", "../evil"))
t(lambda: os.unlink(".git/commondir"))
t(lambda: os.rename("file", ".git/commondir"))
"#,
            expect: through_lite(Layer::ProtectedPaths, COVERED),
            intact: |stage| {
                stage.holds(
                    "work/.git/config",
                    "[core]\n\trepositoryformatversion = 0\n",
                )
            },
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "replace-the-git-folder",
            stopped_by: "the folder is a mount of its own",
            program: r#"
t(lambda: os.rename(".git", "git.old"))
os.mkdir("evil"); os.mkdir("evil/hooks")
t(lambda: os.rename("evil", ".git"))
import shutil
def remove():
    shutil.rmtree(".git/hooks")
t(remove)
"#,
            expect: through_lite(
                Layer::ProtectedPaths,
                &["EROFS", "EBUSY", "EXDEV", "ENOTEMPTY"],
            ),
            intact: |stage| {
                stage.lacks("work/git.old")?;
                stage.holds("work/.git/HEAD", "ref: refs/heads/main\n")
            },
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "hooks-of-a-nested-repository",
            stopped_by: READ_ONLY,
            program: r#"
def hook():
    os.makedirs("nested/.git/hooks", exist_ok=True)
    write("nested/.git/hooks/post-checkout")
t(hook)
t(lambda: write("nested/.git/config"))
t(lambda: os.rename("nested/.git", "nested/git.old"))
t(lambda: os.rename("nested", "moved"))
"#,
            expect: through_lite(Layer::ProtectedPaths, COVERED),
            intact: |stage| {
                stage.lacks("work/nested/.git/hooks/post-checkout")?;
                stage.lacks("work/moved")
            },
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "git-that-the-owner-runs-later",
            stopped_by: READ_ONLY,
            program: r##"
hook = f"#!/bin/sh\ntouch {OUT}/owned\n"
for name in "post-checkout", "pre-commit", "post-index-change", "fsmonitor":
    def install():
        write(f".git/hooks/{name}", hook); os.chmod(f".git/hooks/{name}", 0o755)
    t(install)
t(lambda: subprocess.run(["git", "config", "core.fsmonitor", f"touch {OUT}/owned"], check=True, stderr=subprocess.DEVNULL))
write("evil.sh", hook); os.chmod("evil.sh", 0o755)
"##,
            expect: through_lite(Layer::ProtectedPaths, COVERED),
            intact: git_runs_nothing,
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "git-works-inside",
            stopped_by: "nothing: commits have to work",
            program: r#"
git = ["git", "-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "safe.directory=*"]
for arguments in ["add", "file"], ["commit", "--quiet", "-m", "one"], ["checkout", "--quiet", "-b", "side"], ["status", "--short"], ["gc", "--quiet"]:
    subprocess.run(git + arguments, check=True, stdout=subprocess.DEVNULL)
say("EPERM" if os.path.exists(".git/refs/heads/side") or os.path.exists(".git/packed-refs") else "no branch")
"#,
            expect: crate::attempt::denied(&["EPERM"]),
            ..PLAIN
        },
    ]
}

/// What the owner's git does in the working folder after the attempt.
fn git_runs_nothing(stage: &Stage) -> Result<(), String> {
    let work = stage.path("work");
    for arguments in [
        &["status", "--short"][..],
        &["add", "file"],
        &["checkout", "-b", "other"],
    ] {
        let output = std::process::Command::new("git")
            .args(["-c", "safe.directory=*"])
            .args(arguments)
            .current_dir(&work)
            .env("HOME", stage.path("home"))
            .output()
            .map_err(text)?;
        expect(output.status.success(), || {
            format!("git {arguments:?}: {output:?}")
        })?;
    }
    stage.lacks("outside/owned")
}
