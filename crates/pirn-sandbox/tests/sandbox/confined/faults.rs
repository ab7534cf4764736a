//! Each system call of preparing a sandbox fails once: the command is refused, or it is confined as always.
//!
//! The kernel hands each call of a helper process to a thread of it that no filter is on (seccomp's user notification), which lets
//! it go on or answers with an error in its place.

#![allow(
    unsafe_code,
    reason = "a filter on system calls, and the answers to what it asks"
)]

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use pirn_sandbox::{ErrorKind, Level, LevelChoice, Sandbox, SandboxPolicy};

use super::{Place, also_as_ordinary_user, levels};
use crate::support::{PATIENCE, finish, shell};

/// The variable that turns [`helper`] into a process whose calls fail: the folder of the [`Place`] and the level, apart by `|`.
const HELPER: &str = "PIRN_SANDBOX_TEST_FAULTS";
/// Lets every call fail with every error, also for an ordinary user; else the last one of each kind fails with one error.
const SOAK: &str = "PIRN_SANDBOX_TEST_SOAK";

/// What must not be read.
const SECRET: &str = "the secret of the owner";

/// What a call that fails says.
const ERRORS: [i32; 5] = [
    libc::ENOSPC,
    libc::EMFILE,
    libc::ENOMEM,
    libc::EINTR,
    libc::EPERM,
];

/// The calls that preparing and starting are made of. Threads are started by another one, `clone3`.
const CALLS: &[libc::c_long] = &[
    libc::SYS_capset,
    libc::SYS_chdir,
    libc::SYS_clone,
    libc::SYS_close_range,
    libc::SYS_execve,
    libc::SYS_fcntl,
    libc::SYS_flock,
    libc::SYS_getdents64,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_restrict_self,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_newfstatat,
    libc::SYS_open_tree,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_pivot_root,
    libc::SYS_prctl,
    libc::SYS_prlimit64,
    libc::SYS_readlinkat,
    libc::SYS_renameat,
    libc::SYS_seccomp,
    libc::SYS_setns,
    libc::SYS_setsid,
    libc::SYS_socketpair,
    libc::SYS_statx,
    libc::SYS_symlinkat,
    libc::SYS_umount2,
    libc::SYS_unshare,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_dup2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
];

/// What the command tries, which must get nothing.
const ATTEMPT: &str = "cat \"$HOME/.ssh/key\" \"$HOME/.npmrc\"; echo x > \"$HOME/evil\"; echo x > ../evil; \
                       [ \"$MOUNTED\" = 1 ] && { cat .env sub/.env; echo x > .git/hooks/evil; echo x >> .git/config; mkdir .pirn/evil; }; \
                       grep -E '^(NoNewPrivs|Seccomp|CapEff|CapBnd)' /proc/self/status | tr '\\n' ' '; echo done";

/// Which call fails, and how; the number counts down.
#[derive(Debug, Default)]
struct Fault {
    calls_left: AtomicI64,
    error: AtomicI64,
    /// The call that failed; 0 where none has.
    failed: AtomicI64,
    /// The calls so far, in order, while none fails.
    seen: Mutex<Vec<i64>>,
}

/// A number of calls left that says that none fails.
const COUNTING: i64 = i64::MAX;

/// `SECCOMP_IOCTL_NOTIF_RECV` and `SECCOMP_IOCTL_NOTIF_SEND`, which the C library's headers lack.
const RECEIVE: libc::c_ulong = 0xc050_2100;
const SEND: libc::c_ulong = 0xc018_2101;

/// Puts a filter on this thread, and lets another one answer.
fn intercept(fault: Arc<Fault>) {
    let instruction = |code: u32, jt: usize, jf: u8, k: u32| libc::sock_filter {
        code: u16::try_from(code).unwrap(),
        jt: u8::try_from(jt).unwrap(),
        jf,
        k,
    };
    let mut program = vec![instruction(
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        0,
        0,
        0,
    )];
    for (index, call) in CALLS.iter().enumerate() {
        let number = u32::try_from(*call).unwrap();
        let jump = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        program.push(instruction(jump, CALLS.len() - index, 0, number));
    }
    let answer = libc::BPF_RET | libc::BPF_K;
    program.push(instruction(answer, 0, 0, libc::SECCOMP_RET_ALLOW));
    program.push(instruction(answer, 0, 0, libc::SECCOMP_RET_USER_NOTIF));
    let filter = libc::sock_fprog {
        len: u16::try_from(program.len()).unwrap(),
        filter: program.as_mut_ptr(),
    };
    let (sender, receiver) = std::sync::mpsc::channel::<OwnedFd>();
    // Before the filter, so that none is on it.
    std::thread::spawn(move || {
        let listener = receiver.recv().unwrap();
        answer_all(&listener, &fault);
    });
    // SAFETY: the kernel copies the instructions; the descriptor is new and owned by nobody else.
    let listener = unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let listener = libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const filter,
        );
        assert!(listener >= 0, "{}", std::io::Error::last_os_error());
        OwnedFd::from_raw_fd(i32::try_from(listener).unwrap())
    };
    sender.send(listener).unwrap();
}

fn answer_all(listener: &OwnedFd, fault: &Fault) {
    loop {
        // SAFETY: both structures are plain integers, and the kernel fills the first.
        unsafe {
            let mut asked = MaybeUninit::<libc::seccomp_notif>::zeroed().assume_init();
            if libc::ioctl(listener.as_raw_fd(), RECEIVE, &raw mut asked) != 0 {
                continue;
            }
            let mut answer = MaybeUninit::<libc::seccomp_notif_resp>::zeroed().assume_init();
            answer.id = asked.id;
            let call = i64::from(asked.data.nr);
            if call == libc::SYS_execve {
                // What the program does is its own.
                fault.calls_left.store(i64::MIN, Ordering::SeqCst);
            }
            if fault.calls_left.load(Ordering::SeqCst) == COUNTING {
                fault.seen.lock().unwrap().push(call);
                answer.flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap();
            } else if call != libc::SYS_execve
                && fault.calls_left.fetch_sub(1, Ordering::SeqCst) == 1
            {
                fault.failed.store(call.max(1), Ordering::SeqCst);
                let error = fault.error.load(Ordering::SeqCst);
                answer.error = -i32::try_from(error).unwrap();
            } else {
                answer.flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap();
            }
            // Fails where the caller is gone.
            libc::ioctl(listener.as_raw_fd(), SEND, &raw mut answer);
        }
    }
}

fn filled() -> Place {
    let place = Place::new();
    for (path, content) in [
        ("home/.ssh/key", SECRET),
        ("home/.npmrc", SECRET),
        ("work/.env", SECRET),
        ("work/sub/.env", SECRET),
        ("work/.git/HEAD", "ref: refs/heads/main\n"),
        ("work/.git/config", "[core]\n"),
        ("work/.git/objects/x", ""),
        ("work/.git/refs/x", ""),
    ] {
        let path = place.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    place
}

#[tokio::test]
async fn a_call_that_fails_refuses_the_command_or_changes_nothing() {
    if std::env::var_os(SOAK).is_some() {
        also_as_ordinary_user(
            "confined::faults::a_call_that_fails_refuses_the_command_or_changes_nothing",
        );
    }
    let started: Vec<_> = levels()
        .iter()
        .map(|level| {
            let place = filled();
            let root = place.folder.path().canonicalize().unwrap();
            let helper = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "confined::faults::helper", "--nocapture"])
                .env(HELPER, format!("{}|{}", root.display(), level.as_str()))
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            (level, place, helper)
        })
        .collect();
    for (level, _place, helper) in started {
        let output = helper.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{level:?}: {text}{errors}");
        let counts = text.lines().find(|line| line.contains("calls: "));
        println!("{level:?}: {}", counts.unwrap());
    }
}

/// Not a test by itself: a process in which calls fail, one after the other.
#[test]
fn helper() {
    let Ok(text) = std::env::var(HELPER) else {
        return;
    };
    let (root, level) = text.split_once('|').unwrap();
    let root = PathBuf::from(root);
    let level = Level::ALL
        .into_iter()
        .find(|one| one.as_str() == level)
        .unwrap();
    let mut policy = SandboxPolicy::new(root.join("work"), root.join("temp"));
    policy.home = Some(root.join("home"));
    policy.protection.pirn_home = Some(root.join("pirn"));
    policy.level = LevelChoice::AtMost(level);
    policy.require = Some(level);
    // Which levels there are is found once, in a place that nobody else writes.
    drop(Sandbox::prepare(policy.clone()).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let fault = Arc::new(Fault::default());
    intercept(Arc::clone(&fault));
    fault.calls_left.store(COUNTING, Ordering::SeqCst);
    let outcome = runtime.block_on(attempt(&root, &policy, level, &fault));
    assert!(matches!(outcome, Outcome::Ran(_)));
    let seen = std::mem::take(&mut *fault.seen.lock().unwrap());
    let (mut refused, mut ran) = (0, 0);
    let tried = tried(&seen);
    for (call, error) in &tried {
        fault.error.store(i64::from(*error), Ordering::SeqCst);
        fault.failed.store(0, Ordering::SeqCst);
        fault
            .calls_left
            .store(i64::try_from(*call).unwrap() + 1, Ordering::SeqCst);
        let outcome = runtime.block_on(attempt(&root, &policy, level, &fault));
        let failed = fault.failed.load(Ordering::SeqCst);
        let what = format!("call {call} ({failed}) with {error}");
        match outcome {
            Outcome::Refused => refused += 1,
            Outcome::Ran(text) => {
                assert!(!text.contains(SECRET), "{what}: {text}");
                let is_confined = [
                    "done",
                    "NoNewPrivs:\t1",
                    "Seccomp:\t2",
                    "CapEff:\t0000000000000000",
                ]
                .iter()
                .all(|wanted| text.contains(wanted));
                assert!(is_confined, "{what}: {text}");
                ran += 1;
            }
        }
        for path in [
            "evil",
            "home/evil",
            "work/.git/hooks/evil",
            "work/.pirn/evil",
        ] {
            assert!(!root.join(path).exists(), "{what}: {path}");
        }
        // Without mounts it could be written, and is looked at alone.
        if level > Level::Basic {
            let config = std::fs::read_to_string(root.join("work/.git/config")).unwrap();
            assert_eq!(config, "[core]\n", "{what}");
        }
    }
    println!(
        "calls: {}, tried: {}, refused: {refused}, ran confined: {ran}",
        seen.len(),
        tried.len()
    );
    // How many depends on which error each call happens to get.
    assert!(refused > 0, "nothing was refused");
}

/// Which calls fail with which errors.
fn tried(seen: &[i64]) -> Vec<(usize, i32)> {
    let is_soak = std::env::var_os(SOAK).is_some();
    let mut tried = Vec::new();
    for (index, call) in seen.iter().enumerate() {
        let is_last = !seen.iter().skip(index + 1).any(|after| after == call);
        if is_soak {
            tried.extend(ERRORS.map(|error| (index, error)));
        } else if is_last {
            tried.push((index, ERRORS[index % ERRORS.len()]));
        }
    }
    tried
}

enum Outcome {
    Refused,
    Ran(String),
}

async fn attempt(
    root: &std::path::Path,
    policy: &SandboxPolicy,
    level: Level,
    fault: &Fault,
) -> Outcome {
    let sandbox = match Sandbox::prepare(policy.clone()) {
        Ok(sandbox) => sandbox,
        Err(error) => {
            fault.calls_left.store(i64::MIN, Ordering::SeqCst);
            assert_eq!(error.kind(), ErrorKind::Confinement, "{error}");
            return Outcome::Refused;
        }
    };
    let command = shell(ATTEMPT)
        .env("HOME", root.join("home"))
        .env("PATH", "/usr/bin:/bin")
        .env("MOUNTED", if level > Level::Basic { "1" } else { "0" })
        .sandbox(&sandbox);
    let child = command.spawn();
    let outcome = match child {
        Err(_refused) => Outcome::Refused,
        Ok(mut child) => {
            let ended = tokio::time::timeout(2 * PATIENCE, finish(&mut child)).await;
            let (status, captured) = ended.unwrap();
            let text = String::from_utf8_lossy(&captured.bytes).into_owned();
            if captured.bytes.is_empty() && !status.is_success() {
                // It ended before exec.
                Outcome::Refused
            } else {
                Outcome::Ran(text)
            }
        }
    };
    fault.calls_left.store(i64::MIN, Ordering::SeqCst);
    outcome
}
