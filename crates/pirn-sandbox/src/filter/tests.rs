//! The filter is installed for real, in a Python child that then tries each call.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use super::{FilterKind, Processes, Sockets, program};

const OPEN: FilterKind = FilterKind {
    sockets: Sockets::Internet,
    processes: Processes::Private,
};
const CLOSED: FilterKind = FilterKind {
    sockets: Sockets::UnixOnly,
    processes: Processes::Shared,
};

/// Installs the filter given as hexadecimal digits. `call` makes a system call by number and gives the name of the error, or
/// `ok`.
const PRELUDE: &str = r#"
import ctypes, errno, os, platform, sys
libc = ctypes.CDLL(None, use_errno=True)
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
code = bytes.fromhex(sys.argv[1])
buffer = ctypes.create_string_buffer(code, len(code))
X86 = platform.machine() == "x86_64"
def install():
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    number = 317 if X86 else 277
    program = Program(len(code) // 8, ctypes.addressof(buffer))
    assert libc.syscall(number, 1, 0, ctypes.byref(program)) == 0, os.strerror(ctypes.get_errno())
def call(number, *arguments):
    # Variadic integers are passed whole, and high halves of registers are what some attempts are about.
    arguments = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *arguments)
    return "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]
"#;

fn python(kind: FilterKind, script: &str) -> Output {
    let code = program(kind)
        .unwrap()
        .iter()
        .flat_map(|instruction| {
            let code = instruction.code.to_ne_bytes();
            let operand = instruction.k.to_ne_bytes();
            let jumps = [instruction.jt, instruction.jf];
            code.into_iter().chain(jumps).chain(operand)
        })
        .fold(String::new(), |mut digits, byte| {
            write!(digits, "{byte:02x}").unwrap();
            digits
        });
    let folder = tempfile::tempdir().unwrap();
    Command::new("python3")
        .args(["-c", &format!("{PRELUDE}{script}"), &code])
        .current_dir(folder.path())
        .output()
        .unwrap()
}

/// Runs `expression` under the filter and compares what it gives.
fn check(kind: FilterKind, rows: &[(&str, &str)]) {
    let mut script = "install()\n".to_owned();
    for (expression, _) in rows {
        writeln!(script, "print({expression}, flush=True)").unwrap();
    }
    let output = python(kind, &script);
    let errors = String::from_utf8_lossy(&output.stderr);
    let answers = String::from_utf8(output.stdout).unwrap();
    let got: Vec<(&str, &str)> = rows
        .iter()
        .map(|(expression, _)| *expression)
        .zip(answers.lines())
        .collect();
    assert_eq!(got, rows, "{errors}");
}

#[test]
fn refuses_what_leads_out() {
    check(
        OPEN,
        &[
            ("call(101 if X86 else 117, 0, 0, 0, 0)", "EPERM"), // ptrace
            ("call(310 if X86 else 270, 1, 0, 0, 0, 0, 0)", "EPERM"), // process_vm_readv
            ("call(311 if X86 else 271, 1, 0, 0, 0, 0, 0)", "EPERM"), // process_vm_writev
            ("call(438, 0, 0, 0)", "EPERM"),                    // pidfd_getfd
            ("call(165 if X86 else 40, 0, 0, 0, 0, 0)", "EPERM"), // mount
            ("call(166 if X86 else 39, b'/proc', 0)", "EPERM"), // umount2
            ("call(428, -100, b'/', 1)", "EPERM"),              // open_tree
            ("call(429, 0, 0, 0, 0, 0)", "EPERM"),              // move_mount
            ("call(430, b'tmpfs', 0)", "EPERM"),                // fsopen
            ("call(442, 0, 0, 0, 0, 0)", "EPERM"),              // mount_setattr
            ("call(467, 0, 0, 0, 0, 0)", "EPERM"),              // open_tree_attr
            ("call(155 if X86 else 41, b'.', b'.')", "EPERM"),  // pivot_root
            ("call(161 if X86 else 51, b'.')", "EPERM"),        // chroot
            ("call(321 if X86 else 280, 0, 0, 0)", "EPERM"),    // bpf
            ("call(425, 8, 0)", "EPERM"),                       // io_uring_setup
            ("call(426, 0, 0, 0, 0, 0, 0)", "EPERM"),           // io_uring_enter
            ("call(427, 0, 0, 0, 0)", "EPERM"),                 // io_uring_register
            ("call(250 if X86 else 219, 0, 0, 0, 0, 0)", "EPERM"), // keyctl
            (
                "call(248 if X86 else 217, b'user', b'a', b'b', 1, -2)",
                "EPERM",
            ), // add_key
            ("call(249 if X86 else 218, b'user', b'a', 0, -2)", "EPERM"), // request_key
            ("call(323 if X86 else 282, 1)", "EPERM"),          // userfaultfd
            ("call(298 if X86 else 241, 0, 0, -1, -1, 0)", "EPERM"), // perf_event_open
            ("call(304 if X86 else 265, 0, 0, 0)", "EPERM"),    // open_by_handle_at
            ("call(246 if X86 else 104, 0, 0, 0, 0)", "EPERM"), // kexec_load
            ("call(175 if X86 else 105, 0, 0, 0)", "EPERM"),    // init_module
            ("call(169 if X86 else 142, 0, 0, 0, 0)", "EPERM"), // reboot
            ("call(308 if X86 else 268, 0, 0)", "EPERM"),       // setns
        ],
    );
}

#[test]
fn refuses_new_namespaces_and_allows_the_rest() {
    let mut rows = Vec::new();
    for flag in [
        "0x10000000",
        "0x00020000",
        "0x20000000",
        "0x40000000",
        "0x08000000",
        "0x04000000",
        "0x02000000",
    ] {
        rows.push((
            format!("call(56 if X86 else 220, {flag} | 17, 0, 0, 0, 0)"),
            "EPERM",
        ));
        rows.push((format!("call(272 if X86 else 97, {flag})"), "EPERM"));
    }
    // The new time namespace; its bit is no flag of `clone`.
    rows.push(("call(272 if X86 else 97, 0x80)".to_owned(), "EPERM"));
    // Own file descriptors: not a namespace.
    rows.push(("call(272 if X86 else 97, 0x400)".to_owned(), "ok"));
    // The C library falls back to what can be inspected.
    rows.push(("call(435, 0, 88)".to_owned(), "ENOSYS"));
    rows.push(("call(437, -100, b'.', 0, 24)".to_owned(), "ENOSYS"));
    let rows: Vec<(&str, &str)> = rows.iter().map(|(e, a)| (e.as_str(), *a)).collect();
    check(OPEN, &rows);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn knows_no_numbers_of_other_architectures() {
    check(
        OPEN,
        &[
            ("call(0x40000000 + 39)", "ENOSYS"),        // getpid
            ("call(0x40000000 + 521, 0, 0)", "ENOSYS"), // ptrace
            ("call(0x40000000 + 165)", "ENOSYS"),       // mount
            ("call(521, 0, 0, 0, 0)", "ENOSYS"),        // ptrace, on old kernels
            ("call(547)", "ENOSYS"),
            ("call(39)", "ok"),
        ],
    );
}

#[test]
fn refuses_set_id_bits_however_they_are_given() {
    let mut rows = vec![
        (
            "os.open('file', os.O_CREAT | os.O_WRONLY, 0o755) and 'ok'".to_owned(),
            "ok",
        ),
        // Without O_CREAT the mode is not read, and programs pass whatever stands in the register.
        (
            "call(257 if X86 else 56, -100, b'file', 0, 0o4755)".to_owned(),
            "ok",
        ),
        (
            "call(268 if X86 else 53, -100, b'file', 0o1700)".to_owned(),
            "ok",
        ),
        ("call(91 if X86 else 52, 3, 0o700)".to_owned(), "ok"),
        (
            "call(259 if X86 else 33, -100, b'pipe', 0o010644, 0)".to_owned(),
            "ok",
        ),
        (
            "call(259 if X86 else 33, -100, b'disk', 0o060644, 0x801)".to_owned(),
            "EPERM",
        ),
        (
            "call(259 if X86 else 33, -100, b'memory', 0o020644, 0x101)".to_owned(),
            "EPERM",
        ),
    ];
    for bits in ["0o4755", "0o2755", "0o6755", "(1 << 32) + 0o4755"] {
        for call in [
            "call(257 if X86 else 56, -100, b'new', os.O_CREAT | os.O_WRONLY, BITS)",
            "call(257 if X86 else 56, -100, b'.', os.O_TMPFILE | os.O_WRONLY, BITS)",
            "call(268 if X86 else 53, -100, b'file', BITS)",
            "call(452, -100, b'file', BITS, 0)",
            "call(91 if X86 else 52, 3, BITS)",
            "call(259 if X86 else 33, -100, b'node', 0o100000 | BITS, 0)",
        ] {
            rows.push((call.replace("BITS", bits), "EPERM"));
        }
        if cfg!(target_arch = "x86_64") {
            for call in [
                "call(2, b'new', os.O_CREAT | os.O_WRONLY, BITS)",
                "call(85, b'new', BITS)",
                "call(90, b'file', BITS)",
                "call(133, b'node', 0o100000 | BITS, 0)",
            ] {
                rows.push((call.replace("BITS", bits), "EPERM"));
            }
        }
    }
    let rows: Vec<(&str, &str)> = rows.iter().map(|(e, a)| (e.as_str(), *a)).collect();
    check(OPEN, &rows);
}

#[test]
fn refuses_typing_into_the_terminal() {
    check(
        OPEN,
        &[
            ("call(16 if X86 else 29, 0, 0x5412, b'x')", "EPERM"),
            (
                "call(16 if X86 else 29, 0, (1 << 32) + 0x5412, b'x')",
                "EPERM",
            ),
            ("call(16 if X86 else 29, 0, 0x541C, b'x')", "EPERM"),
            // The size of the window.
            ("call(16 if X86 else 29, 0, 0x5413, b'x' * 8)", "ENOTTY"),
        ],
    );
}

/// Families, by number: Unix, IPv4, IPv6, netlink (route, audit), packet, Bluetooth, vsock, algorithms, XDP.
#[test]
fn sockets_depend_on_the_kind() {
    const SOCKET: &str = "call(41 if X86 else 198, FAMILY, KIND, PROTOCOL)";
    let socket = |family: &str, kind: &str, protocol: &str| {
        SOCKET
            .replace("FAMILY", family)
            .replace("KIND", kind)
            .replace("PROTOCOL", protocol)
    };
    for (kind, internet) in [(OPEN, "ok"), (CLOSED, "EPERM")] {
        let rows = [
            (socket("1", "1", "0"), "ok"),
            (socket("2", "1", "0"), internet),
            (socket("2", "2", "0"), internet),
            (socket("10", "1", "0"), internet),
            (socket("16", "3", "0"), internet),
            (socket("16", "3", "9"), "EPERM"),
            (socket("16", "3", "15"), "EPERM"),
            (socket("17", "3", "0"), "EPERM"),
            (socket("31", "3", "0"), "EPERM"),
            (socket("40", "1", "0"), "EPERM"),
            (socket("38", "5", "0"), "EPERM"),
            (socket("44", "3", "0"), "EPERM"),
            (
                "__import__('socket').socketpair() and 'ok'".to_owned(),
                "ok",
            ),
            (
                "call(53 if X86 else 199, 2, 1, 0, b' ' * 8)".to_owned(),
                "EPERM",
            ),
        ];
        let rows: Vec<(&str, &str)> = rows.iter().map(|(e, a)| (e.as_str(), *a)).collect();
        check(kind, &rows);
    }
}

#[test]
fn limits_of_others_are_kept_where_others_are_seen() {
    let rows = |answer| {
        [
            ("call(302 if X86 else 261, 1 << 30, 7, 0, 0)", answer),
            ("call(141 if X86 else 140, 0, 1 << 30, 0)", answer),
            ("call(251 if X86 else 30, 1, 1 << 30, 0x4000)", answer),
            ("call(302 if X86 else 261, 0, 7, 0, 0)", "ok"),
            ("call(141 if X86 else 140, 0, 0, 19)", "ok"),
        ]
    };
    check(CLOSED, &rows("EPERM"));
    // There is no such process.
    check(OPEN, &rows("ESRCH"));
}

/// Finds a program as a shell would, past the shims of version managers, which start further programs.
fn real(program: &str) -> PathBuf {
    ["/usr/bin", "/usr/local/bin", "/bin"]
        .into_iter()
        .map(|folder| PathBuf::from(folder).join(program))
        .find(|path| path.is_file())
        .unwrap_or_else(|| PathBuf::from(program))
}

/// Runs programs under the stricter filter; the other one refuses less of the same.
fn check_programs(rows: &[(&str, &[&str])]) {
    for (name, arguments) in rows {
        let script = format!(
            "install(); os.execvp({:?}, {:?} + {arguments:?})",
            real(name),
            [name]
        );
        let output = python(CLOSED, &script);
        assert!(output.status.success(), "{name}: {output:?}");
    }
}

#[test]
fn interpreters_run() {
    let rows: &[(&str, &[&str])] = &[
        (
            "python3",
            &[
                "-c",
                "import subprocess, threading, tempfile, socket, multiprocessing, shutil, os\n\
                 t = threading.Thread(target=lambda: None); t.start(); t.join()\n\
                 subprocess.run(['true'], check=True)\n\
                 multiprocessing.get_context('fork').Pool(2).map(abs, [1, -2])\n\
                 open('a', 'w').write('x'); shutil.copy2('a', 'b'); os.chmod('b', 0o755)\n\
                 shutil.copytree(os.path.dirname(threading.__file__) + '/json', 'copied')",
            ],
        ),
        (
            "node",
            &[
                "-e",
                "const {execSync} = require('child_process'); execSync('true'); \
                 new (require('worker_threads').Worker)('1', {eval: true}); \
                 require('fs').readFile('/etc/passwd', error => { if (error) throw error })",
            ],
        ),
    ];
    check_programs(rows);
}

#[test]
fn tools_run() {
    let rows: &[(&str, &[&str])] = &[
        (
            "git",
            &[
                "-c",
                "init.defaultBranch=main",
                "init",
                "--quiet",
                "repository",
            ],
        ),
        (
            "sh",
            &[
                "-c",
                "mkdir -p a/b; cp -a a c; tar cf - c | tar tf -; ls -la | sort | head -3; sleep 0.01 & wait",
            ],
        ),
        ("cargo", &["--version"]),
    ];
    check_programs(rows);
}
