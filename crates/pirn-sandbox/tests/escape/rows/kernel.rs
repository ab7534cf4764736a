//! System calls that lead out, or to parts of the kernel with a long history of holes.

use crate::attempt::{Attempt, Control, FILTER, PLAIN, denied};

pub(super) fn rows() -> Vec<Attempt> {
    let mut rows = mounts();
    rows.extend(namespaces());
    rows.extend(machinery());
    rows
}

fn mounts() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "mount",
            stopped_by: "seccomp, no capabilities",
            program: r#"
os.mkdir("point")
t(lambda: call(165, 40, WORK.encode(), b"point", 0, 4096, 0))
t(lambda: call(165, 40, b"tmpfs", b"point", b"tmpfs", 0, 0))
t(lambda: call(165, 40, b"proc", b"point", b"proc", 0, 0))
t(lambda: call(165, 40, b"overlay", b"point", b"overlay", 0, f"lowerdir=/etc,upperdir={WORK},workdir=point".encode()))
"#,
            expect: denied(FILTER),
            ..PLAIN
        },
        Attempt {
            name: "unmount",
            stopped_by: "seccomp, no capabilities",
            program: r#"
# Places that are no mounts outside, should the call ever work there.
t(lambda: call(166, 39, b".git/hooks", 2))
t(lambda: call(166, 39, WORK.encode(), 2))
t(lambda: call(166, 39, (HOME + "/.ssh").encode(), 2))
"#,
            expect: denied(FILTER),
            ..PLAIN
        },
        Attempt {
            name: "mount-again-writable",
            stopped_by: "seccomp, no capabilities",
            program: r#"
t(lambda: call(165, 40, 0, b"/", 0, 32 | 4096, 0))
t(lambda: call(165, 40, 0, b".git/hooks", 0, 32 | 4096, 0))
attributes = (ctypes.c_uint64 * 4)(0, 1, 0, 0)
t(lambda: call(442, 442, -100, b"/", 0x8000, attributes, 32))
"#,
            expect: denied(FILTER),
            ..PLAIN
        },
        Attempt {
            name: "mount-by-the-new-calls",
            stopped_by: "seccomp, no capabilities",
            program: r#"
t(lambda: call(428, 428, -100, b"/", 1))
t(lambda: call(430, 430, b"tmpfs", 0))
t(lambda: call(431, 431, 0, 0, 0, 0, 0))
t(lambda: call(432, 432, 0, 0, 0))
t(lambda: call(433, 433, -100, b"/", 0))
t(lambda: call(429, 429, -100, b"nested", -100, b"file", 0))
t(lambda: call(467, 467, -100, b"/", 1, 0, 0))
"#,
            expect: denied(FILTER),
            ..PLAIN
        },
        Attempt {
            name: "change-the-root",
            stopped_by: "seccomp, no capabilities",
            program: r#"
t(lambda: os.chroot(WORK))
t(lambda: call(155, 41, b".", b"."))
"#,
            expect: denied(FILTER),
            ..PLAIN
        },
    ]
}

fn namespaces() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "new-namespaces",
            stopped_by: "seccomp",
            program: r"
for flag in 0x10000000, 0x20000, 0x20000000, 0x40000000, 0x8000000, 0x4000000, 0x2000000, 0x80, 0x10020000:
    t(lambda: call(272, 97, flag))
    t(lambda: call(272, 97, (1 << 40) + flag))
",
            expect: denied(FILTER),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "clone-into-new-namespaces",
            stopped_by: "seccomp",
            program: r"
def clone(flags):
    child = call(56, 220, flags | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0: os._exit(0)
    os.waitpid(child, 0)
for flag in 0x10000000, 0x20000, 0x20000000, 0x40000000, 0x8000000, 0x4000000, 0x2000000:
    t(lambda: clone(flag))
",
            expect: denied(FILTER),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "clone-by-the-call-that-cannot-be-filtered",
            stopped_by: "seccomp says that there is no `clone3`",
            program: r#"
arguments = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
def clone():
    child = call(435, 435, arguments, 88)
    if child == 0: os._exit(0)
t(clone)
t(lambda: call(437, 437, -100, b"file", (ctypes.c_uint64 * 3)(0, 0, 0), 24))
"#,
            expect: denied(&["ENOSYS"]),
            ..PLAIN
        },
        Attempt {
            name: "enter-other-namespaces",
            stopped_by: "seccomp, a process namespace",
            program: r#"
for name in "user", "mnt", "pid", "net", "ipc", "uts", "cgroup":
    own = os.open(f"/proc/self/ns/{name}", os.O_RDONLY)
    t(lambda: call(308, 268, own, 0))
    t(lambda: opened(f"/proc/1/ns/{name}", os.O_RDONLY))
    t(lambda: opened(f"/proc/{OWNER}/ns/{name}", os.O_RDONLY))
pidfd = os.pidfd_open(os.getppid()) if os.getppid() else -1
t(lambda: call(308, 268, pidfd, 0x20000))
"#,
            expect: denied(&["EPERM", "EACCES", "ENOENT", "ESRCH"]),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "name-of-the-host",
            stopped_by: "seccomp, a namespace of its own",
            program: r#"
t(lambda: socket.sethostname("evil"))
t(lambda: call(171, 162, b"evil", 4))
"#,
            expect: denied(FILTER),
            ..PLAIN
        },
    ]
}

fn machinery() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "io-uring",
            stopped_by: "seccomp",
            program: r"
parameters = ctypes.create_string_buffer(120)
t(lambda: call(425, 425, 8, parameters))
t(lambda: call(426, 426, 0, 0, 0, 0, 0, 0))
t(lambda: call(427, 427, 0, 0, 0, 0))
",
            expect: denied(FILTER),
            ..PLAIN
        },
        Attempt {
            name: "keyrings",
            stopped_by: "seccomp",
            program: r#"
for ring in -1, -2, -3, -4, -5:
    t(lambda: call(250, 219, 0, ring, 0, 0, 0))
t(lambda: call(248, 217, b"user", b"evil", b"text", 4, -4))
t(lambda: call(249, 218, b"user", b"any", 0, -4))
"#,
            expect: denied(FILTER),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "bpf",
            stopped_by: "seccomp",
            program: "t(lambda: call(321, 280, 0, ctypes.create_string_buffer(128), 128))",
            expect: denied(FILTER),
            ..PLAIN
        },
        Attempt {
            name: "perf-events",
            stopped_by: "seccomp",
            program: r#"
attributes = ctypes.create_string_buffer(b"\1\0\0\0\x70\0\0\0" + b"\0" * 104)
t(lambda: call(298, 241, attributes, 0, -1, -1, 0))
t(lambda: call(298, 241, attributes, OWNER, -1, -1, 0))
"#,
            expect: denied(FILTER),
            ..PLAIN
        },
        Attempt {
            name: "userfaultfd",
            stopped_by: "seccomp",
            program: r#"
t(lambda: call(323, 282, 1))
t(lambda: opened("/dev/userfaultfd", os.O_RDWR))
"#,
            expect: denied(&["EPERM", "ENOENT", "EACCES", "EROFS"]),
            ..PLAIN
        },
        Attempt {
            name: "kernel-and-machine",
            stopped_by: "seccomp, no capabilities",
            program: r#"
t(lambda: call(246, 104, 0, 0, 0, 0))
t(lambda: call(320, 294, -1, -1, 0, 0, 0))
t(lambda: call(175, 105, 0, 0, 0))
t(lambda: call(313, 273, -1, 0, 0))
t(lambda: call(176, 106, b"none", 0))
# With numbers that the kernel does not take, should the call ever work.
t(lambda: call(169, 142, 1, 2, 3, 0))
t(lambda: call(167, 224, b"/nowhere", 0))
t(lambda: call(168, 225, b"/nowhere"))
t(lambda: call(163, 89, b"/nowhere"))
t(lambda: call(179, 60, 0, 0, 0, 0))
t(lambda: call(443, 443, -1, 0, 0, 0))
t(lambda: call(164, 170, 0, 0))
t(lambda: call(227, 112, 0, 0))
"#,
            expect: denied(FILTER),
            ..PLAIN
        },
        Attempt {
            name: "calls-of-other-architectures",
            stopped_by: "seccomp knows no such numbers",
            program: r#"
if X86:
    for number in 39, 101, 165, 257, 512, 520, 521, 545:
        t(lambda: call(0x40000000 + number, 0, 0, 0, 0, 0))
    for number in 512, 520, 521, 535, 547:
        t(lambda: call(number, 0, 0, 0, 0, 0))
else: say("ENOSYS")
"#,
            expect: denied(&["ENOSYS"]),
            ..PLAIN
        },
        Attempt {
            name: "type-into-the-terminal",
            stopped_by: "seccomp",
            program: r#"
import fcntl
# A terminal of its own is not needed for the answer: the filter comes before the file.
files = [0]
try: files += os.openpty()
except OSError: pass
for file in files:
    for request in 0x5412, 0x541C:
        t(lambda: call(16, 29, file, request, b"x"))
        t(lambda: call(16, 29, file, (1 << 32) + request, b"x"))
t(lambda: "EPERM" if len(files) == 3 else "no terminal can be made")
"#,
            expect: denied(FILTER),
            ..PLAIN
        },
    ]
}
