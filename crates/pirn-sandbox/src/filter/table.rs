//! Which system calls are refused, and when.

use libc::c_long;

use super::{FilterKind, Processes, Sockets};

/// A call that is refused when all tests of any of the groups hold; without groups, always.
pub(super) struct Refusal {
    pub(super) number: i64,
    pub(super) when: Vec<Vec<ArgumentTest>>,
}

/// A test on the low 32 bits of one argument, counted from 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArgumentTest {
    pub(super) argument: u8,
    pub(super) is: Comparison,
}

/// What an argument is compared with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Comparison {
    Equal(u32),
    Not(u32),
    /// All of these bits are set.
    WithBits(u32),
    /// The bits of the mask have this value.
    Masked {
        mask: u32,
        value: u32,
    },
}

/// Newer than the C library's headers; the same on every architecture since 5.0.
const FCHMODAT2: c_long = 452;
const OPEN_TREE_ATTR: c_long = 467;
/// Missing in some of the C library's headers.
#[cfg(target_arch = "x86_64")]
const KEXEC_FILE_LOAD: c_long = 320;
#[cfg(not(target_arch = "x86_64"))]
const KEXEC_FILE_LOAD: c_long = 294;

/// What no program in a sandbox has business with.
const ALWAYS: &[c_long] = &[
    // Reading and steering other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Changing what is mounted where.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    // Opens a file by number, past every folder on the way to it.
    libc::SYS_open_by_handle_at,
    // Calls made by other calls, which no filter sees.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Parts of the kernel with a long history of holes.
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    // Keys of the user's other sessions.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // The machine.
    libc::SYS_kexec_load,
    KEXEC_FILE_LOAD,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Calls whose arguments lie in memory, where another thread can change them after a look: the C library has a fallback.
pub(super) fn not_inspectable() -> impl Iterator<Item = u32> {
    [libc::SYS_clone3, libc::SYS_openat2]
        .into_iter()
        .filter_map(|number| u32::try_from(number).ok())
}

pub(super) fn refusals(kind: FilterKind) -> Vec<Refusal> {
    let mut refusals: Vec<Refusal> = ALWAYS
        .iter()
        .map(|number| refuse(*number, Vec::new()))
        .collect();
    refusals.extend(namespaces());
    refusals.extend(sockets(kind.sockets));
    refusals.extend(modes());
    refusals.push(terminal());
    match kind.processes {
        Processes::Private => {}
        Processes::Shared => refusals.extend(other_processes()),
    }
    refusals
}

fn refuse(number: c_long, when: Vec<Vec<ArgumentTest>>) -> Refusal {
    Refusal {
        // The same type on every system with a filter.
        #[allow(
            clippy::useless_conversion,
            reason = "a C long is narrower on other systems"
        )]
        number: number.into(),
        when,
    }
}

fn test(argument: u8, is: Comparison) -> ArgumentTest {
    ArgumentTest { argument, is }
}

/// New namespaces: inside one, a program has rights again that it had lost.
fn namespaces() -> [Refusal; 2] {
    /// For `unshare` only; the C library lacks it in places. For `clone` these bits are the exit signal.
    const CLONE_NEWTIME: u32 = 0x80;
    let flags = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ]
    .map(|flag| vec![test(0, Comparison::WithBits(flag.cast_unsigned()))]);
    let mut unshared = flags.to_vec();
    unshared.push(vec![test(0, Comparison::WithBits(CLONE_NEWTIME))]);
    [
        // The flags come first on x86_64 and aarch64.
        refuse(libc::SYS_clone, flags.to_vec()),
        refuse(libc::SYS_unshare, unshared),
    ]
}

fn sockets(sockets: Sockets) -> [Refusal; 2] {
    let not = |family: i32| test(0, Comparison::Not(family.cast_unsigned()));
    let made = match sockets {
        Sockets::UnixOnly => vec![vec![not(libc::AF_UNIX)]],
        Sockets::Internet => vec![
            vec![
                not(libc::AF_UNIX),
                not(libc::AF_INET),
                not(libc::AF_INET6),
                not(libc::AF_NETLINK),
            ],
            // Of the kernel's message families only the one that tells of addresses and routes.
            vec![
                test(0, Comparison::Equal(libc::AF_NETLINK.cast_unsigned())),
                test(2, Comparison::Not(libc::NETLINK_ROUTE.cast_unsigned())),
            ],
        ],
    };
    [
        refuse(libc::SYS_socket, made),
        refuse(libc::SYS_socketpair, vec![vec![not(libc::AF_UNIX)]]),
    ]
}

/// Where a call has its file mode.
enum ModeAt {
    /// The argument is always read.
    Always(u8),
    /// The argument counts only when the flags, in another argument, create a file.
    Creating { mode: u8, flags: u8 },
}

/// Set-user-id and set-group-id files, which would lend the user's rights to somebody who is not confined, and device nodes.
fn modes() -> Vec<Refusal> {
    let mut refusals: Vec<Refusal> = [
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_chmod, ModeAt::Always(1)),
        (libc::SYS_fchmod, ModeAt::Always(1)),
        (libc::SYS_fchmodat, ModeAt::Always(2)),
        (FCHMODAT2, ModeAt::Always(2)),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_creat, ModeAt::Always(1)),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, ModeAt::Creating { mode: 2, flags: 1 }),
        (libc::SYS_openat, ModeAt::Creating { mode: 3, flags: 2 }),
    ]
    .into_iter()
    .map(|(number, at)| refuse(number, set_id_bits(&at)))
    .collect();
    for (number, mode) in [
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_mknod, 1),
        (libc::SYS_mknodat, 2),
    ] {
        let mut when = set_id_bits(&ModeAt::Always(mode));
        for kind in [libc::S_IFCHR, libc::S_IFBLK] {
            when.push(vec![test(
                mode,
                Comparison::Masked {
                    mask: libc::S_IFMT,
                    value: kind,
                },
            )]);
        }
        refusals.push(refuse(number, when));
    }
    refusals
}

fn set_id_bits(at: &ModeAt) -> Vec<Vec<ArgumentTest>> {
    /// `O_TMPFILE` without the `O_DIRECTORY` that is part of it.
    const TEMPORARY: i32 = libc::O_TMPFILE & !libc::O_DIRECTORY;
    let mut when = Vec::new();
    for bit in [libc::S_ISUID, libc::S_ISGID] {
        match *at {
            ModeAt::Always(mode) => when.push(vec![test(mode, Comparison::WithBits(bit))]),
            ModeAt::Creating { mode, flags } => {
                for creating in [libc::O_CREAT, TEMPORARY] {
                    when.push(vec![
                        test(mode, Comparison::WithBits(bit)),
                        test(flags, Comparison::WithBits(creating.cast_unsigned())),
                    ]);
                }
            }
        }
    }
    when
}

/// Typing into the terminal in the user's name.
fn terminal() -> Refusal {
    /// Among other things, pastes the selection of a text console.
    const TIOCLINUX: u32 = 0x541C;
    const TIOCSTI: u32 = 0x5412;
    refuse(
        libc::SYS_ioctl,
        // The kernel takes the low 32 bits of the request, so comparing all 64 would be a way round.
        [TIOCSTI, TIOCLINUX]
            .map(|request| vec![test(1, Comparison::Equal(request))])
            .to_vec(),
    )
}

/// Limits and priorities of processes other than the caller.
fn other_processes() -> [Refusal; 3] {
    [
        refuse(libc::SYS_prlimit64, vec![vec![test(0, Comparison::Not(0))]]),
        refuse(
            libc::SYS_setpriority,
            vec![vec![test(1, Comparison::Not(0))]],
        ),
        refuse(
            libc::SYS_ioprio_set,
            vec![vec![test(1, Comparison::Not(0))]],
        ),
    ]
}
