//! Writing and reading what lies outside.

use std::path::{Path, PathBuf};

use pirn_sandbox::Layer;

use crate::attempt::{
    Attempt, Control, Expect, FILES, Outcome, PLAIN, always, denied, through_lite,
};
use crate::stage::{Helper, SECRET, Stage, expect, text};

pub(super) fn rows() -> Vec<Attempt> {
    let mut rows = writing();
    rows.extend(links());
    rows.extend(through_proc());
    rows.extend(kernel_files());
    rows
}

const READ_ONLY: &str = "read-only mounts, Landlock";

fn writing() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "write-etc",
            stopped_by: READ_ONLY,
            program: r#"
t(lambda: write(f"/etc/pirn-escape-{OWNER}"))
t(lambda: opened("/etc/passwd"))
t(lambda: os.rename("/etc/hostname", "/etc/hostname.old"))
"#,
            expect: denied(FILES),
            intact: |_stage| absent(&[&format!("/etc/{}", Stage::unique()), "/etc/hostname.old"]),
            ..PLAIN
        },
        Attempt {
            name: "write-usr",
            stopped_by: READ_ONLY,
            program: r#"
t(lambda: write(f"/usr/bin/pirn-escape-{OWNER}"))
t(lambda: write(f"/usr/lib/pirn-escape-{OWNER}"))
t(lambda: os.mkdir(f"/opt/pirn-escape-{OWNER}"))
t(lambda: os.mkdir(f"/pirn-escape-{OWNER}"))
t(lambda: opened("/usr/bin/env"))
"#,
            expect: denied(&["EACCES", "EROFS", "ENOENT", "ETXTBSY"]),
            intact: |_stage| {
                ["/usr/bin", "/usr/lib", "/opt", ""]
                    .iter()
                    .try_for_each(|folder| absent(&[&format!("{folder}/{}", Stage::unique())]))
            },
            ..PLAIN
        },
        Attempt {
            name: "write-shared-tmp",
            stopped_by: "a private temporary folder; at basic, Landlock",
            program: r#"
for folder in "/tmp", "/var/tmp":
    t(lambda: write(f"{folder}/pirn-escape-file-{OWNER}"))
    t(lambda: os.mkdir(f"{folder}/pirn-escape-folder-{OWNER}"))
"#,
            expect: Expect {
                basic: Outcome::Denied(FILES),
                standard: Outcome::Contained,
                strict: Outcome::Contained,
            },
            intact: |_stage| {
                let process = std::process::id();
                ["/tmp", "/var/tmp"].iter().try_for_each(|folder| {
                    absent(&[
                        &format!("{folder}/pirn-escape-file-{process}"),
                        &format!("{folder}/pirn-escape-folder-{process}"),
                    ])
                })
            },
            ..PLAIN
        },
        Attempt {
            name: "write-home",
            stopped_by: READ_ONLY,
            program: r#"
t(lambda: write(HOME + "/.bashrc"))
t(lambda: write(HOME + "/new"))
t(lambda: os.unlink(HOME + "/notes"))
t(lambda: os.rename(HOME + "/notes", WORK + "/notes"))
t(lambda: os.truncate(HOME + "/notes", 0))
"#,
            // From one mount to another, nothing is moved.
            expect: denied(&["EACCES", "EROFS", "ENOENT", "EXDEV"]),
            intact: |stage| {
                stage.holds("home/.bashrc", "# start\n")?;
                stage.holds("home/notes", "of the owner")?;
                stage.lacks("home/new")
            },
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "write-beside-the-working-folder",
            stopped_by: READ_ONLY,
            program: r#"
t(lambda: write(WORK + "/../outside/file"))
t(lambda: write("../outside/new"))
t(lambda: os.mkdir(OUT + "/folder"))
os.chdir("/")
t(lambda: write(OUT.lstrip("/") + "/new"))
"#,
            expect: denied(FILES),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "change-modes-and-times-outside",
            stopped_by: "read-only mounts",
            program: r#"
t(lambda: os.chmod(OUT + "/file", 0o777))
t(lambda: os.utime(OUT + "/file", (1, 1)))
"#,
            expect: through_lite(Layer::MountNamespace, FILES),
            intact: |stage| {
                use std::os::unix::fs::MetadataExt as _;
                let metadata = std::fs::metadata(stage.path("outside/file")).map_err(text)?;
                expect(
                    metadata.mode() & 0o777 != 0o777 && metadata.mtime() != 1,
                    || format!("{metadata:?}"),
                )
            },
            control: Control::GetsThrough,
            ..PLAIN
        },
    ]
}

fn links() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "write-through-a-symbolic-link",
            stopped_by: READ_ONLY,
            program: r#"
os.symlink(OUT + "/file", "link"); os.symlink(OUT, "folder"); os.symlink("../outside/file", "relative")
t(lambda: write("link"))
t(lambda: write("relative"))
t(lambda: write("folder/new"))
t(lambda: os.unlink("folder/file"))
t(lambda: os.rename("file", "folder/file"))
"#,
            expect: denied(&["EACCES", "EROFS", "ENOENT", "EXDEV"]),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "hard-link-to-a-file-outside",
            stopped_by: "separate mounts, Landlock",
            program: r#"
for target in OUT + "/file", "/etc/passwd", HOME + "/.bashrc":
    t(lambda: os.link(target, "linked-" + os.path.basename(target)))
"#,
            expect: denied(&["EXDEV", "EACCES", "EPERM", "ENOENT", "EROFS"]),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "swap-a-folder-for-a-link-while-writing",
            stopped_by: READ_ONLY,
            program: r#"
import threading
os.mkdir("real"); os.symlink(OUT, "link"); os.rename("real", "swapped")
stop = time.monotonic() + 0.5
def swap():
    while time.monotonic() < stop:
        try:
            os.rename("swapped", "real"); os.rename("link", "swapped")
            os.rename("swapped", "link"); os.rename("real", "swapped")
        except OSError: pass
thread = threading.Thread(target=swap); thread.start()
while time.monotonic() < stop:
    for name in "swapped/file", "swapped/new":
        try: write(name)
        except OSError: pass
thread.join()
say("done")
"#,
            expect: always(Outcome::Contained),
            ..PLAIN
        },
        Attempt {
            name: "reopen-a-readable-file-for-writing",
            stopped_by: READ_ONLY,
            program: r#"
import mmap
passwd = os.open("/etc/passwd", os.O_RDONLY)
t(lambda: opened(f"/proc/self/fd/{passwd}"))
t(lambda: mmap.mmap(passwd, 16, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE))
t(lambda: os.ftruncate(passwd, 0))
"#,
            expect: denied(&["EACCES", "EROFS", "EINVAL", "EPERM"]),
            ..PLAIN
        },
        Attempt {
            name: "run-a-program-from-memory",
            stopped_by: "rules and namespaces are inherited over exec",
            program: r#"
fd = os.memfd_create("program", 0)
with open("/usr/bin/touch", "rb") as file: os.write(fd, file.read())
subprocess.run([f"/proc/self/fd/{fd}", "inside"], pass_fds=[fd], check=True)
t(lambda: subprocess.run([f"/proc/self/fd/{fd}", OUT + "/new"], pass_fds=[fd], check=True, stderr=subprocess.DEVNULL))
t(lambda: None if not os.path.exists("inside") else "EACCES")
"#,
            expect: denied(FILES),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "open-a-file-by-its-number",
            stopped_by: "seccomp",
            program: r#"
handle = ctypes.create_string_buffer(b"\x80\0\0\0" + b"\0" * 140); mount = ctypes.c_int()
call(303, 264, -100, b"/etc/passwd", handle, ctypes.byref(mount), 0)
root = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
t(lambda: call(304, 265, root, handle, 2))
"#,
            expect: denied(&["EPERM"]),
            ..PLAIN
        },
    ]
}

fn through_proc() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "through-the-root-of-a-process",
            stopped_by: "a process namespace, Landlock",
            program: r#"
t(lambda: write("/proc/self/root" + OUT + "/file"))
t(lambda: write("/proc/self/cwd/../outside/file"))
t(lambda: write("/proc/thread-self/root/etc/pirn-escape"))
for process in 1, OWNER, os.getppid(), VICTIM:
    t(lambda: write(f"/proc/{process}/root{OUT}/file"))
    t(lambda: os.listdir(f"/proc/{process}/root/etc"))
    t(lambda: os.listdir(f"/proc/{process}/cwd/"))
    t(lambda: os.readlink(f"/proc/{process}/fd/0"))
"#,
            expect: denied(FILES),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "environment-of-other-processes",
            stopped_by: "a process namespace, Landlock",
            program: r#"
def search():
    for process in [entry for entry in os.listdir("/proc") if entry.isdigit()] + [str(OWNER)]:
        try:
            with open(f"/proc/{process}/environ", "rb") as file:
                if b"PIRN_ESCAPE_SECRET=" in file.read(): return None
        except OSError: pass
    return "EACCES"
t(search)
t(lambda: read(f"/proc/{OWNER}/environ"))
"#,
            expect: denied(FILES),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "memory-of-other-processes-by-file",
            stopped_by: "a process namespace, Landlock",
            program: r#"
for process in 1, OWNER, os.getppid(), VICTIM:
    t(lambda: opened(f"/proc/{process}/mem", os.O_RDONLY))
    t(lambda: opened(f"/proc/{process}/mem", os.O_WRONLY))
    t(lambda: read(f"/proc/{process}/maps"))
"#,
            expect: denied(&["EACCES", "EPERM", "ENOENT", "EROFS", "EMPTY", "ESRCH"]),
            control: Control::GetsThrough,
            ..PLAIN
        },
    ]
}

fn kernel_files() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "settings-of-the-kernel",
            stopped_by: "`/proc` read-only, Landlock, no capabilities",
            program: r#"
for name in "kernel/core_pattern", "kernel/hostname", "kernel/modprobe", "kernel/sysrq", "vm/overcommit_memory", "fs/suid_dumpable", "kernel/randomize_va_space":
    t(lambda: opened("/proc/sys/" + name))
for name in "uid_map", "gid_map", "setgroups", "oom_score_adj", "loginuid":
    t(lambda: write("/proc/self/" + name, "0"))
"#,
            expect: denied(FILES),
            ..PLAIN
        },
        Attempt {
            name: "sysrq-trigger",
            stopped_by: "`/proc` read-only, Landlock, no capabilities",
            program: r#"t(lambda: opened("/proc/sysrq-trigger"))"#,
            expect: denied(FILES),
            ..PLAIN
        },
        Attempt {
            name: "memory-of-the-machine",
            stopped_by: "no such devices, no capabilities",
            program: r#"
for name in "/dev/mem", "/dev/kmem", "/dev/port", "/proc/kcore":
    t(lambda: opened(name, os.O_RDONLY))
    t(lambda: opened(name, os.O_WRONLY))
"#,
            expect: denied(FILES),
            ..PLAIN
        },
        Attempt {
            name: "disks",
            stopped_by: "no device nodes: seccomp, `nodev` mounts, a private `/dev`; at basic, Landlock",
            program: r#"
device = os.stat("/usr").st_dev
t(lambda: os.mknod("disk", 0o060600, device))
t(lambda: os.mknod("memory", 0o020600, os.makedev(1, 1)))
# By the name of a plain file, then a rename would do as well.
t(lambda: call(133, 33, *([b"disk"] if X86 else [-100, b"disk"]), 0o060600, device))
import stat
for name in os.listdir("/dev"):
    try: is_disk = stat.S_ISBLK(os.stat("/dev/" + name).st_mode)
    except OSError: continue
    if is_disk:
        t(lambda: opened("/dev/" + name, os.O_RDONLY))
        t(lambda: opened("/dev/" + name, os.O_WRONLY))
"#,
            // An empty drive.
            expect: denied(&["EPERM", "EACCES", "EROFS", "ENXIO", "ENOMEDIUM"]),
            intact: |stage| {
                stage.lacks("work/disk")?;
                stage.lacks("work/memory")
            },
            ..PLAIN
        },
        Attempt {
            name: "sys",
            stopped_by: "`/sys` read-only or absent, Landlock",
            program: r#"
for name in "kernel/uevent_helper", "power/state", "kernel/mm/transparent_hugepage/enabled", "module/printk/parameters/time", "kernel/profiling":
    t(lambda: opened("/sys/" + name))
t(lambda: os.mkdir(f"/sys/fs/cgroup/pirn-escape-{OWNER}"))
"#,
            expect: denied(FILES),
            ..PLAIN
        },
        Attempt {
            name: "leave-the-cgroup",
            stopped_by: "`/sys` read-only or absent, Landlock",
            program: r#"
places = ["/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified"]
with open("/proc/self/cgroup") as file:
    for line in file:
        number, controllers, path = line.strip().split(":", 2)
        places.append("/sys/fs/cgroup/" + controllers + path)
for place in places:
    t(lambda: opened(place + "/cgroup.procs"))
    t(lambda: opened(place + "/tasks"))
    t(lambda: os.mkdir(place + "/pirn-escape"))
    for limit in "memory.max", "memory.limit_in_bytes", "pids.max":
        t(lambda: opened(place + "/" + limit))
"#,
            expect: denied(FILES),
            ..PLAIN
        },
        Attempt {
            name: "shared-memory-of-others",
            stopped_by: "a private `/dev/shm`; at basic, Landlock",
            program: r#"
t(lambda: read(E["SHARED"]))
t(lambda: write(E["SHARED"]))
"#,
            prepare: |stage| {
                let path = PathBuf::from(format!("/dev/shm/{}", Stage::unique()));
                std::fs::write(&path, SECRET).map_err(text)?;
                stage.variables.push(("SHARED", path.display().to_string()));
                stage.helpers.push(Helper::File(path));
                Ok(())
            },
            // Inside, a file of this name is another one, and empty.
            expect: Expect {
                basic: Outcome::Denied(FILES),
                standard: Outcome::Contained,
                strict: Outcome::Contained,
            },
            intact: |_stage| {
                let found = std::fs::read_to_string(format!("/dev/shm/{}", Stage::unique()));
                expect(found.as_deref().is_ok_and(|found| found == SECRET), || {
                    format!("{found:?}")
                })
            },
            control: Control::GetsThrough,
        },
    ]
}

fn absent(paths: &[&str]) -> Result<(), String> {
    paths.iter().try_for_each(|path| {
        expect(Path::new(path).symlink_metadata().is_err(), || {
            format!("{path} exists")
        })
    })
}
