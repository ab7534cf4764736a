//! Using up the machine.

use std::time::Duration;

use pirn_sandbox::{Layer, Limits};

use crate::attempt::{Attempt, Control, Expect, Outcome, PLAIN, always, denied};
use crate::stage::expect;

/// For ordinary users, a limit of the process takes the place of the cgroup where there is a user namespace.
const PROCESSES: Expect = Expect {
    basic: Outcome::Needs(Layer::CgroupProcesses, &["EAGAIN"]),
    standard: Outcome::Unless(Layer::CgroupProcesses, &["EAGAIN"]),
    strict: Outcome::Unless(Layer::CgroupProcesses, &["EAGAIN"]),
};

pub(super) fn rows() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "fork-bomb",
            stopped_by: "a cgroup; for ordinary users also a limit that counts in a user namespace",
            program: r"
children = []
def bomb():
    for _ in range(300):
        child = os.fork()
        if child == 0: time.sleep(60); os._exit(0)
        children.append(child)
t(bomb)
for child in children: os.kill(child, signal.SIGKILL)
",
            prepare: |stage| {
                stage.policy.limits.processes = Some(60);
                Ok(())
            },
            expect: PROCESSES,
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "thread-bomb",
            stopped_by: "a cgroup; for ordinary users also a limit that counts in a user namespace",
            program: r#"
import threading
threading.stack_size(65536); gate = threading.Event()
def bomb():
    try:
        for _ in range(300): threading.Thread(target=gate.wait, daemon=True).start()
    except RuntimeError: return "EAGAIN"
t(bomb)
gate.set()
"#,
            prepare: |stage| {
                stage.policy.limits.processes = Some(60);
                Ok(())
            },
            expect: PROCESSES,
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "memory-bomb",
            stopped_by: "a cgroup",
            program: r#"
def bomb():
    hoard = [bytearray(10 << 20) for _ in range(40)]
    return 0 if len(hoard) == 40 else 1
def outcome():
    code = forked(bomb)
    return None if code == 0 else "SIGKILL" if code == -9 else str(code)
t(outcome)
"#,
            prepare: |stage| {
                stage.policy.limits.memory_bytes = Some(128 << 20);
                Ok(())
            },
            expect: always(Outcome::Needs(Layer::CgroupMemory, &["SIGKILL"])),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "memory-bomb-of-many",
            stopped_by: "a cgroup, which counts all processes together",
            program: r#"
def share():
    hoard = bytearray(40 << 20); time.sleep(2); return len(hoard) & 1
def bomb():
    children = []
    for _ in range(10):
        child = os.fork()
        if child == 0: os._exit(share())
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    return "SIGKILL" if -9 in codes else None
t(bomb)
"#,
            prepare: |stage| {
                stage.policy.limits.memory_bytes = Some(128 << 20);
                Ok(())
            },
            expect: always(Outcome::Needs(Layer::CgroupMemory, &["SIGKILL"])),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "fill-the-disk",
            stopped_by: "a limit on the length of files",
            program: r#"
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
t(lambda: write("big", "x" * (3 << 20)))
t(lambda: os.truncate("big", 1 << 40))
t(lambda: os.posix_fallocate(os.open("other", os.O_CREAT | os.O_RDWR), 0, 1 << 30))
import resource
def raise_limit():
    try: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 40, 1 << 40))
    except ValueError: return "EPERM"
t(raise_limit)
"#,
            prepare: |stage| {
                stage.policy.limits.file_bytes = Some(1 << 20);
                Ok(())
            },
            expect: denied(&["EFBIG", "EPERM", "EACCES"]),
            intact: |stage| {
                let length =
                    std::fs::metadata(stage.path("work/big")).map_or(0, |found| found.len());
                expect(length <= 1 << 20, || format!("a file has {length} bytes"))
            },
            control: Control::GetsThrough,
        },
        Attempt {
            name: "use-up-descriptors",
            stopped_by: "a limit of the process",
            program: r"
def hoard():
    for _ in range(200): os.dup(0)
t(hoard)
",
            prepare: |stage| {
                stage.policy.limits = Limits {
                    open_files: Some(50),
                    ..Limits::default()
                };
                Ok(())
            },
            expect: denied(&["EMFILE"]),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "use-up-the-processor",
            stopped_by: "a limit of the process",
            program: r#"
def spin():
    while True: pass
def outcome():
    code = forked(spin)
    return "SIGKILL" if code in (-9, -24) else str(code)
t(outcome)
"#,
            prepare: |stage| {
                stage.policy.limits.cpu = Some(Duration::from_secs(1));
                Ok(())
            },
            expect: denied(&["SIGKILL"]),
            ..PLAIN
        },
    ]
}
