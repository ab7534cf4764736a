//! Files that decide what runs later, and with whose rights.

use pirn_sandbox::Layer;

use crate::attempt::{Attempt, Control, FILES, Outcome, PLAIN, always, denied, through_lite};
use crate::stage::{Stage, expect, text};

const READ_ONLY: &str = "read-only mounts, Landlock";

pub(super) fn rows() -> Vec<Attempt> {
    let mut rows = start_up();
    rows.extend(set_id());
    rows
}

fn start_up() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "settings-of-pirn",
            stopped_by: "a read-only cover, also where the folder is missing",
            program: r#"
def settings():
    os.makedirs(".pirn/extensions", exist_ok=True); write(".pirn/settings.json")
t(settings)
t(lambda: os.rename(".pirn", "moved"))
t(lambda: os.rmdir(".pirn"))
"#,
            expect: through_lite(
                Layer::ProtectedPaths,
                &["EROFS", "EBUSY", "EXDEV", "EACCES"],
            ),
            intact: |stage| {
                stage.lacks("work/.pirn/settings.json")?;
                stage.lacks("work/moved")
            },
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "start-up-files-in-a-writable-home",
            stopped_by: "read-only covers, also over what is missing",
            program: r#"
write(HOME + "/allowed")
for name in ".bashrc", ".profile", ".bash_profile", ".zshenv", ".gitconfig", ".xprofile":
    t(lambda: write(HOME + "/" + name))
    t(lambda: os.unlink(HOME + "/" + name))
    t(lambda: os.rename(HOME + "/allowed", HOME + "/" + name))
for name in ".config/fish", ".config/systemd/user", ".config/autostart", ".ssh", ".pirn":
    def plant():
        os.makedirs(HOME + "/" + name, exist_ok=True); write(HOME + "/" + name + "/evil")
    t(plant)
t(lambda: os.rename(HOME + "/.config", HOME + "/moved"))
"#,
            prepare: |stage| {
                stage.policy.write_roots = vec![stage.path("home")];
                Ok(())
            },
            expect: through_lite(
                Layer::ProtectedPaths,
                &["EROFS", "EBUSY", "EXDEV", "EACCES"],
            ),
            intact: |stage| {
                stage.holds("home/.bashrc", "# start\n")?;
                stage.lacks("home/.config/fish/evil")?;
                stage.lacks("home/.ssh/evil")
            },
            control: Control::GetsThrough,
        },
        Attempt {
            name: "libraries-for-every-program",
            stopped_by: READ_ONLY,
            program: r#"
for name in "/etc/ld.so.preload", "/etc/ld.so.conf.d/evil.conf", "/etc/environment", "/etc/profile.d/evil.sh", "/etc/bash.bashrc", "/usr/lib/evil.so":
    t(lambda: write(name, mode="a"))
"#,
            expect: denied(FILES),
            intact: |_stage| {
                expect(
                    !std::path::Path::new("/etc/ld.so.conf.d/evil.conf").exists(),
                    || "a file of the loader exists".to_owned(),
                )
            },
            ..PLAIN
        },
        Attempt {
            name: "scheduled-jobs",
            stopped_by: READ_ONLY,
            program: r#"
for name in "/etc/cron.d/evil", "/var/spool/cron/crontabs/root", "/etc/crontab", "/var/spool/cron/evil", "/var/spool/at/evil":
    t(lambda: write(name, mode="a"))
"#,
            expect: denied(FILES),
            ..PLAIN
        },
        Attempt {
            name: "services",
            stopped_by: READ_ONLY,
            program: r#"
for name in "/etc/systemd/system/evil.service", "/run/systemd/system/evil.service", "/usr/lib/systemd/system/evil.service", "/etc/init.d/evil", "/etc/sudoers.d/evil", "/etc/udev/rules.d/1-evil.rules":
    t(lambda: write(name))
def unit():
    os.makedirs(HOME + "/.config/systemd/user", exist_ok=True); write(HOME + "/.config/systemd/user/evil.service")
t(unit)
"#,
            expect: denied(FILES),
            intact: |stage| stage.lacks("home/.config"),
            ..PLAIN
        },
        Attempt {
            name: "programs-that-shadow-others",
            stopped_by: "each command has the environment that its owner gives it",
            program: r##"
for name in "ls", "git", "python3":
    write(name, f"#!/bin/sh\necho shadowed\n"); os.chmod(name, 0o755)
os.environ["PATH"] = WORK; os.environ["LD_PRELOAD"] = WORK + "/evil.so"; os.environ["BASH_ENV"] = WORK + "/ls"
say("done")
"##,
            expect: always(Outcome::Contained),
            intact: later_commands_are_the_real_ones,
            ..PLAIN
        },
    ]
}

fn set_id() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "set-user-id-bits",
            stopped_by: "seccomp",
            program: r#"
fd = os.open("program", os.O_CREAT | os.O_WRONLY, 0o755)
os.umask(0)
for bits in 0o4755, 0o2755, 0o6777:
    t(lambda: os.chmod("program", bits))
    t(lambda: os.fchmod(fd, bits))
    t(lambda: os.chmod("program", bits, follow_symlinks=False))
    t(lambda: os.open("new", os.O_CREAT | os.O_WRONLY, bits))
    t(lambda: os.open(".", os.O_TMPFILE | os.O_WRONLY, bits))
    t(lambda: os.mknod("node", 0o100000 | bits))
    t(lambda: call(452, 452, -100, b"program", bits, 0))
    # Numbers in the upper half of the register do not hide the bits.
    t(lambda: call(268, 53, -100, b"program", (1 << 40) + bits))
"#,
            // No system makes links' modes; where `fchmodat2` is missing, that comes first.
            expect: denied(&["EPERM", "ENOTSUP", "ENOSYS"]),
            intact: |stage| stage.has_no_set_id_files("work"),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "set-user-id-programs",
            stopped_by: "no new privileges, `nosuid` mounts",
            program: r#"
def status(name):
    with open("/proc/self/status") as file:
        return [line.split()[1:] for line in file if line.startswith(name + ":")][0]
say("EPERM" if status("NoNewPrivs") == ["1"] else "new privileges")
if os.path.exists("set-id"):
    user = subprocess.run(["./set-id", "-u"], check=True, capture_output=True, text=True).stdout.strip()
    say("EPERM" if int(user) == os.getuid() else "became " + user)
for name in "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb":
    if name != "CapBnd" or os.getuid() == 0:
        say("EPERM" if int(status(name)[0], 16) == 0 else f"{name} {status(name)}")
def become():
    os.setresuid(12345, 12345, 12345)
t(become)
t(lambda: os.setgroups([0]))
"#,
            expect: denied(&["EPERM", "EINVAL"]),
            ..PLAIN
        },
    ]
}

/// Commands of the owner after the attempt, in the same confinement.
fn later_commands_are_the_real_ones(stage: &Stage) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(text)?;
    let sandbox = stage.sandbox().map_err(text)?;
    let work = stage.path("work");
    let script = "ls -d . && git --version && echo \"${LD_PRELOAD:-none}\"";
    let output = runtime.block_on(async {
        let mut child = pirn_sandbox::Command::new("sh")
            .args(["-c", script])
            .env("PATH", "/usr/bin:/bin:/usr/local/bin")
            .current_dir(&work)
            .sandbox(&sandbox)
            .spawn()
            .map_err(text)?;
        let mut output = child.take_output().ok_or("no output")?;
        let captured = output.read_bounded(1 << 16).await.map_err(text)?;
        Ok::<_, String>(String::from_utf8_lossy(&captured.bytes).into_owned())
    })?;
    expect(
        output.starts_with(".\ngit version ") && output.ends_with("\nnone\n"),
        || output.clone(),
    )
}
