//! The filter on system calls.
//!
//! What is refused answers `EPERM`, as a missing right would. What cannot be looked into because its arguments lie in memory
//! answers `ENOSYS`, so that the C library falls back to the older call, which can: `clone3`, `openat2`. The same goes for
//! calls by the numbers of another architecture (32 bits, x32): nothing the filter knows about those.
//!
//! A filter is compiled once per kind and process; the child only installs it.

mod table;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use libc::sock_filter;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use table::{ArgumentTest, Comparison, Refusal};

/// Which sockets may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sockets {
    /// Unix and Internet sockets, and asking for routes: the network is on, or the network namespace bounds it.
    Internet,
    /// Unix sockets only: the network is off and nothing else keeps it off.
    UnixOnly,
}

/// Which processes the children see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Processes {
    /// Those of their own process namespace.
    Private,
    /// The machine's. Limits and priorities of other processes must then be kept from them here: the kernel only asks whether
    /// the user is the same.
    Shared,
}

/// What a filter depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FilterKind {
    /// Which sockets may be made.
    pub(crate) sockets: Sockets,
    /// Which processes the children see.
    pub(crate) processes: Processes,
}

impl FilterKind {
    fn index(self) -> usize {
        let sockets = match self.sockets {
            Sockets::Internet => 0,
            Sockets::UnixOnly => 1,
        };
        let processes = match self.processes {
            Processes::Private => 0,
            Processes::Shared => 2,
        };
        sockets + processes
    }
}

/// The program for a kind, ready for `seccomp(SECCOMP_SET_MODE_FILTER)`; it lives as long as the process. The error is one
/// sentence: this architecture has no filter.
pub(crate) fn program(kind: FilterKind) -> Result<&'static [sock_filter], &'static str> {
    type Compiled = Result<Vec<sock_filter>, String>;
    static PROGRAMS: [OnceLock<Compiled>; 4] = [const { OnceLock::new() }; 4];
    match PROGRAMS
        .get(kind.index())
        .map(|cell| cell.get_or_init(|| compile(kind)))
    {
        Some(Ok(program)) => Ok(program),
        Some(Err(reason)) => Err(reason),
        None => Err("There is no such kind of filter."),
    }
}

/// The number by which the kernel names this architecture (`AUDIT_ARCH_…`).
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: Option<u32> = Some(0xC000_003E);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: Option<u32> = Some(0xC000_00B7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: Option<u32> = None;

fn compile(kind: FilterKind) -> Result<Vec<sock_filter>, String> {
    let architecture = ARCHITECTURE
        .ok_or("The filter on system calls knows x86_64 and aarch64 only.".to_owned())?;
    let broken = |error: seccompiler::BackendError| {
        format!("The filter on system calls does not compile: {error}")
    };
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for Refusal { number, when } in table::refusals(kind) {
        let chain = when
            .into_iter()
            .map(|tests| {
                SeccompRule::new(tests.into_iter().map(condition).collect::<Result<_, _>>()?)
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(broken)?;
        rules.insert(number, chain);
    }
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let target = std::env::consts::ARCH.try_into().map_err(broken)?;
    let compiled: BpfProgram = SeccompFilter::new(rules, SeccompAction::Allow, refused, target)
        .and_then(TryInto::try_into)
        .map_err(broken)?;
    let mut program = preamble(architecture);
    program.extend(compiled.iter().map(|instruction| sock_filter {
        code: instruction.code,
        jt: instruction.jt,
        jf: instruction.jf,
        k: instruction.k,
    }));
    Ok(program)
}

fn condition(test: ArgumentTest) -> Result<SeccompCondition, seccompiler::BackendError> {
    // All arguments looked at are 32 bits wide in the kernel, which drops the rest; so do we.
    let (operator, value) = match test.is {
        Comparison::Equal(value) => (SeccompCmpOp::Eq, value),
        Comparison::Not(value) => (SeccompCmpOp::Ne, value),
        Comparison::WithBits(bits) => (SeccompCmpOp::MaskedEq(u64::from(bits)), bits),
        Comparison::Masked { mask, value } => (SeccompCmpOp::MaskedEq(u64::from(mask)), value),
    };
    SeccompCondition::new(
        test.argument,
        SeccompCmpArgLen::Dword,
        operator,
        u64::from(value),
    )
}

/// The instructions in front: everything that answers `ENOSYS`.
fn preamble(architecture: u32) -> Vec<sock_filter> {
    /// Numbers of x32 have this bit, on `x86_64`.
    const X32_BIT: u32 = 0x4000_0000;
    /// Kernels before 5.4 also took x32's own calls without the bit.
    const X32_OWN: (u32, u32) = (512, 547);
    let no_such_call = statement(
        libc::BPF_RET,
        libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned(),
    );
    let mut tests = vec![
        // The number stands first in `seccomp_data`, the architecture second.
        statement(libc::BPF_LD, 4),
        jump(libc::BPF_JEQ, architecture, 1, 0),
        no_such_call,
        statement(libc::BPF_LD, 0),
    ];
    for number in table::not_inspectable() {
        tests.extend([jump(libc::BPF_JEQ, number, 0, 1), no_such_call]);
    }
    if cfg!(target_arch = "x86_64") {
        let (first, last) = X32_OWN;
        tests.extend([
            jump(libc::BPF_JGE, X32_BIT, 0, 1),
            no_such_call,
            jump(libc::BPF_JGE, first, 0, 2),
            jump(libc::BPF_JGT, last, 1, 0),
            no_such_call,
        ]);
    }
    tests
}

/// A load of a word from `seccomp_data`, or a return of a constant.
fn statement(class: u32, operand: u32) -> sock_filter {
    sock_filter {
        code: code(if class == libc::BPF_LD {
            libc::BPF_LD | libc::BPF_W | libc::BPF_ABS
        } else {
            libc::BPF_RET | libc::BPF_K
        }),
        jt: 0,
        jf: 0,
        k: operand,
    }
}

fn jump(comparison: u32, operand: u32, when_true: u8, when_false: u8) -> sock_filter {
    sock_filter {
        code: code(libc::BPF_JMP | comparison | libc::BPF_K),
        jt: when_true,
        jf: when_false,
        k: operand,
    }
}

fn code(bits: u32) -> u16 {
    u16::try_from(bits).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests;
