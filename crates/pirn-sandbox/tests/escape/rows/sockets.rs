//! Other programs' sockets and queues: whoever can speak to them acts in their name.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pirn_sandbox::Layer;

use crate::attempt::{Attempt, Control, Expect, FILES, Outcome, PLAIN, denied, through_lite};
use crate::stage::{Helper, RUNTIME_VARIABLE, Stage, text};

pub(super) fn rows() -> Vec<Attempt> {
    let mut rows = sockets();
    rows.extend(queues());
    rows
}

const CONNECT: &str = r#"
def connect():
    socket.socket(socket.AF_UNIX).connect(E["SOCKET"])
t(connect)
"#;

/// What a socket in the file system answers: it is not there, or there is another one's.
const NO_SOCKET: &[&str] = &["ENOENT", "EACCES", "ECONNREFUSED", "EPERM"];

/// Sockets below `/run` are there at every level without a root of its own.
const IN_RUN: Expect = Expect {
    basic: Outcome::Through(Layer::PrivateRoot),
    standard: Outcome::Through(Layer::PrivateRoot),
    strict: Outcome::Denied(NO_SOCKET),
};

fn sockets() -> Vec<Attempt> {
    let row = |name, prepare, expect| Attempt {
        name,
        stopped_by: "a root of its own",
        program: CONNECT,
        prepare,
        expect,
        control: Control::GetsThrough,
        ..PLAIN
    };
    vec![
        row(
            "socket-in-run",
            |stage| {
                let folder = runtime_folder()?;
                listen_in(stage, &folder)
            },
            IN_RUN,
        ),
        row(
            "socket-in-var-run",
            |stage| {
                let folder = runtime_folder()?;
                let below = folder.strip_prefix("/run").map_err(text)?.to_owned();
                listen_in(stage, &Path::new("/var/run").join(below))
            },
            IN_RUN,
        ),
        row(
            "socket-in-tmp",
            |stage| listen_in(stage, Path::new("/tmp")),
            through_lite(Layer::PrivateRoot, NO_SOCKET),
        ),
        row(
            "agent-of-ssh",
            |stage| {
                let folder = std::env::temp_dir().join(format!("ssh-{}", Stage::unique()));
                std::fs::create_dir(&folder).map_err(text)?;
                stage.helpers.push(Helper::Folder(folder.clone()));
                listen_in(stage, &folder)
            },
            through_lite(Layer::PrivateRoot, NO_SOCKET),
        ),
        row(
            "socket-in-the-home-folder",
            |stage| {
                let folder = stage.path("home/.ssh");
                listen_in(stage, &folder)
            },
            through_lite(Layer::PrivateRoot, NO_SOCKET),
        ),
        row(
            "screen",
            |stage| {
                let folder = Path::new("/tmp/.X11-unix");
                listen_in(
                    stage,
                    if folder.is_dir() {
                        folder
                    } else {
                        Path::new("/tmp")
                    },
                )
            },
            through_lite(Layer::PrivateRoot, NO_SOCKET),
        ),
        Attempt {
            name: "abstract-socket",
            stopped_by: "a network namespace, Landlock",
            program: r#"
t(lambda: socket.socket(socket.AF_UNIX).connect("\0" + E["ABSTRACT"]))
"#,
            prepare: |stage| {
                let name = Stage::unique();
                let address = SocketAddr::from_abstract_name(&name).map_err(text)?;
                let listener = UnixListener::bind_addr(&address).map_err(text)?;
                stage.helpers.push(Helper::Socket(listener));
                stage.variables.push(("ABSTRACT", name));
                Ok(())
            },
            expect: Expect {
                basic: Outcome::Needs(Layer::LandlockScopes, &["EPERM"]),
                standard: Outcome::Denied(&["ECONNREFUSED", "EPERM"]),
                strict: Outcome::Denied(&["ECONNREFUSED", "EPERM"]),
            },
            control: Control::GetsThrough,
            ..PLAIN
        },
    ]
}

fn queues() -> Vec<Attempt> {
    vec![
        Attempt {
            name: "message-queue-of-others",
            stopped_by: "a namespace for queues",
            program: r#"
buffer = ctypes.create_string_buffer(128)
t(lambda: call(70, 188, int(E["QUEUE"]), buffer, 100, 0, 0o4000))
"#,
            prepare: |stage| {
                with_queue(
                    stage,
                    "QUEUE",
                    "q = libc.msgget(0, 0o1666); libc.msgsnd(q, b'\\1\\0\\0\\0\\0\\0\\0\\0secret', 6, 0)",
                    "libc.msgctl(q, 0, 0)",
                )
            },
            expect: through_lite(Layer::IpcNamespace, &["EINVAL", "EIDRM", "ENOMSG"]),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "memory-segment-of-others",
            stopped_by: "a namespace for segments",
            program: r#"
t(lambda: call(30, 196, int(E["SEGMENT"]), 0, 0))
"#,
            prepare: |stage| {
                with_queue(
                    stage,
                    "SEGMENT",
                    "q = libc.shmget(0, 4096, 0o1666)",
                    "libc.shmctl(q, 0, 0)",
                )
            },
            expect: through_lite(Layer::IpcNamespace, &["EINVAL", "EIDRM", "EACCES"]),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "semaphores-of-others",
            stopped_by: "a namespace for semaphores",
            program: r#"
t(lambda: call(66, 191, int(E["SEMAPHORE"]), 0, 12))
"#,
            prepare: |stage| {
                with_queue(
                    stage,
                    "SEMAPHORE",
                    "q = libc.semget(0, 1, 0o1666)",
                    "libc.semctl(q, 0, 0)",
                )
            },
            expect: through_lite(Layer::IpcNamespace, &["EINVAL", "EIDRM"]),
            control: Control::GetsThrough,
            ..PLAIN
        },
        Attempt {
            name: "posix-queue-of-others",
            stopped_by: "a namespace for queues, Landlock",
            program: r#"
t(lambda: call(240, 180, E["NAME"].encode(), os.O_RDWR, 0, 0))
"#,
            prepare: |stage| {
                let name = Stage::unique();
                stage.variables.push(("NAME", name.clone()));
                with_queue(
                    stage,
                    "POSIX",
                    &format!("q = libc.mq_open(b'/{name}', 0o102, 0o666, None)"),
                    &format!("libc.mq_unlink(b'/{name}')"),
                )
            },
            // They are files, so Landlock has rules for them as well.
            expect: denied(FILES),
            control: Control::GetsThrough,
            ..PLAIN
        },
    ]
}

/// A socket that listens in a folder.
fn listen_in(stage: &mut Stage, folder: &Path) -> Result<(), String> {
    let path = folder.join(format!("s{}", std::process::id()));
    let listener =
        UnixListener::bind(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    stage.helpers.push(Helper::Socket(listener));
    stage.helpers.push(Helper::File(path.clone()));
    stage.variables.push(("SOCKET", path.display().to_string()));
    Ok(())
}

/// A folder below `/run` that we may write: the one that whoever started us made, or that of the session.
fn runtime_folder() -> Result<PathBuf, String> {
    [RUNTIME_VARIABLE, "XDG_RUNTIME_DIR"]
        .into_iter()
        .filter_map(std::env::var_os)
        .map(PathBuf::from)
        .find(|folder| folder.starts_with("/run") && folder.is_dir())
        .ok_or("set XDG_RUNTIME_DIR to a folder below /run: no socket can be made there".to_owned())
}

/// An object of the kernel's that belongs to a process outside, whose number the attempt gets.
fn with_queue(
    stage: &mut Stage,
    variable: &'static str,
    create: &str,
    remove: &str,
) -> Result<(), String> {
    use std::io::{BufRead as _, BufReader};
    let script = format!(
        "import ctypes, sys\nlibc = ctypes.CDLL(None)\n{create}\nprint(q, flush=True)\nsys.stdin.read()\n{remove}"
    );
    let mut owner = Command::new("/usr/bin/python3")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(text)?;
    let mut number = String::new();
    let output = owner.stdout.take().ok_or("no output")?;
    BufReader::new(output)
        .read_line(&mut number)
        .map_err(text)?;
    stage.helpers.push(Helper::Process(owner));
    let number: i64 = number.trim().parse().map_err(text)?;
    if number < 0 {
        return Err("the object cannot be made".to_owned());
    }
    stage.variables.push((variable, number.to_string()));
    Ok(())
}
