//! Other processes, and outliving one's owner.

use std::time::Duration;

use pirn_sandbox::Layer;

use crate::attempt::{Attempt, Control, Expect, Outcome, PLAIN, always, denied};
use crate::stage::{Stage, expect, text};

pub(super) fn rows() -> Vec<Attempt> {
    let mut rows = others();
    rows.extend(descriptors());
    rows.extend(outliving());
    rows.extend(work());
    rows
}

const OUT_OF_SIGHT: &str = "a process namespace; at basic, Landlock";

fn others() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "trace-other-processes",
            stopped_by: "seccomp, a process namespace",
            program: r"
for process in 1, OWNER, os.getppid(), VICTIM:
    t(lambda: call(101, 117, 16902, process, 0, 0))
    t(lambda: call(101, 117, 16, process, 0, 0))
",
            expect: denied(&["EPERM"]),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "memory-of-other-processes",
            stopped_by: "seccomp, a process namespace",
            program: r"
buffer = ctypes.create_string_buffer(64)
local = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), 64)
remote = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), 64)
for process in 1, OWNER, os.getppid(), VICTIM:
    t(lambda: call(310, 270, process, local, 1, remote, 1, 0))
    t(lambda: call(311, 271, process, local, 1, remote, 1, 0))
",
            expect: denied(&["EPERM"]),
            ..PLAIN
        },
        Attempt {
            name: "descriptors-of-other-processes",
            stopped_by: "seccomp, a process namespace",
            program: r#"
for process in 1, OWNER, os.getppid(), VICTIM:
    def steal():
        call(438, 438, os.pidfd_open(process), 9, 0)
    t(steal)
    t(lambda: opened(f"/proc/{process}/fd/9", os.O_RDONLY))
"#,
            expect: denied(&["EPERM", "ESRCH", "ENOENT", "EACCES", "EINVAL"]),
            ..PLAIN
        },
        Attempt {
            name: "signal-the-owner",
            stopped_by: OUT_OF_SIGHT,
            program: r#"
t(lambda: os.kill(OWNER, 0))
t(lambda: os.killpg(OWNER, 0))
t(lambda: os.kill(os.getppid(), 0) if os.getppid() > 1 else "ESRCH")
def by_descriptor():
    signal.pidfd_send_signal(os.pidfd_open(OWNER), 0)
t(by_descriptor)
"#,
            expect: Expect {
                basic: Outcome::Needs(Layer::LandlockScopes, &["EPERM", "ESRCH"]),
                standard: Outcome::Denied(&["ESRCH", "EPERM"]),
                strict: Outcome::Denied(&["ESRCH", "EPERM"]),
            },
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "signal-a-stranger",
            stopped_by: OUT_OF_SIGHT,
            program: r"
t(lambda: os.kill(VICTIM, signal.SIGTERM))
t(lambda: os.kill(VICTIM, signal.SIGKILL))
t(lambda: os.kill(VICTIM, signal.SIGSTOP))
t(lambda: call(234, 131, VICTIM, VICTIM, signal.SIGTERM))
",
            expect: Expect {
                basic: Outcome::Needs(Layer::LandlockScopes, &["EPERM"]),
                standard: Outcome::Denied(&["ESRCH"]),
                strict: Outcome::Denied(&["ESRCH"]),
            },
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "signal-everybody",
            stopped_by: OUT_OF_SIGHT,
            program: r#"
# Not to number -1, which would reach the machine should it get through; its answer says nothing about who was reached.
def everybody():
    reached = []
    for process in [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]:
        try:
            if process != os.getpid(): os.kill(process, 0); reached.append(process)
        except OSError: pass
    return None if reached else "EPERM"
t(everybody)
"#,
            expect: Expect {
                basic: Outcome::Needs(Layer::LandlockScopes, &["EPERM", "ESRCH"]),
                standard: Outcome::Denied(&["ESRCH", "EPERM"]),
                strict: Outcome::Denied(&["ESRCH", "EPERM"]),
            },
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "priorities-and-limits-of-others",
            stopped_by: "a process namespace; at basic, seccomp",
            program: r#"
import resource
for process in OWNER, VICTIM:
    t(lambda: os.setpriority(os.PRIO_PROCESS, process, 19))
    t(lambda: resource.prlimit(process, resource.RLIMIT_CPU, (1, 1)))
    t(lambda: resource.prlimit(process, resource.RLIMIT_NOFILE, (1, 1)))
    t(lambda: call(251, 30, 1, process, 3 << 13))
t(lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19) if os.readlink("/proc/self/ns/pid") == E["PROCESSES"] else "EPERM")
"#,
            prepare: |stage| {
                let own = std::fs::read_link("/proc/self/ns/pid").map_err(text)?;
                stage
                    .variables
                    .push(("PROCESSES", own.display().to_string()));
                Ok(())
            },
            expect: denied(&["EPERM", "ESRCH"]),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "see-other-processes",
            stopped_by: "a process namespace with its own `/proc`",
            program: r#"
seen = [entry for entry in os.listdir("/proc") if entry.isdigit()]
t(lambda: "ESRCH" if len(seen) <= 3 else None)
t(lambda: read(f"/proc/{OWNER}/cmdline") if OWNER > 3 else "ENOENT")
"#,
            expect: Expect {
                basic: Outcome::Through(Layer::ProcessNamespace),
                standard: Outcome::Needs(Layer::PrivateProc, &["ESRCH", "ENOENT"]),
                strict: Outcome::Needs(Layer::PrivateProc, &["ESRCH", "ENOENT"]),
            },
            control: Control::GetsThrough,
            ..PLAIN
        },
    ]
}

fn descriptors() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "descriptors-left-open-by-the-owner",
            stopped_by: "all but those that the owner hands over are closed",
            program: r#"
t(lambda: os.read(9, 16))
t(lambda: os.write(7, b"evil"))
t(lambda: os.open("etc/passwd", os.O_RDONLY, dir_fd=8))
for number in range(3, 64):
    try: os.fstat(number)
    except OSError as error: say(error_name(error.errno))
    else: say(f"{number} is open: " + os.readlink(f"/proc/self/fd/{number}"))
"#,
            expect: denied(&["EBADF"]),
            ..PLAIN
        },
        Attempt {
            name: "folders-held-open",
            stopped_by: "read-only mounts, Landlock",
            program: r#"
here = os.open(".", os.O_RDONLY)
up = os.open("..", os.O_PATH)
t(lambda: os.open("outside/file", os.O_WRONLY, dir_fd=up))
t(lambda: os.open("../outside/new", os.O_WRONLY | os.O_CREAT, dir_fd=here))
os.mkdir("a"); inner = os.open("a", os.O_RDONLY); os.rename("a", "b")
t(lambda: os.open("../../outside/file", os.O_WRONLY, dir_fd=inner))
for _ in range(40): os.chdir("..")
t(lambda: write(OUT.lstrip("/") + "/file"))
"#,
            expect: denied(crate::attempt::FILES),
            control: Control::GetsThrough,
            ..PLAIN
        },
    ]
}

/// How long programs that would outlive their owner run before they are killed.
const RUNNING: Duration = Duration::from_millis(600);

fn work() -> Vec<Attempt> {
    vec![Attempt {
        name: "ordinary-work",
        stopped_by: "nothing: it has to work",
        program: r#"
import multiprocessing, tempfile, threading
thread = threading.Thread(target=lambda: None); thread.start(); thread.join()
with tempfile.NamedTemporaryFile() as file: file.write(b"x")
# Named semaphores lie in /dev/shm, which at the lowest level is everybody's.
if E["LEVEL"] != "basic":
    with multiprocessing.get_context("fork").Pool(2) as pool: assert pool.map(abs, [-1, 2]) == [1, 2]
first, second = socket.socketpair(); first.send(b"x"); assert second.recv(1) == b"x"
os.makedirs("deep/er"); write("deep/er/file"); os.rename("deep/er/file", "deep/file"); os.chmod("deep/file", 0o755)
os.nice(1)
write("/dev/null"); assert len(os.urandom(4)) == 4
for command in "ls -la / > /dev/null", "node -e 0", "cp -a deep copied && tar cf - copied | tar tf - > /dev/null", "sleep 0.01 & wait", "kill -0 $$":
    subprocess.run(command, shell=True, check=True)
say("EPERM")
"#,
        expect: denied(&["EPERM"]),
        ..PLAIN
    }]
}

fn outliving() -> Vec<Attempt> {
    let outlive = |name, program| Attempt {
        name,
        stopped_by: "a supervisor that adopts orphans, a process namespace that dies with its first process",
        program,
        prepare: |stage| {
            stage.kill_after = Some(RUNNING);
            stage.variables.push(("MARK", Stage::unique()));
            Ok(())
        },
        expect: always(Outcome::Contained),
        intact: nobody_is_left,
        ..PLAIN
    };
    vec![
        outlive(
            "daemon",
            r#"
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: time.sleep(300)
    os._exit(0)
os.wait(); say("started")
"#,
        ),
        outlive(
            "session-of-its-own",
            r#"
for command in ["setsid", "sleep", "300"], ["nohup", "setsid", "sleep", "300"], ["sh", "-c", "(sleep 300 &) &"]:
    subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
say("started"); time.sleep(300)
"#,
        ),
        outlive(
            "deaf-to-signals",
            r#"
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
for _ in range(5):
    if os.fork() == 0: break
say("started")
while True: time.sleep(300)
"#,
        ),
        outlive(
            "never-ending-chain",
            r#"
say("started")
stop = time.monotonic() + 300
while time.monotonic() < stop:
    if os.fork(): os._exit(0)
    os.setsid()
    time.sleep(0.001)
"#,
        ),
    ]
}

/// Whether no process carries the attempt's mark any more.
fn nobody_is_left(_stage: &Stage) -> Result<(), String> {
    let wanted = format!("MARK={}", Stage::unique());
    for entry in std::fs::read_dir("/proc").map_err(text)?.flatten() {
        let is_ours = std::fs::read(entry.path().join("environ")).is_ok_and(|bytes| {
            bytes
                .split(|byte| *byte == 0)
                .any(|variable| variable == wanted.as_bytes())
        });
        expect(!is_ours, || format!("{} is left", entry.path().display()))?;
    }
    Ok(())
}
